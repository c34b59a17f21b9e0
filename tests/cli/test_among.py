"""`nar search --among`: hits come from a list of one's own, or from what an engine supports."""

import json
import re

import pytest
import typer
from typer.testing import CliRunner

import nar
from nar.answers.answer import NoGraphs
from nar.answers.conditions import among, listed_names
from nar.answers.query import Answer
from nar.answers.supported import class_of, closest, list_of, lists, supported_list
from nar.base.errors import InvalidInputError
from nar.cli.app import app
from nar.index.filters import Filter
from nar.views.answer import answer_report

ENGINES = ["vllm", "llama.cpp", "transformers.js", "tensorrt-llm", "onnxruntime-genai"]


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


def in_the_hub(tmp_path, monkeypatch):
    """A small Llama in the cache of the Hub, as hf:mine/net."""
    snapshot = tmp_path / "models--mine--net" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("abc")
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 64}
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4}
    told = config | sizes | {"num_hidden_layers": 3, "num_key_value_heads": 2}
    (snapshot / "config.json").write_text(json.dumps(told))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))


@pytest.mark.slow
def test_the_closest_of_a_file_to_a_model_of_the_hub(tmp_path, monkeypatch):
    """What a serving engine asks of a new model: its config.json, a list of names, the reasons."""
    in_the_hub(tmp_path, monkeypatch)
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


def test_every_list_says_where_it_was_read():
    assert list(lists()) == ENGINES
    for key, listed in lists().items():
        assert re.fullmatch(
            r"https://github\.com/[\w./-]+/blob/[0-9a-f]{40}/[\w./-]+", listed.source
        )
        assert (listed.key, listed.read.year) == (key, 2026)
        names = listed.architectures.values()
        assert all(name.isidentifier() for name in names)
        # Each list is of some use: the atlas has most of what it names.
        assert 2 * len(set(listed.known().values())) > len(names), key


def test_an_architecture_is_known_by_its_class_whatever_its_letters():
    listed = lists()["vllm"]
    assert listed.architecture_of("transformers:phimoe/PhimoeForCausalLM") == "PhiMoEForCausalLM"
    assert listed.architecture_of("transformers:llama/LlamaForCausalLM@CodeLlama-7b") == (
        "LlamaForCausalLM"
    )
    for other in ("timm:resnet50", "transformers:codegen/CodeGenForCausalLM", "litgpt:gpt2", ""):
        assert listed.architecture_of(other) == ""


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"architectures": ["BertModel", "Other"]}, "BertModel"),
        ({"architectures": []}, ""),
        ({"architectures": None}, ""),
        ({}, ""),
    ],
)
def test_a_configuration_names_its_class(tmp_path, content, expected):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(content))
    assert class_of(str(path)) == expected


@pytest.mark.parametrize("among", ["vlm", "ollama", "no/such/file.txt"])
def test_what_is_neither_a_list_nor_a_file_is_refused_with_the_lists(among, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInputError, match=", ".join(map(re.escape, ENGINES))):
        supported_list(among)
    (tmp_path / "vlm").write_text("timm:resnet50")
    assert supported_list("vlm") is None
    assert supported_list("vLLM") is lists()["vllm"]


def test_help_names_the_lists():
    [option] = [
        each
        for each in typer.main.get_command(app).commands["search"].params
        if "--among" in each.opts
    ]
    assert f"{', '.join(ENGINES)}." in option.help


def test_nothing_that_was_found_is_said():
    found = closest(lists()["vllm"], "timm:resnet50", Answer(()), NoGraphs())
    assert not found.is_supported
    assert found.sentences == ("Nothing that was found is an architecture that vLLM supports.",)


def asked(name, engine):
    """What `--json` has of an engine."""
    done = CliRunner().invoke(app, ["search", name, "--among", engine, "--json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    known = lists()[engine]
    assert all(known.architecture_of(hit["name"]) for hit in report["hits"])
    return report["supported"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "engine", "architecture", "change"),
    [
        # 32 layers of two norms each, and one at the end, of OLMo's own kind.
        ("olmo/OlmoForCausalLM", "tensorrt-llm", "LlamaForCausalLM",
         "layer_norm for rms_norm (65 times)"),
        # Words are scaled by the root of their width before positions are added.
        ("biogpt/BioGptForCausalLM", "vllm", "GPT2LMHeadModel", "mul more after embedding"),
        # 12 layers of two norms each, behind what they normalise, and none at the end.
        ("openai-gpt/OpenAIGPTLMHeadModel", "vllm", "GPT2LMHeadModel",
         "post-norm for pre-norm (24 times)"),
        # Attention and the layers beside it share one norm; GPT-NeoX has two in each of 28 blocks.
        ("codegen/CodeGenForCausalLM", "llama.cpp", "GPTNeoXForCausalLM",
         "a norm less (layer_norm) after linear (28 times)"),
    ],
)  # fmt: skip
def test_the_closest_that_is_supported_and_the_difference(name, engine, architecture, change):
    found = asked(f"transformers:{name}", engine)
    assert (found["architecture"], found["is_supported"]) == (architecture, False)
    assert change in found["changes"]["text"]
    first, second = found["sentences"]
    assert first.startswith(f"The closest that {lists()[engine].title} supports is {architecture}")
    assert second == f"From {found['name']} to this one: {found['changes']['text']}."
    assert found["issue"].startswith(f"- {first}\n- {second}\n\nCompared by operators")
    assert f"({found['source']}), read on {found['read']}" in found["issue"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "engine", "architecture", "same"),
    [
        ("transformers:olmo/OlmoForCausalLM", "onnxruntime-genai", "OlmoForCausalLM", "name"),
        # CodeGen is GPT-J with another order of weights; vLLM does not list it.
        ("transformers:codegen/CodeGenForCausalLM", "vllm", "GPTJForCausalLM", "network"),
        ("timm:vit_base_patch16_224", "transformers.js", "ViTForImageClassification", "network"),
        ("litgpt:OLMo-7B-hf", "onnxruntime-genai", "OlmoForCausalLM", "network"),
    ],
)
def test_what_is_supported_is_said_so(name, engine, architecture, same):
    found = asked(name, engine)
    assert (found["architecture"], found["same"]) == (architecture, same)
    assert found["is_supported"]
    assert "supports this" in found["sentences"][0]


@pytest.mark.slow
def test_python_is_told_as_the_command_is():
    name = "transformers:biogpt/BioGptForCausalLM"
    found = nar.search(name, among="vLLM")
    report = answer_report(name, found.answer, found.networks, found.closest)
    assert json.loads(json.dumps(report["supported"])) == asked(name, "vllm")
    assert repr(found).startswith("The closest that vLLM supports is GPT2LMHeadModel")
    # What was asked for stays as it was: a design has the networks nearest to it.
    assert nar.search(name, by="design", among="vllm").answer.hits != found.answer.hits


@pytest.mark.parametrize("engine", ["vlm", "names.txt", ""])
def test_python_refuses_what_is_no_engine_and_reads_no_file(engine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "names.txt").write_text("timm:resnet50")
    wanted = re.escape(f"one of the lists {', '.join(ENGINES)}; came {engine!r}")
    with pytest.raises(InvalidInputError, match=wanted):
        list_of(engine)


@pytest.mark.slow
def test_a_model_of_the_hub_is_supported_by_the_class_of_its_configuration(tmp_path, monkeypatch):
    in_the_hub(tmp_path, monkeypatch)
    found = asked("hf:mine/net", "llama.cpp")
    assert found["same"] == "name"
    assert found["sentences"] == [
        "llama.cpp supports this architecture by its name: LlamaForCausalLM."
    ]


@pytest.mark.slow
def test_a_person_reads_it_first_and_can_copy_it_without_line_breaks():
    env = {"FORCE_COLOR": "1", "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "60"}
    command = ["search", "transformers:codegen/CodeGenForCausalLM", "--among", "vllm", "-k", "1"]
    done = CliRunner(env=env).invoke(app, command)
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    said = "vLLM supports this network: GPTJForCausalLM, as transformers:gptj/GPTJForCausalLM."
    assert " ".join(text.split()).startswith(said)
    assert f"For an issue:\n\n- {said}\n\nCompared by" in text
    assert lists()["vllm"].source in text
