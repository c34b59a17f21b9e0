"""Two corpora compared: which models came and went, and how the graphs of the others changed.

A change lists the operators that a graph gained and lost: it says what changed, not why.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nar.corpus.location import Location
from nar.corpus.reading import Corpus
from nar.graphs.architecture import Architecture, Labels
from nar.graphs.ops import op_name


@dataclass(frozen=True, slots=True)
class ChangedModel:
    """A model whose exact fingerprint has changed.

    Attributes:
        name: The model's name.
        gained: Operators that its graph has more often, sorted.
        lost: Operators that it has less often, sorted. Where both are empty, the graph has the
            same operators with other attributes or other wiring.
        same_design: Whether its topology stayed the same.
    """

    name: str
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    same_design: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between an older and a newer corpus.

    Attributes:
        before: Number of architectures in the older corpus.
        after: Number of architectures in the newer corpus.
        equal: Models of both whose exact fingerprint stayed the same.
        changed: Models of both whose exact fingerprint changed, sorted by name.
        gone: Names that only the older corpus has, sorted.
        new: Names that only the newer corpus has, sorted.
        relabelled: Names whose labels changed, the version of the library aside, sorted.
        resized: Names whose number of parameters changed, sorted.
    """

    before: int
    after: int
    equal: int
    changed: tuple[ChangedModel, ...]
    gone: tuple[str, ...]
    new: tuple[str, ...]
    relabelled: tuple[str, ...]
    resized: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Summary:
    """What is kept of an architecture, without its graph."""

    labels: Labels
    exact: str
    topology: str
    parameters: int
    operators: dict[int, int]


def compare(older: Location, newer: Location) -> Comparison:
    """Compare two corpora by the names of their models.

    Their shards have different orders, so the operator counts of the older corpus stay in memory:
    about 2 KB a model, no graph.

    Args:
        older: Directory of a finished corpus.
        newer: Directory of another finished corpus.

    Raises:
        CorpusError: A corpus is missing or damaged.
    """
    known = {one.labels.name: one for one in _summaries(older)}
    before = len(known)
    new, relabelled, resized = [], [], []
    changed: list[ChangedModel] = []
    equal = after = 0
    for now in _summaries(newer):
        after += 1
        name = now.labels.name
        then = known.pop(name, None)
        if then is None:
            new.append(name)
            continue
        if _without_version(then.labels) != _without_version(now.labels):
            relabelled.append(name)
        if then.parameters != now.parameters:
            resized.append(name)
        if then.exact == now.exact:
            equal += 1
        else:
            changed.append(_change(then, now))
    return Comparison(
        before,
        after,
        equal,
        tuple(sorted(changed, key=lambda change: change.name)),
        tuple(sorted(known)),
        *(tuple(sorted(names)) for names in (new, relabelled, resized)),
    )


def _summaries(directory: Location) -> Iterator[_Summary]:
    for _, shard in Corpus(directory).shards():
        yield from map(_summary, shard)


def _summary(item: Architecture) -> _Summary:
    ids, counts = np.unique(item.graph.op_ids, return_counts=True)
    operators = dict(zip(ids.tolist(), counts.tolist(), strict=True))
    return _Summary(item.labels, item.exact, item.topology, item.graph.parameters, operators)


def _without_version(labels: Labels) -> tuple[str, ...]:
    return (labels.family, labels.task, labels.tier, labels.backbone, labels.source)


def _change(then: _Summary, now: _Summary) -> ChangedModel:
    more, fewer = Counter(now.operators), Counter(then.operators)
    same_design = then.topology == now.topology
    return ChangedModel(now.labels.name, _names(more - fewer), _names(fewer - more), same_design)


def _names(operators: Counter[int]) -> tuple[str, ...]:
    return tuple(sorted(map(op_name, operators)))
