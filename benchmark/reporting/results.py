"""What becomes of a set of cells: its table, its curve or its maps, as files."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmark.cells import Cell, cell_path, questions_of, read_cell, read_sample
from benchmark.methods.registry import find_method
from benchmark.reporting.figures import Panel, difficulty_curve, neighbourhood_map
from benchmark.reporting.sets import CellSet, Shown, find_set
from benchmark.reporting.tables import Found, write_table
from benchmark.scoring.evaluate import Evaluation, score, summarise
from benchmark.scoring.ranking import best_ranking
from benchmark.tasks.datasets import REAL, load_dataset
from benchmark.tasks.questions import Questions, numbered
from benchmark.tasks.task import find_protocol
from nar.base.errors import CorpusError

Read = Found


def write_results(results: Path, name: str, directory: Path, splits: Collection[str] = ()) -> None:
    """Write everything that a set shows, as files called after it; nothing is learned.

    A method shows the seeds that it was run with; a method that was run with no seed is left
    out, and the table names it.

    Args:
        results: Gets the files.
        name: Of the set.
        directory: Of the evaluation: its cells and what data sets keep there.
        splits: The table's parts of these are written and its other parts stay; all if empty.

    Raises:
        InvalidInputError: There is no such set, or its cells answer other questions.
        CorpusError: The cells of its last method, with which all are compared, are missing, or some
            are damaged, or a part that is to stay answers other questions.
        MissingLibraryError: The library that draws is not installed.
    """
    whole = find_set(name).of_splits(splits)
    present = [cell for cell in whole.cells() if cell_path(directory, cell).exists()]
    reference = [cell for cell in whole.cells() if cell.method == whole.methods[-1]]
    if not set(reference) <= set(present):
        raise CorpusError(
            f"{name} lacks cells of {whole.methods[-1]}; run them with "
            f"`python -m benchmark run {name}`"
        )
    chosen = replace(whole, methods=tuple(_run(whole, present)))
    cells = _read(chosen, present, directory)
    for shown in ("table",) if splits else whole.shows:
        _WRITERS[shown](results, name, chosen, cells, directory)


def _run(whole: CellSet, present: Sequence[Cell]) -> Iterator[str]:
    """The methods that were run on every task, with one seed at least."""
    for method in whole.methods:
        tasks = (whole.cells_of(data, protocol, method) for data, protocol in whole.tasks)
        if all(set(seeds) & set(present) for seeds in tasks):
            yield method


def _read(chosen: CellSet, present: Sequence[Cell], directory: Path) -> Read:
    cells = [cell for cell in present if cell.method in chosen.methods]
    asked = _asked(cells, directory)
    read = {}
    for cell in cells:
        ranked = read_cell(cell_path(directory, cell))
        for protocol, questions in asked[cell.data, cell.split, cell.seed].items():
            if (cell.data, protocol) in chosen.tasks:
                read[cell, protocol] = ranked.scored(questions)
    return read


def _asked(
    cells: Sequence[Cell], directory: Path
) -> dict[tuple[str, str, int], Mapping[str, Questions]]:
    """What is asked with each seed of each split."""
    each = {(cell.data, cell.split, cell.seed): cell for cell in cells}
    return {key: questions_of(cell, cache_directory=directory) for key, cell in each.items()}


def _ceilings(chosen: CellSet, directory: Path) -> dict[tuple[str, str], Evaluation]:
    """Of every task of a set, cheaply: of nothing but its questions."""
    asked = _asked(chosen.cells(), directory)
    found = {}
    for data, protocol in chosen.tasks:
        cards = load_dataset(data, directory).cards
        same = numbered([card.exact for card in cards])
        split = find_protocol(data, protocol).split
        questions = [asked[data, split, seed][protocol] for seed in chosen.seeds]
        scored = [score(best_ranking(each, same), each) for each in questions]
        found[data, protocol] = summarise(scored)
    return found


def _table(results: Path, name: str, chosen: CellSet, cells: Read, directory: Path) -> None:
    write_table(results, name, chosen, cells, _ceilings(find_set(name), directory))


def _curve(results: Path, name: str, _: CellSet, cells: Read, __: Path) -> None:
    difficulty_curve(results / f"{name}.png", list(cells.values()))


def _maps(results: Path, name: str, _: CellSet, cells: Read, directory: Path) -> None:
    neighbourhood_map(results / f"{name}.png", [_panel(cell, directory) for cell, _ in cells])


def _panel(cell: Cell, directory: Path) -> Panel:
    """The vectors of a cell by the paper's classes: blocks of real networks, centres of NAS."""
    sample = read_sample(cell_path(directory, cell))
    cards = load_dataset(cell.data, directory).cards
    classes = {
        card.labels.name: card.paper_block if cell.data == REAL else card.labels.family
        for card in cards
    }
    title = f"{find_method(cell.method).title}, {cell.data}"
    few = f": {len(sample.names):,} of {sample.of:,}" if len(sample.names) < sample.of else ""
    return Panel(title + few, sample.vectors, tuple(classes[name] for name in sample.names))


_WRITERS: Final[Mapping[Shown, Callable[[Path, str, CellSet, Read, Path], None]]] = {
    "table": _table,
    "curve": _curve,
    "maps": _maps,
}
