"""Whether a forward pass draws its path: a supernet is as many designs as it has paths.

Noise that is drawn changes no graph. So where a generator of random numbers moved during a pass,
more passes are made and compared, and only there: other modules pay for reading three states.
"""

import random
from collections.abc import Callable

import numpy as np
import torch

from nar.base.errors import CaptureError
from nar.capture.graphs import to_capture
from nar.capture.trace import Trace
from nar.graphs.canonical import exact_fingerprint

# A fair choice between two paths is taken for none once in 2^7 captures.
MORE_PASSES = 7


def undrawn(run: Callable[[], Trace], *, name: str) -> Trace:
    """The trace of a forward pass whose graph is no matter of chance.

    Args:
        run: One forward pass.
        name: Name of the model, for errors.

    Raises:
        CaptureError: Python, numpy or torch drew random numbers, and another pass gave another
            graph.
    """
    before = _states()
    trace = run()
    if _states() == before:
        return trace
    restored = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    try:
        is_chance = any(not _is_same(trace, run(), name=name) for _ in range(MORE_PASSES))
    finally:
        random.setstate(restored[0])
        np.random.set_state(restored[1])  # noqa: NPY002
        torch.set_rng_state(restored[2])
    if is_chance:
        reason = (
            "wanted one graph, came a module that draws its path at random in every forward pass: "
            "choose one path before it is captured"
        )
        raise CaptureError(name, "-", reason)
    return trace


def _states() -> tuple[object, ...]:
    """Where the generators stand that a module may read by itself, numpy's old one among them."""
    _, keys, *rest = np.random.get_state()  # noqa: NPY002
    return (
        random.getstate(),
        np.asarray(keys).tobytes(),
        rest,
        torch.get_rng_state().numpy().tobytes(),
    )


def _is_same(one: Trace, other: Trace, *, name: str) -> bool:
    if one == other:
        return True
    first, second = (to_capture(trace, name=name).graph for trace in (one, other))
    return exact_fingerprint(first) == exact_fingerprint(second)
