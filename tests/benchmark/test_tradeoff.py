"""The picture of accuracy against time is drawn from tables."""

import json

import pytest

from benchmark.reporting import figures
from benchmark.reporting.figures import PANELS, write_trade_off
from nar.base.errors import CorpusError


def write_table(directory, table, protocol):
    row = {"title": "size only", "seconds": 0.5, "scores": {"map@20": {"mean": 0.25}}}
    part = {"data": "real", "protocol": protocol, "rows": [row]}
    (directory / f"{table}.json").write_text(json.dumps({"parts": [part]}))


def test_every_method_is_drawn_in_a_panel_of_each_table(tmp_path, monkeypatch):
    for table, protocol in PANELS:
        write_table(tmp_path, table, protocol)
    write_trade_off(tmp_path)
    assert (tmp_path / "tradeoff.png").read_bytes().startswith(b"\x89PNG")
    drawn = {}
    monkeypatch.setattr(figures, "trade_off", lambda path, panels: drawn.update(panels))
    write_trade_off(tmp_path)
    method = {"size only": (0.5, 0.25)}
    assert drawn == {"real, distinct-named": method, "real, unseen-named": method}


def test_a_table_that_is_missing_is_named_with_the_way_to_make_it(tmp_path):
    write_table(tmp_path, *PANELS[0])
    with pytest.raises(CorpusError, match=r"lacks unseen-named; make .* benchmark run unseen"):
        write_trade_off(tmp_path)
    assert not (tmp_path / "tradeoff.png").exists()
