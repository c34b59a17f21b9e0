"""Captures what asks under the protocols `edits` and `parts`, and counts what did not apply.

``python -m benchmark edited TARGET`` makes the shipped file anew, in some 25 minutes: a decision.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import get_args

from benchmark.editing.kinds import changes, chosen_changes
from benchmark.editing.protocol import Outcome, Verdict, attempts, model_names
from benchmark.protocol.asking import EDITS, PARTS
from nar.corpus import write_shard
from nar.graphs.architecture import Architecture


def write_changed(target: Path, *, limit: int | None = None, kinds: list[str]) -> list[str]:
    """Change every model of the frozen list, and write models and what became of them to a shard.

    Args:
        target: The file.
        limit: So many models, from the first on; all if None.
        kinds: Names of changes; all if empty.

    Returns:
        The lines of a report: a table with a row for each change, then every failure.

    Raises:
        UnknownArchitectureError: No such change.
    """
    outcomes = list(attempts(model_names()[:limit], chosen_changes(kinds)))
    items = architectures_of(outcomes)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_shard(target, items)
    failures = [
        f"{each.name}@{each.change.name}: {each.verdict}: {each.reason}"
        for each in outcomes
        if each.verdict in ("failed", "unchanged")
    ]
    changed = sum(item.labels.source in (EDITS, PARTS) for item in items)
    said = f"{changed:,} changed models of {len(items) - changed:,}, in {target}"
    return [*table(outcomes), *failures, said]


def architectures_of(outcomes: Iterable[Outcome]) -> list[Architecture]:
    """Models that gave anything, and what they gave, each once, in the order of the attempts."""
    items: dict[str, Architecture] = {}
    for each in outcomes:
        for item in (each.original, each.changed):
            if item is not None and each.changed is not None:
                items.setdefault(item.labels.name, item)
    return list(items.values())


def table(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """The lines of a table: change by change, how many models came to which verdict."""
    verdicts = get_args(Verdict)
    rows: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in outcomes:
        rows[each.change.name][each.verdict] += 1
    yield f"| data set | change | {' | '.join(verdicts)} |"
    yield "|---" * (2 + len(verdicts)) + "|"
    for change in (change for change in changes() if change.name in rows):
        cells = (str(rows[change.name][verdict]) for verdict in verdicts)
        yield f"| {change.dataset} | {change.name} | {' | '.join(cells)} |"
