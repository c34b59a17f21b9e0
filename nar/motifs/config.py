"""Settings of motifs, and the kinds of features of a graph."""

from typing import Literal

from pydantic import Field

from nar.base.settings import Settings

Splitting = Literal["repeats", "node_number", "motif_number", "random"]
FeatureKind = Literal["operators", "attributes", "motifs", "paths", "skeleton", "whole"]


class MotifConfig(Settings):
    """How a graph is cut into motifs (paper, section 3.2)."""

    splitting: Splitting = Field("repeats", description="the others are baselines of Table 2")
    steps: int = Field(2, ge=1, le=8, description="s of Eq. 2: radius of the neighbour encoding")
    max_remainder_nodes: int = Field(16, ge=1, description="bound of what repeats nowhere")
    context_hops: int = Field(1, ge=1, description="k of the context graph (section 3.4)")
    # Not written where it has the value of checkpoints older than this field: fingerprints of such
    # checkpoints must stay.
    border_widths: bool = Field(
        True,
        exclude_if=bool,
        description="whether widths at inputs, words and classes, and numbers of heads, are read",
    )
