"""Captures what asks under the protocol `rewrites`: models, and what became of them.

``python -m nar.evaluation.rewriting.dataset TARGET`` makes the shipped file anew, in some ten
minutes: a decision.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from nar.architecture import Architecture
from nar.corpus import write_shard
from nar.evaluation.benchmark.protocols import REWRITTEN
from nar.evaluation.rewriting import rewritten


def capture_rewrites(names: Sequence[str] | None = None) -> list[Architecture]:
    """Models and what became of them, each once; what was rewritten has a source of its own.

    Args:
        names: Specs of models; None for the frozen list.
    """
    found: dict[str, Architecture] = {}
    for pair in rewritten(names):
        labels = replace(pair.architecture.labels, source=REWRITTEN)
        for item in (pair.original, replace(pair.architecture, labels=labels)):
            found.setdefault(item.labels.name, item)
    return list(found.values())


def main(target: Annotated[Path, typer.Argument(help="File that gets the rows.")]) -> None:
    """Capture every rewritten model anew."""
    items = capture_rewrites()
    target.parent.mkdir(parents=True, exist_ok=True)
    write_shard(target, items)
    written = sum(item.labels.source == REWRITTEN for item in items)
    typer.echo(f"{written:,} rewritten models of {len(items) - written}, in {target}")


if __name__ == "__main__":
    typer.run(main)
