"""One question: a module alone, without a word of its inputs, beside the module with them.

``python -m benchmark.asked.asking`` reads questions from the standard input, JSON, a line each, and
answers them in their order, a line each. It is a process of its own, for a module can end it.
"""

import json
import logging
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, Final, Literal

from nar.base.asking import NOTHING_STATED, Asking
from nar.base.errors import NarError
from nar.own.inputs import UndecidedError

Verdict = Literal["right", "wrong", "refused", "no truth"]
# Seconds of the processor for one capture, chosen: inference has 12 s of its own, the largest
# models take as much. What others compute meanwhile does not count.
_SECONDS: Final = 120
# Option of this module: see only who has a truth.
_TRUTH: Final = "--truth"


@dataclass(frozen=True, slots=True)
class Question:
    """A module that is asked about, and its true inputs.

    Attributes:
        name: Of the question, unique.
        code: The file that is asked: it holds no inputs.
        factory: What makes the module in it.
        inputs: The true call: positional arguments and keyword arguments, as a pair in Python.
    """

    name: str
    code: str
    factory: str
    inputs: str

    @property
    def true_code(self) -> str:
        """A file whose factory ``true`` returns the module with its true inputs."""
        return f"""{self.code}

import torch
from nar.capture import CaptureInputs


def true():
    args, kwargs = {self.inputs}
    return {self.factory}(), CaptureInputs(args, kwargs)
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of a question.

    Attributes:
        name: Of the question.
        verdict: ``right`` where the graph is that of the true inputs, ``wrong`` where it is another
            one, ``refused`` where there is none, ``no truth`` where the module does not take its
            true inputs here.
        reason: Why it was refused.
        inputs: What was assumed, in the syntax of ``--input``.
        is_sure: Whether the answer calls its inputs sure.
        guess: Where it was refused because another call might as well be meant: ``right`` or
            ``wrong``, what an answer of the call that was found would have been.
        seconds: Of the processor for the question, less those of the same capture with true inputs.
        true_seconds: Of that capture.
    """

    name: str
    verdict: Verdict
    reason: str = ""
    inputs: tuple[str, ...] = ()
    is_sure: bool = True
    guess: Literal["right", "wrong", ""] = ""
    seconds: float = 0.0
    true_seconds: float = 0.0

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Asked":
        """The record of what `asdict` gives, after a way through JSON."""
        return cls(**{**plain, "inputs": tuple(plain["inputs"])})


class _TooLongError(BaseException):
    """A capture took too long; no `except Exception` on the way may stop that."""


def ask(question: Question, folder: Path, *, is_asked: bool = True) -> Asked:
    """Ask one question, in this process.

    Args:
        question: The question.
        folder: Empty; gets the files, those with the true inputs far from those without.
        is_asked: False to see only whether it has a truth, which is "right" then.
    """
    true, alone = folder / "true" / "model.py", folder / "alone" / "model.py"
    for path, code in ((true, question.true_code), (alone, question.code)):
        path.parent.mkdir(parents=True)
        path.write_text(code)
    wanted, true_seconds = _captured(f"{true}:true")
    if isinstance(wanted, str):
        return Asked(question.name, "no truth", wanted)
    if not wanted.architecture.parameters:
        return Asked(question.name, "no truth", "it has no weights")
    if not is_asked:
        return Asked(question.name, "right", true_seconds=round(true_seconds, 3))
    came, seconds = _captured(f"{alone}:{question.factory}")
    beyond = round(max(0.0, seconds - true_seconds), 3)
    true_seconds = round(true_seconds, 3)
    if isinstance(came, str):
        came = came.removeprefix(f"{alone}:{question.factory}: ")
        return Asked(question.name, "refused", came, seconds=beyond, true_seconds=true_seconds)
    if isinstance(came, UndecidedError):
        guess, _ = _captured(f"{alone}:{question.factory}", Asking(came.texts))
        return Asked(
            question.name,
            "refused",
            str(came).removeprefix(f"{alone}:{question.factory}: "),
            guess="right" if _is_same(guess, wanted) else "wrong",
            seconds=beyond,
            true_seconds=true_seconds,
        )
    assumed = came.assumed
    return Asked(
        question.name,
        "right" if _is_same(came, wanted) else "wrong",
        inputs=assumed.inputs if assumed else (),
        is_sure=assumed.is_sure if assumed else True,
        seconds=beyond,
        true_seconds=true_seconds,
    )


def _is_same(came: Any, wanted: Any) -> bool:  # noqa: ANN401
    """Whether two captures have one topology; the first may be why there is none."""
    return not isinstance(came, str) and came.architecture.topology == wanted.architecture.topology


def _captured(name: str, asking: Asking = NOTHING_STATED) -> tuple[Any, float]:
    """A capture or why there is none, and its seconds of the processor."""
    from nar.own import capture_architecture

    started = time.process_time()

    def stop(*_: object) -> None:
        raise _TooLongError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    try:
        outcome: Any = capture_architecture(name, asking)
    except _TooLongError:
        outcome = f"it took more than {_SECONDS} s"
    except NarError as error:
        # The guard around a user's code says more, and raises from what was raised.
        is_undecided = isinstance(error.__cause__, UndecidedError)
        outcome = error.__cause__ if is_undecided else _first_line(error)
    except Exception as error:  # an escape of any other kind is what is looked for here
        outcome = f"NOT A REFUSAL: {type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return outcome, time.process_time() - started


def _first_line(error: NarError) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def ask_all(
    questions: Sequence[Question], *, are_asked: bool = True
) -> Generator[Asked, None, None]:
    """Ask questions in a process beside this one; a question that ends it is followed by a new one.

    Args:
        questions: The questions; those of one library import it once.
        are_asked: See `ask`.
    """
    left = list(questions)
    while left:
        for answer in _ask_beside(list(left), are_asked):
            left.pop(0)
            yield answer
        if left:
            yield Asked(left.pop(0).name, "no truth", "its process ended")


def _ask_beside(questions: Iterable[Question], are_asked: bool) -> Iterator[Asked]:
    command = [sys.executable, "-m", "benchmark.asked.asking", *([] if are_asked else [_TRUTH])]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.writelines(json.dumps(asdict(each)) + "\n" for each in questions)
        process.stdin.close()
        try:
            for line in process.stdout:
                yield Asked.from_plain(json.loads(line))
        finally:  # whoever has seen enough leaves before the last answer
            process.kill()


def main() -> None:
    """Answer the questions of the standard input."""
    warnings.simplefilter("ignore")
    logging.disable()
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin.readlines():
        with tempfile.TemporaryDirectory() as folder:
            question = Question(**json.loads(line))
            asked = ask(question, Path(folder), is_asked=_TRUTH not in sys.argv)
        answers.write(json.dumps(asdict(asked)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
