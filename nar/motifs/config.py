"""Settings of motifs, and what a graph may be read as."""

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
    # Left out where it is as in the checkpoints that do not know it, for their fingerprints.
    border_widths: bool = Field(
        True,
        exclude_if=bool,
        description="whether widths at inputs, words and classes, and numbers of heads, are read",
    )
