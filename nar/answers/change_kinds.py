"""The kinds of change that `nar check` tells apart, by fingerprints and motifs; a model has one."""

from enum import StrEnum
from typing import Final


class ChangeKind(StrEnum):
    """What changed in a model. An enumeration, as typer takes no list of literals."""

    WEIGHTS = "weights"
    WIDTH = "width"
    ATTRIBUTES = "attributes"
    INFERENCE = "inference"
    DEPTH = "depth"
    DESIGN = "design"


MEANING: Final[dict[ChangeKind, str]] = {
    ChangeKind.WEIGHTS: "the same operators in the same widths, with a table of another size or "
    "weights that are shared otherwise",
    ChangeKind.WIDTH: "the same operators, wiring, kernels, strides and heads in other widths",
    ChangeKind.ATTRIBUTES: "the same operators and wiring with other kernels, strides or heads",
    ChangeKind.INFERENCE: "written otherwise, but at inference the same network",
    ChangeKind.DEPTH: "the same motifs, repeated more or less often",
    ChangeKind.DESIGN: "another design",
}
