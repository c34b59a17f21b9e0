"""The command that draws a corpus: ``python -m cluster.draw --count 100000 --work DIR``."""

from typing import Annotated

import typer

from nar.base.console import DEFAULT_WORK, AsJson, Work, show
from nar.base.workspace import Workspace

from .config import load_cluster_config
from .darts_corpus import draw
from .resources import resized
from .session import ClusterFile, Workers, alone, connect, reporting_job_errors

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
@reporting_job_errors
def main(
    count: Annotated[int, typer.Option(min=1, help="How many DARTS networks.")],
    work: Work = DEFAULT_WORK,
    workers: Workers = None,
    cluster_config: ClusterFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a corpus of DARTS networks, spread evenly over the space; killed, it goes on."""
    config = load_cluster_config(cluster_config)
    workspace = Workspace(work)
    with alone(workspace, "corpus"), connect(config):
        manifest = draw(count, workspace, resized(config.extract, workers))
    counts = manifest.totals.everything
    result = {"rows": counts.raw, "distinct": counts.exact, "seconds": manifest.seconds}
    line = (
        f"{counts.raw:,} networks, {counts.exact:,} of them different, in {manifest.seconds:.0f} s"
    )
    show(result, lambda: line, as_json=as_json)


if __name__ == "__main__":
    app()
