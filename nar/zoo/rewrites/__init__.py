"""Models written otherwise: does the same design, from other code, give the same graph?"""

from nar.zoo.rewrites.protocol import (
    Missing,
    RewrittenArchitecture,
    attempts,
    chosen_rewrites,
    model_names,
    rewritten,
)

__all__ = [
    "Missing",
    "RewrittenArchitecture",
    "attempts",
    "chosen_rewrites",
    "model_names",
    "rewritten",
]
