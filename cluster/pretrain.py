"""The command of pretraining: ``python -m cluster.pretrain --work DIR``."""

from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from nar.base.console import DEFAULT_WORK, AsJson, Work, show
from nar.base.workspace import Workspace
from nar.config import load_config
from nar.corpus import located

from .config import load_cluster_config
from .pretraining import PretrainReport, pretrain_on_cluster
from .session import ClusterFile, Corpus, alone, connect, reading, reporting_job_errors


def as_dict(report: PretrainReport) -> dict[str, object]:
    """The report for a program; the last epoch of each stage that this run trained."""
    return {
        "checkpoint": str(report.directory),
        "fingerprint": report.fingerprint,
        "architectures": report.architectures,
        "losses": last_losses(report),
        "seconds": round(report.seconds, 1),
    }


def last_losses(report: PretrainReport) -> dict[str, float]:
    """Loss of the last epoch of each stage that this run trained."""
    stages = groupby(report.epochs, key=lambda epoch: epoch.stage)
    return {stage: list(epochs)[-1].loss for stage, epochs in stages}


def summary(report: PretrainReport) -> str:
    """The report for a person, in one line."""
    losses = ", ".join(f"{stage} {loss:.3f}" for stage, loss in last_losses(report).items())
    trained = f"{len(report.epochs)} epochs, loss {losses}" if losses else "nothing left to train"
    return (
        f"encoder {report.fingerprint[:12]} from {report.architectures:,} architectures in "
        f"{report.seconds:.0f} s ({trained}), in {report.directory}"
    )


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
@reporting_job_errors
def main(
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Ranks; default: as in the cluster's sizes.")
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", help="YAML file of settings.")] = None,
    restart: Annotated[
        bool, typer.Option("--restart/--resume", help="Train anew, or go on after the last epoch.")
    ] = False,
    cluster_config: ClusterFile = None,
    as_json: AsJson = False,
) -> None:
    """Pretrain the encoder on a corpus into WORK/checkpoint. Killed, it goes on."""
    sizes = load_cluster_config(cluster_config)
    settings = load_config(config)
    chosen = sizes.pretrain
    if workers is not None:
        chosen = chosen.model_copy(update={"num_workers": workers})
    workspace = Workspace(work)
    with alone(workspace, "checkpoint"), reading(workspace, corpus), connect(sizes):
        report = pretrain_on_cluster(
            workspace,
            settings,
            chosen,
            corpus=located(corpus) if corpus else None,
            restart=restart,
        )
    show(as_dict(report), lambda: summary(report), as_json=as_json)


if __name__ == "__main__":
    app()
