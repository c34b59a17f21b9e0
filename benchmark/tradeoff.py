"""Accuracy against time, drawn from the tables: ``python -m benchmark tradeoff``."""

from pathlib import Path
from typing import Final

from benchmark.protocol.datasets import REAL
from benchmark.reporting.figures import trade_off
from benchmark.reporting.tables import read_part
from nar.base.errors import CorpusError

# Table and protocol of each panel.
PANELS: Final = (("distinct", "distinct-named"), ("unseen", "unseen-named"))


def write_trade_off(results: Path) -> None:
    """Draw every method of two tables, as ``tradeoff.png`` beside them; nothing is learned.

    Args:
        results: Holds the tables, gets the picture.

    Raises:
        CorpusError: A table is missing.
        MissingLibraryError: matplotlib is not installed.
    """
    panels = {f"{REAL}, {each[1]}": _reached(results, *each) for each in PANELS}
    trade_off(results / "tradeoff.png", panels)


def _reached(results: Path, table: str, protocol: str) -> dict[str, tuple[float, float]]:
    """By title of the method: seconds, MAP@20."""
    part = read_part(results, table, REAL, protocol)
    if part is None:
        raise CorpusError(
            f"{results} lacks {protocol}; make its table with "
            f"`python -m benchmark run {table} --results {results}`"
        )
    rows = part["rows"]
    return {row["title"]: (row["seconds"], row["scores"]["map@20"]["mean"]) for row in rows}
