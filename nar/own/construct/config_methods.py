"""Configurations that a static or class method of the class itself returns."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from torch import nn

from nar.graphs.assumed import AssumedValue
from nar.own.construct.config_objects import MAKER, Configured, file_of, has, held_by, set_in
from nar.own.construct.evidence.lookup import Evidence, Stated
from nar.own.construct.evidence.sources import Kind
from nar.own.construct.proposals import Target, short
from nar.own.construct.reads import names_read

_PLACES_SHOWN: Final = 4  # names that a configuration's method leaves open, in one line


def configurations_of_methods(
    target: Target, name: str, module: ModuleType, evidence: Evidence
) -> Iterator[Configured]:
    """What static and class methods of a class return as a configuration.

    Args:
        target: The class.
        name: Its parameter that wants a configuration.
        module: The user's file.
        evidence: What the repository tells.
    """
    if not target.is_class:
        return
    wanted = names_read(target.called, name)
    found = _Methods(name, wanted, module, evidence)
    for method_name, _ in inspect.getmembers(target.called):
        kind = inspect.getattr_static(target.called, method_name, None)
        if isinstance(kind, staticmethod | classmethod) and MAKER.search(method_name):
            method = getattr(target.called, method_name)
            yield from found.of(method, f"{target.name}.{method_name}()")


@dataclass(frozen=True, slots=True)
class _Methods:
    """Completes what methods return, for one parameter."""

    _name: str
    _wanted: tuple[str, ...]
    _module: ModuleType
    _evidence: Evidence

    def of(self, method: Callable[[], Any], written: str) -> Iterator[Configured]:
        """What a method returns: as its users complete it, then as names tell."""
        try:
            made = method()
        # A user's method may want arguments or raise anything.
        except Exception:
            return
        if isinstance(made, nn.Module):
            return
        stated = self._stated_by_users(made, written)
        if stated:
            yield self._completed(method, made, written, stated)
        yield self._completed(method, made, written, stated | self._left_open(made, stated))

    def _stated_by_users(self, made: Any, written: str) -> dict[str, Stated]:  # noqa: ANN401
        """What code that calls a method sets of the configuration that it returns."""
        found: list[dict[str, Stated]] = [{}]
        for source in self._evidence.sources:
            if source.kind not in (Kind.README, Kind.ASSIGNMENTS, Kind.PARSER):
                continue
            if written in self._evidence.repository.text(source.path):
                held = {name: value for name, value in source.values.items() if has(made, name)}
                known = self._evidence.evaluator.known(held)
                found.append(
                    {n: Stated(v, source.place) for n, v in known.items() if v is not None}
                )
        return max(found, key=len)

    def _left_open(self, made: Any, stated: Mapping[str, Stated]) -> dict[str, Stated]:  # noqa: ANN401
        """Values for the names that a configuration leaves at None and that are read."""
        left = [name for name in self._wanted if held_by(made, name) is None and name not in stated]
        found = {name: self._evidence.stated_or_usual(name, left) for name in left}
        return {name: each for name, each in found.items() if each is not None}

    def _completed(
        self,
        method: Callable[[], Any],
        made: Any,  # noqa: ANN401
        written: str,
        filled: Mapping[str, Stated],
    ) -> Configured:
        """What a method returns, with some names set."""
        left = [name for name in self._wanted if held_by(made, name) is None]
        file = file_of(self._module)
        shown = ", ".join(left[:_PLACES_SHOWN])
        place = f"{file}; it leaves {shown} open" if left else file
        values = [AssumedValue(self._name, written, place)]
        values += [
            AssumedValue(f"{self._name}.{name}", short(stated.value), stated.place)
            for name, stated in filled.items()
        ]

        def make() -> Any:  # noqa: ANN401
            config = method()
            for name, stated in filled.items():
                set_in(config, name, stated.value)
            return config

        return Configured(make, tuple(values))
