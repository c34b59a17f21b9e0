"""Objects of configurations: what they are made of, and what they hold."""

import copy
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from nar.graphs.assumed import AssumedValue
from nar.own.construct.imports.stand_ins import StandIn
from nar.own.construct.proposals import Fill, Parameter, Target

# Functions and methods that return a configuration.
MAKER: Final = re.compile(r"default|get_.*config|_config$|get_cfg|make_config", re.IGNORECASE)
_NO_CONFIGURATIONS: Final = (ModuleType, StandIn, str, int, float, list, tuple, type(None))


@dataclass(frozen=True, slots=True)
class Configured:
    """A configuration.

    Attributes:
        make: Makes it anew.
        values: What it is and where its parts come from.
        fill: See `Proposal`.
    """

    make: Callable[[], Any]
    values: tuple[AssumedValue, ...]
    fill: Fill | None = None


def objects_of(module: ModuleType) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Objects that a file holds, and what its functions of configurations return."""
    for name, held in list(vars(module).items()):
        if inspect.isfunction(held) and held.__module__ == module.__name__:
            required = Target.of(held, name).required
            if MAKER.search(name) and not required:
                yield f"{name}()", held
            continue
        is_object = not callable(held) and not isinstance(held, _NO_CONFIGURATIONS)
        if is_object and not name.startswith("__"):
            yield name, copying(held)


def fields_of(cls: type) -> dict[str, Parameter]:
    """The parameters that a class of configurations is made of."""
    return dict(Target.of(cls, cls.__name__).parameters)


def assigned_by(cls: type) -> set[str]:
    """Names that a class's constructor assigns to itself."""
    try:
        return set(re.findall(r"self\.(\w+)\s*(?::[^=\n]+)?=", inspect.getsource(cls)))
    except (OSError, TypeError):
        return set()


def calling(cls: type, given: Mapping[str, Any]) -> Callable[[], Any]:
    """Makes an object of a class with copies of some values."""
    return lambda: cls(**copy.deepcopy(dict(given)))


def copying(held: Any) -> Callable[[], Any]:  # noqa: ANN401
    """Makes copies of an object."""
    return lambda: copy.deepcopy(held)


def held_by(config: Any, name: str) -> Any:  # noqa: ANN401
    """What a configuration has under a name; None where it has nothing."""
    return config.get(name) if isinstance(config, Mapping) else getattr(config, name, None)


def has(config: Any, name: str) -> bool:  # noqa: ANN401
    """Whether a configuration has a name."""
    return name in config if isinstance(config, Mapping) else hasattr(config, name)


def set_in(config: Any, name: str, value: Any) -> None:  # noqa: ANN401
    """Set a name of a configuration."""
    if isinstance(config, dict) and not hasattr(config, name):
        config[name] = value
    else:
        setattr(config, name, value)


def file_of(module: ModuleType) -> str:
    """The name of a module's file."""
    return Path(str(getattr(module, "__file__", module.__name__))).name
