"""What `nar lock` and `nar check` do: models are captured, written down, and compared."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from nar.answers.difference import MotifCounts
from nar.answers.naming import meant
from nar.base.console import show
from nar.base.errors import InvalidInputError
from nar.cli.change_kinds import MEANING, Kind
from nar.cli.lock import (
    Change,
    Lock,
    Locked,
    change,
    locked,
    locked_names,
    read_lock,
    write_lock,
)
from nar.cli.lookup import Shape, captured
from nar.corpus import shipped_corpus
from nar.views import reports
from nar.views.display import in_brief


def lock(names: Sequence[str], path: Path, input_shape: Shape = None) -> int:
    """Lock some models; without names, those of the lock anew.

    Returns:
        How many there are.

    Raises:
        InvalidInputError: There are neither names nor a lock.
        CaptureError: A model could not be captured; the lock is as it was.
    """
    wanted = _meant(names) or sorted(locked_names(path))
    write_lock(path, {name: _captured(name, input_shape) for name in wanted})
    return len(wanted)


def check(
    names: Sequence[str],
    path: Path,
    allowed: Collection[Kind],
    input_shape: Shape = None,
    *,
    as_json: bool,
) -> bool:
    """Compare models with what is locked of them; without names, all of the lock.

    Returns:
        Whether every change is of a kind that is allowed.

    Raises:
        InvalidInputError: The lock is none, or lacks a name.
        CaptureError: A model could not be captured.
    """
    written = read_lock(path)
    chosen = _meant(names) or written.models
    wanted = {name: _locked(written, name, path) for name in chosen}
    changes = {
        name: change(before, _captured(name, input_shape)) for name, before in wanted.items()
    }
    report = {"models": {name: _report(each, allowed) for name, each in changes.items()}}
    lines = (line for name, each in changes.items() for line in _view(name, each, allowed))
    show(report, lambda: Group(*lines), as_json=as_json)
    return all(each is None or each.kind in allowed for each in changes.values())


def _meant(names: Sequence[str]) -> list[str]:
    """What a lock calls them: a short name is locked as the model that it stands for."""
    return [meant(name, shipped_corpus()) for name in names]


def _captured(name: str, input_shape: Shape) -> Locked:
    return locked(captured(name, input_shape).architecture)


def _locked(written: Lock, name: str, path: Path) -> Locked:
    if name not in written.models:
        known = ", ".join(written.models) or "nothing"
        raise InvalidInputError(
            name, f"{path} locks {known}; `nar lock` writes it with other names"
        )
    return written.models[name]


def _report(each: Change | None, allowed: Collection[Kind]) -> reports.Report:
    if each is None:
        return {"kind": None, "allowed": True}
    return {
        "kind": each.kind,
        "allowed": each.kind in allowed,
        "before": each.before.model_dump(exclude={"motifs"}),
        "now": each.now.model_dump(exclude={"motifs"}),
        "motifs": [asdict(motif) for motif in _changed(each)],
    }


def _view(name: str, each: Change | None, allowed: Collection[Kind]) -> Iterator[RenderableType]:
    if each is None:
        yield Text(f"{name}: as locked", "green")
        return
    verdict, style = ("allowed", "yellow") if each.kind in allowed else ("refused", "bold red")
    yield Text(f"{name}: {each.kind.value}, {verdict}: {MEANING[each.kind]}", style)
    if each.before.parameters != each.now.parameters:
        yield Text(f"  parameters {each.before.parameters:,} -> {each.now.parameters:,}")
    if each.before.nodes != each.now.nodes:
        yield Text(f"  operators {each.before.nodes:,} -> {each.now.nodes:,}")
    for motif in _changed(each):
        yield Text(f"  {motif.first} -> {motif.second} times: {in_brief(motif.operators)}")


def _changed(each: Change) -> list[MotifCounts]:
    """The motif types that occur more or less often than before."""
    both = (*each.motifs.shared, *each.motifs.other)
    return [motif for motif in both if motif.first != motif.second]
