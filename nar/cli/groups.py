"""`nar corpus`, `nar atlas` and `nar index`: the arguments of their commands and their help."""

from pathlib import Path
from typing import Annotated

import typer

from nar.base.asking import Asking, own_models
from nar.base.console import (
    DEFAULT_WORK,
    AsJson,
    ConfigFile,
    Server,
    Uri,
    Verbose,
    Work,
    reporting_errors,
)
from nar.cli.options import Corpus

corpora = typer.Typer(help="Look at a corpus of captured architectures.", no_args_is_help=True)
atlases = typer.Typer(
    help="Make an atlas, which answers searches without a build step.", no_args_is_help=True
)
OtherEncoder = Annotated[
    bool, typer.Option("--other-encoder", help="It may replace the vectors of another encoder.")
]
Several = Annotated[list[str] | None, typer.Option(help="Show only this; may be given again.")]


@corpora.command("stats")
@reporting_errors
def corpus_stats(
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    plots: Annotated[
        Path | None, typer.Option(help="Directory that gets PNG plots of the same numbers.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a corpus in numbers: sources, tiers, tasks, families, sizes, copies and failures."""
    # Here and below: the libraries behind a command take seconds to import, help should not.
    from nar.choices import CorpusChoice
    from nar.cli import corpus_commands

    corpus_commands.stats(CorpusChoice(work, corpus), plots=plots, as_json=as_json)


@corpora.command("list")
@reporting_errors
def corpus_list(
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    family: Several = None,
    as_json: AsJson = False,
) -> None:
    """List every architecture with its family and size."""
    from nar.choices import CorpusChoice
    from nar.cli import corpus_commands

    corpus_commands.listing(CorpusChoice(work, corpus), families=family or [], as_json=as_json)


@corpora.command("show")
@reporting_errors
def corpus_show(
    name: Annotated[str, typer.Argument(help="A name that the corpus has.")],
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    as_json: AsJson = False,
) -> None:
    """Show one architecture: its labels, sizes, motifs, aliases and twins in other libraries."""
    from nar.choices import CorpusChoice
    from nar.cli import corpus_commands

    corpus_commands.show_one(CorpusChoice(work, corpus), name, as_json=as_json)


@corpora.command("compare")
@reporting_errors
def corpus_compare(
    older: Annotated[Path, typer.Argument(help="Directory of the corpus before.")],
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    as_json: AsJson = False,
) -> None:
    """Show what changed since an older corpus: models gone and new, graphs that are others now."""
    from nar.choices import CorpusChoice
    from nar.cli import corpus_commands

    corpus_commands.compare_corpora(older, CorpusChoice(work, corpus), as_json=as_json)


@corpora.command("pack")
@reporting_errors
def corpus_pack(
    target: Annotated[Path, typer.Argument(help="Directory that gets the packed corpus.")],
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    as_json: AsJson = False,
) -> None:
    """Write a corpus in as few bytes as possible, relatives side by side, with a datasheet."""
    from nar.choices import CorpusChoice
    from nar.cli import corpus_commands

    corpus_commands.pack_corpus(CorpusChoice(work, corpus), target, as_json=as_json)


@corpora.command("renew")
@reporting_errors
def corpus_renew(
    target: Annotated[Path, typer.Argument(help="Directory that gets the renewed corpus.")],
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    as_json: AsJson = False,
) -> None:
    """Write a corpus in today's columns; graphs, labels and order stay, and it is the same one."""
    from nar.choices import CorpusChoice
    from nar.cli import corpus_commands

    corpus_commands.renew_corpus(CorpusChoice(work, corpus), target, as_json=as_json)


@corpora.command("cards")
@reporting_errors
def corpus_cards(
    target: Annotated[Path, typer.Argument(help="File that gets the cards: cards.parquet.")],
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    as_json: AsJson = False,
) -> None:
    """Read what each network is made of, for filters such as --norm rms; minutes."""
    from nar.choices import CorpusChoice
    from nar.cli import corpus_commands

    corpus_commands.read_cards(CorpusChoice(work, corpus), target, as_json=as_json)


@corpora.command("codes")
@reporting_errors
def corpus_codes(
    target: Annotated[Path, typer.Argument(help="File that gets the codes: codes.npz.")],
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    as_json: AsJson = False,
) -> None:
    """Read the exact codes of each network, by which --by copy ranks once more; a minute."""
    from nar.choices import CorpusChoice
    from nar.cli import corpus_commands

    corpus_commands.read_codes(CorpusChoice(work, corpus), target, as_json=as_json)


@atlases.command("pack")
@reporting_errors
def atlas_pack(
    target: Annotated[Path, typer.Argument(help="Directory that gets encoder and vectors.")],
    work: Work = DEFAULT_WORK,
    draw: Annotated[bool, typer.Option(help="Draw its map, too, as `nar atlas draw` does.")] = True,
) -> None:
    """Embed the corpus of --work with its checkpoint; keep vectors and encoder as an atlas."""
    from nar.answers.atlas_making import lay_out, pack

    atlas, rows = pack(work, target)
    if draw:
        lay_out(atlas)
    typer.echo(f"{rows:,} architectures, in {target}")


@atlases.command("draw")
@reporting_errors
def atlas_draw(
    directory: Annotated[Path, typer.Argument(help="Directory of an atlas.")],
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
) -> None:
    """Add to an atlas what the page shows: a map, and what contains which block. Minutes."""
    from nar.answers.atlas import Atlas
    from nar.answers.atlas_making import lay_out
    from nar.choices import CorpusChoice

    rows = lay_out(Atlas(directory, CorpusChoice(work, corpus).directory()))
    typer.echo(f"{rows:,} architectures, in {directory}")


@atlases.command("published")
@reporting_errors
def atlas_published(
    directory: Annotated[Path, typer.Argument(help="The folder `results` of timm's repository.")],
    source: Annotated[str, typer.Option(help="Where it comes from, with commit and date.")],
) -> None:
    """Read the accuracies and speeds that timm publishes into what ships."""
    from nar.answers.published import read_tables, write_published

    figures = read_tables(directory)
    typer.echo(f"{len(figures):,} models, in {write_published(figures, source)}")


zoos = typer.Typer(
    help="Declare a zoo of your own, for jobs that take many models.", no_args_is_help=True
)


@zoos.command("init")
@reporting_errors
def zoo_init(
    folder: Annotated[Path, typer.Argument(help="Holds the models, at any depth.")],
) -> None:
    """Write nar.zoo.yaml for the models of a folder; says what it could not place."""
    from nar.cli import zoo_commands

    zoo_commands.begin(folder)


@zoos.command("check")
@reporting_errors
def zoo_check(
    zoo: Annotated[Path, typer.Argument(help="A folder, or a nar.zoo.yaml.")],
    as_json: AsJson = False,
) -> None:
    """Show which models a zoo means, under which names; nothing is captured."""
    from nar.cli import zoo_commands

    zoo_commands.plan(zoo, as_json=as_json)


indexes = typer.Typer(
    help="Build the vector index, look at it, save it and tidy it up.", no_args_is_help=True
)


@indexes.command("build")
@reporting_errors
def build(
    work: Work = DEFAULT_WORK,
    uri: Uri = None,
    config: ConfigFile = None,
    other_encoder: OtherEncoder = False,
    as_json: AsJson = False,
) -> None:
    """Embed a corpus and index it in this process; the job `embed` does it on a cluster."""
    from nar.choices import IndexChoice
    from nar.cli import index_commands

    choice = IndexChoice(work, uri, config)
    index_commands.build(choice, other_encoder=other_encoder, as_json=as_json)


@indexes.command("add")
@reporting_errors
@own_models
def add(
    names: Annotated[list[str], typer.Argument(help="Models of your own: FILE:CLASS, ...")],
    work: Work = DEFAULT_WORK,
    uri: Uri = None,
    config: ConfigFile = None,
    max_failures: Annotated[
        int, typer.Option(min=0, help="Exit with 4 where more models failed.")
    ] = 0,
    *,
    asking: Asking,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Put models of your own beside the atlas, in an index that you name with --uri mine.db."""
    from nar.choices import IndexChoice
    from nar.cli import index_commands

    choice = IndexChoice(work, uri, config)
    code = index_commands.add(names, choice, asking, max_failures=max_failures, as_json=as_json)
    if code:
        raise typer.Exit(code)


@indexes.command("remove")
@reporting_errors
def remove(
    names: Annotated[list[str], typer.Argument(help="Names of rows, as `nar list` prints them.")],
    work: Work = DEFAULT_WORK,
    uri: Uri = None,
    config: ConfigFile = None,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Take rows out of an index, or of the index behind a server; nobody else's go."""
    from nar.choices import IndexChoice
    from nar.cli import index_commands

    choice = IndexChoice(work, uri, config)
    if index_commands.remove(names, choice, server, as_json=as_json):
        raise typer.Exit(1)


@indexes.command("label")
@reporting_errors
def label(
    name: Annotated[str, typer.Argument(help="Name of a row, as `nar list` prints it.")],
    labels: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="team=vision accuracy=0.9")
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", metavar="KEY", help="Take a label away.")
    ] = None,
    work: Work = DEFAULT_WORK,
    uri: Uri = None,
    config: ConfigFile = None,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Set labels of your own of a row, or its family and task; nothing is embedded anew."""
    from nar.choices import IndexChoice
    from nar.cli import index_commands

    choice = IndexChoice(work, uri, config)
    index_commands.label(name, labels or [], remove or [], choice, server, as_json=as_json)


@indexes.command("info")
@reporting_errors
def info(
    work: Work = DEFAULT_WORK, uri: Uri = None, config: ConfigFile = None, as_json: AsJson = False
) -> None:
    """Show how many rows the index has, which encoder made them, and where it lies."""
    from nar.choices import IndexChoice
    from nar.cli import index_commands

    index_commands.info(IndexChoice(work, uri, config), as_json=as_json)


@indexes.command("snapshot")
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


@indexes.command("restore")
@reporting_errors
def restore(
    directory: Annotated[Path, typer.Argument(help="A directory that `nar index snapshot` made.")],
    work: Work = DEFAULT_WORK,
    uri: Uri = None,
    config: ConfigFile = None,
    other_encoder: OtherEncoder = False,
    as_json: AsJson = False,
) -> None:
    """Build an index from a snapshot, verify every row, then switch to it."""
    from nar.choices import IndexChoice
    from nar.cli import index_commands

    choice = IndexChoice(work, uri, config)
    index_commands.restore(choice, directory, other_encoder=other_encoder, as_json=as_json)


@indexes.command("history")
@reporting_errors
def history(
    work: Work = DEFAULT_WORK, uri: Uri = None, config: ConfigFile = None, as_json: AsJson = False
) -> None:
    """List the jobs that have changed the index: when, by whom, and with which encoder."""
    from nar.choices import IndexChoice
    from nar.cli import index_commands

    index_commands.history(IndexChoice(work, uri, config), as_json=as_json)


@indexes.command("rollback")
@reporting_errors
def rollback(
    job: Annotated[
        int | None, typer.Argument(help="Number of a job of `nar index history`; else the last.")
    ] = None,
    work: Work = DEFAULT_WORK,
    uri: Uri = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Go back to how the index was before a job; that is a job, too, and can be undone."""
    from nar.choices import IndexChoice
    from nar.cli import index_commands

    index_commands.roll_back(IndexChoice(work, uri, config), job, as_json=as_json)


@indexes.command("orphans")
@reporting_errors
def orphans(
    work: Work = DEFAULT_WORK,
    uri: Uri = None,
    config: ConfigFile = None,
    drop: Annotated[
        bool, typer.Option("--drop", help="Drop the collections that are dead, or idle for long.")
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
