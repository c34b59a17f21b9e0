"""Commands that look at models: they compare, lock and draw them."""

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from nar.answers.change_kinds import ChangeKind
from nar.base.console import DEFAULT_WORK, AsJson, Verbose, Work, reporting_errors
from nar.cli.filter_options import filtering
from nar.index.filters import Filter

app = typer.Typer()

_LOCK: Final = Path("nar.lock")
# Of `nar check`, which fails with 1 if nothing could be compared.
_CHANGED: Final = 3

NAME_HELP: Final = (
    "timm:resnet50, resnet50, path/to/file.py:factory(64), model.onnx, model.pt2, hf:ORG/NAME, ..."
)
Name = Annotated[str, typer.Argument(help=NAME_HELP)]
Corpus = Annotated[
    str | None,
    typer.Option(
        metavar="DIR|URI",
        help="Where a corpus lies; by default that of --work, or else the shipped one.",
    ),
]


def _shape(text: str) -> list[int]:
    """The sizes in a text such as ``1,3,224,224``."""
    sizes = text.replace("x", ",").split(",")
    if not all(size.strip().isdecimal() and int(size) for size in sizes):
        raise typer.BadParameter(f"wanted sizes such as 1,3,224,224, came {text!r}")
    return [int(size) for size in sizes]


InputShape = Annotated[
    Any,
    typer.Option(
        parser=_shape, metavar="1,3,224,224", help="Of a tensor for the module of FILE:FUNCTION."
    ),
]
Names = Annotated[
    list[str] | None, typer.Argument(help="Names of models; by default those of the lock.")
]


@app.command("list")
@reporting_errors
@filtering
def list_names(
    pattern: Annotated[str, typer.Argument(help="With * for anything: '*resnet*'.")] = "*",
    *,
    wanted: Filter,
) -> None:
    """Print the names that the atlas knows, one a line, by name."""
    # Here and below: the libraries behind a command take seconds to import, help should not.
    from nar.cli import model_commands

    for name in model_commands.known_names(pattern, wanted):
        typer.echo(name)


@app.command()
@reporting_errors
def capture(
    name: Name,
    graph: bool = False,
    input_shape: InputShape = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Capture a model: operators, parameters, FLOPs, fingerprints. --graph prints every node."""
    from nar.cli import model_commands

    model_commands.capture(name, input_shape, graph=graph, as_json=as_json)


@app.command()
@reporting_errors
def motifs(
    name: Name, input_shape: InputShape = None, as_json: AsJson = False, verbose: Verbose = False
) -> None:
    """Show the repeated blocks a model is made of."""
    from nar.cli import model_commands

    model_commands.motifs(name, input_shape, as_json=as_json)


@app.command()
@reporting_errors
def diff(
    first: Name,
    second: Name,
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    html: Annotated[Path | None, typer.Option(help="File that gets the same as a page.")] = None,
    input_shape: InputShape = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Show what two architectures share; a model that the corpus lacks is captured."""
    from nar.choices import CorpusChoice
    from nar.cli import model_commands

    chosen, both = CorpusChoice(work, corpus), (first, second)
    model_commands.diff(chosen, both, input_shape, html=html, as_json=as_json)


@app.command()
@reporting_errors
def lock(
    names: Names = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")] = _LOCK,
    input_shape: InputShape = None,
    verbose: Verbose = False,
) -> None:
    """Write fingerprints and motifs of models down; without names, those of the file anew."""
    from nar.cli import lock_commands

    count = lock_commands.lock(names or [], output, input_shape)
    typer.echo(f"{count:,} locked in {output}")


@app.command()
@reporting_errors
def check(
    names: Names = None,
    lock_file: Annotated[Path, typer.Option("--lock", help="File that `nar lock` wrote.")] = _LOCK,
    allow: Annotated[
        list[ChangeKind] | None,
        typer.Option(help="Accept changes of this kind; may be given again."),
    ] = None,
    input_shape: InputShape = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Say what changed since `nar lock`; ends with 3 if a change is of no kind that is allowed."""
    from nar.cli import lock_commands

    allowed = allow or []
    if not lock_commands.check(names or [], lock_file, allowed, input_shape, as_json=as_json):
        raise typer.Exit(_CHANGED)


@app.command()
@reporting_errors
def export(
    name: Name,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A file .dot, .graphml, .json or .svg.")
    ],
    operators: Annotated[
        bool, typer.Option("--operators", help="Draw every operator, not every motif.")
    ] = False,
    input_shape: InputShape = None,
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    verbose: Verbose = False,
) -> None:
    """Draw a model: its motifs and how they are linked, or every operator."""
    from nar.choices import CorpusChoice
    from nar.cli import model_commands

    chosen = CorpusChoice(work, corpus)
    model_commands.export(chosen, name, output, input_shape, operators=operators)
    typer.echo(f"wrote {output}")
