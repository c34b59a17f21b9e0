"""Captures what asks under the protocol `rewrites`: models, and what became of them.

``python -m benchmark rewritten TARGET`` makes the shipped file anew, in ten minutes: a decision.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmark.protocol.asking import REWRITTEN
from benchmark.rewriting import rewritten
from nar.corpus import write_shard
from nar.graphs.architecture import Architecture


def capture_rewritten(names: Sequence[str] | None = None) -> list[Architecture]:
    """Models and what became of them, each once; what was rewritten has a source of its own.

    Args:
        names: Specs of models; None for the frozen list.
    """
    items: dict[str, Architecture] = {}
    for pair in rewritten(names):
        labels = replace(pair.architecture.labels, source=REWRITTEN)
        for item in (pair.original, replace(pair.architecture, labels=labels)):
            items.setdefault(item.labels.name, item)
    return list(items.values())


def write_rewritten(target: Path) -> str:
    """Capture every rewritten model anew into a shard; says how many."""
    items = capture_rewritten()
    target.parent.mkdir(parents=True, exist_ok=True)
    write_shard(target, items)
    written = sum(item.labels.source == REWRITTEN for item in items)
    return f"{written:,} rewritten models of {len(items) - written}, in {target}"
