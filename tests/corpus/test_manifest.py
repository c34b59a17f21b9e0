"""The manifest counts a corpus once, in one pass, and reads back what it wrote."""

import json
from dataclasses import dataclass

import pytest

from nar.base.errors import CorpusError
from nar.corpus.manifest import (
    Counts,
    Failure,
    Manifest,
    ShardEntry,
    Skipped,
    count_corpus,
)
from nar.graphs.architecture import Labels


@dataclass(frozen=True)
class Row:
    labels: Labels
    exact: str
    topology: str


def row(name, exact, topology, tier="named"):
    return Row(Labels(name, name.partition(":")[0], "x 1", "f", "t", tier), exact, topology)


ROWS = [
    row("timm:a", "e1", "t1"),
    row("timm:b", "e1", "t1"),
    row("timm:c", "e2", "t1"),
    row("hf:d", "e2", "t1"),
    row("smp:e", "e3", "t2", "composed"),
    row("darts:f", "e4", "t3", "swept"),
    row("darts:g", "e5", "t2", "swept"),
]
FAILURES = [
    Failure(name="timm:x", operator="-", reason="no"),
    Failure(name="tv:y", operator="-", reason="no"),
]


def counts(raw, exact, topology):
    return Counts(raw=raw, exact=exact, topology=topology)


def test_sources_are_counted_by_network_design_tier_and_failure():
    sources = count_corpus(ROWS, FAILURES, {"timm": 8.0}).sources
    assert list(sources) == ["darts", "hf", "smp", "timm", "tv"]
    assert sources["timm"].model_dump() == {
        "raw": 3,
        "exact": 2,
        "topology": 1,
        "failed": 1,
        "tiers": {"named": {"raw": 3, "exact": 2, "topology": 1}},
        "seconds": 8.0,
        "models_per_s": 0.5,
    }
    assert (sources["tv"].raw, sources["tv"].failed, sources["tv"].models_per_s) == (0, 1, 0.0)


def test_totals_count_what_sources_share_once():
    totals = count_corpus(ROWS).totals
    assert totals.everything == counts(7, 5, 3)
    assert totals.headline == counts(5, 3, 2)
    assert totals.tiers == {
        "named": counts(4, 2, 1),
        "composed": counts(1, 1, 1),
        "swept": counts(2, 2, 2),
    }


def test_nothing_is_counted_as_nothing():
    assert count_corpus([]).totals.everything == counts(0, 0, 0)
    assert count_corpus([]).sources == {}


def test_rows_are_read_once():
    rows = iter(ROWS)
    assert count_corpus(rows).sources["timm"].raw == 3
    assert next(rows, None) is None


def whole():
    counted = count_corpus(ROWS, FAILURES)
    return Manifest(
        packages={"torch": "2.13.0"},
        shards=(ShardEntry(file="timm-000.parquet", rows=3, sha256="0" * 64, source="timm"),),
        sources=counted.sources,
        totals=counted.totals,
        failures=tuple(FAILURES),
        skipped=(Skipped(source="open_clip", reason="not installed"),),
        unknown_operators={"aten::foo": 3},
        seconds=12.5,
        workers=2,
        cores=2,
    )


def test_a_manifest_reads_back_identically(tmp_path):
    whole().write(tmp_path)
    assert Manifest.read(tmp_path) == whole()
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_a_manifest_is_readable_json(tmp_path):
    whole().write(tmp_path)
    text = (tmp_path / "manifest.json").read_text()
    assert json.loads(text)["totals"]["headline"] == {"raw": 5, "exact": 3, "topology": 2}
    assert '\n  "packages": {\n    "torch": "2.13.0"\n  }' in text


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"packages": 1}', "\udcff"])
def test_what_is_no_manifest_is_refused(tmp_path, text):
    (tmp_path / "manifest.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(CorpusError, match="is no manifest of a corpus"):
        Manifest.read(tmp_path)


def test_a_field_that_is_not_known_is_refused(tmp_path):
    whole().write(tmp_path)
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "colour": "blue"}))
    with pytest.raises(CorpusError, match="colour"):
        Manifest.read(tmp_path)
