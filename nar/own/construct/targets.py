"""Configurations that name the class to build and its arguments, as hydra and its like do."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nar.own.construct.evidence.expressions import Expression, UnknownValueError, literal
from nar.own.construct.evidence.lookup import Evidence
from nar.own.construct.evidence.settings import settings_of
from nar.own.construct.evidence.sources import sources_naming
from nar.own.construct.proposals import Target

# Keys that name a class -> whether it has to be dotted: other things have a type and a name too.
_KEYS = {
    "target": True,
    "_target_": True,
    "class_path": True,
    "class": True,
    "cls": True,
    "class_name": False,
    "type": False,
    "name": False,
    "arch": False,
}
_ARGUMENTS = ("params", "init_args", "kwargs", "args")


@dataclass(frozen=True, slots=True)
class Targeted:
    """Arguments that a configuration gives for a class that it names.

    Attributes:
        values: By the names of parameters.
        place: In words.
        others: Other files that name it too.
    """

    values: dict[str, Any]
    place: str
    others: tuple[str, ...]


def targeted(target: Target, evidence: Evidence) -> Targeted | None:
    """What the nearest configuration gives that names a class; None where none does."""
    found: list[tuple[float, str, dict[str, Any]]] = []
    for source in sources_naming(evidence.repository, target.name):
        for key, is_dotted in _KEYS.items():
            named = _text(source.values.get(key))
            if named and _names(named, target, evidence.repository.path, is_dotted=is_dotted):
                values = _arguments(source.values, target, evidence)
                if values or is_dotted:
                    place = f"{source.place} ({key}: {named})"
                    found.append((source.distance, place, values))
    if not found:
        return None
    found.sort(key=lambda each: (each[0], -len(each[2])))
    first = found[0]
    files = {place.partition(" ")[0] for _, place, _ in found[1:]} - {first[1].partition(" ")[0]}
    return Targeted(first[2], first[1], tuple(sorted(files)))


def _arguments(stated: Mapping[str, Any], target: Target, evidence: Evidence) -> dict[str, Any]:
    inner = next(
        (stated[key] for key in _ARGUMENTS if isinstance(stated.get(key), Mapping)), stated
    )
    known = evidence.evaluator.known(inner)
    return {name: settings_of(known[name]) for name in known if name in target.parameters}


def _names(text: str, target: Target, path: Path, *, is_dotted: bool) -> bool:
    """Whether a text names a class of a file."""
    *above, last = text.split(".")
    if last != target.name:
        return False
    return above[-1] in (path.stem, path.parent.name) if above else not is_dotted


def _text(found: object) -> str:
    if isinstance(found, Expression):
        try:
            found = literal(found.node)
        except UnknownValueError:
            return ""
    return found if isinstance(found, str) else ""
