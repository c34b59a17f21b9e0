"""The `nar` command: every step of the way by hand, without Ray.

The distributed jobs are `python -m cluster.extract`, `cluster.pretrain` and `cluster.embed`.
"""

import json
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import typer
from rich.console import Console, RenderableType
from rich.progress import Progress

from nar import display, reports
from nar.config import NarConfig, load_config
from nar.errors import NarError
from nar.workspace import Workspace

app = typer.Typer(
    name="nar",
    help="NAR, the search engine for neural architectures.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
corpus_app = typer.Typer(help="Look at a corpus of captured architectures.", no_args_is_help=True)
index_app = typer.Typer(help="Build and inspect the vector index.", no_args_is_help=True)
app.add_typer(corpus_app, name="corpus")
app.add_typer(index_app, name="index")

stdout = Console()
stderr = Console(stderr=True)
P = ParamSpec("P")

Name = Annotated[
    str, typer.Argument(help="timm:resnet50, path/to/file.py:factory, model.onnx, model.pt2, ...")
]
Work = Annotated[Path, typer.Option("--work", help="Directory of corpus, checkpoint and index.")]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="YAML file of settings.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Uri = Annotated[str | None, typer.Option("--uri", help="Milvus server or path of a .db directory.")]
DEFAULT_WORK = Path("work")


def reporting_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Turn errors a caller can act on into one red line and exit code 1, ctrl-c into 130."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except NarError as error:
            stderr.print(f"[bold red]error[/bold red] {error}", highlight=False, soft_wrap=True)
            raise typer.Exit(1) from error
        except KeyboardInterrupt:
            stderr.print("interrupted")
            raise typer.Exit(130) from None

    return run


def show(as_json: bool, value: dict[str, Any], view: Callable[[], RenderableType]) -> None:
    """Print one answer, for a program or for a person."""
    if as_json:
        sys.stdout.write(json.dumps(value, indent=2) + "\n")
    else:
        stdout.print(view())
