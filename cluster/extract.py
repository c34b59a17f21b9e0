"""The command of extraction: ``python -m cluster.extract --select corpus --work DIR``."""

from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table

from nar.answers.naming import report_unplaced
from nar.answers.words import assumed_texts, doubts_texts
from nar.base.asking import Asking, own_models
from nar.base.console import (
    DEFAULT_WORK,
    NOTHING_CAPTURED,
    TOO_MANY_FAILED,
    AsJson,
    Work,
    show,
)
from nar.base.errors import ConfigError
from nar.base.own_zoo import Zoo, expanded
from nar.base.workspace import Workspace
from nar.views import display
from nar.zoo.selections import Selection, select

from . import hub
from .config import load_cluster_config
from .extraction import ExtractJob, ExtractReport, extract, reason_to_capture
from .journal import Journal
from .provenance import ingredients, stated_for
from .resources import resized
from .session import ClusterFile, Workers, alone, connect, reporting_job_errors

STEPS = ("build", "forward", "graph", "rest")
# Chosen: how many names of models that left the corpus a line shows.
_SHOWN = 3


def chosen(names: Sequence[str], selections: Sequence[str], files: Sequence[Path]) -> Selection:
    """Every requested spec once, in the order of the request, and the sources not installed.

    Args:
        names: Specs.
        selections: Names that `nar.zoo.selections` knows.
        files: Text files with one spec a line; empty lines and ``#`` comments are passed over.

    Raises:
        ConfigError: The request is empty, or a file cannot be read.
    """
    selected = [_selected(selection) for selection in selections]
    groups = (names, *(each.names for each in selected), *map(_lines, files))
    wanted = tuple(dict.fromkeys(chain.from_iterable(groups)))
    if not wanted:
        raise ConfigError("no models were asked for: name specs, or pass --select or --specs")
    skipped = {source: why for each in selected for source, why in each.skipped.items()}
    return Selection(wanted, skipped)


def _selected(selection: str) -> Selection:
    return Selection((hub.ALL,)) if f"{selection}:" == hub.PREFIX else select(selection)


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
    return [names[number * len(names) // limit] for number in range(limit)]


def as_dict(report: ExtractReport) -> dict[str, object]:
    """The report for a program: where the corpus lies, what this run did, and the manifest."""
    return {
        "corpus": str(report.directory),
        "captured": report.captured,
        "kept": report.kept,
        "shared": report.shared,
        "shards_written": report.published.written,
        "shards_removed": report.published.removed,
        "dropped": report.published.dropped,
        "failures_by_kind": report.kinds,
        "seconds_by_step": report.steps,
        "assumed": {name: each.to_plain() for name, each in report.assumed.items()},
        "manifest": report.manifest.model_dump(mode="json"),
    }


def summary(report: ExtractReport) -> str:
    """The report for a person, in a few lines."""
    manifest, published = report.manifest, report.published
    rows = sum(entry.rows for entry in manifest.shards)
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(report.kinds.items()))
    lines = [
        f"{rows:,} architectures captured, {len(manifest.failures):,} models failed"
        f"{f' ({kinds})' if kinds else ''}; {report.captured:,} tried now, {report.kept:,} kept",
        f"{published.written} of {len(published.entries)} shards written, in {report.directory}",
    ]
    if report.shared:
        lines.append(f"{report.shared:,} more have the configuration of another, and its graph")
    if published.removed:
        lines.append(f"removed, for nothing in them was asked for: {', '.join(published.removed)}")
    if published.dropped:
        few = ", ".join(published.dropped[:_SHOWN])
        lines.append(f"{len(published.dropped):,} models are no longer in the corpus: {few}, ...")
    lines += [f"skipped {each.source}: {each.reason}" for each in manifest.skipped]
    lines += [
        f"{name}: {text}"
        for name, each in report.assumed.items()
        for text in (*doubts_texts(each), *assumed_texts(each))
    ]
    return "\n".join(lines)


def times(report: ExtractReport) -> Table:
    """Where the time of the workers went, by source."""
    table = Table(title="Worker time, in seconds", title_justify="left")
    table.add_column("source")
    for column in (*STEPS, "all", "models/s"):
        table.add_column(column, justify="right")
    for source, steps in report.steps.items():
        taken = [steps.get(step, 0.0) for step in STEPS]
        rate = (
            report.manifest.sources[source].models_per_s if source in report.manifest.sources else 0
        )
        table.add_row(source, *(f"{each:,.1f}" for each in (*taken, sum(taken))), f"{rate:.2f}")
    return table


def view(report: ExtractReport) -> RenderableType:
    """The report for a person."""
    return Group(display.manifest(report.manifest), times(report), summary(report))


def exit_code(report: ExtractReport, max_failures: int | None) -> int:
    """The exit code that tells how it went: 0 where all went well enough."""
    failed = len(report.manifest.failures)
    if failed and not any(entry.rows for entry in report.manifest.shards):
        return NOTHING_CAPTURED
    return TOO_MANY_FAILED if max_failures is not None and failed > max_failures else 0


def explained(
    name: str, workspace: Workspace, asking: Asking
) -> tuple[dict[str, object], Callable[[], RenderableType]]:
    """Why a model is kept, or would be captured anew: for a program and for a person."""
    kept = workspace.root / "ledger" / "extract" / "journal"
    with closing(Journal(kept, is_read_only=True)) as journal:
        latest = journal.latest(name)
        spec = latest.record.spec if latest and latest.record.spec else name
        parts = ingredients(spec, stated_for(spec, asking))
        reason = reason_to_capture(name, parts, journal, {})
    record = latest.record if latest else None
    result: dict[str, object] = {
        "name": name,
        "now": f"would be captured anew: {reason}" if reason else "is kept: nothing has changed",
        "captured last because": (record.why or "not known") if record else "never captured here",
        "decided by": list(parts),
        "read besides": list(record.read) if record else [],
        "not checked": list(record.unchecked) if record else [],
    }
    return result, lambda: display.properties(name, result)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
@reporting_job_errors
@own_models
def main(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Specs: timm:resnet50, ...; or a zoo: a folder, nar.zoo.yaml."),
    ] = None,
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
        bool, typer.Option("--restart/--resume", help="Forget what was captured, or go on.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try models again that failed before.")
    ] = False,
    max_failures: Annotated[
        int | None, typer.Option(min=0, help="Exit with 4 where more models failed.")
    ] = None,
    why: Annotated[
        str | None, typer.Option(metavar="NAME", help="Say why a model is kept or captured anew.")
    ] = None,
    hub_place: Annotated[
        Path | None,
        typer.Option(
            "--hub", help="Where hf: names are: a folder, or a Parquet file of configurations."
        ),
    ] = None,
    cluster_config: ClusterFile = None,
    *,
    asking: Asking,
    as_json: AsJson = False,
) -> None:
    """Capture models into WORK/corpus. Run twice, it changes nothing; killed, it goes on.

    Another selection keeps what was captured: only what is new is captured, and the corpus then
    holds what was asked for last.
    """
    workspace = Workspace(work)
    if why is not None:
        show(*explained(why, workspace, asking), as_json=as_json)
        return
    config = load_cluster_config(cluster_config)
    wanted = chosen(names or [], selections or [], files or [])
    zoo = expanded([name for name in wanted.names if not hub.is_of_hub(name)])
    of_hub = hub.placed(
        [name for name in wanted.names if hub.is_of_hub(name)], hub_place, workspace.root / "hub"
    )
    report_unplaced(Zoo(zoo.models, {**zoo.unplaced, **of_hub.unplaced}))
    job = ExtractJob(
        thinned([*(each.name for each in zoo.models), *of_hub.shared], limit),
        wanted.skipped,
        restart=restart,
        retry_failed=retry_failed,
        asking=asking,
        zoo={each.name: each for each in zoo.models if not each.is_plain} | dict(of_hub.zoo),
        shared=of_hub.shared,
    )
    with alone(workspace, "corpus"), connect(config):
        report = extract(job, workspace, resized(config.extract, workers))
    show(as_dict(report), lambda: view(report), as_json=as_json)
    code = exit_code(report, max_failures)
    if code:
        raise typer.Exit(code)


if __name__ == "__main__":
    app()
