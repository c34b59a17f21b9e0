"""Classes of repositories, each asked alone: what runs inside the box.

``python -m benchmark.asked.boxed`` runs in the folder that holds the repositories, reads pairs of a
repository's folder and a class from the standard input, a JSON list, and answers each in the folder
of its repository, a line each. It also sees what the code of others does in spite of the guard: it
listens behind it.
"""

import json
import os
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, Final

import nar
from nar.base.errors import NarError
from nar.own import capture_architecture

# Of the processor, for a machine may be busy; chosen: most are built and captured in ten.
_SECONDS: Final = 180
_MOST_SECONDS: Final = 1800  # by the clock, for what waits
_PROGRAMS: Final = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork")
_CONNECTIONS: Final = ("socket.connect", "socket.getaddrinfo")
_CHANGES: Final = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate")
_VALUE: Final = 80  # columns of a value that are kept; chosen: a configuration fills pages
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_MODULE: Final = "from torch import nn\n\n\nclass Net(nn.Linear):\n    def __init__(self):\n"


class _TooLongError(BaseException):
    """A question took too long."""


class Witness:
    """Notes programs, connections and writes outside temporary folders, while it listens.

    Python asks its audit hooks in the order in which they came: a hook that came after the
    guard's hears only what the guard let pass.
    """

    def __init__(self) -> None:
        self.effects: list[str] = []
        self.listens = False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.listens:
            return
        if event in _PROGRAMS or event in _CONNECTIONS:
            self.effects.append(f"{event} {args!r}"[:200])
        elif (event in _CHANGES and _is_outside(args[0])) or (
            event == "open" and _writes(args) and _is_outside(args[0])
        ):
            self.effects.append(f"{event} {args[0]!r}")


def _writes(args: tuple[Any, ...]) -> bool:
    flags = args[2] if len(args) > 2 and isinstance(args[2], int) else 0
    return bool(flags & _WRITING)


def _is_outside(path: object) -> bool:
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    name = os.fsdecode(path)
    inside = (os.path.realpath(tempfile.gettempdir()), "/dev/", "/proc/")
    return not os.path.realpath(name).startswith(inside)


def _stop(*_: object) -> None:
    raise _TooLongError


def answer(name: str, witness: Witness) -> dict[str, Any]:
    """What becomes of one class: a row for `benchmark.asked.repositories.Answer`."""
    row: dict[str, Any] = {"asked": name}
    started = time.perf_counter()
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    signal.alarm(_MOST_SECONDS)
    witness.effects, witness.listens = [], True
    try:
        captured = capture_architecture(name)
        witness.listens = False
        row["parameters"] = captured.architecture.parameters
        if assumed := captured.assumed:
            row["inputs"], row["stand_ins"] = assumed.inputs, assumed.stand_ins
            row["values"] = [
                f"{each.name} = {each.value[:_VALUE]} ({each.place})" for each in assumed.values
            ]
        row["nearest"] = nar.search(captured.architecture).answer.hits[0].name
    except _TooLongError:
        row["reason"] = f"it took more than {_SECONDS} s"
    except NarError as error:
        row["reason"] = str(error).splitlines()[0][:400]
    except Exception as error:  # an escape of any other kind is what is looked for here
        row["reason"] = f"NOT A REFUSAL: {type(error).__name__}: {error}"[:400]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        witness.listens = False
    row["seconds"] = round(time.perf_counter() - started, 2)
    return {**row, "effects": witness.effects}


def main() -> None:
    """Answer the questions of the standard input."""
    warnings.simplefilter("ignore")
    for each in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(each, _stop)
    answers, sys.stdout = sys.stdout, sys.stderr
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "first.py"
        first.write_text(f"{_MODULE}        super().__init__(4, 4)\n")
        capture_architecture(f"{first}:Net")
    witness = Witness()
    holder = Path.cwd()
    for folder, name in json.load(sys.stdin):
        os.chdir(holder / folder)
        answers.write(json.dumps(answer(name, witness)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
