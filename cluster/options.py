"""Command-line options that several jobs share."""

from pathlib import Path
from typing import Annotated

import typer

Workers = Annotated[int | None, typer.Option(min=1, help="Worker processes; default: all CPUs.")]
Corpus = Annotated[
    str | None,
    typer.Option(
        metavar="DIR|URI", help="Where the corpus lies, for every node; by default in --work."
    ),
]
ClusterFile = Annotated[
    Path | None, typer.Option("--cluster-config", help="Sizes; default: ./ray_config.yaml.")
]
