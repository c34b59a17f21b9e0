"""What `nar search FOLDER` and `nar search FILE.py` do: each model in there is asked about."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import typer

from nar.answers.naming import Asked, resolve_name
from nar.answers.query import Answer, Query
from nar.base.asking import Asking
from nar.base.console import progress, stderr
from nar.base.errors import CaptureError, InvalidInputError, NarError
from nar.choices import CorpusChoice
from nar.cli.search_command import Finding, HitGraphs, ask, show_and_keep
from nar.corpus import shipped_corpus
from nar.own import capture_architecture
from nar.own.listing import DefinedModule, modules_of
from nar.views.folder import FolderRow, folder_report, folder_view

# Chosen: modules that are asked about, a minute or a few; the outermost come first.
_MOST: Final = 40
# Chosen: for one module; imports and a search for inputs take some 20 s, and a module that
# hangs must not hold up the others.
_MOST_S: Final = 120.0


def only_module(code: Path) -> str | None:
    """The spec of the model of a file that defines one alone, parts aside; None for any other.

    Args:
        code: A Python file, or a folder.

    Raises:
        InvalidInputError: It is a file that defines no modules: says which functions it has.
    """
    if not code.is_file():
        return None
    modules = modules_of(code)
    if not modules:
        return resolve_name(str(code), shipped_corpus())
    outer = [each.spec for each in modules if not each.is_part]
    return outer[0] if len(outer) == 1 else None


@dataclass(frozen=True, slots=True)
class _Tried:
    """A module that was captured, or why it could not be.

    Attributes:
        module: The class.
        asked: Its capture; None where there is none.
        lacks: Why there is none; None where it was captured, or not tried.
    """

    module: DefinedModule
    asked: Asked | None = None
    lacks: str | None = None


def search_folder(
    code: Path, finding: Finding, asking: Asking, *, html: Path | None, as_json: bool
) -> None:
    """Search with each model of some code, and show the nearest relative of each in a table.

    Args:
        code: The folder of a repository, any other folder, or a file.
        finding: Where relatives are looked for, and which. Where every copy is a relative, parts of
            other modules are asked about as well.
        asking: What the user states of the models.
        html: File that gets the same as a page.
        as_json: Whether a program reads the answer.

    Raises:
        InvalidInputError: The folder defines no modules.
        Exit: With status 1, none of them could be asked about; why is shown before.
    """
    modules = modules_of(code)
    if not modules:
        raise InvalidInputError(
            str(code),
            "wanted Python files that define modules (classes of nn.Module with a forward), or a "
            f"config.json of transformers; came neither; for a function name {code}/FILE.py:NAME",
        )
    chosen = [each for each in modules if finding.copies or not each.is_part]
    tried = _captured(chosen if finding.copies else chosen[:_MOST], asking)
    done = {each.module for each in tried}
    left = [FolderRow(each.spec, each.is_part) for each in modules if each not in done]
    rows = [*_answered(tried, finding), *left]
    show_and_keep(
        folder_report(code, rows) if as_json else {},
        lambda: folder_view(code, rows),
        str(code),
        html,
        as_json=as_json,
    )
    if not any(row.answer for row in rows):
        raise typer.Exit(1)


def _captured(modules: Sequence[DefinedModule], asking: Asking) -> list[_Tried]:
    tried = []
    with progress("capturing", len(modules)) as advance:
        for module in modules:
            try:
                tried.append(_one(module, asking))
            except KeyboardInterrupt:
                stderr.print("interrupted: the others are not asked", style="yellow")
                break
            advance(1, failed=int(tried[-1].asked is None))
    return tried


def _one(module: DefinedModule, asking: Asking) -> _Tried:
    try:
        with _within(_MOST_S):
            return _Tried(module, Asked.of(capture_architecture(module.spec, asking)))
    except TimeoutError:
        alone = f"nar search {module.spec}"
        return _Tried(module, lacks=f"it took longer than {_MOST_S:.0f} s; `{alone}` has no limit")
    except CaptureError as error:
        return _Tried(module, lacks=error.reason)
    except NarError as error:
        return _Tried(module, lacks=str(error))


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raise a TimeoutError in the main thread, if the body takes longer."""

    def stop(_signal: int, _frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _found(queries: Sequence[Query], finding: Finding) -> list[Answer]:
    if not queries:
        return []
    corpus = CorpusChoice(finding.choice.work).directory_if_any()
    return ask(queries, finding.choice, finding.server, HitGraphs(corpus))


def _answered(tried: Sequence[_Tried], finding: Finding) -> list[FolderRow]:
    """The rows of modules that were tried, from one call for all of their relatives."""
    queries = [finding.query(each.asked, is_whole=False) for each in tried if each.asked]
    answers = iter(_found(queries, finding))
    rows = []
    for each in tried:
        spec = each.module.spec
        if each.asked is None:
            rows.append(FolderRow(spec, each.module.is_part, lacks=each.lacks))
            continue
        answer = next(answers)
        networks = tuple(finding.rows(spec, answer))
        item = each.asked.architecture
        rows.append(FolderRow(spec, each.module.is_part, item, answer, networks))
    # What has no weights, such as a loss, is hardly what somebody asks about.
    return sorted(rows, key=lambda row: bool(row.architecture and not row.architecture.parameters))
