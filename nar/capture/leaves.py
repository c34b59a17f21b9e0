"""The values of the inputs of a model: data that flows through it, and numbers beside data."""

from collections.abc import Sequence
from typing import Final

from nar.capture.trace import Shape, TraceBuilder

# From three axes on the first one is the batch; two may as well be those of nodes.
_WITH_BATCH: Final = 3


def input_values(builder: TraceBuilder, inputs: Sequence[tuple[Shape, bool]]) -> list[int]:
    """One value for each input.

    Integers and masks are constants: they say where to read. So is one number for each sample, such
    as the step of a diffusion: the same model takes it as an integer or as a float.

    Args:
        builder: Receives the values.
        inputs: The shape of each input, and whether its numbers are floats.
    """
    batches = {shape[0] for shape, is_float in inputs if is_float and len(shape) >= _WITH_BATCH}
    return [
        builder.input(shape)
        if is_float and not (len(shape) == 1 and shape[0] in batches)
        else builder.constant(shape, reads_data=True)
        for shape, is_float in inputs
    ]


def port(name: str, kind: str, shape: Shape) -> str:
    """One input or result: its name, if it has one, its kind and its shape."""
    return " ".join([*name.split(), kind, "x".join(map(str, shape)) or "scalar"])
