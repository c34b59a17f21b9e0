"""A hub: each configuration is captured once, and every repository is a name of it."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from cluster import hub
from cluster.extract import app
from nar.base.errors import ConfigError
from nar.corpus import read_corpus

BERT = {
    "architectures": ["BertModel"],
    "hidden_size": 32,
    "intermediate_size": 64,
    "model_type": "bert",
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "vocab_size": 100,
}
# What people's tools write beside the network.
TUNED = {
    "_name_or_path": "google-bert/bert-base-uncased",
    "directionality": "bidi",
    "finetuning_task": "sst2",
    "id2label": {"0": "NEGATIVE", "1": "POSITIVE"},
    "label2id": {"NEGATIVE": 0, "POSITIVE": 1},
    "torch_dtype": "float16",
    "transformers_version": "4.2.0",
}


def table(path, *rows):
    columns = ("repository", "revision", "config")
    pq.write_table(
        pa.table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))), path
    )
    return path


def row(name, revision="main", **settings):
    return name, revision, json.dumps({**BERT, **settings})


def test_what_decides_no_network_is_left_out_and_what_does_is_kept():
    plain = hub.essential(json.dumps({**BERT, "id2label": {"0": "a", "1": "b"}}))
    assert hub.essential(json.dumps({**BERT, **TUNED})) == plain
    three = {"id2label": {"0": "a", "1": "b", "2": "c"}}
    for other in (three, {"hidden_size": 64}, {"architectures": ["BertForMaskedLM"]}):
        assert hub.essential(json.dumps({**BERT, **TUNED, **other})) != plain


def test_a_field_counts_by_the_type_of_its_own_part():
    text = {"model_type": "t5", "n_positions": 512}
    assert "n_positions" not in hub.essential(json.dumps({"text_config": text}))
    assert "n_positions" in hub.essential(
        json.dumps({"text_config": {**text, "model_type": "gpt2"}})
    )


@pytest.mark.parametrize("text", ["", "no JSON", "[1, 2", "3"])
def test_a_configuration_that_is_none_stays_as_it_is(text):
    assert hub.essential(text) == text


def test_equal_configurations_are_written_once(tmp_path):
    rows = [
        row("a/one"),
        row("b/two", **TUNED, num_labels=2),
        row("c/three"),
        row("d/four", vocab_size=7),
    ]
    found = hub.placed([hub.ALL], table(tmp_path / "hub.parquet", *rows), tmp_path / "kept")
    assert list(found.shared) == ["hf:a/one", "hf:b/two", "hf:c/three", "hf:d/four"]
    assert found.shared["hf:a/one"] == found.shared["hf:c/three"] != found.shared["hf:d/four"]
    assert len(found.zoo) == len(list((tmp_path / "kept").rglob("*.json"))) == 3
    assert found.unplaced == {}


def test_of_several_revisions_the_last_has_the_name(tmp_path):
    rows = [row("a/one", "old"), row("b/two"), row("a/one", "new", vocab_size=7)]
    found = list(hub.configurations(table(tmp_path / "hub.parquet", *rows)))
    assert [name for name, _ in found] == ["a/one@old", "b/two", "a/one"]


def test_of_two_configurations_of_one_revision_none_is_guessed(tmp_path):
    rows = [row("a/one", "old", vocab_size=7), row("a/one", "old"), row("a/one"), row("b/two")]
    found = hub.placed([hub.ALL], table(tmp_path / "hub.parquet", *rows), tmp_path / "kept")
    assert found.shared.keys() == {"hf:a/one", "hf:b/two"}
    assert "two configurations" in found.unplaced["hf:a/one@old"]
    assert found.zoo.keys() == set(found.shared.values())


def test_a_mirror_and_a_cache_are_read_like_a_table(tmp_path):
    places = {
        "google/bert/config.json": "a",
        "plain/config.json": "b",
        "models--org--tiny/snapshots/f00/config.json": "old",
        "models--org--tiny/snapshots/b44/config.json": "c",
        "models--org--weights/snapshots/b44/model.bin": "",
    }
    for place, text in places.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(text)
    (tmp_path / "models--org--tiny/refs").mkdir()
    (tmp_path / "models--org--tiny/refs/main").write_text("b44")
    assert sorted(hub.configurations(tmp_path)) == [
        ("google/bert", "a"),
        ("org/tiny", "c"),
        ("plain", "b"),
    ]


def test_names_that_the_hub_lacks_are_told(tmp_path):
    place = table(tmp_path / "hub.parquet", row("a/one"), row("a/two"), row("b/one"))
    found = hub.placed(["hf:a/*", "hf:c/none", "hf:d/*"], place, tmp_path / "kept")
    assert list(found.shared) == ["hf:a/one", "hf:a/two"]
    assert found.unplaced.keys() == {"hf:c/none", "hf:d/*"}
    with pytest.raises(ConfigError, match="has none of hf:c/none"):
        hub.placed(["hf:c/none"], place, tmp_path / "kept")


@pytest.mark.parametrize("content", [None, b"text", "columns"])
def test_what_is_no_hub_is_refused_with_what_was_wanted(tmp_path, content):
    place = tmp_path / "hub.parquet"
    if content == "columns":
        pq.write_table(pa.table({"repository": ["a"]}), place)
    elif content:
        place.write_bytes(content)
    with pytest.raises(ConfigError, match=r"wanted|Parquet"):
        hub.placed([hub.ALL], place, tmp_path / "kept")


@pytest.mark.ray
@pytest.mark.slow
def test_each_repository_is_a_row_and_a_design_is_captured_once(ray_cluster, tmp_path):
    rows = [row("a/one"), row("b/two", transformers_version="5"), row("c/small", hidden_size=16)]
    rows += [("d/broken", "main", "{"), ("e/broken", "main", "{")]
    place = table(tmp_path / "hub.parquet", *rows)
    (tmp_path / "names.txt").write_text("hf:a/one\nhf:[!a]/*\n")
    told = ["--specs", str(tmp_path / "names.txt"), "--hub", str(place), "--workers", "1"]
    answer = CliRunner().invoke(app, [*told, "--work", str(tmp_path / "work"), "--json"])
    assert answer.exit_code == 0, answer.output
    report = json.loads(answer.stdout)
    assert (report["captured"], report["shared"]) == (3, 2)
    corpus = {each.labels.name: each for each in read_corpus(tmp_path / "work" / "corpus")}
    assert sorted(corpus) == ["hf:a/one", "hf:b/two", "hf:c/small"]
    assert corpus["hf:a/one"].exact == corpus["hf:b/two"].exact != corpus["hf:c/small"].exact
    assert {each.labels.family for each in corpus.values()} == {"bert"}
    failures = report["manifest"]["failures"]
    assert [each["name"] for each in failures] == ["hf:d/broken", "hf:e/broken"]
    again = CliRunner().invoke(app, [*told, "--work", str(tmp_path / "work"), "--json"])
    assert (json.loads(again.stdout)["captured"], json.loads(again.stdout)["shards_written"]) == (
        0,
        0,
    )
