"""The protocol as a command: ``python -m nar.evaluation.rewriting [--json] [--limit N] [--kind NAME]``."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.progress import track
from rich.text import Text

from nar.errors import NarError
from nar.evaluation.rewriting.protocol import attempts, chosen_rewrites, model_names
from nar.evaluation.rewriting.summary import Row, as_markdown, summary


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the table to stdout; progress and errors go to stderr.

    Args:
        arguments: Of the command line; the process's own if None.

    Returns:
        Exit code.
    """
    options = _parser().parse_args(arguments)
    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    try:
        chosen = chosen_rewrites(options.kind)
        names = (options.models or model_names())[: options.limit]
        items = [
            item
            for name in track(names, "rewrites", console=console)
            for item in attempts([name], chosen)
        ]
    except NarError as error:
        console.print(Text.assemble(("error", "bold red"), f" {error}"), soft_wrap=True)
        return 1
    rows = summary(items)
    lines = [json.dumps([asdict(row) for row in rows])] if options.json else _report(rows)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


def _parser() -> ArgumentParser:
    parser = ArgumentParser("python -m nar.evaluation.rewriting", description=__doc__)
    parser.add_argument("models", nargs="*", help="specs; the frozen list if none")
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
    parser.add_argument("--limit", type=int, help="so many models, from the first on")
    parser.add_argument("--kind", action="append", default=[], help="only this rewrite; repeatable")
    return parser


def _report(rows: Sequence[Row]) -> list[str]:
    """The table, then every model that should have kept its graph and did not."""
    lines = as_markdown(rows)
    for row in rows:
        if row.wanted == "equal":
            lines += [f"{row.rewrite}: {name}: {why}" for name, why in row.different.items()]
        lines += [f"{row.rewrite}: {name}: failed: {why}" for name, why in row.failed.items()]
    return lines


if __name__ == "__main__":
    sys.exit(main())
