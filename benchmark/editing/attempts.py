"""Every change of every model: what asks under the protocols `edits` and `parts`.

``python -m benchmark edited TARGET`` makes the shipped file anew, in some 25 minutes: a decision.
"""

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from benchmark.editing.change import Change
from benchmark.editing.kinds import changes, chosen_changes
from benchmark.rewriting.rewrite import NotApplicableError
from benchmark.tasks.asking import EDITS, PARTS
from benchmark.tasks.splits import order
from nar.base.errors import CaptureError, one_line
from nar.base.workspace import package_lines
from nar.corpus import write_shard
from nar.graphs.architecture import Architecture, architecture
from nar.own import capture_architecture

_SEED = 0
# So many edits of one model: kinds that suit nearly every model would ask the same again and again.
MAX_EDITS = 5
Verdict = Literal["applied", "unchanged", "not applicable", "failed"]


def model_names() -> list[str]:
    """The frozen list of models that are changed."""
    return package_lines("editing", "models.txt", package="benchmark")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One change of one model.

    Attributes:
        name: The model's.
        change: What was tried.
        verdict: Whether it gave another graph.
        reason: Why not; empty where it did.
        original: As the zoo captures it; None where it does not.
        changed: What became of it, under the name ``<original>@<change>``; None where nothing did.
    """

    name: str
    change: Change
    verdict: Verdict
    reason: str = ""
    original: Architecture | None = None
    changed: Architecture | None = None


def attempts(names: Iterable[str], chosen: Sequence[Change]) -> Iterator[Outcome]:
    """Changes of each model, model by model: some edits, drawn by a hash, and every part.

    Args:
        names: Specs.
        chosen: The changes.

    Raises:
        UnknownArchitectureError: No such model.
    """
    for name in names:
        try:
            original = capture_architecture(name).architecture
        except CaptureError as error:
            reason = f"the original: {error.reason}"
            yield from (Outcome(name, change, "failed", reason) for change in chosen)
            continue
        yield from _some_edits(original, [each for each in chosen if each.dataset == EDITS])
        for change in chosen:
            if change.dataset != EDITS:
                yield attempt(original, change)


def _some_edits(original: Architecture, edits: Iterable[Change]) -> Iterator[Outcome]:
    """Edits in the order of a hash of model and edit, until enough of them were applied."""
    name, applied = original.labels.name, 0
    for change in sorted(edits, key=lambda change: order(_SEED, f"{name}@{change.name}")):
        if applied == MAX_EDITS:
            return
        outcome = attempt(original, change)
        applied += outcome.verdict == "applied"
        yield outcome


def attempt(original: Architecture, change: Change) -> Outcome:
    """One change of one model. A graph that stays as it was is a failure of the change."""
    name = original.labels.name
    # Libraries raise and warn of anything where a model does not bear what was done to it.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = change.apply(original)
    except NotApplicableError as error:
        return Outcome(name, change, "not applicable", str(error), original)
    except CaptureError as error:
        return Outcome(name, change, "failed", error.reason, original)
    except Exception as error:
        return Outcome(name, change, "failed", one_line(error), original)
    labels = replace(original.labels, name=f"{name}@{change.name}", source=change.dataset)
    changed = architecture(labels, graph)
    if changed.exact == original.exact:
        return Outcome(name, change, "unchanged", "the graph stays as it was", original)
    return Outcome(name, change, "applied", "", original, changed)


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
