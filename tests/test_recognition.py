"""Files of weights: which architecture they are of, from names and shapes of weights alone."""

import json
import re

import pytest
import torch
from weight_headers import write_safetensors

from nar.answers.naming import known_or_captured
from nar.answers.recognition import recognition, sizes_text
from nar.base.errors import CorpusError, InvalidInputError
from nar.corpus import shipped_corpus
from nar.corpus.signatures import Signatures, write_signatures
from nar.graphs.weights import Weights, weights_of


def transformer(layers=4, width=8, words=100, classes=None):
    """The weights of a small model, as a library would name them."""
    shapes = {"embed_tokens.weight": (words, width)}
    for layer in range(layers):
        for part in ("query", "value", "output"):
            shapes[f"layers.{layer}.{part}.weight"] = (width, width)
        shapes[f"layers.{layer}.mlp.weight"] = (4 * width, width)
        shapes[f"layers.{layer}.norm.weight"] = (width,)
    return shapes | ({"score.weight": (classes, width)} if classes else {})


MODELS = {
    "a:four": transformer(),
    "a:four_again": transformer(),
    "a:six": transformer(layers=6),
    "a:wide": transformer(width=16),
    "a:classes": transformer(classes=1000),
    "b:conv": {f"stage.{each}.conv.weight": (3 + each, 7, 3, 3) for each in range(9)},
}


@pytest.fixture(scope="module")
def signatures(tmp_path_factory):
    path = tmp_path_factory.mktemp("signatures") / "signatures.parquet"
    rows = [(name, weights_of(shapes)) for name, shapes in MODELS.items()]
    assert write_signatures(path, rows) == len(MODELS)
    return Signatures(path)


def adapted(shapes, rank=4, *, is_alone=False):
    """With LoRA on the queries, as PEFT saves it."""
    base, factors = {}, {}
    for name, shape in shapes.items():
        layer, _, weight = name.rpartition(".")
        is_adapted = layer.endswith("query")
        wrapped = f"{layer}.base_layer.{weight}" if is_adapted else name
        base[f"base_model.model.{wrapped}"] = shape
        if is_adapted:
            factors[f"base_model.model.{layer}.lora_A.weight"] = (rank, shape[1])
            factors[f"base_model.model.{layer}.lora_B.weight"] = (shape[0], rank)
    return factors if is_alone else base | factors


def half(shapes):
    return dict(list(shapes.items())[len(shapes) // 2 :])


ASKED = {
    "same": (transformer(layers=6), "a:six", "same", "the same shapes as a:six"),
    "copies": (transformer(), "a:four", "same", r"the same shapes as a:four \(and a:four_again\)"),
    "prefix": (
        {f"model.net.{name}": shape for name, shape in transformer(layers=6).items()},
        "a:six", "same", "",
    ),
    "compiled": (
        {f"_orig_mod.{name}": shape for name, shape in transformer(layers=6).items()},
        "a:six", "same", "",
    ),
    "lora": (adapted(transformer(layers=6)), "a:six", "same", "an adapter, LoRA r=4 on query, the"),
    "vocabulary": (
        transformer(layers=6, words=777), "a:six", "head", "another .*: 777x8 in place of 100x8",
    ),
    "classes": (
        transformer(classes=10), "a:classes", "head", "another head .*: 10x8 in place of 1000x8",
    ),
    "half": (half(transformer(layers=6)), "a:six", "part", "a part of a:six, 5.% of its weights"),
    "near": (
        {**transformer(), **{f"extra.{each}.weight": (5, each + 1) for each in range(9)}},
        "a:four", "near", "near a:four, which has 7.% of their shapes",
    ),
    "other sizes": (transformer(width=24, words=50), None, "named", "named as in a:.*, in other"),
    "few": ({"w.weight": (2, 2)}, None, "few", "1 weight, too few to say whose they are"),
    "unlike": (
        {f"x.{each}.w": (each + 2, 5, 5) for each in range(9)}, None, "unlike",
        "like those of no known architecture",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ASKED)
def test_weights_say_whose_they_are(signatures, case):
    shapes, model, relation, said = ASKED[case]
    found = recognition(shapes, signatures)
    assert found.relation == relation
    name = found.matches[0].models[0] if found.matches else ""
    assert model is None or name == model
    text = found.text(name)
    assert text.endswith("the shapes and names of weights were compared, not graphs")
    assert re.search(said, text)


def test_bodies_that_differ_in_a_head_alone_are_one_answer_to_a_part(tmp_path):
    path = tmp_path / "signatures.parquet"
    bodies = {
        "plain": transformer(layers=12),
        "scores": transformer(layers=12, classes=1000),
        "deeper": transformer(layers=18),
    }
    write_signatures(path, ((name, weights_of(shapes)) for name, shapes in bodies.items()))
    body = list(transformer(layers=12).items())[1:]
    matches = Signatures(path).nearest(weights_of(dict(body[30:])))
    assert [set(match.models) for match in matches] == [{"plain", "scores"}, {"deeper"}]
    # The whole body is told from the one with scores.
    whole = Signatures(path).nearest(weights_of(bodies["plain"]))
    assert whole[0].models == ("plain",)


def test_an_adapter_alone_is_compared_by_the_weights_that_it_changes(signatures):
    found = recognition(adapted(transformer(layers=12), is_alone=True), signatures)
    assert str(found.weights.adapter) == "LoRA r=4 on query"
    assert found.weights.shapes == {(8, 8): 12}
    assert "an adapter alone, LoRA r=4 on query, of 12 weights" in found.text("a:six")


def test_sizes_follow_from_names_and_shapes():
    stages = {f"stages.{n}.blocks.{m}.w": (8, 8) for n in range(3) for m in range(n + 1)}
    assert sizes_text({**stages, "stem.0.w": (3,)}) == "stages of 1, 2, 3 layers, width 8"
    many = {f"s{n}.{m}.w": (9,) for n in (1, 2, 10) for m in range(n)}
    assert sizes_text(many) == "stages of 1, 2, 10 layers"
    alone = {"body.0.w": (8, 8), "layers.0.mlp.0.w": (8, 8), "layers.0.mlp.1.w": (8, 8)}
    assert sizes_text(alone) == "1 layer, width 8"
    assert sizes_text(transformer(layers=6)) == "6 layers, width 8, vocabulary 100"
    assert sizes_text({}) == "no sizes follow"


def test_weights_are_written_as_lines_and_read_back():
    weights = weights_of(transformer())
    assert Weights.of_lines(weights.lines()) == weights
    assert weights.depth == 4
    assert weights.counts["query.weight", (8, 8)] == 4


def test_numbers_and_scalars_tell_nothing_apart():
    assert weights_of({"a.bn1.num_batches_tracked": (), "a.bn1.weight": (3,)}).counts == {
        ("bn#.weight", (3,)): 1
    }
    assert weights_of({f"hash.{10**30}.w": (1,)}).depth == 0


def test_a_damaged_file_of_signatures_is_told(tmp_path):
    (tmp_path / "s.parquet").write_bytes(b"x")
    with pytest.raises(CorpusError, match=r"signatures .* cannot be read"):
        Signatures(tmp_path / "s.parquet")


@pytest.fixture
def shipped(monkeypatch, signatures):
    monkeypatch.setattr("nar.answers.recognition.shipped_signatures", lambda: signatures)


@pytest.mark.slow
def test_a_file_that_is_recognised_is_asked_about_as_its_architecture(tmp_path, monkeypatch):
    shapes = {f"layers.{each}.w": (each + 1, 3) for each in range(9)}
    path = tmp_path / "s.parquet"
    write_signatures(path, [("timm:resnet18", weights_of(shapes))])
    found = Signatures(path)
    monkeypatch.setattr("nar.answers.recognition.shipped_signatures", lambda: found)
    file = write_safetensors(tmp_path / "model.safetensors", shapes)
    asked = known_or_captured(shipped_corpus(), str(file))
    assert asked.architecture.labels.name == "timm:resnet18"
    [note] = asked.assumed.notes
    assert "9 weights, the same shapes as timm:resnet18" in note
    assert asked.assumed.is_sure
    write_safetensors(file, {**shapes, "layers.8.w": (77, 3)})
    asked = known_or_captured(shipped_corpus(), str(file))
    [doubt] = asked.assumed.doubts
    assert "with another head or vocabulary: 77x3 in place of 9x3" in doubt
    assert not asked.assumed.is_sure


@pytest.mark.usefixtures("shipped")
def test_a_file_that_is_not_recognised_is_told_what_is_nearest(tmp_path):
    shapes = {f"x.{each}.w": (each + 2, 5, 5) for each in range(9)}
    torch.save({name: torch.zeros(shape) for name, shape in shapes.items()}, tmp_path / "m.pth")
    with pytest.raises(InvalidInputError, match="9 weights, like those of no known architecture"):
        known_or_captured(shipped_corpus(), str(tmp_path / "m.pth"))


@pytest.mark.slow
@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"model_name": "resnet18", "lr": 0.1}, "model_name is resnet18"),
        (
            {"net": {"_target_": "torchvision.models.resnet18"}},
            "net._target_ is torchvision.models",
        ),
        ({"model": {"arch": "timm:resnet18"}, "data": "x"}, "model.arch is timm:resnet18"),
        (
            {"model": {"class_path": "torchvision.models.resnet.resnet18"}},
            "model.class_path is torchv",
        ),
    ],
)
def test_hyperparameters_name_a_model_whose_weights_are_not_known(tmp_path, settings, said):
    weights = {f"x.{each}.w": torch.zeros(each + 2, 5, 5) for each in range(9)}
    file = tmp_path / "m.ckpt"
    torch.save({"state_dict": weights, "hyper_parameters": settings}, file)
    asked = known_or_captured(shipped_corpus(), str(file))
    assert asked.architecture.labels.name.endswith(":resnet18")
    [doubt] = asked.assumed.doubts
    assert "like those of no known architecture" in doubt
    assert f"as its hyperparameters say that {said}" in doubt


@pytest.mark.slow
@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize("settings", [{"arch": "mine"}, {"name": "resnet18"}, {"arch": 3}, "x", 7])
def test_settings_that_name_no_known_model_are_none(tmp_path, settings):
    weights = {f"x.{each}.w": torch.zeros(each + 2, 5, 5) for each in range(9)}
    torch.save({"state_dict": weights, "hyper_parameters": settings}, tmp_path / "m.ckpt")
    with pytest.raises(InvalidInputError, match="like those of no known architecture"):
        known_or_captured(shipped_corpus(), str(tmp_path / "m.ckpt"))


@pytest.mark.usefixtures("shipped")
def test_shards_are_asked_about_as_one(tmp_path):
    rows = list(transformer(layers=6).items())
    parts = {"m-1.safetensors": rows[:10], "m-2.safetensors": rows[10:]}
    named = {}
    for file, part in parts.items():
        write_safetensors(tmp_path / file, dict(part))
        named |= {name: file for name, _ in part}
    (tmp_path / "m.safetensors.index.json").write_text(json.dumps({"weight_map": named}))
    with pytest.raises(Exception, match="a:six"):
        known_or_captured(None, str(tmp_path))
