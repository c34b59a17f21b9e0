"""What the commands of `nar zoo` do: declare a zoo of one's own, and say what jobs would do."""

from pathlib import Path

from nar.base.console import show, stdout
from nar.base.errors import ConfigError
from nar.base.files import write_text
from nar.base.own_zoo import SCHEMA_FILE, ZOO_FILE, Zoo, first_zoo_file, json_schema, read_zoo
from nar.views import display


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


def check(path: Path, *, as_json: bool) -> None:
    """Show what a zoo means: every model, and what lies there and is none; nothing is captured."""
    zoo = read_zoo(path)
    show(_report(zoo), lambda: display.zoo(zoo), as_json=as_json)


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
