"""``python -m benchmark asked``: classes of libraries, written networks, public repositories."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from nar.base.console import reporting_errors, stdout
from nar.base.errors import InvalidInputError

if TYPE_CHECKING:
    from benchmark.asked.asking import Asked
    from benchmark.asked.repositories import Answer

# Chosen: a process of a library takes up to three gigabytes.
_AT_ONCE: Final = 2
app = typer.Typer(help="Ask about modules without a word of their inputs.", no_args_is_help=True)

Half = Annotated[
    Literal["validation", "test", "rest", "unseen"],
    typer.Argument(
        help="Half of the libraries; rest: what was not drawn at first of the second; unseen: what "
        "was drawn last."
    ),
]
Purpose = Annotated[
    Literal["tuned", "earlier", "before", "since", "then", "last", "fresh"],
    typer.Argument(help="Which of the repositories, in the order in which they were chosen."),
]
Results = Annotated[Path | None, typer.Option(help="Directory that gets the answers and the page.")]


@app.command()
@reporting_errors
def classes(
    half: Half,
    only: Annotated[
        list[str] | None, typer.Option("--library", help="Only this; may be given again.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Keep the answers of the first look; of test only.")
    ] = False,
    results: Results = None,
) -> None:
    """Ask about the classes of one half of the libraries, for some 20 minutes."""
    from benchmark.asked.asking import ask_all
    from benchmark.asked.classes import asked_libraries

    chosen = [library for library in asked_libraries(half) if not only or library.name in only]
    questions = [[each.question for each in library.classes] for library in chosen]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = pool.map(lambda asked: list(ask_all(asked)), questions)
        kept: list[Asked] = []
        for answer in _reported(answers):
            kept.append(answer)
            # A run takes long: what is there stays if it ends.
            _keep(results, "again" if again and half == "test" else half, kept)


@app.command()
@reporting_errors
def written(results: Results = None) -> None:
    """Ask about the written networks, for some 3 minutes."""
    from benchmark.asked.asking import ask_all
    from benchmark.asked.written import written_networks

    answers = ask_all([each.question for each in written_networks()])
    _keep(results, "written", list(_reported([list(answers)])))


@app.command("repositories")
@reporting_errors
def in_repositories(
    purpose: Purpose,
    folder: Annotated[Path, typer.Argument(help="Holds them, each as OWNER+NAME.")],
    box: Annotated[
        Path, typer.Argument(help="Command: BOX SCRATCH COMMAND..., without network, read-only.")
    ],
    again: Annotated[
        bool, typer.Option("--again", help="Keep the answers of the first look.")
    ] = False,
    left: Annotated[
        bool, typer.Option("--left", help="Ask only what has no answer in --results yet.")
    ] = False,
    failed: Annotated[
        bool, typer.Option("--failed", help="With --again: only what the first look did not have.")
    ] = False,
    only_main: Annotated[bool, typer.Option("--main", help="Only the main classes.")] = False,
    at_once: Annotated[int, typer.Option(min=1, help="Boxes that run at once.")] = _AT_ONCE,
    results: Results = None,
) -> None:
    """Ask about the main class of each repository, and then four others, for some 20 minutes."""
    from benchmark.asked.repositories import Question, ask_in_box, others_of, repositories
    from benchmark.asked.stored import Measured, read

    if failed and not again:
        raise InvalidInputError("--failed", "wanted --again beside it: a first look asks about all")
    part = f"{purpose}_again" if again else purpose
    kept = read(results) if results else Measured()
    answers: list[Answer] = list(getattr(kept, part)) if left else []
    if failed:
        had = {(each.repository, each.asked) for each in answers}
        first = (each for each in getattr(kept, purpose) if each.parameters)
        answers += [each for each in first if (each.repository, each.asked) not in had]
    known = {(each.repository, each.asked) for each in answers}
    one_writes = Lock()

    def ask(questions: list[Question]) -> None:
        with TemporaryDirectory() as scratch:
            for answer in ask_in_box(questions, folder, box, Path(scratch)):
                with one_writes:
                    said = answer.nearest or answer.reason
                    sys.stdout.write(f"{answer.repository} {answer.asked}: {said}\n")
                    sys.stdout.flush()
                    answers.append(answer)
                    # A run takes long: what is there stays if it ends.
                    _keep(results, part, answers)

    chosen = list(repositories(purpose))
    main = [(each, each.main) for each in chosen]
    others = [
        (e, other) for e in chosen if not only_main for other in others_of(e, folder / e.folder)
    ]
    with ThreadPoolExecutor(at_once) as pool:
        for several in (main, others):  # all main classes first: a run that ends early has them
            open_ones = [(e, asked) for e, asked in several if (e.name, asked) not in known]
            list(pool.map(ask, [open_ones[at::at_once] for at in range(at_once)]))


@app.command()
@reporting_errors
def page(results: Annotated[Path, typer.Argument(help="Directory with asked.json.")]) -> None:
    """Write the page of the answers that are kept."""
    from benchmark.asked.page import write_page

    write_page(results)


@app.command()
@reporting_errors
def draw(
    mined: Annotated[Path, typer.Argument(help="Holds LIBRARY.*.json of benchmark.asked.mining.")],
    target: Annotated[Path, typer.Argument(help="File that gets the table.")],
    more: Annotated[
        str, typer.Option(help="Keep what is drawn; add what was not, under this name: rest.")
    ] = "",
) -> None:
    """Draw the classes of libraries anew from what their examples show: a decision."""
    from benchmark.asked import drawing
    from nar.base.workspace import package_yaml

    libraries = package_yaml("asked", "libraries.yaml", package="benchmark")
    found = [drawing.read_mined(mined, name, given or "") for name, given in libraries.items()]
    if more:
        drawing.draw_more(found, target, more)
    else:
        drawing.draw(found, target)


def _reported(answers: "Iterator[list[Asked]] | Sequence[list[Asked]]") -> "Iterator[Asked]":
    """The answers one by one, and a line of each that is not right; how many at the end."""
    counts: Counter[str] = Counter()
    for several in answers:
        for each in several:
            counts[each.verdict] += 1
            if each.verdict != "right":
                stdout.print(
                    f"{each.verdict} {each.name}: {each.reason or ', '.join(each.inputs)}",
                    soft_wrap=True, markup=False,
                )  # fmt: skip
            yield each
    stdout.print(", ".join(f"{number} {verdict}" for verdict, number in counts.items()))


def _keep(results: Path | None, part: str, answers: "Sequence[Asked | Answer]") -> None:
    if results is None:
        return
    from benchmark.asked.page import write_page
    from benchmark.asked.stored import write

    write(results, part, answers)
    write_page(results)
