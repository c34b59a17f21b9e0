"""The command of extraction: ``python -m cluster.extract --select demo --work DIR``."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from cluster.config import load_cluster_config
from cluster.extraction import ExtractReport, extract
from cluster.options import ClusterFile, Workers
from cluster.resources import resized
from cluster.session import connect
from nar import display
from nar.console import DEFAULT_WORK, AsJson, Work, reporting_errors, stdout
from nar.errors import ConfigError
from nar.workspace import Workspace
from nar.zoo.selections import select


def chosen(names: Sequence[str], selections: Sequence[str], files: Sequence[Path]) -> list[str]:
    """Every spec that was asked for, once, sorted.

    Args:
        names: Specs themselves.
        selections: Names that `nar.zoo.selections` knows.
        files: Text files with one spec a line; empty lines and ``#`` comments are passed over.

    Raises:
        ConfigError: Nothing was asked for, or a file cannot be read.
    """
    wanted = set(names).union(*map(select, selections), *map(_lines, files))
    if not wanted:
        raise ConfigError("no models were asked for: name specs, or pass --select or --specs")
    return sorted(wanted)


def _lines(file: Path) -> list[str]:
    try:
        lines = [line.strip() for line in file.read_text().splitlines()]
    except OSError as error:
        raise ConfigError(f"cannot read specs from {file}: {error.strerror}") from error
    return [line for line in lines if line and not line.startswith("#")]


def thinned(names: Sequence[str], limit: int | None) -> list[str]:
    """At most ``limit`` names, evenly spread, so that every source keeps its share."""
    if limit is None or limit >= len(names):
        return list(names)
    return [names[place * len(names) // limit] for place in range(limit)]


def as_dict(report: ExtractReport) -> dict[str, object]:
    """The report for a program: where the corpus lies, what this run did, and the manifest."""
    return {
        "corpus": str(report.directory),
        "shards_kept": report.kept,
        "shards_written": report.written,
        "manifest": report.manifest.model_dump(mode="json"),
    }


def summary(report: ExtractReport) -> str:
    """The report for a person, in one line."""
    rows = sum(entry.rows for entry in report.manifest.shards)
    failed = len(report.manifest.failures)
    return (
        f"{rows:,} architectures captured, {failed:,} models failed; {report.written} shards "
        f"written, {report.kept} kept, in {report.directory}"
    )


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
@reporting_errors
def main(
    names: Annotated[list[str] | None, typer.Argument(help="Specs: timm:resnet50, ...")] = None,
    selections: Annotated[
        list[str] | None, typer.Option("--select", help="A named selection, e.g. demo.")
    ] = None,
    files: Annotated[
        list[Path] | None, typer.Option("--specs", help="Text file, one spec a line.")
    ] = None,
    work: Work = DEFAULT_WORK,
    workers: Workers = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Capture only so many.")] = None,
    restart: Annotated[
        bool, typer.Option("--restart/--resume", help="Replace the corpus, or go on with it.")
    ] = False,
    cluster_config: ClusterFile = None,
    as_json: AsJson = False,
) -> None:
    """Capture models into WORK/corpus. Run twice, it changes nothing; killed, it goes on."""
    config = load_cluster_config(cluster_config)
    wanted = thinned(chosen(names or [], selections or [], files or []), limit)
    sizes = resized(config.extract, workers)
    with connect(config):
        report = extract(wanted, Workspace(work), sizes, restart=restart)
    if as_json:
        sys.stdout.write(json.dumps(as_dict(report), indent=2) + "\n")
    else:
        stdout.print(display.manifest(report.manifest))
        stdout.print(summary(report))


if __name__ == "__main__":
    app()
