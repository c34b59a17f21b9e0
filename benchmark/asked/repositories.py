"""Public repositories whose main class is asked alone: `repositories.yaml`, and what comes of it.

Their code is no part of this repository: it is got beforehand into folders, ``<owner>+<name>``,
and runs in a box without network whose disk is read-only.
"""

import json
import os
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, Final

from nar.base.workspace import package_yaml
from nar.own.listing import modules_of

FILE: Final = "repositories.yaml"
# Other classes of a repository, where it has so many: of 20, at least 60 then, for some have few.
OTHERS_OF_ONE: Final = 4
_SEED: Final = 0


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository of research code.

    Attributes:
        name: ``owner/name``.
        commit: What was read.
        subject: What its models are for.
        purpose: ``tuned`` and ``earlier`` where failures were looked at; ``before``, ``since``,
            ``then`` and ``last`` where they were read, and kinds of them mended elsewhere;
            ``fresh`` where nothing was tuned on it.
        main: ``path/to/file.py:Class``, its main class.
        parameters: Learned scalars of that class as its own scripts build it -> which script does.
        cannot: Why its code cannot run here; empty where it can.
        wrapper: What became of it with a wrapper as `nar wrap` prints it, filled in by hand: how
            many lines it has, the parameters and the nearest; empty where the class alone does.
    """

    name: str
    commit: str
    subject: str
    purpose: str
    main: str
    parameters: Mapping[int, str] = field(default_factory=dict)
    cannot: str = ""
    wrapper: str = ""

    @property
    def folder(self) -> str:
        """Name of the folder that holds it."""
        return self.name.replace("/", "+")


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one class of a repository.

    Attributes:
        repository: Name of it.
        asked: ``path/to/file.py:Class``.
        is_main: Whether it is the main class.
        nearest: What it is closest to; empty where it was not answered.
        parameters: Its learned scalars, where it was captured.
        inputs: What was assumed of its inputs.
        values: What was assumed of its arguments, each with its place.
        stand_ins: Packages that are missing and were touched.
        effects: Programs that were started, connections that were opened, files that were written.
        reason: Why it was refused.
        seconds: Of the capture, by the clock, imports and all.
    """

    repository: str
    asked: str
    is_main: bool
    nearest: str = ""
    parameters: int = 0
    inputs: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    stand_ins: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    reason: str = ""
    seconds: float = 0.0

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Answer":
        """The record of what `asdict` gives, after a way through JSON."""
        lists = {name: tuple(each) for name, each in plain.items() if isinstance(each, list)}
        return cls(**{**plain, **lists})


Question = tuple[Repository, str]


def repositories(purpose: str = "") -> Iterator[Repository]:
    """The repositories of the table, of one purpose or all."""
    for row in package_yaml("asked", FILE, package="benchmark"):
        if purpose in ("", row["purpose"]):
            yield Repository(**row)


def others_of(repository: Repository, folder: Path) -> list[str]:
    """Classes beside the main class, which a seed draws from the files of a repository."""
    found = {f"{each.path.relative_to(folder)}:{each.name}" for each in modules_of(folder)}
    others = sorted(found - {repository.main})
    random.Random(f"{_SEED} {repository.name}").shuffle(others)
    return others[:OTHERS_OF_ONE]


def ask_in_box(
    questions: Sequence[Question], folders: Path, box: Path, scratch: Path
) -> Iterator[Answer]:
    """Ask about classes of repositories, each alone, in a box; the answers as they come.

    A process asks one after the other, as `nar search FOLDER` does; where it ends, another one
    goes on behind the class that it ended at.

    Args:
        questions: Each a repository and ``path/to/file.py:Class`` in it.
        folders: Holds the repositories.
        box: Command that runs another one without network, with a read-only disk:
            ``BOX SCRATCH COMMAND ...``.
        scratch: The only folder that can be written there.
    """
    left = list(questions)
    while left:
        whole = tuple(left)
        for answer in _answers(whole, folders.resolve(), [str(box), str(scratch.resolve())]):
            yield answer
            del left[0]
        if left:  # the process ended at the first question that is left
            repository, asked = left.pop(0)
            is_main = asked == repository.main
            yield Answer(
                repository.name, asked, is_main, reason="its process ended without an answer"
            )


def _answers(questions: Sequence[Question], folders: Path, box: list[str]) -> Iterator[Answer]:
    command = [*box, sys.executable, "-m", "benchmark.asked.boxed"]
    root = str(Path(__file__).parents[2])
    surroundings = {**os.environ, "PYTHONPATH": root}
    with Popen(
        command, stdin=PIPE, stdout=PIPE, text=True, cwd=folders, env=surroundings
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([[each.folder, asked] for each, asked in questions]))
        process.stdin.close()
        for (repository, asked), line in zip(questions, process.stdout, strict=False):
            # Where the repository lay says nothing to a reader.
            row = json.loads(line.replace(f"{folders}/", ""))
            is_main = asked == repository.main
            yield Answer.from_plain({"repository": repository.name, "is_main": is_main, **row})
