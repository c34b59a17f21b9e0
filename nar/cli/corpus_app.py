"""`nar corpus` and `nar atlas`: the arguments of their commands and their help."""

from pathlib import Path
from typing import Annotated

import typer

from nar.base.console import DEFAULT_WORK, AsJson, Work, reporting_errors
from nar.cli import model_app
from nar.cli.model_app import Corpus

corpora = typer.Typer(help="Look at a corpus of captured architectures.", no_args_is_help=True)
atlases = typer.Typer(
    help="Make an atlas, which answers searches without a build step.", no_args_is_help=True
)
corpora.command("diff")(model_app.diff)

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
    """Add to an atlas what the page shows: a map, and who contains which block. Minutes."""
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
