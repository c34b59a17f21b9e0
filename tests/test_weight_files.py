"""Files of weights: names and shapes from headers, within bounds whatever a header says."""

import json
import struct

import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from weight_headers import write_gguf, write_header, write_safetensors

from nar.base.weight_files import (
    MAX_TENSORS,
    checkpoint_shapes,
    hyperparameters,
    read_gguf,
    safetensors_shapes,
    shards_of,
    weight_shapes,
)

SHAPES = {"fc.weight": (3, 2), "fc.bias": (3,)}
TENSORS = {name: torch.zeros(shape) for name, shape in SHAPES.items()}


def test_a_file_of_the_library_is_read(tmp_path):
    save_file(TENSORS, tmp_path / "m.safetensors", metadata={"format": "pt"})
    assert safetensors_shapes(tmp_path / "m.safetensors") == SHAPES


@pytest.mark.parametrize(
    "content",
    [
        TENSORS,
        {"state_dict": TENSORS, "hyper_parameters": {"width": 3}, "epoch": 2},
        {"model": TENSORS, "optimizer": {"state": {"fc.bias": torch.zeros(3)}}},
    ],
    ids=["plain", "lightning", "with_optimizer"],
)
@pytest.mark.parametrize("is_archive", [True, False], ids=["archive", "old"])
def test_a_checkpoint_gives_its_largest_set_of_tensors(tmp_path, content, is_archive):
    torch.save(content, tmp_path / "m.pth", _use_new_zipfile_serialization=is_archive)
    assert weight_shapes(tmp_path / "m.pth") == SHAPES


def test_a_pickled_module_is_refused_and_nothing_of_it_runs(tmp_path):
    torch.save(nn.Linear(2, 2), tmp_path / "m.pt")
    with pytest.raises(ValueError, match=r"class torch.nn.modules.linear.Linear, .*state_dict"):
        weight_shapes(tmp_path / "m.pt")


@pytest.mark.parametrize("content", [b"", b"PK\3\4", b"\x80\2}q\0.", b"x" * 100])
def test_a_damaged_checkpoint_is_told(tmp_path, content):
    (tmp_path / "m.pt").write_bytes(content)
    with pytest.raises(ValueError, match=r"torch cannot read|wanted"):
        weight_shapes(tmp_path / "m.pt")


def test_shards_are_read_as_one(tmp_path):
    named = {"a": "m-1.safetensors", "b": "m-2.safetensors"}
    for name, file in named.items():
        write_safetensors(tmp_path / file, {name: (2, 2)})
    index = tmp_path / "m.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": named}))
    assert weight_shapes(index) == {"a": (2, 2), "b": (2, 2)}
    index.write_text(json.dumps({"weight_map": {"a": "../m-1.safetensors"}}))
    with pytest.raises(ValueError, match="files beside the index"):
        shards_of(index)
    index.write_text(json.dumps({"weight_map": {"a": "gone.safetensors"}}))
    with pytest.raises(ValueError, match="none of 1 is there"):
        shards_of(index)


def entry(shape, offsets):
    return json.dumps({"a": {"dtype": "F32", "shape": shape, "data_offsets": offsets}}).encode()


@pytest.mark.parametrize(
    ("header", "length", "said"),
    [
        (b"{}", 2**62, "a header within the file"),
        (b"{}", 0, "a header within the file"),
        (b"[" * 50_000 + b"]" * 50_000, None, "a header of JSON"),
        (b"{'a': 1}", None, "a header of JSON"),
        (b"[]", None, "a header of names"),
        (b'{"a": 3}', None, "an entry for a"),
        (entry([2], [0, 8]), None, "wanted a within 0 bytes of data"),
        (entry([2], [8, 0]), None, "wanted a within 0 bytes of data"),
        (entry([2], [0, "x"]), None, "two offsets of a"),
        (entry([-1], [0, 0]), None, "a shape of a"),
        (entry([2**70], [0, 0]), None, "a shape of a"),
        (entry([1] * 99, [0, 0]), None, "a shape of a"),
        (entry([True], [0, 0]), None, "a shape of a"),
    ],
)
def test_a_hostile_header_is_refused(tmp_path, header, length, said):
    with pytest.raises(ValueError, match=said):
        safetensors_shapes(write_header(tmp_path / "m.safetensors", header, length=length))


@pytest.mark.slow
def test_a_million_tensors_are_too_many(tmp_path):
    one = '{"dtype":"F32","shape":[],"data_offsets":[0,0]}'
    header = "{" + ",".join(f'"{each}":{one}' for each in range(MAX_TENSORS + 1)) + "}"
    with pytest.raises(ValueError, match="at most 1,000,000 tensors"):
        safetensors_shapes(write_header(tmp_path / "m.safetensors", header.encode()))


def test_a_gguf_file_gives_metadata_and_shapes(tmp_path):
    metadata = {"general.architecture": "llama", "llama.block_count": 2, "x": [1, 2], "y": ["a"]}
    path = write_gguf(tmp_path / "m.gguf", metadata, SHAPES)
    header = read_gguf(path)
    assert header.metadata == metadata
    assert header.shapes == SHAPES
    assert header.types == {0: 2}


def test_a_vocabulary_is_counted_and_not_kept(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", {"tokens": ["a"] * 5_000, "scores": [0.5] * 5_000}, {})
    assert read_gguf(path).metadata == {"tokens": 5_000, "scores": 5_000}


def gguf(*parts):
    return b"GGUF" + b"".join(parts)


HOSTILE_GGUF = {
    "no version": (gguf(bytes(60)), "version 0"),
    "cut": (gguf(struct.pack("<I", 3)), "the file ends"),
    "tensors": (gguf(struct.pack("<IQQ", 3, 2**40, 0)), "at most 1,000,000 tensors"),
    "keys": (gguf(struct.pack("<IQQ", 3, 0, 2**40)), "at most 1,000,000 tensors"),
    "text": (gguf(struct.pack("<IQQQ", 3, 0, 1, 2**50)), "a text of at most"),
    "type": (gguf(struct.pack("<IQQQI", 3, 0, 1, 0, 99)), "a type of values"),
    "array": (gguf(struct.pack("<IQQQIIQ", 3, 0, 1, 0, 9, 4, 2**60)), "an array within the file"),
    "nested": (gguf(struct.pack("<IQQQIIQ", 3, 0, 1, 0, 9, 9, 1)), "a type of values"),
    "axes": (gguf(struct.pack("<IQQQI", 3, 1, 0, 0, 2**31)), "at most 16 axes"),
    "offset": (gguf(struct.pack("<IQQQIQIQ", 3, 1, 0, 0, 1, 4, 0, 2**40)), "offset"),
}


@pytest.mark.parametrize("case", HOSTILE_GGUF)
def test_a_hostile_gguf_file_is_refused(tmp_path, case):
    content, said = HOSTILE_GGUF[case]
    (tmp_path / "m.gguf").write_bytes(content)
    with pytest.raises(ValueError, match=said):
        read_gguf(tmp_path / "m.gguf")


@pytest.mark.slow
def test_a_checkpoint_that_holds_itself_is_read_once(tmp_path):
    held = {"arch": "resnet18"}
    held |= {str(number): held for number in range(60)}
    content = {"hyper_parameters": held, "state_dict": {"w": torch.zeros(2)}}
    torch.save(content, tmp_path / "m.ckpt")
    assert hyperparameters(tmp_path / "m.ckpt")["arch"] == "resnet18"
    assert checkpoint_shapes(tmp_path / "m.ckpt") == {"w": (2,)}
