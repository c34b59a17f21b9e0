"""One way to call a class or function, and where each of its arguments comes from."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor, nn

from nar.graphs.assumed import AssumedValue
from nar.own.construct.evidence.settings import StatedSettings
from nar.own.construct.reads import constructor_of

_ADDRESS = re.compile(r" at 0x[0-9a-f]+>")
_LONGEST = 60  # characters of a value that are shown


class Fill(Protocol):
    """Gives a configuration what it lacks."""

    def __call__(
        self, name: str, above: tuple[str, ...] = (), *, is_holder: bool = False
    ) -> AssumedValue | None:
        """What it was given and why; None where nothing tells it.

        Args:
            name: What is lacking.
            above: The names of the parts of the configuration that it lies in.
            is_holder: More is read of it: it is no number and no text.
        """


@dataclass(frozen=True, slots=True)
class Proposal:
    """A way to make something.

    Attributes:
        make: Makes it anew with each call.
        values: What it is made with.
        fill: Gives a configuration of it what it lacks, and says so; None if it has none.
    """

    make: Callable[[], Any]
    values: tuple[AssumedValue, ...] = ()
    fill: Fill | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of what is called.

    Attributes:
        name: Its name.
        annotation: Its type as it is annotated; None if it is not.
        default: Its default; `inspect.Parameter.empty` if it has none.
    """

    name: str
    annotation: Any
    default: Any

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Target:
    """A class or function that is to be called.

    Attributes:
        called: It.
        name: Its name in the file.
        parameters: By name, in their order, without ``self``, ``*args`` and ``**kwargs``.
        takes_any: Whether it has ``**kwargs``.
    """

    called: Any
    name: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    takes_any: bool = False

    @classmethod
    def of(cls, called: Any, name: str) -> "Target":  # noqa: ANN401
        """The target of a class or function."""
        return cls(called, name, _parameters(called), _has_rest(called))

    @property
    def required(self) -> list[str]:
        """Names of the parameters without a default."""
        return [name for name, each in self.parameters.items() if each.is_required]

    def takes(self, name: str) -> bool:
        """Whether it can be called with an argument of a name, also one that it hands on."""
        return name in self.parameters or self.takes_any

    @property
    def is_class(self) -> bool:
        """Whether it is a class."""
        return inspect.isclass(self.called)


def short(value: object) -> str:
    """A value as one line of text: plain ones as Python writes them, others by their type.

    Example:
        >>> short((3, "relu")), short(nn.ReLU())
        ("(3, 'relu')", 'ReLU()')
    """
    if isinstance(value, nn.Module):
        return f"{type(value).__name__}()"
    if isinstance(value, Tensor):
        return f"a tensor {tuple(value.shape)}"
    if inspect.isclass(value) or inspect.isroutine(value):
        return str(getattr(value, "__qualname__", value))
    if isinstance(value, StatedSettings):
        return "a namespace"
    text = " ".join(repr(value).split())
    if _ADDRESS.search(text):
        return type(value).__name__
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _parameters(called: Any) -> dict[str, Parameter]:  # noqa: ANN401
    """Those of a function, or of the first constructor of a class that names any."""
    if not inspect.isclass(called):
        return _named(called, is_method=False)
    for each in called.__mro__:
        if each in (nn.Module, object):
            break
        if "__init__" in vars(each):
            named = _named(constructor_of(each), is_method=True)
            if named or not _takes_any(constructor_of(each)):
                return named
    return {} if issubclass(called, nn.Module) else _named(called, is_method=False)


def _has_rest(called: Any) -> bool:  # noqa: ANN401
    """Whether a function, or the constructor of a class itself, has ``**kwargs``."""
    if inspect.isclass(called) and "__init__" not in vars(called):
        return False
    function = constructor_of(called) if inspect.isclass(called) else called
    try:
        kinds = {each.kind for each in inspect.signature(function).parameters.values()}
    except (ValueError, TypeError):
        return False
    return inspect.Parameter.VAR_KEYWORD in kinds


def _named(function: Any, *, is_method: bool) -> dict[str, Parameter]:  # noqa: ANN401
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return {}
    hints = _hints(function)
    left_out = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found = {}
    for number, (name, each) in enumerate(signature.parameters.items()):
        if each.kind in left_out or (is_method and number == 0):
            continue
        stated = None if each.annotation is inspect.Parameter.empty else each.annotation
        found[name] = Parameter(name, hints.get(name, stated), each.default)
    return found


def _hints(function: Any) -> dict[str, Any]:  # noqa: ANN401
    """Annotations whose texts are resolved, as far as all of them can be."""
    try:
        return inspect.get_annotations(function, eval_str=True)
    # An annotation may be any expression, of names that exist for type checkers only.
    except Exception:
        return {}


def _takes_any(function: Any) -> bool:  # noqa: ANN401
    kinds = {each.kind for each in inspect.signature(function).parameters.values()}
    return bool(kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD})
