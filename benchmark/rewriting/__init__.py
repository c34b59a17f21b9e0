"""Models written otherwise: does the same design, from other code, give the same graph?"""

from benchmark.rewriting.protocol import (
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
