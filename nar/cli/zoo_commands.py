"""What `nar zoo`, `nar lock` and `nar check` do: a zoo is declared, locked, and checked."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Group

from nar.answers import lock as locks
from nar.answers.change_kinds import ChangeKind
from nar.answers.naming import (
    Asked,
    captured,
    check_stated,
    report_unplaced,
    resolve_name,
    stated_for,
)
from nar.base.asking import NOTHING_STATED, Asking
from nar.base.console import show, stdout
from nar.base.errors import ConfigError
from nar.base.files import write_text
from nar.base.own_zoo import (
    SCHEMA_FILE,
    ZOO_FILE,
    Zoo,
    expanded,
    first_zoo_file,
    json_schema,
    read_zoo,
)
from nar.corpus import shipped_corpus
from nar.views import display, reports
from nar.views.difference import change_lines, change_report


def begin(folder: Path) -> None:
    """Write the first zoo file of a folder, and say what it could not place.

    Raises:
        ConfigError: The folder has one already, or is none.
    """
    file = folder / ZOO_FILE
    if file.exists():
        raise ConfigError(f"{file} is there already; `nar zoo check {folder}` says what it means")
    zoo = read_zoo(folder)
    write_text(file, first_zoo_file(zoo, folder))
    write_text(folder / SCHEMA_FILE, json_schema())
    stdout.print(f"{len(zoo.models):,} models, in {file}; the schema for editors beside it")
    for path, why in zoo.unplaced.items():
        stdout.print(f"not placed {path}: {why}", soft_wrap=True)


def plan(path: Path, *, as_json: bool) -> None:
    """Show what a zoo means: every model, and what lies there and is none; nothing is captured."""
    zoo = read_zoo(path)
    show(_report(zoo), lambda: display.zoo(zoo), as_json=as_json)


def lock(names: Sequence[str], path: Path, asking: Asking = NOTHING_STATED) -> int:
    """Lock some models; without names, lock the models of the file again.

    Returns:
        How many there are.

    Raises:
        InvalidInputError: There are neither names nor a lock.
        CaptureError: A model could not be captured; the lock is as it was.
    """
    wanted = dict.fromkeys(_resolved(names), ()) or locks.locked_inputs(path)
    check_stated(wanted, asking)
    models = {}
    for name, before in wanted.items():
        inputs, asked = _captured(name, asking, before)
        models[name] = locks.locked(asked.architecture, inputs)
    locks.write_lock(path, models)
    return len(wanted)


def check(
    names: Sequence[str],
    path: Path,
    allowed: Collection[ChangeKind],
    asking: Asking = NOTHING_STATED,
    *,
    as_json: bool,
) -> bool:
    """Compare models with their lock; without names, all models of the file.

    Returns:
        Whether every change is of a kind that is allowed.

    Raises:
        InvalidInputError: The file is no lock, or lacks a name.
        CaptureError: A model could not be captured.
    """
    written = locks.read_lock(path)
    chosen = _resolved(names) or written.models
    wanted = {name: locks.locked_of(written, name, path) for name in chosen}
    check_stated(wanted, asking)
    changes, assumed = {}, {}
    for name, before in wanted.items():
        inputs, asked = _captured(name, asking, before.inputs)
        changes[name] = locks.change(before, locks.locked(asked.architecture, inputs))
        assumed[name] = reports.assumed(asked.assumed)
    report = {
        "models": {name: change_report(each, allowed) for name, each in changes.items()},
        "assumed": assumed,
    }
    lines = (line for name, each in changes.items() for line in change_lines(name, each, allowed))
    show(report, lambda: Group(*lines), as_json=as_json)
    return all(each is None or each.kind in allowed for each in changes.values())


def _resolved(names: Sequence[str]) -> list[str]:
    """The whole names: a short name is locked as the model that it stands for, a zoo as its own."""
    zoo = expanded(names)
    report_unplaced(zoo)
    return [resolve_name(each.spec, shipped_corpus()) for each in zoo.models]


def _captured(name: str, asking: Asking, before: tuple[str, ...]) -> tuple[tuple[str, ...], Asked]:
    """The inputs that are stated, or were when a model was locked, and the model as it is now."""
    stated = stated_for(name, asking)
    inputs = stated.inputs or before
    asked = Asked.of(captured(name, replace(stated, inputs=inputs)))
    asked.report_assumed()
    return inputs, asked


def _report(zoo: Zoo) -> dict[str, object]:
    models = [
        {
            "name": each.name,
            "captures": each.spec,
            "inputs": each.inputs,
            "labels": each.labels.model_dump(mode="json", exclude_none=True),
        }
        for each in zoo.models
    ]
    return {"models": models, "not_placed": dict(zoo.unplaced)}
