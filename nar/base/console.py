"""How commands and jobs speak: progress and errors to stderr, the answer to stdout."""

import errno
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from textwrap import indent
from typing import Annotated, Final, ParamSpec

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from nar.base.errors import NarError
from nar.base.release import version

LOG_EVERY_S = 10.0
# Columns of what nobody looks at in a terminal: other programs want a row on one line.
_UNBOUNDED = 200

# Names, paths and reasons come from outside: a `[tag]` or `:word:` in them stays as it is.
stdout = Console(markup=False, emoji=False, highlight=False)
stderr = Console(stderr=True, markup=False, emoji=False, highlight=False)
P = ParamSpec("P")

# What a person can mend: no room, no right, a file too large for a limit, a disk that is broken.
DISK: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}
)

DEFAULT_WORK = Path("work")
Work = Annotated[Path, typer.Option("--work", help="Directory of corpus, checkpoint and index.")]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="YAML file of settings.")]
Uri = Annotated[
    str | None,
    typer.Option(help="Path of an index (.db), or a Milvus server; by default index.db in --work."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nar {version()}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version.")
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print the traceback of an error.")]


@contextmanager
def progress(title: str, total: int, console: Console = stderr) -> Iterator[Callable[[int], None]]:
    """Show how far a job is and how long it still takes; the body calls with what it has done.

    A terminal gets a bar, a log file a line every ten seconds.
    """
    if not console.is_terminal:
        yield _log_lines(title, total, console)
        return
    # Most commands show no bar.
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Progress(*columns, *times, console=console) as bar:
        task = bar.add_task(title, total=total)
        yield lambda amount: bar.advance(task, amount)


def _log_lines(title: str, total: int, console: Console) -> Callable[[int], None]:
    started = shown = time.monotonic()
    done = 0

    def advance(amount: int) -> None:
        nonlocal done, shown
        done += amount
        now = time.monotonic()
        if done == total or now - shown >= LOG_EVERY_S:
            shown = now
            left = (now - started) * (total - done) / max(done, 1)
            console.print(f"{title}: {done}/{total}, {left:.0f} s left")

    return advance


def reporting_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Turn errors a caller can act on into one red line and exit code 1, ctrl-c into 130.

    A command that takes `Verbose` as ``verbose`` prints the traceback first where it is wanted.
    """

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (NarError, OSError) as error:
            said = _said_by(error)
            if said is None:
                raise
            if kwargs.get("verbose"):
                stderr.print("".join(traceback.format_exception(error)), soft_wrap=True)
            stderr.print(Text.assemble(("error", "bold red"), f" {said}"), soft_wrap=True)
            raise typer.Exit(1) from error
        except KeyboardInterrupt:
            stderr.print("interrupted; what is finished is kept")
            raise typer.Exit(130) from None

    return run


def _said_by(error: NarError | OSError) -> str | None:
    """What a person is told of an error; None of one that nobody outside can mend."""
    if isinstance(error, NarError):
        return str(error)
    if error.errno not in DISK:
        return None
    said = (error.strerror or str(error)).partition("\n")[0]
    file = f"the file {error.filename}" if error.filename else "a file"
    return f"{file} cannot be kept ({said}); mend that, or name another directory, and run again"


def _has_width() -> bool:
    """Whether somebody says how wide a line may be: a terminal does, a pipe or a file does not."""
    return stdout.is_terminal or "COLUMNS" in os.environ


def _wide() -> Console:
    """Standard output whose lines hold whole rows."""
    return Console(width=_UNBOUNDED, markup=False, emoji=False, highlight=False)


def show(value: Mapping[str, object], view: Callable[[], RenderableType], *, as_json: bool) -> None:
    """Print one answer, for a program or for a person.

    Args:
        value: What a program gets.
        view: Makes what a person sees.
        as_json: Who is asking.
    """
    if as_json:
        sys.stdout.write(json.dumps(value, indent=2) + "\n")
    else:
        (stdout if _has_width() else _wide()).print(view())


def show_rows(name: str, rows: Iterable[Mapping[str, object]]) -> None:
    """Print what `show` prints of ``{name: rows}`` as JSON, one row in memory at a time."""
    sys.stdout.write(f"{{\n  {json.dumps(name)}: [")
    before = "\n"
    for row in rows:
        sys.stdout.write(before + indent(json.dumps(row, indent=2), "    "))
        before = ",\n"
    sys.stdout.write("\n  ]\n}\n")
