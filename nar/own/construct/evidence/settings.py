"""`StatedSettings`: a configuration that is read as a namespace, a mapping or a node."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nar.own.construct.evidence.parsed import read_settings


class MissingSettingError(AttributeError, KeyError):
    """A configuration was asked for a name that it lacks.

    Attributes:
        setting: The name; points in it are its own.
        holder: The configuration, where what asked for the name may be given it there.
        above: The names of the parts that it lies in, the outermost first.
    """

    def __init__(
        self, name: str, holder: "StatedSettings | None" = None, above: tuple[str, ...] = ()
    ) -> None:
        super().__init__(f"the configuration has no {'.'.join((*above, str(name)))!r}")
        self.setting = name
        self.holder = holder
        self.above = above


class StatedSettings(dict[str, Any]):
    """Answers ``config.width``, ``config["width"]``, ``config.get("width")`` and ``vars(config)``.

    What it lacks is a `MissingSettingError` of its name, both as attribute and as key, so that it
    can be looked for elsewhere.
    """

    def __init__(
        self,
        values: Mapping[str, Any] | None = None,
        **more: Any,  # noqa: ANN401
    ) -> None:
        given = {**(values or {}), **more}
        super().__init__({str(name): settings_of(value) for name, value in given.items()})
        # `vars(config)` then has the values, as that of an argparse namespace has.
        self.__dict__ = self

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingSettingError(name)

    def __missing__(self, name: str) -> Any:  # noqa: ANN401
        raise MissingSettingError(name)

    def __deepcopy__(self, memo: dict[int, Any]) -> "StatedSettings":
        return StatedSettings({name: copy.deepcopy(value, memo) for name, value in self.items()})

    def copy(self) -> "StatedSettings":
        """Another one of the same values."""
        return StatedSettings(self)

    def freeze(self) -> None:
        """Stay changeable; the name that yacs has for the contrary."""

    defrost = lock = unlock = freeze

    def merge_from_file(self, path: str | Path) -> None:
        """Take the values of a file of YAML or JSON, those of inner mappings one by one."""
        held = read_settings(Path(path))
        if isinstance(held, Mapping):
            _merge(self, held)

    def merge_from_list(self, values: list[Any]) -> None:
        """Take pairs of a name with dots and a value."""
        for name, value in zip(values[::2], values[1::2], strict=False):
            *above, last = str(name).split(".")
            place = self
            for part in above:
                place = place.setdefault(part, StatedSettings())
            place[last] = value

    def clone(self) -> "StatedSettings":
        """As `copy`; the name that yacs has for it."""
        return copy.deepcopy(self)


class PartOfSettings(StatedSettings):
    """A part of a configuration that nothing tells of; it is asked for by its whole path."""

    __slots__ = ("_above",)

    def __init__(self, above: tuple[str, ...], values: Mapping[str, Any] | None = None) -> None:
        super().__init__(values)
        object.__setattr__(self, "_above", above)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name.startswith("_"):
            raise AttributeError(name)
        raise MissingSettingError(name, above=self._above)

    def __missing__(self, name: str) -> Any:  # noqa: ANN401
        raise MissingSettingError(name, above=self._above)

    def __deepcopy__(self, memo: dict[int, Any]) -> "PartOfSettings":
        return PartOfSettings(self._above, {k: copy.deepcopy(v, memo) for k, v in self.items()})


def read_whole(path: Path) -> Any:  # noqa: ANN401
    """What a file of YAML or JSON holds, its mappings as settings."""
    return settings_of(read_settings(path))


def _merge(settings: StatedSettings, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        own = settings.get(name)
        if isinstance(own, StatedSettings) and isinstance(value, Mapping):
            _merge(own, value)
        else:
            settings[name] = settings_of(value)


def settings_of(value: object) -> Any:  # noqa: ANN401
    """A value whose mappings are settings, at any depth."""
    if isinstance(value, StatedSettings):
        return value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return StatedSettings(value)
    if type(value) is list:
        return [settings_of(each) for each in value]
    return value
