"""What becomes of a set of cells: its table, its curve or its maps, as files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nar.errors import CorpusError
from nar.evaluation.benchmark.datasets import REAL, load_dataset
from nar.evaluation.cell_files import read_cell, read_sample
from nar.evaluation.cells import Cell, CellResult
from nar.evaluation.methods.registry import find_method
from nar.evaluation.reporting.figures import Panel, difficulty_curve, neighbourhood_map, trade_off
from nar.evaluation.reporting.rows import rows_of
from nar.evaluation.reporting.sets import Shown, find_set
from nar.evaluation.reporting.tables import write_table

Read = Mapping[Cell, CellResult]


@dataclass(frozen=True, slots=True)
class CellFiles:
    """Where cells are kept.

    Attributes:
        path_of: File of each.
        cache_directory: See `nar.evaluation.benchmark.datasets.load_dataset`.
    """

    path_of: Callable[[Cell], Path]
    cache_directory: Path


def write_results(directory: Path, name: str, files: CellFiles) -> None:
    """Write everything that a set shows, as files called after it.

    Raises:
        InvalidInputError: There is no such set, or its methods were not asked the same.
        CorpusError: Cells are missing or damaged.
        MissingLibraryError: The library that draws is not installed.
    """
    chosen = find_set(name)
    found = _read(name, list(chosen.cells()), files)
    for shown in chosen.shows:
        _WRITERS[shown](directory, name, found, files)


def _read(name: str, cells: Sequence[Cell], files: CellFiles) -> Read:
    missing = [str(cell) for cell in cells if not files.path_of(cell).exists()]
    if missing:
        which = f"{name} lacks {len(missing)} cells, {', '.join(missing)}"
        raise CorpusError(f"{which}; run them with `python -m cluster.evaluate {name}`")
    return {cell: read_cell(files.path_of(cell)) for cell in cells}


def _table(directory: Path, name: str, found: Read, _: CellFiles) -> None:
    write_table(directory, name, found)


def _curve(directory: Path, name: str, found: Read, _: CellFiles) -> None:
    difficulty_curve(directory / f"{name}.png", list(found.values()))


def _maps(directory: Path, name: str, found: Read, files: CellFiles) -> None:
    neighbourhood_map(directory / f"{name}.png", [_panel(cell, files) for cell in found])


def _trade_off(directory: Path, name: str, found: Read, _: CellFiles) -> None:
    chosen = find_set(name)
    tasks = {}
    for data, protocol in chosen.tasks:
        cells = [
            [found[cell] for cell in chosen.cells_of(data, protocol, m)] for m in chosen.methods
        ]
        rows = rows_of(cells, protocol)
        reached = {r.method.title: (r.seconds, r.evaluation.scores["map@20"].mean) for r in rows}
        tasks[f"{data}, {protocol}"] = reached
    trade_off(directory / f"{name}.png", tasks)


def _panel(cell: Cell, files: CellFiles) -> Panel:
    """The vectors of a cell by the paper's classes: blocks of real networks, centres of NAS."""
    sample = read_sample(files.path_of(cell))
    cards = load_dataset(cell.data, files.cache_directory).cards
    classes = {
        card.labels.name: card.paper_block if cell.data == REAL else card.labels.family
        for card in cards
    }
    title = f"{find_method(cell.method).title}, {cell.data}"
    few = f": {len(sample.names):,} of {sample.of:,}" if len(sample.names) < sample.of else ""
    return Panel(title + few, sample.vectors, tuple(classes[name] for name in sample.names))


_WRITERS: Final[Mapping[Shown, Callable[[Path, str, Read, CellFiles], None]]] = {
    "table": _table,
    "curve": _curve,
    "maps": _maps,
    "trade_off": _trade_off,
}
