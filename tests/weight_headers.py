"""Files of weights that tests write by hand: headers of safetensors and GGUF, true and hostile."""

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_ENDS = {int: "I", float: "f", bool: "?"}
_TYPES = {int: 4, float: 6, bool: 7, str: 8, list: 9}


def write_safetensors(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> Path:
    """A file whose tensors have no data: an extent of theirs is said to be 0 bytes."""
    entries = {
        name: {"dtype": "F32", "shape": list(shape), "data_offsets": [0, 0]}
        for name, shape in shapes.items()
    }
    return write_header(path, json.dumps(entries).encode())


def write_header(path: Path, header: bytes, *, length: int | None = None) -> Path:
    """A file of safetensors with a header of any bytes, and any length that is said of it."""
    said = len(header) if length is None else length
    path.write_bytes(said.to_bytes(8, "little") + header)
    return path


def write_gguf(
    path: Path, metadata: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
) -> Path:
    """A GGUF file of version 3 without data."""
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(shapes), len(metadata))]
    for key, value in metadata.items():
        parts += [_text(key), struct.pack("<I", _TYPES[type(value)]), _value(value)]
    for name, shape in shapes.items():
        parts += [_text(name), struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))]
        parts.append(struct.pack("<IQ", 0, 0))
    path.write_bytes(b"".join(parts))
    return path


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: object) -> bytes:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        head = struct.pack("<IQ", _TYPES[type(value[0])], len(value))
        return head + b"".join(map(_value, value))
    return struct.pack(f"<{_ENDS[type(value)]}", value)
