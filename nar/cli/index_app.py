"""`nar index`: the arguments of its commands and their help; `index_commands` does the work."""

from pathlib import Path
from typing import Annotated

import typer

from nar.base.console import DEFAULT_WORK, AsJson, ConfigFile, Uri, Verbose, Work, reporting_errors
from nar.cli.model_app import InputShape

app = typer.Typer(
    help="Build the vector index, look at it, save it and tidy it up.", no_args_is_help=True
)


@app.command("build")
@reporting_errors
def build(
    work: Work = DEFAULT_WORK, uri: Uri = None, config: ConfigFile = None, as_json: AsJson = False
) -> None:
    """Embed a corpus and index it in this process; `cluster.embed` does it on a cluster."""
    # Here and below: the libraries behind a command take seconds to import, help should not.
    from nar.choices import IndexChoice
    from nar.cli import index_commands

    index_commands.build(IndexChoice(work, uri, config), as_json=as_json)


@app.command("add")
@reporting_errors
def add(
    names: Annotated[list[str], typer.Argument(help="Models of your own: FILE:FUNCTION, ...")],
    work: Work = DEFAULT_WORK,
    uri: Uri = None,
    config: ConfigFile = None,
    input_shape: InputShape = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Put models of your own beside the atlas, in an index that you name with --uri mine.db."""
    from nar.choices import IndexChoice
    from nar.cli import index_commands

    index_commands.add(names, IndexChoice(work, uri, config), input_shape, as_json=as_json)


@app.command("info")
@reporting_errors
def info(
    work: Work = DEFAULT_WORK, uri: Uri = None, config: ConfigFile = None, as_json: AsJson = False
) -> None:
    """Show how many rows the index has, which encoder made them, and where it lies."""
    from nar.choices import IndexChoice
    from nar.cli import index_commands

    index_commands.info(IndexChoice(work, uri, config), as_json=as_json)


@app.command("snapshot")
@reporting_errors
def snapshot(
    directory: Annotated[Path, typer.Argument(help="Gets the snapshot; must not exist yet.")],
    work: Work = DEFAULT_WORK,
    uri: Uri = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Save every row of the index in files, each row checked."""
    from nar.choices import IndexChoice
    from nar.cli import index_commands

    index_commands.snapshot(IndexChoice(work, uri, config), directory, as_json=as_json)


@app.command("restore")
@reporting_errors
def restore(
    directory: Annotated[Path, typer.Argument(help="A directory that `nar index snapshot` made.")],
    work: Work = DEFAULT_WORK,
    uri: Uri = None,
    config: ConfigFile = None,
    other_encoder: Annotated[
        bool,
        typer.Option("--other-encoder", help="It may replace the vectors of another encoder."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Build an index from a snapshot, verify every row, then switch to it."""
    from nar.choices import IndexChoice
    from nar.cli import index_commands

    choice = IndexChoice(work, uri, config)
    index_commands.restore(choice, directory, other_encoder=other_encoder, as_json=as_json)


@app.command("rollback")
@reporting_errors
def rollback(
    work: Work = DEFAULT_WORK, uri: Uri = None, config: ConfigFile = None, as_json: AsJson = False
) -> None:
    """Go back to the collection before the last bulk load; once more, and it is undone."""
    from nar.choices import IndexChoice
    from nar.cli import index_commands

    index_commands.roll_back(IndexChoice(work, uri, config), as_json=as_json)


@app.command("orphans")
@reporting_errors
def orphans(
    work: Work = DEFAULT_WORK,
    uri: Uri = None,
    config: ConfigFile = None,
    drop: Annotated[
        bool, typer.Option("--drop", help="Drop those that are dead, or idle for long.")
    ] = False,
    idle_hours: Annotated[
        float, typer.Option(min=1, help="A running build shows life every minute while it writes.")
    ] = 24.0,
    as_json: AsJson = False,
) -> None:
    """List what killed builds have left: collections that no alias leads to. --drop drops them."""
    from nar.choices import IndexChoice
    from nar.cli import index_commands

    choice = IndexChoice(work, uri, config)
    index_commands.show_orphans(choice, drop=drop, idle_hours=idle_hours, as_json=as_json)
