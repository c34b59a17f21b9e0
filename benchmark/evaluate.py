"""The command of the benchmark: ``python -m benchmark.evaluate table1 --results results``."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchmark.cells import Cell
from benchmark.reporting.results import write_results
from benchmark.reporting.sets import SETS, find_set
from benchmark.running import EvaluateReport, evaluate
from cluster.config import load_cluster_config
from cluster.options import ClusterFile, Workers
from cluster.resources import resized
from cluster.session import connect
from nar.base.console import DEFAULT_WORK, AsJson, Work, reporting_errors, stdout
from nar.base.errors import InvalidInputError, NarError
from nar.base.workspace import Workspace


class CellsFailedError(NarError):
    """Some cells have no result."""


def chosen(sets: Sequence[str], **wanted: Sequence[str] | Sequence[int]) -> list[Cell]:
    """The cells of some sets, each once, where asked for only those of some fields.

    Args:
        sets: Names of sets.
        wanted: What some fields of a cell may be; nothing is anything: ``method=["default"]``.

    Raises:
        InvalidInputError: There is no such set, or no cell of them is of what is wanted.
    """
    cells = list(dict.fromkeys(cell for name in sets for cell in find_set(name).cells()))
    for field, allowed in wanted.items():
        there = dict.fromkeys(getattr(cell, field) for cell in cells)
        if strange := [each for each in allowed if each not in there]:
            listed = ", ".join(map(str, there))
            raise InvalidInputError(field, f"wanted one of {listed}, came {strange[0]!r}")
        cells = [cell for cell in cells if not allowed or getattr(cell, field) in allowed]
    return cells


def summary(report: EvaluateReport) -> str:
    """The report for a person, in one line."""
    failed = f", {len(report.failures)} failed" if report.failures else ""
    return f"{report.ran} cells run{failed}, {report.kept} kept, in {report.seconds:.0f} s"


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
@reporting_errors
def main(
    sets: Annotated[list[str] | None, typer.Argument(help=f"Of {', '.join(SETS)}.")] = None,
    methods: Annotated[list[str] | None, typer.Option("--method", help="Only these.")] = None,
    seeds: Annotated[list[int] | None, typer.Option("--seed", help="Only these.")] = None,
    splits: Annotated[
        list[str] | None,
        typer.Option("--split", help="Only these; parts of a table that are of others stay."),
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="Directory that gets tables (Markdown, JSON) and figures.")
    ] = None,
    work: Work = DEFAULT_WORK,
    workers: Workers = None,
    cluster_config: ClusterFile = None,
    as_json: AsJson = False,
) -> None:
    """Run cells of the benchmark into WORK/evaluation.

    Run twice, it changes nothing; killed, it goes on.
    """
    config = load_cluster_config(cluster_config)
    names = sets or list(SETS)
    directory = Workspace(work).evaluation.resolve()
    cells = chosen(names, split=splits or [], method=methods or [], seed=seeds or [])
    with connect(config):
        report = evaluate(cells, directory, resized(config.evaluate, workers))
    if as_json:
        told = {"ran": report.ran, "kept": report.kept, "failures": report.failures}
        sys.stdout.write(json.dumps({**told, "seconds": report.seconds}, indent=2) + "\n")
    else:
        stdout.print(summary(report))
    if report.failures:
        name, why = next(iter(report.failures.items()))
        raise CellsFailedError(f"{len(report.failures)} cells have no result, {name}: {why}")
    if results is None:
        return
    for name in dict.fromkeys(names):
        if find_set(name).of_splits(splits or []).tasks:
            write_results(results, name, directory, splits or [])


if __name__ == "__main__":
    app()
