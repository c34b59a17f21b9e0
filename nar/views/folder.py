"""The models of a folder as people see them: one row a model, and what the others lack."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nar.answers.query import Answer
from nar.answers.words import doubts_texts, unread_texts
from nar.graphs.architecture import Architecture
from nar.graphs.assumed import Assumed
from nar.views.answer import NetworkRow, Report, answer_report
from nar.views.display import human

# Chosen: inputs and values below a module, so that a table of ten modules is one screen.
_SHOWN_ASSUMED: Final = 4
# Chosen: names of modules in a line.
_SHOWN_NAMES: Final = 8
_CAPTION: Final = (
    "below a module: what was assumed of it, packages stood in for, code left out\n"
    "novelty: so many of 100 designs of known families have a nearer relative"
)


@dataclass(frozen=True, slots=True)
class FolderRow:
    """One module of a folder.

    Attributes:
        name: Its spec.
        is_part: Whether another module of the folder is made of it.
        architecture: The module as it was captured; None where it was not.
        answer: What it is like; None where it was not captured.
        networks: The relatives of the answer.
        lacks: Why it could not be captured; None where it was, or was not tried.
    """

    name: str
    is_part: bool
    architecture: Architecture | None = None
    answer: Answer | None = None
    networks: tuple[NetworkRow, ...] = ()
    lacks: str | None = None


def folder_view(folder: Path, rows: Sequence[FolderRow]) -> RenderableType:
    """Doubts, a table of the modules with the nearest relative of each, and what others lack."""
    answered = [row for row in rows if row.answer]
    refused = [row for row in rows if row.lacks]
    doubts = (Text(f"{row.name}: {text}", "bold red") for row in answered for text in _lacking(row))
    way_out = f"`nar wrap {rows[0].name} > ask.py` writes what is known of one, to be filled in"
    none = Text(f"No module of {folder} could be asked; {way_out}.", "yellow")
    return Group(
        *doubts,
        _modules(folder, answered) if answered else none,
        *([_refused(folder, refused)] if refused else []),
        *_not_asked([row for row in rows if not row.answer and not row.lacks]),
    )


def _lacking(row: FolderRow) -> Iterator[str]:
    """Why the answer to a module may not be about the whole of it."""
    if row.answer is not None:
        yield from doubts_texts(row.answer.assumed)
        yield from unread_texts(row.answer.unread)


def folder_report(folder: Path, rows: Sequence[FolderRow]) -> Report:
    """The same for a program."""
    return {"folder": str(folder), "modules": [_module(row) for row in rows]}


def _module(row: FolderRow) -> Report:
    answer = answer_report(row.name, row.answer, row.networks) if row.answer else None
    return {
        "name": row.name,
        "is_part": row.is_part,
        "parameters": row.architecture.parameters if row.architecture else None,
        "answer": answer,
        "lacks": row.lacks,
    }


def _modules(folder: Path, rows: Sequence[FolderRow]) -> Table:
    table = _new_table(f"Modules of {folder}", _CAPTION)
    table.add_column("module", overflow="fold")
    for name in ("params", "novelty"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("nearest relative", overflow="fold")
    table.add_column("family", overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    for row in rows:
        assert row.answer is not None
        assert row.architecture is not None
        hit = row.networks[0].hit if row.networks else None
        novelty = row.answer.novelty
        nearest = (hit.name, hit.family, f"{hit.score:.3f}") if hit else ("-", "-", "-")
        parameters = human(row.architecture.parameters)
        shown = "-" if novelty is None else f"{novelty:.0f}"
        table.add_row(_with_assumed(row.name, row.answer.assumed), parameters, shown, *nearest)
    return table


def _with_assumed(name: str, assumed: Assumed | None) -> Text:
    """A module, and below it what was assumed of it."""
    if assumed is None:
        return Text(name)
    stated = [*assumed.inputs, *(f"{each.name} = {each.value}" for each in assumed.values)]
    more = len(stated) - _SHOWN_ASSUMED
    rest = [f"and {more} more"] if more > 0 else []
    counts = {"stood in for": assumed.stand_ins, "left out": assumed.skipped}
    beside = [f"{len(each)} {name}" for name, each in counts.items() if each]
    shown = [*stated[:_SHOWN_ASSUMED], *rest, *([", ".join(beside)] if beside else [])]
    lines = (Text(each, "dim") for each in shown)
    return Text("\n").join([Text(name), *lines])


def _refused(folder: Path, rows: Sequence[FolderRow]) -> Table:
    table = _new_table(f"Modules of {folder} that could not be asked", None)
    table.add_column("module", overflow="fold")
    table.add_column("it lacks", overflow="fold")
    for row in rows:
        table.add_row(row.name, row.lacks)
    return table


def _not_asked(rows: Sequence[FolderRow]) -> Iterator[Text]:
    """Lines that name the modules that nobody asked about."""
    for why, chosen in (
        ("as there are many", [row for row in rows if not row.is_part]),
        ("as they are parts", [row for row in rows if row.is_part]),
    ):
        names = [row.name.rpartition(":")[2] for row in chosen]
        more = len(names) - _SHOWN_NAMES
        rest = f" and {more:,} more" if more > 0 else ""
        shown = ", ".join(names[:_SHOWN_NAMES])
        if names:
            yield Text(f"Not asked, {why}: {shown}{rest}; --all asks them too.", "dim")


def _new_table(title: str, caption: str | None) -> Table:
    return Table(
        title=title,
        title_style="bold",
        title_justify="left",
        caption=caption,
        caption_justify="left",
        box=SIMPLE_HEAD,
    )
