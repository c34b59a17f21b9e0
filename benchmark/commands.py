"""``python -m benchmark``: cells, the pages made of them, the frozen data, speed and campaigns."""

import json
import os
import runpy
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from benchmark.asked.commands import app as asked
from cluster.session import ClusterFile, Workers
from nar.base.console import DEFAULT_WORK, AsJson, Work, reporting_errors, stderr, stdout
from nar.base.errors import InvalidInputError, NarError
from nar.base.workspace import Workspace

if TYPE_CHECKING:
    from rich.table import Table

    from benchmark.scoring.evaluate import Evaluation
    from benchmark.tasks.task import Held

ROOT: Final = Path(__file__).parents[1]
app = typer.Typer(
    help="Measure retrieval, speed and reliability.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(asked, name="asked")

Results = Annotated[Path, typer.Option(help="Directory of the tables; gets a page more.")]
Target = Annotated[Path, typer.Argument(help="File that gets the rows.")]


class CellsFailedError(NarError):
    """Some cells have no result."""


@app.command()
@reporting_errors
def run(
    sets: Annotated[
        list[str] | None, typer.Argument(help="table1, distinct, ...; default: all of them.")
    ] = None,
    methods: Annotated[list[str] | None, typer.Option("--method", help="Only these.")] = None,
    seeds: Annotated[list[int] | None, typer.Option("--seed", help="Only these.")] = None,
    splits: Annotated[
        list[str] | None,
        typer.Option("--split", help="Only these; parts of a table that are of others stay."),
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="Directory that gets tables (Markdown, JSON) and figures.")
    ] = None,
    work: Work = DEFAULT_WORK,
    workers: Workers = None,
    cluster_config: ClusterFile = None,
    as_json: AsJson = False,
) -> None:
    """Run the cells of some tables on all cores, into WORK/evaluation.

    Run twice, it changes nothing; killed, it goes on.
    """
    from benchmark.reporting.results import write_results
    from benchmark.reporting.sets import SETS, find_set
    from benchmark.running import chosen_cells, evaluate
    from cluster.config import load_cluster_config
    from cluster.resources import resized
    from cluster.session import connect

    config = load_cluster_config(cluster_config)
    names = sets or list(SETS)
    directory = Workspace(work).evaluation.resolve()
    cells = chosen_cells(names, split=splits or [], method=methods or [], seed=seeds or [])
    with connect(config):
        report = evaluate(cells, directory, resized(config.evaluate, workers))
    if as_json:
        _print_json(asdict(report))
    else:
        stdout.print(str(report), soft_wrap=True)
    if report.failures:
        name, why = next(iter(report.failures.items()))
        raise CellsFailedError(f"{len(report.failures)} cells have no result, {name}: {why}")
    if results is None:
        return
    for name in dict.fromkeys(names):
        if find_set(name).of_splits(splits or []).tasks:
            write_results(results, name, directory, splits or [])


@app.command()
@reporting_errors
def cell(
    data: Annotated[str, typer.Argument(help="real, nas-2, nas-4, ... nas-16")],
    split: Annotated[str, typer.Argument(help="What is learned: paper, distinct, unseen, copies")],
    method: Annotated[str, typer.Argument(help="As a table of results/ names it: codes-2-idf")],
    seed: Annotated[int, typer.Option(help="0 to 4")] = 0,
    protocol: Annotated[
        list[str] | None, typer.Option(help="Show only this; may be given again.")
    ] = None,
    validation: Annotated[
        bool, typer.Option("--validation", help="Ask what is held back to select a model.")
    ] = False,
    work: Work = DEFAULT_WORK,
    as_json: AsJson = False,
) -> None:
    """Run one cell, as `run` runs many, and show what it reached by protocol."""
    from benchmark.cells import Cell, run_on, task_of
    from benchmark.methods.registry import find_method
    from benchmark.scoring.evaluate import summarise
    from benchmark.tasks.task import find_protocol

    held: Held = "validation" if validation else "test"
    chosen = Cell(data, split, find_method(method).name, seed, held)
    for name in protocol or ():
        find_protocol(data, name)
    with stderr.status(f"{method} on {data}/{split}"):
        task = task_of(chosen, cache_directory=Workspace(work).evaluation)
        ranked = run_on(chosen, task)
        scored = {
            name: summarise([ranked.scored(asked).scored])
            for name, asked in task.asked.items()
            if name in (protocol or task.asked)
        }
    if as_json:
        cost = {"learned": ranked.learned, "dim": ranked.dim, "seconds": round(ranked.seconds, 1)}
        shown = {name: whole.to_dict() for name, whole in scored.items()}
        _print_json({**asdict(chosen), **cost, "protocols": shown})
    else:
        headlines = {name: find_protocol(data, name).headline for name in scored}
        stdout.print(_scores(f"{chosen}, {ranked.seconds:.0f} s", scored, headlines))


def _scores(
    title: str, scored: "Mapping[str, Evaluation]", headlines: "Mapping[str, str]"
) -> "Table":
    """A line a protocol: its headline with interval and macro mean."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table("protocol", title=title, title_justify="left", box=SIMPLE_HEAD)
    for name in ("queries", "families", "metric", "mean", "95%", "macro"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, whole in scored.items():
        score = whole.scores[headlines[name]]
        interval = f"{score.low:.3f}-{score.high:.3f}"
        counts = (f"{whole.queries:,}", f"{whole.clusters:,}", headlines[name])
        table.add_row(name, *counts, f"{score.mean:.3f}", interval, f"{score.macro:.3f}")
    return table


@app.command()
@reporting_errors
def novelty(
    results: Results,
    work: Work = DEFAULT_WORK,
    methods: Annotated[list[str] | None, typer.Option("--method", help="Only these.")] = None,
) -> None:
    """Measure how well distance tells new families from known ones."""
    from benchmark.novelty import METHODS, write_novelty

    write_novelty(results, Workspace(work).evaluation, methods or METHODS)


@app.command()
@reporting_errors
def inside(results: Results, work: Work = DEFAULT_WORK) -> None:
    """Measure what models that hold a held-out family are worth to who learns them."""
    from benchmark.inside import write_inside

    write_inside(results, Workspace(work).evaluation)


@app.command()
@reporting_errors
def calibrate(results: Results, work: Work = DEFAULT_WORK) -> None:
    """Measure how new the shipped atlas says things are that are not, from cells: a decision."""
    from benchmark.calibration import calibrate_atlas

    calibrate_atlas(Workspace(work).evaluation, results)


@app.command()
@reporting_errors
def misses(results: Results, work: Work = DEFAULT_WORK) -> None:
    """Say of which families the wrong answers of NAR default are, from its cells."""
    from benchmark.misses import write_misses

    write_misses(results, Workspace(work).evaluation)


@app.command()
@reporting_errors
def targets(results: Results) -> None:
    """Set what was aimed at beside what the tables say."""
    from benchmark.targets import write_targets

    write_targets(results)


@app.command()
@reporting_errors
def tradeoff(results: Results) -> None:
    """Draw what every method finds against the seconds it takes, from the tables."""
    from benchmark.reporting.figures import write_trade_off

    write_trade_off(results)


@app.command()
@reporting_errors
def origin(
    results: Annotated[Path | None, typer.Option(help="Directory that gets the page.")] = None,
    work: Work = DEFAULT_WORK,
) -> None:
    """Set the second stage of `--by origin` on what selects a model; some three minutes."""
    from benchmark.origin import as_markdown, write_page

    directory = Workspace(work).evaluation
    if results is not None:
        write_page(results, directory)
    else:
        sys.stdout.write(as_markdown(directory))


@app.command()
@reporting_errors
def pairs(
    results: Annotated[Path | None, typer.Option(help="Directory that gets the page.")] = None,
    target: Annotated[
        Path | None, typer.Option(help="File that gets the scorer: pair_scorer.json.")
    ] = None,
    work: Work = DEFAULT_WORK,
) -> None:
    """Learn what ranks hits by copy once more, on what selects a model; some two minutes."""
    from benchmark.pairs.page import as_markdown, write_page

    directory = Workspace(work).evaluation
    if results is not None:
        write_page(results, directory, target)
    elif target is not None:
        raise InvalidInputError("--target", "wanted --results, too: the page of what is written")
    else:
        sys.stdout.write(as_markdown(directory))


@app.command()
@reporting_errors
def predictor(
    results: Annotated[Path | None, typer.Option(help="Directory that gets the page.")] = None,
) -> None:
    """Predict the accuracy of NAS-Bench-201 networks from few labels; some four minutes."""
    from benchmark.predictor import as_markdown, write_page

    if results is not None:
        write_page(results)
    else:
        sys.stdout.write(as_markdown())


@app.command("own-encoder")
@reporting_errors
def own_encoder(
    results: Annotated[Path | None, typer.Option(help="Directory that gets the page.")] = None,
) -> None:
    """Measure from how many own models on an encoder of one's own is worth it; some minutes."""
    from benchmark.own_encoder import as_markdown, measured, write_page

    if results is not None:
        write_page(results)
    else:
        sys.stdout.write(as_markdown([*measured()]))


@app.command()
@reporting_errors
def verdicts(
    results: Annotated[
        Path | None, typer.Option(help="Directory that gets the page, both halves of it.")
    ] = None,
) -> None:
    """Measure what is said of designs that are not known, and how often rightly; minutes."""
    from benchmark.evidence.verdicts import as_markdown, write_page

    if results is not None:
        write_page(results)
    else:
        sys.stdout.write(as_markdown(["validation"]))


@app.command()
@reporting_errors
def changes(
    results: Annotated[
        Path | None, typer.Option(help="Directory that gets the page, both halves of it.")
    ] = None,
) -> None:
    """Measure how often a difference in words names the edit that was made; half a minute."""
    from benchmark.evidence.changes import as_markdown, write_page

    if results is not None:
        write_page(results)
    else:
        sys.stdout.write(as_markdown(["validation"]))


@app.command("coverage")
@reporting_errors
def measure_coverage(
    results: Annotated[
        Path | None, typer.Option(help="Directory that gets the page, both halves of it.")
    ] = None,
) -> None:
    """Measure how much of whom stands in no known architecture; some five minutes."""
    from benchmark.evidence.coverage import as_markdown, write_page

    if results is not None:
        write_page(results)
    else:
        sys.stdout.write(as_markdown(["validation"]))


@app.command()
@reporting_errors
def known_codes(target: Target) -> None:
    """Read the neighbourhoods of all architectures of the shipped corpus anew: a decision."""
    from nar.answers.coverage import known_codes, write_codes
    from nar.corpus import Corpus, shipped_corpus

    shards = Corpus(shipped_corpus()).shards()
    codes = known_codes(item.graph for _, items in shards for item in items)
    write_codes(target, codes)
    sizes = ", ".join(f"{len(each):,} of radius {radius}" for radius, each in codes.items())
    stdout.print(f"{sizes}, in {target}", soft_wrap=True)


@app.command()
@reporting_errors
def wrapped(
    results: Annotated[
        Path | None, typer.Option(help="Directory that gets the page, both halves of it.")
    ] = None,
) -> None:
    """Ask about known models in what deployment puts around them; half a minute."""
    from benchmark.evidence.wrapped import as_markdown, write_page

    if results is not None:
        write_page(results)
    else:
        sys.stdout.write(as_markdown(["validation"]))


@app.command()
@reporting_errors
def files(
    results: Annotated[Path | None, typer.Option(help="Directory that gets the page.")] = None,
) -> None:
    """Write known models with every exporter that is here, and ask about the files; minutes."""
    from benchmark.evidence.files import answers, as_markdown, versions, write_page

    if results is not None:
        write_page(results)
    else:
        sys.stdout.write(as_markdown(list(answers()), versions()))


@app.command()
@reporting_errors
def packaged(
    packages: Annotated[Path, typer.Argument(help="Directory with a package in each folder.")],
    results: Annotated[Path | None, typer.Option(help="Directory that gets the page.")] = None,
) -> None:
    """Capture the ONNX files that packages of others bring; seconds."""
    from benchmark.evidence.packaged import as_markdown
    from benchmark.evidence.packaged import packaged as rows_of
    from benchmark.reporting.markdown import keep_page

    text = as_markdown(list(rows_of(packages)))
    if results is not None:
        keep_page(results, "packaged.md", text)
    else:
        sys.stdout.write(text)


@app.command()
@reporting_errors
def by_hand(
    results: Annotated[
        Path | None, typer.Option(help="Directory that gets the page, both halves of it.")
    ] = None,
) -> None:
    """Ask about designs written by hand from their papers; a minute."""
    from benchmark.evidence.by_hand import as_markdown, write_page

    if results is not None:
        write_page(results)
    else:
        sys.stdout.write(as_markdown(["validation"]))


@app.command()
@reporting_errors
def false_known(
    results: Annotated[Path | None, typer.Option(help="Directory that gets the page.")] = None,
) -> None:
    """Count what is said to be known though the index has it not; half a minute."""
    from benchmark.evidence.false_known import as_markdown, write_page

    if results is not None:
        write_page(results)
    else:
        sys.stdout.write(as_markdown())


@app.command()
@reporting_errors
def draw_wrapped(target: Target) -> None:
    """Draw the models that `wrapped` asks about, and what is around them, anew: a decision."""
    from benchmark.evidence.wrapped import write_list

    stdout.print(write_list(target), soft_wrap=True)


@app.command()
@reporting_errors
def capture_wrapped(target: Target) -> None:
    """Capture the modules and files of `wrapped` anew, in some five minutes: a decision."""
    from benchmark.evidence.wrapped_modules import write_captured

    sys.stdout.writelines(f"{line}\n" for line in write_captured(target))


@app.command()
@reporting_errors
def parts_of(
    results: Annotated[
        Path | None, typer.Option(help="Directory that gets the page, both halves of it.")
    ] = None,
    test: Annotated[
        bool, typer.Option("--test", help="Ask what is held back to test, not to select.")
    ] = False,
) -> None:
    """Measure how often a part is told from a whole, and its family from others; minutes."""
    from benchmark.evidence.parts import as_markdown, write_page

    if results is not None:
        write_page(results)
    else:
        sys.stdout.write(as_markdown(["test" if test else "validation"]))


@app.command()
@reporting_errors
def rewriting(
    models: Annotated[
        list[str] | None, typer.Argument(help="Specs; the frozen list if none is given.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="So many, from the first on.")] = None,
    kinds: Annotated[list[str] | None, typer.Option("--kind", help="Only this rewrite.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write models otherwise, capture them again, and count whose graph stays."""
    from benchmark.rewriting.attempts import attempts, chosen_rewrites, model_names
    from benchmark.rewriting.summary import report, summary

    chosen = chosen_rewrites(kinds or [])
    names = (models or model_names())[:limit]
    with stderr.status(f"rewriting {len(names)} models"):
        rows = summary(attempts(names, chosen))
    if as_json:
        _print_json([asdict(row) for row in rows])
    else:
        sys.stdout.writelines(f"{line}\n" for line in report(rows))


@app.command()
@reporting_errors
def freeze(
    target: Target,
    corpus: Annotated[
        Path | None, typer.Option(help="Directory; default: the shipped one.")
    ] = None,
) -> None:
    """Draw the architectures of the benchmark and their roles anew from a corpus: a decision."""
    from benchmark.tasks.frozen import freeze as draw

    stdout.print(draw(target, corpus), soft_wrap=True)


@app.command()
@reporting_errors
def rewritten(target: Target) -> None:
    """Capture what asks under the protocol `rewrites` anew, in some ten minutes: a decision."""
    from benchmark.rewriting.attempts import write_rewritten

    stdout.print(write_rewritten(target), soft_wrap=True)


@app.command()
@reporting_errors
def edited(
    target: Target,
    limit: Annotated[int | None, typer.Option(min=1, help="So many, from the first on.")] = None,
    kinds: Annotated[list[str] | None, typer.Option("--kind", help="Only this change.")] = None,
) -> None:
    """Capture what asks under `edits` and `parts` anew, in some 25 minutes: a decision."""
    from benchmark.editing.attempts import write_changed

    lines = write_changed(target, limit=limit, kinds=kinds or [])
    sys.stdout.writelines(f"{line}\n" for line in lines)


@app.command()
@reporting_errors
def draw_edited(
    target: Target,
    corpus: Annotated[
        Path | None, typer.Option(help="Directory; default: the shipped one.")
    ] = None,
) -> None:
    """Draw the models that `edited` changes anew from a corpus: a decision."""
    from benchmark.editing.selection import write_selection

    stdout.print(write_selection(target, corpus), soft_wrap=True)


@app.command()
@reporting_errors
def darts(
    target: Target,
    seed: Annotated[int, typer.Option(help="Fixes centres and members.")] = 0,
    members: Annotated[int, typer.Option(min=1, help="Networks a distance.")] = 30_000,
) -> None:
    """Sample the NAS data set anew, all distances of the difficulty curve: a decision."""
    from nar.zoo.sources.darts.dataset import generate, write

    write(generate(seed, members=members), target)
    stdout.print(f"{target}: {target.stat().st_size:,} bytes", soft_wrap=True)


@app.command()
@reporting_errors
def renew(
    target: Annotated[Path, typer.Argument(help="Directory that gets the files.")],
) -> None:
    """Write the models that only ask in today's columns; who answered them stays as it was."""
    from benchmark.tasks.datasets import ASKING_FILES
    from nar.base.workspace import package_path
    from nar.corpus import read_shard, write_shard

    target.mkdir(parents=True, exist_ok=True)
    for file in ASKING_FILES:
        items = read_shard(package_path("data", file, package="benchmark"))
        entry = write_shard(target / file, items)
        stdout.print(f"{entry.rows:,} models, in {target / file}")


# Speed and campaigns are modules that read their own command lines.
# Chosen: 500 models take two of them on two cores; who has less is told by fewer models.
_BUILDING_MINUTES: Final = 30.0
_OWN_OPTIONS: Final = {"ignore_unknown_options": True, "allow_extra_args": True}
Module = Annotated[str, typer.Argument(help="A module of the folder of this name.")]


@app.command(context_settings=_OWN_OPTIONS, add_help_option=False)
def speed(context: typer.Context, name: Module) -> None:
    """Measure one thing, beside its stored figures: `speed capture [RESULTS.json]`."""
    _run_module(f"benchmark.speed.{name}", context.args)


@app.command(context_settings=_OWN_OPTIONS, add_help_option=False)
def campaign(context: typer.Context, name: Module) -> None:
    """Do one thing to it again and again: `campaign kills [OPTIONS]`."""
    _run_module(f"benchmark.campaigns.{name}", context.args)


@app.command(context_settings=_OWN_OPTIONS)
def pictures(context: typer.Context) -> None:
    """Keep screenshots of every view: `pictures DIRECTORY [OPTIONS of nar web]`."""
    _run_module("benchmark.pictures", context.args)


def _run_module(name: str, arguments: list[str]) -> None:
    """What ``python -m NAME ARGUMENTS`` does, where the test bed is found as well.

    Servers, nodes and browsers that are started and killed are those of the tests; processes that
    are started on the way find them, too.
    """
    paths = [str(ROOT), str(ROOT / "tests")]
    sys.path += paths
    os.environ["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])
    sys.argv = [name, *arguments]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


@app.command()
@reporting_errors
def recognised(
    models: Annotated[int, typer.Option(min=1, help="How many models of each draw.")] = 500,
    seed: Annotated[int, typer.Option(help="Draws the models and their changes.")] = 0,
    results: Annotated[Path | None, typer.Option(help="Directory that gets the page.")] = None,
) -> None:
    """Change the weights of models of the corpus, and recognise them, for some minutes."""
    from benchmark import recognised as page
    from cluster.signatures import built_models
    from nar.corpus import Corpus, shipped_corpus
    from nar.corpus.signatures import shipped_signatures

    signatures = shipped_signatures()
    if signatures is None:
        raise NarError("wanted signatures; `python -m cluster.signatures` writes them")
    columns = Corpus(shipped_corpus()).columns(["name", "tier"]).to_pydict()
    order = list(zip(columns["name"], columns["tier"], strict=True))
    asked = {}
    for tier, said in page.DRAWS.items():
        names = page.names_in(order, tier, seed)
        chosen = page.distinct(built_models(names, None, _BUILDING_MINUTES), models)
        asked[said] = page.ask(chosen, signatures, seed)
    text = page.as_markdown(asked, len(order))
    if results is None:
        stdout.print(text, markup=False)
    else:
        page.write_page(results, text)


@app.command()
@reporting_errors
def card(
    corpus: Annotated[
        Path | None, typer.Option(help="A corpus with details; by default the shipped one.")
    ] = None,
    results: Annotated[Path | None, typer.Option(help="Directory that gets the page.")] = None,
    halves: Annotated[list[str] | None, typer.Option("--half", help="Only this.")] = None,
) -> None:
    """Read design cards beside the configurations that built the models, for some minutes."""
    from benchmark import card as page
    from nar.corpus import shipped_corpus

    place = corpus or shipped_corpus()
    wanted = [half for half in page.HALVES if not halves or half in halves]
    read: dict[str, list[page.Row]] = {half: page.read_rows(place, half) for half in wanted}
    if results is None:
        stdout.print(page.as_markdown(read), markup=False)
    else:
        page.write_page(results, read)


@app.command()
@reporting_errors
def described(
    seed: Annotated[int, typer.Option(help="Draws the models.")] = 0,
    groups: Annotated[list[str] | None, typer.Option("--group", help="Only these.")] = None,
    results: Annotated[Path | None, typer.Option(help="Directory that gets the page.")] = None,
) -> None:
    """Read the attention of 130 models beside their configurations, for some five minutes."""
    from benchmark import described as page
    from nar.corpus import Corpus, shipped_corpus

    cards = list(Corpus(shipped_corpus()).cards())
    wanted = groups or list(page.GROUPS)
    asked = {name: page.ask(page.drawn(cards, name, seed)) for name in wanted}
    if results is None:
        stdout.print(page.as_markdown(asked), markup=False)
    else:
        page.write_page(results, asked)
