"""What `nar watch` does: it runs a script as `python` would, and asks about the model it calls."""

import runpy
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

from nar.answers.naming import Asked
from nar.base.console import stderr
from nar.base.errors import InvalidInputError, NarError, UnknownArchitectureError
from nar.base.process import raise_in_thread
from nar.cli.search_command import Finding, show_relatives
from nar.own.unwrapping import unwrapped
from nar.own.watching import (
    CallWatcher,
    ProgramCall,
    Wanted,
    architecture_of_call,
    is_first_rank,
    stated_inputs,
)

# Files whose frames stand before those of the program in a traceback.
_RUNNERS: Final = (__file__, "<frozen runpy>")


@dataclass(frozen=True, slots=True)
class Program:
    """What is run.

    Attributes:
        name: Path of a script, or name of a module.
        arguments: Its own arguments.
        is_module: Whether it is a module, as after ``python -m``.
    """

    name: str
    arguments: Sequence[str] = ()
    is_module: bool = False

    def run(self) -> None:
        """Run it as `python` would, in this process."""
        sys.argv = [self.name, *self.arguments]
        if self.is_module:
            sys.path[0] = str(Path.cwd())
            runpy.run_module(self.name, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(Path(self.name).resolve().parent)
            runpy.run_path(self.name, run_name="__main__")


class _Stop(SystemExit):
    """Ends a program whose model is known; programs that catch errors let it pass."""


class _Asker:
    """Asks about the model of a call.

    Args:
        answer: Shows the answer.
        go_on: Whether the program runs on, after the answer.
    """

    def __init__(self, answer: Callable[[Asked], None], *, go_on: bool) -> None:
        self._answer, self._go_on = answer, go_on
        self._asked: Asked | None = None
        self._failure: NarError | None = None

    @property
    def was_called(self) -> bool:
        """Whether the program has made the call."""
        return self._asked is not None or self._failure is not None

    def take(self, call: ProgramCall) -> None:
        """Capture the model; then show the answer, or end the program, which comes first."""
        stderr.print(f"{_kind(call)} was called: {stated_inputs(call)}", style="dim")
        try:
            self._asked = Asked(architecture_of_call(call))
        except NarError as error:
            self._failure = error
        if self._go_on:
            self._show_meanwhile()
            return
        if threading.current_thread() is not threading.main_thread():
            raise_in_thread(threading.main_thread(), _Stop)
        raise _Stop

    def show_at_end(self) -> None:
        """Show the answer, unless it was shown while the program ran.

        Raises:
            CaptureError: The model could not be captured.
        """
        if self._go_on:
            return
        if self._failure is not None:
            raise self._failure
        assert self._asked is not None, "the call was taken"
        if is_first_rank():
            self._answer(self._asked)

    def _show_meanwhile(self) -> None:
        if self._failure is not None:
            stderr.print(str(self._failure), style="red")
        elif self._asked is not None and is_first_rank():
            self._answer(self._asked)


def watch(
    program: Program,
    wanted: Wanted,
    finding: Finding,
    *,
    go_on: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Run a program until it calls its model, and show the relatives of that model.

    Args:
        program: What is run.
        wanted: Which of its calls is caught.
        finding: Where relatives are looked for, and which.
        go_on: Whether the program runs on after the answer.
        explain: Whether to name the motifs that the first hits share with the model.
        as_json: Whether a program reads the answer; what the watched one prints goes to stderr.

    Raises:
        InvalidInputError: There is no such script.
        UnknownArchitectureError: The program ended and has called no such module.
        CaptureError: The model could not be captured.
    """
    if not program.is_module and not Path(program.name).exists():
        raise InvalidInputError(program.name, "wanted a script of Python; there is no such file")
    output = sys.stdout

    def answer(asked: Asked) -> None:
        with redirect_stdout(output):
            show_relatives(asked, finding, explain=explain, html=None, as_json=as_json)

    asker = _Asker(answer, go_on=go_on)
    watcher = CallWatcher(wanted, asker.take)
    watcher.start()
    try:
        _run(program, sys.stderr if as_json else output)
    finally:
        watcher.stop()
    if not asker.was_called:
        raise UnknownArchitectureError(_not_called(program, wanted))
    asker.show_at_end()


def _run(program: Program, output: TextIO) -> None:
    """Run a program to its end, or until its model is known.

    Raises:
        SystemExit: The program failed, and its traceback is printed as `python` prints it.
    """
    try:
        with redirect_stdout(output):
            program.run()
    except _Stop:
        return
    except SystemExit as error:
        if error.code not in (None, 0):
            raise
    except Exception as error:
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename in _RUNNERS:
            frames = frames.tb_next
        traceback.print_exception(type(error), error, frames)
        raise SystemExit(1) from None


def _kind(call: ProgramCall) -> str:
    return type(unwrapped(call.module)).__name__


def _not_called(program: Program, wanted: Wanted) -> str:
    what = wanted.module or "a module that has weights"
    times = f"call {wanted.number} of {what}" if wanted.number > 1 else f"a call of {what}"
    return (
        f"{program.name} ended without {times} in this process; give it the arguments with which "
        "it trains or answers; --module names a class, or a part such as model.encoder"
    )
