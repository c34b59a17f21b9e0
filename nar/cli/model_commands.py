"""What the commands about models do: names, one model, two models, users of a block."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from nar.answers.atlas import read_atlas, shipped_atlas
from nar.answers.conditions import MemoryValues, check_values
from nar.answers.naming import (
    Asked,
    captured,
    each_known_or_captured,
    known_or_captured,
    resolve_name,
    stated_for,
)
from nar.base.asking import Asking
from nar.base.console import DEFAULT_WORK, show, stderr
from nar.base.errors import CaptureError, InvalidInputError, UnknownArchitectureError
from nar.base.files import write_text
from nar.base.model_files import PYTHON
from nar.base.workspace import cache_directory
from nar.choices import CorpusChoice, IndexChoice
from nar.corpus import Location, shipped_corpus
from nar.graphs.architecture import Architecture
from nar.index.filters import Filter
from nar.index.rows import IndexEntry, index_entry
from nar.motifs.partition import partition
from nar.views import display, reports

if TYPE_CHECKING:
    from nar.answers.difference import RowsCompared


def known_names(
    pattern: str, wanted: Filter, choice: IndexChoice, server: str | None
) -> Iterator[str]:
    """Names of an index, in their order.

    Args:
        pattern: As in a shell; letters may be large or small.
        wanted: Conditions that the architectures must meet.
        choice: The index; the atlas where none is named.
        server: HOST:PORT of a server that has the index; None for an index here.

    Raises:
        InvalidInputError: The filter asks for a value that nothing has.
    """
    names = sorted(entry.name for entry in _entries(wanted, choice, server))
    return (name for name in names if fnmatchcase(name.lower(), pattern.lower()))


def _entries(wanted: Filter, choice: IndexChoice, server: str | None) -> Iterable[IndexEntry]:
    if server is not None:
        from nar.cli.search_command import of_server, opened_client

        with opened_client(choice.config(), server) as client:
            check_values(of_server(client), wanted)
            return [*client.list(wanted=wanted)]
    if choice.names_index or choice.work != DEFAULT_WORK:
        from nar.cli.search_command import of_pages
        from nar.index.architecture_index import ArchitectureIndex

        with ArchitectureIndex(choice.existing()) as opened:
            check_values(of_pages(opened), wanted)
            return opened.page("", max(opened.count(), 1), wanted)
    index = read_atlas(shipped_atlas()).index
    check_values(MemoryValues(index), wanted)
    return index.page("", index.count(), wanted)


def capture(name: str, asking: Asking, *, graph: bool, as_bill: bool, as_json: bool) -> None:
    """Show a captured model, or every node of it, or print its bill of materials."""
    if graph and as_bill:
        raise InvalidInputError(
            "--cyclonedx", "wanted it without --graph: each prints another form"
        )
    model = captured(resolve_name(name, shipped_corpus()), asking)
    if as_bill:
        show(reports.bill_of(model), str, as_json=True)
        return
    show(
        reports.capture(model),
        lambda: str(model.architecture.graph) if graph else display.capture(model),
        as_json=as_json,
    )


def motifs(name: str, asking: Asking, *, as_json: bool) -> None:
    """Show the motif types of a model."""
    corpus = CorpusChoice(DEFAULT_WORK).directory_if_any()
    asked = known_or_captured(corpus, name, asking=asking)
    asked.report_assumed()
    name, cut = asked.architecture.labels.name, partition(asked.architecture.graph)
    report = {
        **reports.motifs(name, cut),
        "assumed": reports.assumed(asked.assumed),
        "unread": reports.unread(asked.unread),
    }
    show(report, lambda: display.motifs(name, cut), as_json=as_json)


def describe(
    corpus: CorpusChoice, name: str, asking: Asking, *, fresh: bool, as_json: bool
) -> None:
    """Show what a model is made of; of what the corpus has, with the details that it has."""
    from nar.answers.design_card import design_card

    asked = known_or_captured(
        corpus.directory_if_any(), name, fresh=fresh, asking=asking, with_details=True
    )
    asked.report_assumed()
    item = asked.architecture
    card = design_card(item.graph, item.details)
    name = item.labels.name
    report = {
        **reports.card(name, card),
        "assumed": reports.assumed(asked.assumed),
        "unread": reports.unread(asked.unread),
    }
    show(report, lambda: display.card(name, card), as_json=as_json)


def wrapper(name: str, asking: Asking) -> str:
    """The text of a file that makes a class of the user's, with what was found for each argument.

    Raises:
        InvalidInputError: The name is no class of a Python file.
    """
    path, _, factory = name.rpartition(":")
    if not (path.endswith(PYTHON) and factory.isidentifier()):
        raise InvalidInputError(name, "wanted path/to/file.py:Model, such as net.py:Net")
    if not Path(path).is_file():
        raise UnknownArchitectureError(f"{name}: there is no file {path}")
    # It runs the user's file, with libraries that take seconds to import.
    from nar.own.wrapping import wrapper_of

    return wrapper_of(Path(path), factory, asking)


def search_blocks(
    motif: str,
    top_k: int,
    wanted: Filter,
    choice: IndexChoice,
    *,
    server: str | None,
    as_json: bool,
) -> None:
    """Show the architectures that contain a block.

    Raises:
        InvalidInputError: The text means no block, or an index other than the atlas is named.
    """
    # Here and below: each command imports what it alone needs.
    from nar.answers.blocks import atlas_block_users

    if server or choice.names_index or choice.work != DEFAULT_WORK:
        raise InvalidInputError(
            "motif", "blocks are counted in the atlas only: leave out --server, --uri and --work"
        )

    def find(name: str) -> Architecture:
        corpus = CorpusChoice(choice.work).directory_if_any()
        return next(each_known_or_captured(corpus, [name])).architecture

    users = atlas_block_users(shipped_atlas(), motif, wanted, find, cache_directory())
    report = {
        "motif": motif,
        "architectures": len(users.users),
        "blocks": [asdict(block) for block in users.blocks],
        "families": users.families,
        "users": [asdict(user) for user in users.users[:top_k]],
    }
    show(report, lambda: display.block_users(motif, users, top_k), as_json=as_json)


def diff(
    corpus: CorpusChoice,
    both: tuple[str, str],
    asking: Asking,
    choice: IndexChoice,
    server: str | None,
    *,
    html: Path | None,
    as_json: bool,
) -> None:
    """Show what two architectures share; what the corpus does not have is captured.

    What is neither known nor can be captured may be a row of the index that is named, or of a
    server.
    """
    from nar.answers.difference import difference
    from nar.views.difference import difference_html, difference_report, difference_view
    from nar.views.html import document

    directory = corpus.directory_if_any()
    sides: Sequence[Asked | str]
    if server is None and not choice.has_own_rows:
        sides = [*each_known_or_captured(directory, both, asking)]
    else:
        sides = [_asked_or_row(directory, name, asking, choice, server) for name in both]
    first, second = sides
    if isinstance(first, str) or isinstance(second, str):
        _diff_rows(sides, choice, server, html=html, as_json=as_json)
        return
    compared = replace(
        difference(first.architecture, second.architecture),
        assumed=(first.assumed, second.assumed),
        unread=(first.unread, second.unread),
    )
    if html is not None:
        title = " and ".join(both)
        write_text(html, document(title, *difference_html(compared)))
        stderr.print(f"wrote {html}", style="dim")
    show(difference_report(compared), lambda: difference_view(compared), as_json=as_json)


def _asked_or_row(
    corpus: Location | None, name: str, asking: Asking, choice: IndexChoice, server: str | None
) -> Asked | str:
    """A model, or the name of a row where the corpus lacks it and it is no file."""
    try:
        return known_or_captured(corpus, name, asking=stated_for(name, asking))
    except (UnknownArchitectureError, CaptureError):
        if server is None and choice.config().index.is_missing:
            raise
        return name


def _diff_rows(
    sides: Sequence[Asked | str],
    choice: IndexChoice,
    server: str | None,
    *,
    html: Path | None,
    as_json: bool,
) -> None:
    """Show what an index, or a server with graphs, knows of two architectures."""
    from nar.views.difference import rows_report, rows_view
    from nar.views.html import document, html_of

    if server is None:
        compared = _rows_compared(sides, choice)
    else:
        compared = _compared_by(server, sides, choice)
    if html is not None:
        title = f"{compared.first.name} and {compared.second.name}"
        write_text(html, document(title, html_of(rows_view(compared))))
        stderr.print(f"wrote {html}", style="dim")
    show(rows_report(compared), lambda: rows_view(compared), as_json=as_json)


def _rows_compared(sides: Sequence[Asked | str], choice: IndexChoice) -> "RowsCompared":
    from nar.answers.difference import RowsCompared
    from nar.index.architecture_index import ArchitectureIndex

    config = choice.existing()
    names = [side for side in sides if isinstance(side, str)]
    with ArchitectureIndex(config) as index:
        rows = index.get(names)
    for name in names:
        if name not in rows:
            raise UnknownArchitectureError(f"{name} is not in the index at {config.uri}")
    why_not = (
        f"Their operators are not compared: the index has no graph of {' and '.join(names)}. Name "
        "the corpus that has it (--corpus or --work), its file, or a server that reads that corpus."
    )
    first, second = (
        rows[each] if isinstance(each, str) else index_entry(each.architecture) for each in sides
    )
    return RowsCompared(first, second, None, why_not)


def _compared_by(server: str, sides: Sequence[Asked | str], choice: IndexChoice) -> "RowsCompared":
    """What a server says of rows of its own, and of a model beside them."""
    from nar.answers.difference import RowsCompared
    from nar.cli.search_command import opened_client
    from nar.client.questions import value

    with opened_client(choice.config(), server) as client:
        first, second = (
            value(client.get([each])[0])
            if isinstance(each, str)
            else index_entry(each.architecture)
            for each in sides
        )
        one, other = (each if isinstance(each, str) else each.architecture for each in sides)
        try:
            if isinstance(other, str):
                motifs = value(client.explain(one, [other])[0])
            else:
                motifs = value(client.explain(other, [first.name])[0]).turned()
        except UnknownArchitectureError as error:
            return RowsCompared(first, second, None, f"Their operators are not compared: {error}.")
    return RowsCompared(first, second, motifs)


def export(
    corpus: CorpusChoice,
    name: str,
    output: Path,
    asking: Asking,
    *,
    operators: bool,
) -> None:
    """Draw a model into a file."""
    # Its library takes 0.2 s to import.
    from nar.views import graph_export

    graph_export.check_suffix(output)
    [asked] = each_known_or_captured(corpus.directory_if_any(), [name], asking)
    asked.report_assumed()
    of_model = graph_export.operator_graph if operators else graph_export.motif_graph
    graph_export.write_graph(output, of_model(name, asked.architecture.graph))
