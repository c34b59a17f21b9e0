"""The command of signatures: what a corpus has recorded, and what is built in the time there is."""

import json

import pytest
from typer.testing import CliRunner

from cluster.signatures import app, built_models, read_built
from nar.corpus import shipped_corpus
from nar.corpus.manifest import FILE_NAME, Manifest, count_corpus
from nar.corpus.shards import write_shard
from nar.corpus.signatures import Signatures
from nar.graphs.weights import weights_of
from nar.own import capture_architecture

NAME = "timm:resnet18"


@pytest.mark.slow
def test_a_model_is_built_once_and_kept(tmp_path):
    kept = tmp_path / "built.jsonl"
    [(name, shapes)] = built_models([NAME, "timm:nothing"], kept, minutes=1)
    assert name == NAME
    assert shapes["conv1.weight"] == (64, 3, 7, 7)
    assert "fc.bias" in shapes
    assert read_built(kept) == {NAME: shapes}
    assert dict(built_models([NAME], kept, minutes=0)) == {NAME: shapes}


def test_without_time_nothing_is_built(tmp_path):
    assert list(built_models([NAME], tmp_path / "built.jsonl", minutes=0)) == []


@pytest.mark.slow
def test_what_a_corpus_has_recorded_is_not_built(tmp_path):
    item = capture_architecture(NAME).architecture
    (tmp_path / "corpus").mkdir()
    shard = write_shard(tmp_path / "corpus" / "a.parquet", [item])
    whole = Manifest.read(shipped_corpus())
    counted = count_corpus([item], (), {})
    update = {"shards": (shard,), "sources": counted.sources, "totals": counted.totals}
    whole.model_copy(update=update).write(tmp_path / "corpus")
    assert (tmp_path / "corpus" / FILE_NAME).is_file()
    output = tmp_path / "s.parquet"
    arguments = ["--corpus", str(tmp_path / "corpus"), "--output", str(output), "--minutes", "0"]
    done = CliRunner().invoke(app, [*arguments, "--json"])
    report = json.loads(done.stdout)
    assert (report["recorded"], report["built"], report["missing"]) == (1, 0, 0)
    [match] = Signatures(output).nearest(item.weights, 1)
    assert match.is_same
    assert match.models == (NAME,)
    assert weights_of({"x.w": (1, 2)}).depth == 0
