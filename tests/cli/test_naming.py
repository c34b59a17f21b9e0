"""What people write for a model, and what its name is."""

import json

import huggingface_hub
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from nar.answers.naming import resolve_name
from nar.base.errors import InvalidInputError, UnknownArchitectureError
from nar.base.suggestions import close_names
from nar.cli.app import app
from nar.corpus import shipped_corpus
from nar.index.ranking import MAX_TOP_K

WRITTEN = {
    "timm:resnet50": "timm:resnet50",
    "resnet50": "timm:resnet50",
    "ResNet50": "timm:resnet50",
    "bert-base-uncased": "transformers:bert/BertModel@bert-base-uncased",
    "timm:of_tomorrow": "timm:of_tomorrow",
    "mine.py:factory": "mine.py:factory",
    "mine.onnx": "mine.onnx",
}


@pytest.mark.slow
@pytest.mark.parametrize(("written", "name"), WRITTEN.items())
def test_names_mean_one_model(written, name):
    assert resolve_name(written, shipped_corpus()) == name


@pytest.mark.slow
def test_a_misspelt_name_is_told_with_those_near_it():
    with pytest.raises(UnknownArchitectureError, match=r"did you mean timm:resnet50, "):
        resolve_name("resnet5O", shipped_corpus())


@pytest.mark.slow
def test_a_name_of_several_designs_is_not_guessed():
    said = "several designs: timm:dla169, pytorchcv:dla169; name one"
    with pytest.raises(UnknownArchitectureError, match=said):
        resolve_name("dla169", shipped_corpus())


def test_without_a_corpus_a_short_name_is_unknown():
    with pytest.raises(UnknownArchitectureError, match="neither a known architecture nor a file"):
        resolve_name("resnet50", None)


def test_a_folder_is_the_configuration_in_it(tmp_path):
    with pytest.raises(InvalidInputError, match=r"wanted a folder with a config\.json"):
        resolve_name(str(tmp_path), None)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    assert resolve_name(str(tmp_path), None) == str(tmp_path / "config.json")


def test_a_python_file_without_a_function_is_told_what_it_has(tmp_path):
    path = tmp_path / "models.py"
    path.write_text("def small(): ...\ndef _hidden(): ...\nclass Large: ...\n")
    with pytest.raises(InvalidInputError, match=r"models\.py:small, .*models\.py:Large$"):
        resolve_name(str(path), None)
    path.write_text("this is no Python")
    with pytest.raises(InvalidInputError, match="it defines none"):
        resolve_name(str(path), None)


def test_a_model_of_the_hub_is_its_cached_configuration(monkeypatch):
    cached = {("org/known", "config.json"): "/cache/config.json"}
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *key: cached.get(key))
    assert resolve_name("hf:org/known", None) == "/cache/config.json"
    with pytest.raises(UnknownArchitectureError, match=r"hf download org/other config\.json"):
        resolve_name("hf:org/other", None)
    with pytest.raises(InvalidInputError, match="wanted hf:ORG/NAME"):
        resolve_name("hf:../../etc/passwd", None)


@pytest.mark.slow
@given(st.lists(st.text(min_size=1), max_size=20), st.data())
def test_a_name_that_is_there_is_the_nearest(names, data):
    name = data.draw(st.sampled_from(names)) if names else "nothing"
    near = close_names(name, names)
    assert len(near) <= 3
    assert set(near) <= set(names)
    assert not names or near[0].lower() == name.lower()


def run(*arguments):
    done = CliRunner().invoke(app, arguments)
    return done.exit_code, done.stdout, " ".join(done.stderr.split())


@pytest.mark.slow
def test_known_names_are_listed():
    code, told, _ = run("list", "*RESNET50D*", "--source", "timm", "--not-family", "resnet")
    assert code == 0
    assert "timm:skresnet50d" in told.splitlines()
    assert "timm:resnet50d" not in told.splitlines()
    assert told.splitlines() == sorted(told.splitlines())


@pytest.mark.slow
def test_composed_models_are_told_from_named_ones():
    code, told, _ = run("list", "*unet/resnet*", "--tier", "composed")
    assert code == 0
    assert "smp:unet/resnet34" in told.splitlines()
    assert run("list", "*unet/resnet*", "--tier", "named")[1] == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--family", "resnett", "the index has no 'resnett'; it has resnet"),
        ("--not-source", "tim", "--source: the index has no 'tim'; it has timm"),
        ("--block", "rnn", "it has attention, cnn, other"),
        ("--tier", "sweept", "it has composed, named, swept"),
    ],
)
def test_filters_ask_for_what_exists(option, value, said):
    code, _, told = run("search", "timm:resnet50", option, value)
    assert code == 1
    assert said in told


@pytest.mark.slow
def test_a_terminal_that_shows_no_other_letters_gets_an_answer():
    narrow = CliRunner(charset="ascii", env={"COLUMNS": "60"})
    done = narrow.invoke(app, ["search", "timm:resnet50", "-k", "1"])
    assert done.exit_code == 0, done.output
    assert "image-classif?" in done.stdout


@pytest.mark.slow
def test_what_is_not_wanted_is_left_out():
    asked = ["search", "resnet50", "--not-source", "timm", "--not-family", "resnet", "--json"]
    code, told, said = run(*asked, "-k", "5")
    hits = json.loads(told)["hits"]
    assert code == 0
    assert "resnet50 is timm:resnet50, which is the same design as" in said
    assert not [hit for hit in hits if hit["source"] == "timm" or hit["family"] == "resnet"]


@pytest.mark.slow
def test_motifs_of_a_short_name():
    code, told, _ = run("motifs", "resnet50", "--json")
    assert code == 0
    assert json.loads(told)["name"] == "timm:resnet50"


@pytest.mark.slow
def test_bounds_may_be_multiples_of_what_the_model_has():
    asked = ["search", "timm:resnet50", "--json", "--all"]
    code, told, _ = run(*asked, "--max-parameters", "0.5x", "--min-flops", "0.1x")
    hits = json.loads(told)["hits"]
    assert code == 0
    assert len(hits) == 10
    assert max(hit["parameters"] for hit in hits) <= 25_557_032 / 2
    assert min(hit["flops"] for hit in hits) >= 0.8e9


@pytest.mark.parametrize("bound", ["-1x", "0x", "x", "nanx", "infx", "half"])
def test_a_bound_is_a_count_or_a_multiple(bound):
    code, _, told = run("search", "timm:resnet50", "--max-parameters", bound)
    assert code == 2
    assert "wanted a count such as" in told


def test_a_multiple_wants_a_model():
    for arguments in (["search", "--motif", "conv relu"], ["list"]):
        code, _, told = run(*arguments, "--max-parameters", "0.5x")
        assert code == 2
        assert "a multiple such as 0.5x" in told


@pytest.mark.slow
def test_copies_that_leave_too_few_rows_are_counted():
    _, told, said = run("search", "timm:resnet50", "-k", "1", "--json")
    assert len(json.loads(told)["hits"]) == 1
    assert "--all" not in said
    _, told, said = run("search", "timm:resnet50", "-k", str(MAX_TOP_K), "--json")
    rows = json.loads(told)["hits"]
    assert len(rows) + sum(len(row["copies"]) for row in rows) == MAX_TOP_K
    assert f"{MAX_TOP_K} hits are {len(rows)} networks: --all gives every copy" in said
