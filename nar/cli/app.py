"""The `nar` command: its arguments and their help; the modules beside it do the work.

The distributed jobs are `python -m cluster.extract`, `cluster.pretrain` and `cluster.embed`.
"""

from pathlib import Path
from typing import Annotated

import typer

from nar.by import By
from nar.cli import benchmark_commands, index_app, model_app
from nar.cli.filter_options import Multiples, filtering
from nar.cli.model_app import NAME_HELP, Corpus, InputShape
from nar.console import (
    DEFAULT_WORK,
    AsJson,
    ConfigFile,
    Uri,
    Verbose,
    Version,
    Work,
    reporting_errors,
)
from nar.index.filters import Filter

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
corpus_app = typer.Typer(help="Look at a corpus of captured architectures.", no_args_is_help=True)
atlas_app = typer.Typer(
    help="Make an atlas, which answers searches without a build step.", no_args_is_help=True
)
app.add_typer(corpus_app, name="corpus")
app.add_typer(atlas_app, name="atlas")
app.add_typer(index_app.app, name="index")
app.add_typer(benchmark_commands.app, name="benchmark")
app.add_typer(model_app.app)
corpus_app.command("diff")(model_app.diff)

Several = Annotated[list[str] | None, typer.Option(help="Show only this; may be given again.")]


@app.callback()
def options(version: Version = False) -> None:
    """NAR, the search engine for neural architectures."""


@corpus_app.command("stats")
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
    from nar.cli import corpus_commands
    from nar.cli.choices import CorpusChoice

    corpus_commands.stats(CorpusChoice(work, corpus), plots=plots, as_json=as_json)


@corpus_app.command("list")
@reporting_errors
def corpus_list(
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    family: Several = None,
    as_json: AsJson = False,
) -> None:
    """List every architecture with its family and size."""
    from nar.cli import corpus_commands
    from nar.cli.choices import CorpusChoice

    corpus_commands.listing(CorpusChoice(work, corpus), families=family or [], as_json=as_json)


@corpus_app.command("show")
@reporting_errors
def corpus_show(
    name: Annotated[str, typer.Argument(help="A name that the corpus has.")],
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    as_json: AsJson = False,
) -> None:
    """Show one architecture: its labels, sizes, motifs, aliases and twins in other libraries."""
    from nar.cli import corpus_commands
    from nar.cli.choices import CorpusChoice

    corpus_commands.show_one(CorpusChoice(work, corpus), name, as_json=as_json)


@corpus_app.command("compare")
@reporting_errors
def corpus_compare(
    older: Annotated[Path, typer.Argument(help="Directory of the corpus before.")],
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    as_json: AsJson = False,
) -> None:
    """Show what changed since an older corpus: models gone and new, graphs that are others now."""
    from nar.cli import corpus_commands
    from nar.cli.choices import CorpusChoice

    corpus_commands.compare_corpora(older, CorpusChoice(work, corpus), as_json=as_json)


@corpus_app.command("pack")
@reporting_errors
def corpus_pack(
    target: Annotated[Path, typer.Argument(help="Directory that gets the packed corpus.")],
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    as_json: AsJson = False,
) -> None:
    """Write a corpus in as few bytes as possible, relatives side by side, with a datasheet."""
    from nar.cli import corpus_commands
    from nar.cli.choices import CorpusChoice

    corpus_commands.pack_corpus(CorpusChoice(work, corpus), target, as_json=as_json)


@corpus_app.command("renew")
@reporting_errors
def corpus_renew(
    target: Annotated[Path, typer.Argument(help="Directory that gets the renewed corpus.")],
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    as_json: AsJson = False,
) -> None:
    """Write a corpus in today's columns; graphs, labels and order stay, and it is the same one."""
    from nar.cli import corpus_commands
    from nar.cli.choices import CorpusChoice

    corpus_commands.renew_corpus(CorpusChoice(work, corpus), target, as_json=as_json)


@atlas_app.command("pack")
@reporting_errors
def atlas_pack(
    target: Annotated[Path, typer.Argument(help="Directory that gets encoder and vectors.")],
    work: Work = DEFAULT_WORK,
) -> None:
    """Embed the corpus of --work with its checkpoint; keep vectors and encoder as an atlas."""
    from nar.cli import atlas_commands

    rows = atlas_commands.pack(work, target)
    typer.echo(f"{rows:,} architectures, in {target}")


@atlas_app.command("draw")
@reporting_errors
def atlas_draw(
    directory: Annotated[Path, typer.Argument(help="Directory of an atlas.")],
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
) -> None:
    """Add to an atlas what the page shows: a map, and who contains which block. Minutes."""
    from nar.atlas import Atlas
    from nar.cli import atlas_commands
    from nar.cli.choices import CorpusChoice

    rows = atlas_commands.draw(Atlas(directory, CorpusChoice(work, corpus).directory()))
    typer.echo(f"{rows:,} architectures, in {directory}")


@app.command()
@reporting_errors
@filtering
def search(
    name: Annotated[str, typer.Argument(help=NAME_HELP)] = "",
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=1, help="Number of relatives.")] = 10,
    server: Annotated[
        str | None,
        typer.Option(help="HOST:PORT of a server to ask; by default the index of --work."),
    ] = None,
    by: Annotated[
        By,
        typer.Option(
            help="What they share: the design, the family (what it is for), the trunk (what it "
            "stands on), or the most of its structure (what it is a copy, change or part of)."
        ),
    ] = "design",
    motif: Annotated[
        str,
        typer.Option(
            help="Show who contains a block instead: 'conv *norm relu', timm:resnet50#2, a code."
        ),
    ] = "",
    among: Annotated[
        Path | None, typer.Option(help="File of names, one a line: only these may be hits.")
    ] = None,
    *,
    wanted: Filter,
    relative: Multiples,
    work: Work = DEFAULT_WORK,
    uri: Uri = None,
    config: ConfigFile = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Name the motifs shared with the first hits.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Capture the model, even if the corpus has it.")
    ] = False,
    input_shape: InputShape = None,
    copies: Annotated[
        bool, typer.Option("--all", help="Give every copy of a network a row of its own.")
    ] = False,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Find the architectures whose design is nearest to a model's."""
    from nar.cli import among as names
    from nar.cli.choices import IndexChoice
    from nar.cli.motif_search import search_blocks
    from nar.cli.search_command import search as run_search

    choice = IndexChoice(work, uri, config)
    if among is not None:
        if server is None:
            names.warn_of_unknown(among, choice)
        wanted = names.among(among, wanted)
    if motif or not name:
        if relative:
            raise typer.BadParameter("a multiple such as 0.5x is of a model, and none is named")
        search_blocks(name, motif, top_k, wanted, choice, server=server, as_json=as_json)
        return
    how = {"explain": explain, "fresh": fresh, "copies": copies, "as_json": as_json}
    conditions = (wanted, relative)
    run_search(name, top_k, conditions, by, choice, server=server, input_shape=input_shape, **how)


@app.command()
@reporting_errors
def serve(
    work: Work = DEFAULT_WORK,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Port to listen on; 0 takes a free one.")
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(min=0, max=65_535, help="Port that Prometheus reads; 0 takes a free one."),
    ] = None,
    web_port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Port of the page and of JSON over HTTP.")
    ] = None,
    uri: Uri = None,
    config: ConfigFile = None,
    corpus: Annotated[
        Path | None,
        typer.Option(help="Corpus whose graphs explain; by default that of the index."),
    ] = None,
    writable: Annotated[
        bool | None, typer.Option("--writable", help="Take Upsert and Delete from writers.")
    ] = None,
) -> None:
    """Answer gRPC queries until SIGTERM or ctrl-c; calls in flight are finished first."""
    from nar.cli.choices import IndexChoice
    from nar.cli.serve_command import serve as run_server

    ports = {"port": port, "metrics_port": metrics_port, "web_port": web_port}
    given = {"host": host, "writable": writable, **ports}
    run_server(IndexChoice(work, uri, config), given, corpus)


@app.command()
@reporting_errors
def web(
    work: Work = DEFAULT_WORK,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port of the page; 0 takes a free one.")
    ] = 8_760,
    atlas: Annotated[
        Path | None, typer.Option(help="Directory of another atlas of the shipped corpus.")
    ] = None,
    uri: Uri = None,
    config: ConfigFile = None,
) -> None:
    """Show a page on this machine: ask, the map, models, differences, who uses a block."""
    from nar.cli.choices import IndexChoice
    from nar.cli.serve_command import show

    show(IndexChoice(work, uri, config), port, atlas)
