"""A linear scorer of pairs, learned by the softmax over the answers to each query."""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from nar.answers.pairs import PairScorer, Values

# Chosen: strong enough that no single column decides.
_PENALTY: Final = 1e-3
_STEPS: Final = 150


def learned(pairs: Values, right: NDArray[np.bool_], counts: float) -> PairScorer:
    """Fit a scorer: a right answer to a query should come first.

    Args:
        pairs: Shape (queries, items, columns).
        right: Shape (queries, items); every query has a right answer.
        counts: How much of a score is added to a cosine.
    """
    mean, spread = pairs.mean(axis=(0, 1)), pairs.std(axis=(0, 1)) + 1e-6
    given = ((pairs - mean) / spread).astype(np.float32)

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        raw = (given @ weights.astype(np.float32)).astype(np.float64)
        likely = _softmax(raw)
        among_right = _softmax(np.where(right, raw, -np.inf))
        reached = np.log((likely * right).sum(axis=1) + 1e-12)
        slope = np.einsum("qi,qic->c", (likely - among_right).astype(np.float32), given)
        value = -reached.mean() + _PENALTY * float(weights @ weights)
        return value, slope / len(raw) + 2 * _PENALTY * weights

    start = np.zeros(pairs.shape[2])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    # Of scores of mean 0 nothing is left of the means of columns.
    return PairScorer((found.x / spread).astype(np.float32), counts)


def _softmax(raw: NDArray[np.float64]) -> NDArray[np.float64]:
    shifted = np.exp(raw - raw.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = shifted / shifted.sum(axis=1, keepdims=True)
    return shares
