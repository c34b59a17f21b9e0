"""Checkpoints: what is written reads back, and what is damaged is refused by name."""

import json
from hashlib import sha256

import pytest
import torch
from encoding import small_encoder
from safetensors.torch import load_file, save_file

from nar.base.errors import CheckpointError
from nar.encoding.embed import fingerprint, load_checkpoint, save_checkpoint
from nar.graphs.ops import FEATURE_DIM


def test_an_encoder_reads_back(tmp_path):
    encoder = small_encoder()
    written = save_checkpoint(tmp_path / "checkpoint", encoder)
    read = load_checkpoint(tmp_path / "checkpoint")
    assert written == fingerprint(encoder) == fingerprint(read)
    assert read.config == encoder.config
    for one, other in zip(encoder.macro.parameters(), read.macro.parameters(), strict=True):
        assert torch.equal(one, other)


def test_other_weights_are_another_encoder():
    assert fingerprint(small_encoder(seed=1)) != fingerprint(small_encoder(seed=2))


def test_a_checkpoint_is_two_files(tmp_path):
    save_checkpoint(tmp_path, small_encoder())
    save_checkpoint(tmp_path, small_encoder(seed=1))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "config.json",
        "weights.safetensors",
    ]


def edit_config(directory, edit):
    path = directory / "config.json"
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document))


def delete(name):
    return lambda directory: (directory / name).unlink()


def overwrite(name, content):
    return lambda directory: (directory / name).write_bytes(content)


def of_version(number):
    return lambda directory: edit_config(
        directory, lambda document: document["encoder"].update(version=number)
    )


def of_operators(number):
    return lambda directory: edit_config(
        directory, lambda document: document["encoder"].update(operators=number)
    )


def of_kind(name):
    return lambda directory: edit_config(
        directory, lambda document: document["encoder"].update(name=name)
    )


def without_digest(directory):
    edit_config(directory, lambda document: document.pop("weights_sha256"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (delete("config.json"), "no checkpoint at .*config.json"),
        (delete("weights.safetensors"), "no checkpoint at .*weights.safetensors"),
        (overwrite("weights.safetensors", b"x"), "not the file that config.json was written for"),
        (overwrite("config.json", b"{"), "damaged or of another version"),
        (overwrite("config.json", b"\xff"), "damaged or of another version"),
        (overwrite("config.json", b"[]"), "damaged or of another version"),
        (of_version(2), "version: Input should be 1"),
        (of_kind("graph2vec"), "name: wanted one of default, paper, came 'graph2vec'"),
        (of_operators(FEATURE_DIM + 1), "newer operator vocabulary.*update NAR"),
        (without_digest, "weights_sha256"),
    ],
)
def test_what_is_no_checkpoint_is_refused(tmp_path, damage, message):
    save_checkpoint(tmp_path, small_encoder())
    damage(tmp_path)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path)


def replace_weights(directory, edit):
    """Other weights with a digest that fits, as a hostile or careless writer would leave them."""
    path = directory / "weights.safetensors"
    tensors = load_file(path)
    edit(tensors)
    save_file(tensors, path)
    digest = sha256(path.read_bytes()).hexdigest()
    edit_config(directory, lambda document: document.update(weights_sha256=digest))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda tensors: tensors.popitem(), "holds other tensors"),
        (lambda tensors: tensors.update(extra=torch.zeros(1)), "holds other tensors"),
        (lambda tensors: tensors["macro.layers.0.lin.weight"].fill_(float("nan")), "no numbers"),
    ],
    ids=["missing", "extra", "nan"],
)
def test_weights_that_do_not_fit_are_refused(tmp_path, edit, message):
    save_checkpoint(tmp_path, small_encoder())
    replace_weights(tmp_path, edit)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path)
