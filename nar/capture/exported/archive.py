"""What a file of `torch.export.save` says about its program, read as plain JSON.

`torch.export.load` evaluates expressions and runs guard code that the file brings along, and may
unpickle weights. Nothing of that is touched here: a hostile file can only describe a graph.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import torch

# Chosen: all bytes are read at once, and a hostile file may hold any number of them.
MAX_JSON_BYTES = 512 << 20
Json = Mapping[str, Any]

_DTYPES = {
    1: torch.uint8, 2: torch.int8, 3: torch.int16, 4: torch.int32, 5: torch.int64,
    6: torch.float16, 7: torch.float32, 8: torch.float64, 9: torch.complex32,
    10: torch.complex64, 11: torch.complex128, 12: torch.bool, 13: torch.bfloat16,
    28: torch.uint16, 29: torch.float8_e4m3fn, 30: torch.float8_e5m2, 31: torch.float8_e4m3fnuz,
    32: torch.float8_e5m2fnuz, 33: torch.float8_e8m0fnu, 34: torch.uint32, 35: torch.uint64,
}  # fmt: skip
_MEMORY_FORMATS = {
    1: torch.contiguous_format,
    2: torch.channels_last,
    3: torch.channels_last_3d,
    4: torch.preserve_format,
}
_FREE_EXTENT = 2  # stands for an extent the file leaves open


@dataclass(frozen=True, slots=True)
class Program:
    """An exported program as its file describes it.

    Attributes:
        graph: Nodes, inputs, outputs and the metadata of every tensor.
        inputs: One entry for each graph input: what kind it is.
        weights: Parameter name -> name of the stored tensor, the same for tied parameters.
    """

    graph: Json
    inputs: tuple[Json, ...]
    weights: Mapping[str, str]


def read_program(path: Path) -> Program:
    """Read the one program of an archive.

    Raises:
        ValueError: No archive of `torch.export.save`, or not one program in it.
        OSError: It cannot be read.
    """
    try:
        with ZipFile(path) as archive:
            models = _members(archive, "/models/", ".json")
            if len(models) != 1:
                raise ValueError(
                    f"wanted an archive of torch.export.save (torch 2.9 or later) with one "
                    f"program, came one with {len(models)}"
                )
            model = _load(archive, models[0])
            configs = _members(archive, "/data/weights/", "_weights_config.json")
            config = _load(archive, configs[0])["config"] if configs else {}
    except BadZipFile as error:
        raise ValueError(f"wanted an archive of torch.export.save, came {error}") from error
    module = model["graph_module"]
    weights = {name: entry["path_name"] for name, entry in config.items() if not _is_meta(entry)}
    return Program(module["graph"], tuple(module["signature"]["input_specs"]), weights)


def _is_meta(weight: Json) -> bool:
    """Whether a weight had no memory when it was saved: then torch stores all under one name."""
    return bool(weight["tensor_meta"]["device"]["type"] == "meta")


def _members(archive: ZipFile, folder: str, suffix: str) -> list[str]:
    names = archive.namelist()
    return [name for name in names if folder in f"/{name}" and name.endswith(suffix)]


def _load(archive: ZipFile, member: str) -> Json:
    size = archive.getinfo(member).file_size
    if size > MAX_JSON_BYTES:
        raise ValueError(f"{member}: wanted at most {MAX_JSON_BYTES} bytes, came {size}")
    loaded: Json = json.loads(archive.read(member))
    return loaded


def dtype_of(code: int) -> torch.dtype:
    """The type behind a serialised code."""
    return _DTYPES[code]


def memory_format_of(code: int) -> torch.memory_format:
    """The memory format behind a serialised code."""
    return _MEMORY_FORMATS[code]


def extent_of(size: Json) -> int:
    """An extent; a symbolic one is what it was when the program was exported."""
    if "as_int" in size:
        return int(size["as_int"])
    hint = size["as_expr"].get("hint")
    return int(hint["as_int"]) if hint else _FREE_EXTENT


def empty_tensor(meta: Json) -> torch.Tensor:
    """A tensor without memory, laid out as a tensor's metadata describe it.

    Its strides matter: export leaves out a copy that would change none, and a view that follows
    fits these strides only.
    """
    shape = [extent_of(size) for size in meta["sizes"]]
    strides = [extent_of(stride) for stride in meta["strides"]]
    return torch.empty_strided(shape, strides, dtype=dtype_of(meta["dtype"]), device="meta")
