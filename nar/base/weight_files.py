"""Files of weights: names and shapes of tensors from their headers, and nothing of their data.

Safetensors and GGUF are read within bounds: a file from outside may say anything of itself.
Checkpoints of PyTorch are read by torch's loader that takes tensors only, and never by pickle.
"""

import json
import re
import struct
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, BinaryIO, Final
from zipfile import is_zipfile

from nar.base.model_folders import read_json

Shape = tuple[int, ...]
# Chosen: ten times the tensors of the largest published mixtures of experts.
MAX_TENSORS: Final = 1_000_000
# The library of safetensors refuses longer headers.
MAX_HEADER_BYTES: Final = 100_000_000
# Chosen: shards of the largest published checkpoints are some 200.
_MAX_SHARDS: Final = 5_000
# Chosen: more axes than any library's tensors of weights have.
_MAX_AXES: Final = 16
# Chosen: a checkpoint without an archive is read into memory, with its data.
_MAX_OLD_BYTES: Final = 4 * 1024**3
# Chosen: checkpoints nest sets of weights, and settings, under a word or two.
_MAX_DEPTH: Final = 4
# Where Lightning keeps what a module was made with.
_HYPERPARAMETERS: Final = "hyper_parameters"
# Chosen: configurations have some hundred settings.
_MAX_TEXTS: Final = 1_000
# Chosen: settings have far fewer entries, but a mapping of a hostile file may hold itself.
_MAX_ENTRIES: Final = 100_000
_INT64: Final = 2**63  # headers count in 64 bits: from here on a number is damage


def safetensors_shapes(path: Path) -> dict[str, Shape]:
    """The shape of each tensor of a file of safetensors, by name.

    Raises:
        ValueError: It is no such file, or its header does not fit the file.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(8)
        length = int.from_bytes(head, "little") if len(head) == 8 else -1
        if not 2 <= length <= min(MAX_HEADER_BYTES, size - 8):
            raise ValueError(f"wanted a header within the file of {size} bytes, came {length}")
        try:
            header = json.loads(file.read(length))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"wanted a header of JSON: {error}") from None
    if not isinstance(header, dict):
        raise ValueError(f"wanted a header of names, came {type(header).__name__}")
    header.pop("__metadata__", None)
    if len(header) > MAX_TENSORS:
        raise ValueError(f"wanted at most {MAX_TENSORS:,} tensors, came {len(header):,}")
    return {name: _checked(name, entry, size - 8 - length) for name, entry in header.items()}


def _checked(name: str, entry: object, data_bytes: int) -> Shape:
    """The shape of an entry of the header, whose data have to lie in the file."""
    if not isinstance(entry, dict):
        raise ValueError(f"wanted an entry for {name}, came {type(entry).__name__}")
    offsets = entry.get("data_offsets")
    if not (isinstance(offsets, list) and len(offsets) == 2 and all(map(_is_count, offsets))):
        raise ValueError(f"wanted two offsets of {name}, came {offsets}")
    if not offsets[0] <= offsets[1] <= data_bytes:
        raise ValueError(f"wanted {name} within {data_bytes} bytes of data, came {offsets}")
    return _shape(name, entry.get("shape"))


def _shape(name: str, shape: object) -> Shape:
    if not (isinstance(shape, list) and len(shape) <= _MAX_AXES and all(map(_is_count, shape))):
        raise ValueError(f"wanted a shape of {name}, came {str(shape)[:80]}")
    return tuple(shape)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < _INT64


def shards_of(path: Path) -> list[Path]:
    """The files that an index of shards names, those that are there.

    Raises:
        ValueError: It is no such index, or names files outside its folder, or none is there.
    """
    named = read_json(path).get("weight_map")
    if not isinstance(named, dict) or not all(isinstance(each, str) for each in named.values()):
        raise ValueError("wanted a weight_map from names of weights to files")
    files = sorted(set(named.values()))
    if len(files) > _MAX_SHARDS or any(Path(each).name != each for each in files):
        raise ValueError(f"wanted at most {_MAX_SHARDS:,} files beside the index, came {files[:3]}")
    there = [path.parent / each for each in files if (path.parent / each).is_file()]
    if not there:
        raise ValueError(f"wanted the shards beside the index, none of {len(files)} is there")
    return there


def checkpoint_shapes(path: Path) -> dict[str, Shape]:
    """The shape of each tensor of a checkpoint of PyTorch, by name; of several sets, the largest.

    Raises:
        ValueError: It is none, or holds more than tensors and plain values.
    """
    import torch

    sets = list(_sets_of_tensors(_loaded(path), torch.Tensor, set()))
    if not sets:
        raise ValueError("wanted a set of tensors by name, came none")
    return max(sets, key=len)


def hyperparameters(path: Path) -> dict[str, str]:
    """The texts among the hyperparameters that Lightning keeps beside the weights, by dotted key.

    Args:
        path: A file of weights.

    Returns:
        Nothing where it is no checkpoint of PyTorch, or has none.

    Raises:
        ValueError: It is a checkpoint that holds more than tensors and plain values.

    Example:
        ``{"net.arch": "resnet18"}`` of ``{"hyper_parameters": {"net": {"arch": "resnet18"}}}``.
    """
    if path.suffix.lower() in (".safetensors", ".json"):
        return {}
    content = _loaded(path)
    kept = content.get(_HYPERPARAMETERS) if isinstance(content, Mapping) else None
    entries = islice(_entries(kept), _MAX_ENTRIES)
    return dict(islice(((key, each) for key, each in entries if isinstance(each, str)), _MAX_TEXTS))


def _entries(content: object, above: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    """The entries of nested mappings, each with its dotted key."""
    if isinstance(content, Mapping) and depth <= _MAX_DEPTH:
        for name, each in content.items():
            key = f"{above}.{name}" if above else str(name)
            yield key, each
            yield from _entries(each, key, depth + 1)


def _loaded(path: Path) -> object:
    """What a checkpoint of PyTorch holds; of tensors, no data.

    Raises:
        ValueError: It is none, or holds more than tensors and plain values.
    """
    # Here: other files of weights need no torch.
    import torch

    is_archive = is_zipfile(path)
    if not is_archive and path.stat().st_size > _MAX_OLD_BYTES:
        raise ValueError(
            f"wanted at most {_MAX_OLD_BYTES} bytes of a checkpoint without an archive"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # On the meta device no data are read.
            return torch.load(path, map_location="meta", weights_only=True, mmap=is_archive)
    except UnpicklingError as error:
        named = re.search(r"GLOBAL ([\w.]+)", str(error))
        what = f"the class {named[1]}" if named else "more than tensors"
        raise ValueError(
            f"wanted tensors alone, came a pickle with {what}, which would run code; save its "
            "state_dict(), or name its class: path/to/file.py:Model"
        ) from None
    # The loader raises anything at a file that is damaged.
    except Exception as error:
        raise ValueError(f"torch cannot read it: {str(error).partition(chr(10))[0]}") from error


def _sets_of_tensors(
    content: object, kind: type[Any], seen: set[tuple[int, int]], depth: int = 0
) -> Iterator[dict[str, Shape]]:
    """The mappings from names to tensors in a checkpoint, down to `_MAX_DEPTH`.

    Args:
        content: What is looked through.
        kind: The class of tensors.
        seen: Mappings that were looked through, each with its depth: one may hold itself.
        depth: How deep the content lies.
    """
    if not isinstance(content, Mapping) or depth > _MAX_DEPTH or (id(content), depth) in seen:
        return
    seen.add((id(content), depth))
    own = {str(name): each for name, each in content.items() if isinstance(each, kind)}
    if own:
        yield {name: tuple(each.shape) for name, each in own.items()}
    for each in content.values():
        yield from _sets_of_tensors(each, kind, seen, depth + 1)


def weight_shapes(path: Path) -> dict[str, Shape]:
    """The shape of each weight in a file, or in the shards that it lists, by name.

    Args:
        path: A file of safetensors, a checkpoint of PyTorch, or an index of shards.

    Raises:
        ValueError: It is none of these, or damaged.
    """
    if path.suffix.lower() == ".json":
        shapes: dict[str, Shape] = {}
        for shard in shards_of(path):
            shapes |= weight_shapes(shard)
        return shapes
    if path.suffix.lower() == ".safetensors":
        return safetensors_shapes(path)
    return checkpoint_shapes(path)


@dataclass(frozen=True, slots=True)
class Gguf:
    """The header of a GGUF file.

    Attributes:
        metadata: Values by key; arrays longer than a few are their length alone.
        shapes: Shape of each tensor by name, the outermost extent first.
        types: How many tensors are stored in each type, by its number.
    """

    metadata: Mapping[str, Any]
    shapes: Mapping[str, Shape]
    types: Mapping[int, int]


# Number of a type of values -> how it is packed; a text and an array have lengths of their own.
_PACKED: Final = dict(enumerate(("B", "b", "H", "h", "I", "i", "f", "?"))) | {
    10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_TEXT, _ARRAY = 8, 9  # their numbers in the format GGUF
# Chosen: a chat template takes some kilobytes, a name less.
_MAX_TEXT_BYTES: Final = 16 * 1024**2
# Chosen: a value for each layer is kept; vocabularies are counted.
_KEPT: Final = 4_096
# Chosen: keys of a file are some tens, and one for each setting of a tokenizer.
_MAX_KEYS: Final = 65_536


def read_gguf(path: Path) -> Gguf:
    """The header of a GGUF file, version 2 or 3.

    Raises:
        ValueError: It is no such file, or its header does not fit the file.
    """
    with path.open("rb") as file:
        reader = _Reader(file, path.stat().st_size)
        magic, version = reader.take("4sI")
        if magic != b"GGUF" or version not in {2, 3}:
            raise ValueError(f"wanted a GGUF file of version 2 or 3, came version {version}")
        tensors, keys = reader.take("QQ")
        if tensors > MAX_TENSORS or keys > _MAX_KEYS:
            raise ValueError(f"wanted at most {MAX_TENSORS:,} tensors, came {tensors:,}, {keys:,}")
        metadata = {reader.text(): reader.value(reader.take("I")[0]) for _ in range(keys)}
        shapes, types = {}, dict[int, int]()
        for _ in range(tensors):
            name, (axes,) = reader.text(), reader.take("I")
            if axes > _MAX_AXES:
                raise ValueError(f"wanted at most {_MAX_AXES} axes of {name}, came {axes}")
            # GGUF writes the innermost extent first.
            shapes[name] = tuple(reversed(reader.take(f"{axes}Q")))
            kind, offset = reader.take("IQ")
            if offset > reader.size:
                raise ValueError(f"wanted the data of {name} in the file, came offset {offset}")
            types[kind] = types.get(kind, 0) + 1
    return Gguf(metadata, shapes, types)


class _Reader:
    """Reads packed values of a file one after the other, none behind its end."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self.size = size

    def take(self, packed: str) -> tuple[Any, ...]:
        """The next values."""
        wanted = struct.calcsize(f"<{packed}")
        return struct.unpack(f"<{packed}", self._bytes(wanted))

    def text(self) -> str:
        """The next text, behind its length."""
        (length,) = self.take("Q")
        if length > _MAX_TEXT_BYTES:
            raise ValueError(f"wanted a text of at most {_MAX_TEXT_BYTES} bytes, came {length}")
        return self._bytes(length).decode(errors="replace")

    def value(self, kind: int, *, is_nested: bool = False) -> Any:  # noqa: ANN401
        """The next value of a type."""
        if kind == _TEXT:
            return self.text()
        if kind == _ARRAY and not is_nested:
            return self._array()
        if kind not in _PACKED:
            raise ValueError(f"wanted a type of values of GGUF, came {kind}")
        return self.take(_PACKED[kind])[0]

    def _array(self) -> list[Any] | int:
        kind, length = self.take("IQ")
        if length > self.size:
            raise ValueError(f"wanted an array within the file, came {length} values")
        if kind in _PACKED and length > _KEPT:
            self._skip(length * struct.calcsize(f"<{_PACKED[kind]}"))
            return int(length)
        values = (self.value(kind, is_nested=True) for _ in range(length))
        if length > _KEPT:
            return sum(1 for _ in values)
        return list(values)

    def _skip(self, count: int) -> None:
        if self._file.tell() + count > self.size:
            raise ValueError(f"wanted {count} bytes more, and the file ends")
        self._file.seek(count, 1)

    def _bytes(self, count: int) -> bytes:
        content = self._file.read(count) if count <= self.size else b""
        if len(content) != count:
            raise ValueError(f"wanted {count} bytes more, and the file ends")
        return content
