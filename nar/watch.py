"""The model that a program calls: ``python -m nar.watch train.py``, and ``nar.watch(module)``.

watched = nar.watch(model)    # from now on
train(model)                  # or another cell of a notebook
print(watched.relatives)      # relatives in the atlas, asked with the inputs of the first call
"""

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from nar.ask import Relatives, Shown, search
from nar.base.errors import NarError, UnknownArchitectureError
from nar.own.unwrapping import unwrapped
from nar.own.watching import (
    CallWatcher,
    ProgramCall,
    Wanted,
    architecture_of_call,
    stated_inputs,
)

if TYPE_CHECKING:
    from torch import nn


class Watched(Shown):
    """A module whose next call is caught; the program that calls it notices nothing.

    In a ``with`` block it is watched to the end of the block at most.

    Args:
        module: The module, wrapped or not.
        call: Which of its calls, from 1.
        top_k: Number of relatives.
    """

    __slots__ = ("_failure", "_inputs", "_module", "_relatives", "_top_k", "_watcher")

    def __init__(self, module: "nn.Module", call: int, top_k: int) -> None:
        self._module, self._top_k = module, top_k
        self._relatives: Relatives | None = None
        self._failure: NarError | None = None
        self._inputs = ""
        self._watcher = CallWatcher(Wanted(number=call, instance=module), self._take)
        self._watcher.start()

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *_: object) -> None:
        self._watcher.stop()

    @property
    def inputs(self) -> str:
        """The inputs of the call as options of the command line; empty before the call."""
        return self._inputs

    @property
    def relatives(self) -> Relatives:
        """The answer.

        Raises:
            UnknownArchitectureError: The module was not called yet.
            CaptureError: It could not be captured.
        """
        if self._failure is not None:
            raise self._failure
        if self._relatives is None:
            raise UnknownArchitectureError(self._waiting())
        return self._relatives

    def view(self) -> RenderableType:
        """The answer; before the call, that it is waited for."""
        return Text(self._waiting()) if self._is_waiting() else self.relatives.view()

    def rows(self) -> list[Mapping[str, Any]]:
        """A row for each hit; none before the call."""
        return [] if self._is_waiting() else self.relatives.rows()

    def _is_waiting(self) -> bool:
        return self._relatives is None and self._failure is None

    def _waiting(self) -> str:
        return f"{type(unwrapped(self._module)).__name__} was not called yet"

    def _take(self, call: ProgramCall) -> None:
        self._inputs = stated_inputs(call)
        # The program that makes the call has nothing to do with an error of ours.
        try:
            self._relatives = search(architecture_of_call(call), top_k=self._top_k)
        except NarError as error:
            self._failure = error


def watch(module: "nn.Module", *, call: int = 1, top_k: int = 10) -> Watched:
    """Ask about a module with the inputs of its next call.

    Args:
        module: The module: as it is, compiled, or wrapped for several processes.
        call: Which of its calls, from 1.
        top_k: Number of relatives.

    Example:
        >>> import torch
        >>> layer = torch.nn.Linear(8, 2)
        >>> with watch(layer) as watched:
        ...     _ = layer(torch.zeros(1, 8))
        >>> watched.inputs
        '--input 1x8:float32'
    """
    return Watched(module, call, top_k)


class _CallableModule(ModuleType):
    """This module, which bears the name of its function and replaces it where it is imported."""

    def __call__(self, module: "nn.Module", *, call: int = 1, top_k: int = 10) -> Watched:
        return watch(module, call=call, top_k=top_k)


sys.modules[__name__].__class__ = _CallableModule


if __name__ == "__main__":
    # The command uses this room and stands above it: it is named here only where it is run.
    import_module("nar.cli.app").app(["watch", *sys.argv[1:]], prog_name="nar")
