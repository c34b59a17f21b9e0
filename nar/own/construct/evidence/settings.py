"""`Settings`: a configuration that answers as a namespace, a mapping or a node of a config."""

import copy
from collections.abc import Mapping
from typing import Any


class MissingSettingError(AttributeError, KeyError):
    """A configuration was asked for a name that it lacks."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the configuration has no {name!r}")
        self.setting = name


class Settings(dict[str, Any]):
    """Answers ``config.width``, ``config["width"]``, ``config.get("width")`` and ``vars(config)``.

    What it lacks is a `MissingSettingError` of its name, both as attribute and as key, so that it
    can be looked for elsewhere.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__({str(name): settings_of(value) for name, value in values.items()})
        # `vars(config)` then has the values, as that of an argparse namespace has.
        self.__dict__ = self

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingSettingError(name)

    def __missing__(self, name: str) -> Any:  # noqa: ANN401
        raise MissingSettingError(name)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Settings":
        return Settings({name: copy.deepcopy(value, memo) for name, value in self.items()})

    def copy(self) -> "Settings":
        """Another one of the same values."""
        return Settings(self)

    def clone(self) -> "Settings":
        """As `copy`; the name that yacs has for it."""
        return copy.deepcopy(self)


def settings_of(value: object) -> Any:  # noqa: ANN401
    """A value whose mappings are settings, at any depth."""
    if isinstance(value, Settings):
        return value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return Settings(value)
    if type(value) is list:
        return [settings_of(each) for each in value]
    return value
