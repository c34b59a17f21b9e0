"""What `nar evaluate` does: one cell of the benchmark, shown as a table or as JSON."""

from dataclasses import asdict
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

from nar.console import show, stderr
from nar.evaluation.benchmark.tasks import Held
from nar.evaluation.cells import Cell, CellResult, run_cell
from nar.evaluation.scoring.evaluate import Evaluation, summarise
from nar.workspace import Workspace


def evaluate(cell: Cell, work: Path, *, held: Held, as_json: bool) -> None:
    """Run one cell and show what it reached."""
    with stderr.status(f"{cell.method} on {cell.data}/{cell.protocol}"):
        result = run_cell(cell, cache_directory=Workspace(work).evaluation, held=held)
    whole = summarise([result.scored])
    row = {
        **asdict(cell),
        "held": held,
        "learned": result.learned,
        "dim": result.dim,
        "seconds": round(result.seconds, 1),
        **whole.to_dict(),
    }
    show(row, lambda: scores(result, whole), as_json=as_json)


def scores(result: CellResult, whole: Evaluation) -> Table:
    """Mean, 95% interval and macro mean of every metric."""
    about = f"{whole.queries:,} queries of {whole.clusters} families, {whole.gallery:,} may answer"
    title = f"{result.cell}: {about}, {result.seconds:.0f} s"
    table = Table("metric", title=title, title_justify="left", box=SIMPLE_HEAD)
    for name in ("mean", "95%", "macro"):
        table.add_column(name, justify="right", no_wrap=True)
    for metric, score in whole.scores.items():
        interval = f"{score.low:.3f}-{score.high:.3f}"
        table.add_row(metric, f"{score.mean:.3f}", interval, f"{score.macro:.3f}")
    return table
