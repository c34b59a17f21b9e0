"""Who is called with what, while somebody else's example runs.

Each module remembers the arguments that it was made with. The outermost call of a class of the
library is then evidence: true arguments and true inputs, as text.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from torch import nn

from benchmark.asked.spelling import MADE_BY, MadeBy, NoTextError, Spelling

# Chosen: an example that calls one class in more ways shows nothing new.
_WAYS: Final = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """One true call of a class.

    Attributes:
        path: Of the class: ``vit_pytorch.vit.ViT``.
        imports: Lines that import what the texts name.
        made: The call of its constructor.
        inputs: Its inputs: a tuple of positional and a dict of keyword arguments.
        place: What was run: a docstring, a page, a test.
    """

    path: str
    imports: tuple[str, ...]
    made: str
    inputs: str
    place: str


@dataclass(slots=True)
class Recorder:
    """Gathers evidence of the classes of one library.

    Attributes:
        library: Its import name.
        place: What runs now.
        found: Path of a class -> its evidence.
        without_text: Path of a class -> why a call of it has no text.
    """

    library: str
    place: str = ""
    found: dict[str, list[Evidence]] = field(default_factory=dict)
    without_text: dict[str, str] = field(default_factory=dict)
    _is_inside: bool = False

    def takes(self, kind: type) -> bool:
        """Whether a class is a public one of the library."""
        module = kind.__module__
        is_ours = module == self.library or module.startswith(f"{self.library}.")
        return (
            is_ours and not kind.__qualname__.startswith("_") and kind.__qualname__.isidentifier()
        )

    def note(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Keep one call as evidence, where it has a text."""
        path = f"{type(module).__module__}.{type(module).__qualname__}"
        known = self.found.setdefault(path, [])
        if len(known) >= _WAYS:
            return
        spelling = Spelling()
        try:
            made = spelling.module(module)
            inputs = f"({spelling.value(args)}, {spelling.value(kwargs)})"
        except NoTextError as error:
            self.without_text.setdefault(path, str(error))
            return
        evidence = Evidence(path, tuple(spelling.lines()), made, inputs, self.place)
        if not any(each.made == made for each in known):
            known.append(evidence)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Inside, modules remember how they are made, and outermost calls are noted."""
        run = nn.Module.__call__

        def call(module: nn.Module, *args: object, **kwargs: object) -> object:
            if self._is_inside or not self.takes(type(module)):
                return run(module, *args, **kwargs)
            self._is_inside = True
            try:
                self.note(module, _kept(args), _kept(kwargs))
                return run(module, *args, **kwargs)
            finally:
                self._is_inside = False

        nn.Module.__new__ = _remembering  # type: ignore[method-assign,assignment]
        nn.Module.__call__ = call  # type: ignore[method-assign]
        try:
            yield
        finally:
            nn.Module.__call__ = run  # type: ignore[method-assign]
            # Deleting it leaves a class whose __new__ refuses arguments.
            nn.Module.__new__ = _plain  # type: ignore[method-assign,assignment]


def _remembering(kind: type, /, *args: object, **kwargs: object) -> object:
    made: Any = object.__new__(kind)
    made.__dict__[MADE_BY] = MadeBy(_kept(args), _kept(kwargs))
    return made


def _plain(kind: type, /, *_: object, **__: object) -> object:
    return object.__new__(kind)


def _kept(value: Any) -> Any:  # noqa: ANN401
    """Containers copied: a constructor may take its configuration apart."""
    copies: dict[type, Callable[[Any], Any]] = {
        list: lambda held: [_kept(each) for each in held],
        tuple: lambda held: tuple(_kept(each) for each in held),
        dict: lambda held: {key: _kept(each) for key, each in held.items()},
    }
    return copies.get(type(value), lambda held: held)(value)
