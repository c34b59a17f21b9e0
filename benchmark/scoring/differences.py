"""How much further one method goes than another, on the same queries."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.scoring.evaluate import Scored, summarise
from benchmark.scoring.metrics import Values
from nar.base.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean of paired differences.

    Attributes:
        mean: Above 0 where the first method is better; every seed weighs the same.
        low: Lower end of its 95% interval, from a bootstrap over families.
        high: Upper end.
    """

    mean: float
    low: float
    high: float

    @property
    def is_none(self) -> bool:
        """Whether the interval includes 0: which of the two is better is not known."""
        return self.low <= 0 <= self.high


def difference(one: Sequence[Scored], other: Sequence[Scored], metric: str) -> Difference:
    """Subtract query by query, then take the mean as every table does.

    Args:
        one: What the queries of each seed reached.
        other: The same of another method, seeds in the same order.
        metric: As in ``map@20``.

    Raises:
        InvalidInputError: The two were not asked the same queries.
    """
    if len(one) != len(other):
        raise InvalidInputError("seeds", f"wanted the same of both, came {len(one)}, {len(other)}")
    pairs = [_subtracted(mine, theirs, metric) for mine, theirs in zip(one, other, strict=True)]
    pooled = summarise(pairs).scores[metric]
    return Difference(pooled.mean, pooled.low, pooled.high)


def _subtracted(one: Scored, other: Scored, metric: str) -> Scored:
    order = _order(one.queries, other.queries)
    values: Values = one.values[metric] - other.values[metric][order]
    return Scored(one.queries, one.clusters, one.gallery, {metric: values})


def _order(wanted: Sequence[str], came: Sequence[str]) -> list[int]:
    """Where each wanted query stands among those that came."""
    position_of = {query: position for position, query in enumerate(came)}
    odd = sorted(set(wanted) ^ set(position_of))
    if odd or len(wanted) != len(came):
        which = f"{odd[0]} in one only" if odd else "repeated ones"
        raise InvalidInputError(
            "queries", f"wanted the same of both, came {len(wanted)} and {len(came)}, {which}"
        )
    return [position_of[query] for query in wanted]
