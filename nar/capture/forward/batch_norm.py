"""How a batch norm enters the trace, which may be an instance norm that was taken apart."""

from nar.capture.forward.call import Call
from nar.capture.trace import TraceBuilder

_STATISTICS_FROM_INPUT = 3  # where the flags of a batch norm begin, behind weight and bias
_DECOMPOSED = frozenset({"native_batch_norm", "_native_batch_norm_legit"})


def batch_norm(builder: TraceBuilder, call: Call) -> int:
    """ATen makes an instance norm of (n, c, ...) a batch norm of (1, n c, ...)."""
    operator = "instance_norm" if _is_by_instance(builder, call) else "batch_norm"
    return builder.emit(operator, call.values, call.shape)


def _is_by_instance(builder: TraceBuilder, call: Call) -> bool:
    """Whether a batch norm sees all images as channels of one, and so averages within each."""
    batch, channels, *_ = call.shapes[0]
    if batch != 1:
        return False
    images, each, *_ = (*builder.operations[call.values[0]].shape, 0, 0)
    reads_statistics = any(flag is True for flag in call.args[_STATISTICS_FROM_INPUT:6])
    return (images > 1 and images * each == channels) or (
        reads_statistics and call.name in _DECOMPOSED
    )
