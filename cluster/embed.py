"""The command of bulk embedding: ``python -m cluster.embed --work DIR``."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table

from nar.base.console import DEFAULT_WORK, AsJson, Work, show
from nar.choices import IndexChoice
from nar.corpus import located

from .config import load_cluster_config
from .embedding import EmbedReport, embed, put_beside_atlas
from .resources import resized
from .session import (
    ClusterFile,
    Corpus,
    Workers,
    alone,
    connect,
    end,
    reading,
    reporting_job_errors,
)

_WAYS = {
    "new": "a new collection",
    "in place": "written in place",
    "nothing": "nothing had changed",
}

_STRANGERS = {
    "new": "rows of others were carried over",
    "in place": "that the corpus does not have were left",
}


def as_dict(report: EmbedReport) -> dict[str, object]:
    """The report for a program."""
    return {**asdict(report), "rows_per_s": round(report.embedded / report.seconds, 1)}


def view(report: EmbedReport) -> RenderableType:
    """The report for a person: what could not be embedded, and what the index holds."""
    pace = f"{report.embedded / report.seconds:,.0f} rows/s"
    kept = ", the one before is kept" if report.keeps_before else ""
    line = (
        f"{report.rows:,} architectures in {report.uri}; {_WAYS[report.way]}{kept}: "
        f"{report.embedded:,} embedded, {report.removed:,} removed, in {report.seconds:.0f} s "
        f"by {report.workers} workers ({pace})"
    )
    if report.strangers:
        line += f"; {report.strangers:,} {_STRANGERS[report.way]} (--remove takes them out)"
    if not report.failures:
        return line
    table = Table(title="Not embedded", title_justify="left")
    for column in ("name", "reason"):
        table.add_column(column, overflow="fold")
    for name, reason in report.failures.items():
        table.add_row(name, reason)
    return Group(table, line)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
@reporting_job_errors
def main(
    work: Work = DEFAULT_WORK,
    uri: Annotated[
        str | None, typer.Option(help="URI of a Milvus server; by default index.db below --work.")
    ] = None,
    corpus: Corpus = None,
    workers: Workers = None,
    config: Annotated[Path | None, typer.Option("--config", help="YAML file of settings.")] = None,
    cluster_config: ClusterFile = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Delete rows that the corpus does not have.")
    ] = False,
    other_encoder: Annotated[
        bool,
        typer.Option("--other-encoder", help="It may replace an index of another encoder."),
    ] = False,
    beside_atlas: Annotated[
        bool, typer.Option("--beside-atlas", help="Put the models beside the shipped models.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Embed what is new or changed in a corpus; after a crash, run it again."""
    sizes = load_cluster_config(cluster_config)
    choice = IndexChoice(work, uri, config)
    with (
        alone(choice.workspace, "index"),
        reading(choice.workspace, corpus),
        connect(sizes),
    ):
        if beside_atlas:
            put_beside_atlas(choice.workspace, choice.config().index)
        report = embed(
            choice.workspace,
            choice.config().index,
            resized(sizes.embed, workers),
            corpus=located(corpus) if corpus else None,
            removes=remove,
            other_encoder=other_encoder,
        )
    show(as_dict(report), lambda: view(report), as_json=as_json)
    end(failures=len(report.failures))


if __name__ == "__main__":
    app()
