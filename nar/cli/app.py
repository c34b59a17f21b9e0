"""The `nar` command: its arguments and their help; the modules beside it do the work.

The distributed jobs are `python -m cluster.extract`, `cluster.pretrain` and `cluster.embed`.
"""

import gc
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from nar.answers.change_kinds import ChangeKind
from nar.base.asking import Allowance, Asking, own_models
from nar.base.console import (
    DEFAULT_WORK,
    AsJson,
    ConfigFile,
    Server,
    Uri,
    Verbose,
    Version,
    Work,
    reporting_errors,
    stderr,
)
from nar.base.errors import InvalidInputError
from nar.base.extras import missing_library
from nar.base.process import ENVIRONMENT
from nar.cli import groups
from nar.cli.options import NAME_HELP, Corpus, Multiples, Name, filtering
from nar.graphs.by import By
from nar.index import IndexKind
from nar.index.filters import Filter

if TYPE_CHECKING:
    from nar.answers.supported import SupportedList

# Chosen: objects that Python makes before it looks for garbage. A command ends with its answer, and
# so many objects take a few megabytes.
_OBJECTS: Final = 100_000
# Chosen: a warning is one line.
_SHOWN_NAMES: Final = 3
_LOCK: Final = Path("nar.lock")
# Exit status of `nar check` where models changed; it is 1 where nothing could be compared.
_CHANGED: Final = 3

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(groups.corpora, name="corpus")
app.add_typer(groups.atlases, name="atlas")
app.add_typer(groups.indexes, name="index")
app.add_typer(groups.zoos, name="zoo")

HtmlFile = Annotated[Path | None, typer.Option(help="File that gets the same as a page.")]
Names = Annotated[
    list[str] | None, typer.Argument(help="Names of models; by default all models of the lock.")
]


@app.callback()
def options(version: Version = False) -> None:
    """NAR, the search engine for neural architectures."""
    os.environ.update(ENVIRONMENT | os.environ)
    # A terminal that cannot show a letter shows another: names and tables are not all ASCII.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


@app.command()
@reporting_errors
@own_models
@filtering
def search(
    name: Annotated[str, typer.Argument(help=NAME_HELP)] = "",
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=1, help="Number of relatives.")] = 10,
    server: Annotated[
        str | None,
        typer.Option(
            help="HOST:PORT of a server to ask in place of an index on this machine; several: "
            "ipv4:10.0.0.1:50051,10.0.0.2:50051."
        ),
    ] = None,
    by: Annotated[
        By | None,
        typer.Option(
            help="What they share: the design, the family (what it is for), the trunk (what it "
            "stands on), the most of its structure (what it is a copy, change or part of), or "
            "its origin (what it may have been made from). By default the design; of what an "
            "engine supports, the most of its structure."
        ),
    ] = None,
    motif: Annotated[
        str,
        typer.Option(
            help="Show what contains a block instead: 'conv *norm relu', timm:resnet50#2, a code."
        ),
    ] = "",
    among: Annotated[
        str | None,
        typer.Option(
            help="File of names, one a line: only these may be hits; or what supports them: vllm, "
            "llama.cpp, transformers.js, tensorrt-llm, onnxruntime-genai."
        ),
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
    asking: Asking,
    copies: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Give every copy of a network a row of its own; in a folder, ask of parts too.",
        ),
    ] = False,
    html: HtmlFile = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Find the architectures whose design is nearest to a model's."""
    # Here and below: the libraries behind a command take seconds to import, and help need not wait.
    # Their objects are no garbage; to look for garbage there takes a twentieth of an answer.
    gc.set_threshold(_OBJECTS)
    from nar.choices import IndexChoice

    choice = IndexChoice(work, uri, config)
    listed = None
    if among is not None:
        is_atlas = server is None and not choice.has_own_rows
        listed, wanted = _narrowed(among, wanted, is_atlas=is_atlas)
    if motif or not name:
        if relative:
            raise typer.BadParameter("a multiple such as 0.5x is of a model, and none is named")
        if name or not motif:
            raise InvalidInputError("search", "wanted either the name of a model or --motif")
        from nar.cli.model_commands import search_blocks

        search_blocks(motif, top_k, wanted, choice, server=server, as_json=as_json)
        return
    from nar.answers.naming import code_of
    from nar.answers.supported import sharing
    from nar.cli.search_command import Finding
    from nar.cli.search_command import search as run_search

    finding = Finding(choice, server, top_k, wanted, relative, sharing(by, listed), copies, listed)
    how = {"explain": explain, "fresh": fresh, "as_json": as_json}
    code = code_of(name)
    if code is not None:
        from nar.cli.folder_command import only_module, search_folder

        only = only_module(code)
        if only is None and explain:
            raise typer.BadParameter(f"--explain is of one model, such as {code}/FILE.py:Model")
        if only is None:
            search_folder(code, finding, asking, html=html, as_json=as_json)
            return
        name = only
    run_search(name, finding, asking, html=html, **how)


def _narrowed(
    among: str, wanted: Filter, *, is_atlas: bool
) -> "tuple[SupportedList | None, Filter]":
    """The list of an engine that ``--among`` means, if it means one, and the narrower filter."""
    from nar.answers import conditions
    from nar.answers.supported import supported_list

    listed = supported_list(among)
    if listed:
        return listed, listed.narrowed(wanted)
    names = conditions.listed_names(Path(among))
    if is_atlas:
        _warn_of_unknown(among, conditions.unknown_to_atlas(names))
    return None, conditions.among(names, wanted)


def _warn_of_unknown(path: str, unknown: Sequence[str]) -> None:
    """Say on stderr which names of a file the atlas lacks."""
    if unknown:
        shown = ", ".join(unknown[:_SHOWN_NAMES])
        more = len(unknown) - _SHOWN_NAMES
        rest = f" and {more:,} more" if more > 0 else ""
        stderr.print(f"{path}: not in the atlas: {shown}{rest}", style="yellow")


@app.command(context_settings={"allow_interspersed_args": False})
@reporting_errors
def watch(
    script: Annotated[str, typer.Argument(help="A script, or with -m the name of a module.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Its own arguments.", metavar="[ITS ARGUMENTS]...")
    ] = None,
    is_module: Annotated[
        bool, typer.Option("-m", help="Run a module, as `python -m` does.")
    ] = False,
    module: Annotated[
        str,
        typer.Option(
            help="Ask about the calls of this class, or of this part of the outermost module, such "
            "as model.encoder; without it the outermost module that has weights."
        ),
    ] = "",
    call: Annotated[int, typer.Option(min=1, help="Which of its calls.")] = 1,
    go_on: Annotated[bool, typer.Option("--go-on", help="Let the script run on.")] = False,
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=1, help="Number of relatives.")] = 10,
    explain: Annotated[
        bool, typer.Option("--explain", help="Name the motifs shared with the first hits.")
    ] = False,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Run a script as `python` would, and ask about the model that it calls, with its inputs."""
    from nar.choices import IndexChoice
    from nar.cli.search_command import Finding
    from nar.cli.watch_command import Program
    from nar.cli.watch_command import watch as run_watch
    from nar.own.watching import Wanted

    finding = Finding(IndexChoice(DEFAULT_WORK, None, None), None, top_k, Filter(), {}, "design")
    program = Program(script, arguments or (), is_module)
    how = {"go_on": go_on, "explain": explain, "as_json": as_json}
    run_watch(program, Wanted(module, call), finding, **how)


@app.command("list")
@reporting_errors
@filtering
def list_names(
    pattern: Annotated[str, typer.Argument(help="With * for anything: '*resnet*'.")] = "*",
    work: Work = DEFAULT_WORK,
    uri: Uri = None,
    config: ConfigFile = None,
    server: Server = None,
    *,
    wanted: Filter,
) -> None:
    """Print the names that the atlas knows, or another index, one a line, by name."""
    from nar.choices import IndexChoice
    from nar.cli import model_commands

    choice = IndexChoice(work, uri, config)
    for name in model_commands.known_names(pattern, wanted, choice, server):
        typer.echo(name)


@app.command()
@reporting_errors
@own_models
def capture(
    name: Name,
    graph: bool = False,
    cyclonedx: Annotated[
        bool, typer.Option("--cyclonedx", help="Print a bill of materials: CycloneDX, JSON.")
    ] = False,
    *,
    asking: Asking,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Capture a model: operators, parameters, FLOPs, fingerprints. --graph prints every node."""
    from nar.cli import model_commands

    model_commands.capture(name, asking, graph=graph, as_bill=cyclonedx, as_json=as_json)


@app.command()
@reporting_errors
@own_models
def motifs(name: Name, asking: Asking, as_json: AsJson = False, verbose: Verbose = False) -> None:
    """Show the repeated blocks a model is made of."""
    from nar.cli import model_commands

    model_commands.motifs(name, asking, as_json=as_json)


@app.command()
@reporting_errors
@own_models
def describe(
    name: Name,
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Capture the model, even if the corpus has it.")
    ] = False,
    *,
    asking: Asking,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Say what a model is made of: kind, blocks, norm, attention, MLP, positions, both ends."""
    from nar.choices import CorpusChoice
    from nar.cli import model_commands

    chosen = CorpusChoice(work, corpus)
    model_commands.describe(chosen, name, asking, fresh=fresh, as_json=as_json)


@groups.corpora.command("diff")
@app.command()
@reporting_errors
@own_models
def diff(
    first: Name,
    second: Name,
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    uri: Uri = None,
    config: ConfigFile = None,
    server: Server = None,
    html: HtmlFile = None,
    *,
    asking: Asking,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Show what two architectures share; a model that the corpus lacks is captured, or is a row."""
    from nar.choices import CorpusChoice, IndexChoice
    from nar.cli import model_commands

    chosen, both = CorpusChoice(work, corpus), (first, second)
    choice = IndexChoice(work, uri, config)
    model_commands.diff(chosen, both, asking, choice, server, html=html, as_json=as_json)


@app.command()
@reporting_errors
@own_models
def lock(
    names: Names = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")] = _LOCK,
    *,
    asking: Asking,
    verbose: Verbose = False,
) -> None:
    """Write fingerprints and motifs of models down; without names, those of the file anew."""
    from nar.cli import zoo_commands

    count = zoo_commands.lock(names or [], output, asking)
    typer.echo(f"{count:,} locked in {output}")


def _change_or_allowance(text: str) -> ChangeKind | Allowance:
    for kind in (ChangeKind, Allowance):
        if text in list(kind):
            return kind(text)
    raise typer.BadParameter(f"wanted {', '.join((*ChangeKind, *Allowance))}, came {text!r}")


@app.command()
@reporting_errors
@own_models(without=["allow"])
def check(
    names: Names = None,
    lock_file: Annotated[Path, typer.Option("--lock", help="File that `nar lock` wrote.")] = _LOCK,
    allow: Annotated[
        list[Any] | None,
        typer.Option(
            parser=_change_or_allowance,
            metavar="KIND",
            help=f"Accept changes of this kind ({', '.join(ChangeKind)}), or let the code of your "
            f"own model do this ({', '.join(Allowance)}); may be given again.",
        ),
    ] = None,
    *,
    asking: Asking,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Say what changed since `nar lock`; ends with 3 if a change is of no kind that is allowed."""
    from nar.cli import zoo_commands

    kinds = [each for each in allow or () if isinstance(each, ChangeKind)]
    code_may = frozenset(each for each in allow or () if isinstance(each, Allowance))
    asking = replace(asking, allowed=code_may)
    if not zoo_commands.check(names or [], lock_file, kinds, asking, as_json=as_json):
        raise typer.Exit(_CHANGED)


@app.command()
@reporting_errors
@own_models(without=["inputs", "input_shape", "run"])
def wrap(
    name: Annotated[str, typer.Argument(help="path/to/file.py:Model")],
    *,
    asking: Asking,
    verbose: Verbose = False,
) -> None:
    """Print a function to fill in that makes a class of yours: nar wrap net.py:Net > ask.py."""
    from nar.cli import model_commands

    typer.echo(model_commands.wrapper(name, asking), nl=False)


@app.command()
@reporting_errors
@own_models
def export(
    name: Name,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A file .dot, .graphml, .json or .svg.")
    ],
    operators: Annotated[
        bool, typer.Option("--operators", help="Draw every operator, not every motif.")
    ] = False,
    *,
    asking: Asking,
    work: Work = DEFAULT_WORK,
    corpus: Corpus = None,
    verbose: Verbose = False,
) -> None:
    """Draw a model: its motifs and how they are linked, or every operator."""
    from nar.choices import CorpusChoice
    from nar.cli import model_commands

    chosen = CorpusChoice(work, corpus)
    model_commands.export(chosen, name, output, asking, operators=operators)
    typer.echo(f"wrote {output}")


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
        str | None,
        typer.Option(
            metavar="DIR|URI", help="Corpus whose graphs explain; by default that of the index."
        ),
    ] = None,
    writable: Annotated[
        bool | None, typer.Option("--writable", help="Take Upsert and Delete from writers.")
    ] = None,
    kind: Annotated[
        IndexKind | None,
        typer.Option(help="HNSW: Milvus searches, in an index of this kind; FLAT: rows in memory."),
    ] = None,
) -> None:
    """Answer gRPC queries until SIGTERM or ctrl-c; calls in flight are finished first."""
    from nar.choices import IndexChoice
    from nar.cli.serve_command import serve as run_server

    ports = {"port": port, "metrics_port": metrics_port, "web_port": web_port}
    given = {"host": host, "writable": writable, **ports}
    run_server(IndexChoice(work, uri, config), given, corpus, kind)


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
    """Show a page on this machine: ask, the map, models, differences, what uses a block."""
    from nar.choices import IndexChoice
    from nar.cli.serve_command import show

    show(IndexChoice(work, uri, config), port, atlas)


@app.command()
@reporting_errors
@own_models(without=["inputs", "input_shape", "run"])
def mcp(
    run_code: Annotated[
        bool,
        typer.Option(
            "--run-code",
            help="Let the assistant ask about classes in Python files, which run then.",
        ),
    ] = False,
    root: Annotated[
        list[Path] | None,
        typer.Option(
            help="Folder below which files may be asked about, once or several times; by default "
            "the folder where it is started."
        ),
    ] = None,
    *,
    asking: Asking,
) -> None:
    """Answer an assistant over the Model Context Protocol, on standard input and output."""
    if asking.allowed and not run_code:
        raise typer.BadParameter("--allow is of the code that --run-code lets run")
    try:
        from nar.mcp_server import mcp_server
    except ModuleNotFoundError as error:
        raise missing_library("mcp") from error

    mcp_server(asking if run_code else None, root or ()).run()
