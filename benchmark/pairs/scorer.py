"""A linear scorer of pairs, learned by the softmax over the answers to each query."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmark.pairs.codes import Values

# Chosen: strong enough that no single column decides.
_PENALTY: Final = 1e-3
_STEPS: Final = 150


@dataclass(frozen=True, slots=True, eq=False)
class Scorer:
    """Scores of pairs.

    Attributes:
        mean: Shape (columns,), of the learned pairs.
        spread: Shape (columns,).
        weights: Shape (columns,).
    """

    mean: Values
    spread: Values
    weights: Values

    def scores(self, pairs: Values) -> Values:
        """Scores of the answers to one query, with mean 0 and spread 1: shape (items,)."""
        raw = ((pairs - self.mean) / self.spread) @ self.weights
        standard = (raw - raw.mean()) / max(float(raw.std()), 1e-9)
        return np.asarray(standard, dtype=np.float32)


def learned(pairs: Values, right: NDArray[np.bool_]) -> Scorer:
    """Fit a scorer: of the answers to a query, one that is right should come first.

    Args:
        pairs: Shape (queries, items, columns).
        right: Shape (queries, items); every query has a right answer.
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
    return Scorer(mean, spread, found.x.astype(np.float32))


def _softmax(raw: NDArray[np.float64]) -> NDArray[np.float64]:
    shifted = np.exp(raw - raw.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = shifted / shifted.sum(axis=1, keepdims=True)
    return shares
