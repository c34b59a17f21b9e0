"""`nar search --among FILE`: hits come from a list of one's own, whatever else is wanted."""

import json

import pytest
from typer.testing import CliRunner

from nar.answers.conditions import among, listed_names
from nar.base.errors import InvalidInputError
from nar.cli.app import app
from nar.index.filters import Filter


def test_names_stand_one_a_line(tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("# supported\n\ntimm:a # since May\n  timm:b\ntimm:a\nfolder#1/x.py:f\n")
    assert listed_names(path) == ["timm:a", "timm:b", "folder#1/x.py:f"]
    wanted = among(listed_names(path), Filter(families=("resnet",)))
    assert wanted.families == ("resnet",)
    assert wanted.all_of == (Filter(names=("timm:a", "timm:b", "folder#1/x.py:f")),)


@pytest.mark.parametrize("content", [None, b"", b"# nothing\n", b"\xff\xfe"])
def test_a_file_without_names_is_refused(tmp_path, content):
    path = tmp_path / "names.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"names\.txt"):
        listed_names(path)


@pytest.mark.slow
def test_hits_are_of_the_list_and_unknown_names_are_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ["timm:vgg16", "timm:resnet101", "timm:nothing"]
    (tmp_path / "names.txt").write_text("\n".join(names))
    arguments = ["search", "timm:resnet50", "--among", "names.txt", "--json"]
    done = CliRunner().invoke(app, arguments)
    hits = [hit["name"] for hit in json.loads(done.stdout)["hits"]]
    assert hits == ["timm:resnet101", "timm:vgg16"]
    assert "not in the atlas: timm:nothing" in done.stderr


@pytest.mark.slow
def test_the_closest_that_is_supported_to_a_model_of_the_hub(tmp_path, monkeypatch):
    """What a serving engine asks of a new model: its config.json, a list of names, the reasons."""
    snapshot = tmp_path / "models--mine--net" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("abc")
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 64}
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4}
    told = config | sizes | {"num_hidden_layers": 3, "num_key_value_heads": 2}
    (snapshot / "config.json").write_text(json.dumps(told))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    supported = tmp_path / "supported.txt"
    names = ["llama/LlamaForCausalLM", "gpt2/GPT2LMHeadModel", "opt/OPTForCausalLM"]
    supported.write_text("\n".join(f"transformers:{name}" for name in names))
    asked = ["search", "hf:mine/net", "--among", str(supported), "--explain", "--json"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["hits"][0]["name"] == "transformers:llama/LlamaForCausalLM"
    assert {hit["name"].rpartition(":")[2] for hit in answer["hits"]} <= set(names)
    [first, *_] = answer["explanations"]
    assert first["name"] == answer["hits"][0]["name"]
    assert first["shared_motifs"]
