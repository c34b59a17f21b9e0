"""A model as Keras saves it: its layers and calls out of JSON, of which nothing is believed.

Nothing of it is run, and nothing is looked up by a name in it: a class is a word. Its JSON is
bounded before it is read; of its weights the shapes alone are, where a layer is not known.
"""

import io
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from nar.base.errors import one_line
from nar.base.extras import missing_library
from nar.base.model_folders import MAX_JSON_BYTES
from nar.capture.onnx.writing import MOST_OPERATORS
from nar.capture.trace import Shape

Json: TypeAlias = Mapping[str, Any]
_CONFIGURATION: Final = "config.json"
_WEIGHTS: Final = "model.weights.h5"
# Chosen: the largest models that people hold have some thousands of layers.
_MOST_LAYERS: Final = 50_000
# Chosen: trees of arguments are lists in dictionaries in lists.
_MOST_DEPTH: Final = 16
# Chosen: as of the other formats, whose readers say why.
_MOST_RANK: Final = 16
MOST_ELEMENTS: Final = 1 << 40
# Statistics that no step of training learns, as old files name them.
_STATISTICS: Final = re.compile(r"moving_(mean|variance)|seed_generator|iteration")


@dataclass(frozen=True, slots=True)
class Reference:
    """A result of a call: the layer, which of its calls, and which of its results."""

    layer: str
    call: int
    place: int
    shape: Any = field(default=None, compare=False)  # where the file states it, None for open


@dataclass(frozen=True, slots=True)
class KerasCall:
    """One call of a layer: trees of arguments, with references in them."""

    given: tuple[Any, ...]
    named: Json = field(default_factory=dict)

    def references(self) -> Iterator[Reference]:
        """The results that it reads."""
        return references_in([self.given, self.named])


@dataclass(frozen=True, slots=True)
class KerasLayer:
    """A layer, a model in a model, or an operation.

    Attributes:
        kind: Its class: a word.
        name: Its name.
        stated: What it is configured with.
        calls: Its calls in their order; none where a sequence calls it.
        key: Where its weights lie in the file.
        built: The shape that it was built for, None for an open extent; None where that is not
            stated.
    """

    kind: str
    name: str
    stated: Json
    calls: tuple[KerasCall, ...] = ()
    key: str = ""
    built: Any = None

    @property
    def is_model(self) -> bool:
        """Whether it is a model of layers."""
        return isinstance(self.stated.get("layers"), list)

    def layers(self) -> tuple["KerasLayer", ...]:
        """The layers of a model.

        Raises:
            ValueError: There are too many, or two of one name.
        """
        entries = self.stated["layers"]
        if len(entries) > _MOST_LAYERS:
            raise ValueError(f"wanted at most {_MOST_LAYERS:,} layers, came {len(entries):,}")
        found, times = [], dict[str, int]()
        for entry in entries:
            layer = layer_of(entry)
            snake = _snake(layer.kind)
            at = times[snake] = times.get(snake, -1) + 1
            key = f"{self.key}layers/{snake}{f'_{at}' if at else ''}/"
            found.append(
                KerasLayer(layer.kind, layer.name, layer.stated, layer.calls, key, layer.built)
            )
        if len({each.name for each in found}) < len(found):
            raise ValueError("wanted a name for each layer, came one twice")
        return tuple(found)

    def ends(self, name: str) -> tuple[Reference, ...]:
        """The results that are its ``input_layers``, or its ``output_layers``."""
        return tuple(_ends(self.stated.get(name, ())))


class KerasFile:
    """A file, or a folder's configuration.

    Args:
        path: A ``.keras`` archive, an ``.h5`` file, or a JSON file with the configuration.

    Attributes:
        model: The model in it.

    Raises:
        ValueError: It holds no model of layers, or what it says does not fit.
        MissingLibraryError: It is an HDF5 file, and h5py is not installed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._shapes: dict[str, Shape] | None = None
        content = _model_in(_json_of(path))
        self.model = layer_of(content)
        if not self.model.stated.get("layers"):
            raise ValueError(
                f"wanted a model whose layers the file states, came one of the class "
                f"{self.model.kind}, whose code makes them; name it: path/to/file.py:Model"
            )

    def weights_of(self, layer: KerasLayer) -> list[Shape]:
        """Shapes of the weights of a layer that is not known, where the file has them."""
        if self._shapes is None:
            self._shapes = _shapes(self._path)
        return [
            shape
            for name, shape in self._shapes.items()
            if (layer.key and name.startswith(layer.key))
            or f"/{layer.name}/" in name.partition("/")[2]
        ]


def layer_of(entry: Any) -> KerasLayer:  # noqa: ANN401 -- whatever JSON can be
    """The layer that an entry of a configuration means.

    Raises:
        ValueError: It is no layer.
    """
    if not isinstance(entry, Mapping) or not isinstance(entry.get("class_name"), str):
        raise ValueError("wanted a layer with a class_name, came an entry without")
    stated = entry.get("config")
    if isinstance(stated, list):  # a sequence of Keras 1
        stated = {"layers": stated}
    if not isinstance(stated, Mapping):
        stated = {}
    kind = entry["class_name"].rpartition(">")[2]
    name = str(entry.get("name") or stated.get("name") or kind)
    calls = tuple(_call(each) for each in entry.get("inbound_nodes") or ())
    built = (entry.get("build_config") or {}).get("input_shape") or stated.get("build_input_shape")
    return KerasLayer(kind, name, stated, calls, built=built)


def _call(entry: Any) -> KerasCall:  # noqa: ANN401
    """One call, as Keras 3 writes it, or as Keras 1 and 2 do: ``[[name, call, place, named]]``."""
    if isinstance(entry, Mapping):
        given = tuple(_tree(each, 0) for each in entry.get("args", ()))
        return KerasCall(
            given, {name: _tree(each, 0) for name, each in entry.get("kwargs", {}).items()}
        )
    if _is_end(entry):
        entry = [entry]
    read, named = [], dict[str, Any]()
    for each in entry:
        if not _is_end(each):
            raise ValueError("wanted calls that name what they read, came another")
        read.append(each[2] if each[0] == "_CONSTANT_VALUE" else Reference(*each[:3]))
        if len(each) > 3 and isinstance(each[3], Mapping):
            named |= {name: _old_tree(value) for name, value in each[3].items()}
    return KerasCall(tuple(read) if len(read) == 1 else (read,), named)


def _is_end(entry: Any) -> bool:  # noqa: ANN401
    return (
        isinstance(entry, list)
        and len(entry) in (3, 4)
        and isinstance(entry[0], str)
        and isinstance(entry[1], int)
    )


def _old_tree(value: Any) -> Any:  # noqa: ANN401
    is_result = _is_end(value) and len(value) == 3 and isinstance(value[2], int)
    return Reference(*value) if is_result else value


def _tree(value: Any, depth: int) -> Any:  # noqa: ANN401
    """A tree of arguments, with references in place of the tensors that it names."""
    if depth > _MOST_DEPTH:
        raise ValueError(f"wanted arguments at most {_MOST_DEPTH} deep, came deeper ones")
    if isinstance(value, list):
        return [_tree(each, depth + 1) for each in value]
    if not isinstance(value, Mapping):
        return value
    if value.get("class_name") == "__keras_tensor__":
        layer, call, place = value["config"]["keras_history"]
        return Reference(str(layer), int(call), int(place), value["config"].get("shape"))
    return {str(name): _tree(each, depth + 1) for name, each in value.items()}


def references_in(tree: Any) -> Iterator[Reference]:  # noqa: ANN401
    """The references in a tree of arguments."""
    if isinstance(tree, Reference):
        yield tree
    elif isinstance(tree, Mapping):
        for each in tree.values():
            yield from references_in(each)
    elif isinstance(tree, list | tuple):
        for each in tree:
            yield from references_in(each)


def _ends(tree: Any) -> Iterator[Reference]:  # noqa: ANN401
    if _is_end(tree):
        yield Reference(*tree[:3])
    elif isinstance(tree, list | Mapping):
        for each in tree.values() if isinstance(tree, Mapping) else tree:
            yield from _ends(each)


def checked(shape: Shape) -> Shape:
    """A shape that is not absurd.

    Raises:
        ValueError: It has too many axes or numbers, or an extent below 1.
    """
    numbers = 1
    for extent in shape[:_MOST_RANK]:
        numbers *= max(extent, 1)
    if len(shape) > _MOST_RANK or numbers > MOST_ELEMENTS:
        raise ValueError(
            f"wanted at most {_MOST_RANK} axes and {MOST_ELEMENTS:,} numbers, came the shape "
            f"{list(shape[: _MOST_RANK + 1])}"
        )
    if min(shape, default=1) < 1:
        raise SmallError(f"wanted extents of at least 1, came the shape {list(shape)}")
    return shape


class SmallError(ValueError):
    """An extent is below 1: where the file leaves extents open, larger ones are tried."""


def _json_of(path: Path) -> Any:  # noqa: ANN401 -- whatever JSON can be
    """The configuration of a file."""
    try:
        return json.loads(_configuration(path))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(
            f"wanted a configuration in JSON, came a damaged one ({one_line(error)}): copy the "
            f"file again, or save the model again with model.save('model.keras')"
        ) from error


def _configuration(path: Path) -> bytes:
    """The text of a configuration."""
    with path.open("rb") as file:
        head = file.read(8)
        file.seek(0)
        if head.startswith(b"PK"):
            content = _of_archive(file)
        elif head.startswith(b"\x89HDF"):
            content = _of_hdf5(path)
        else:
            content = file.read(MAX_JSON_BYTES + 1)
    if len(content) > MAX_JSON_BYTES:
        raise ValueError(f"wanted a configuration of at most {MAX_JSON_BYTES:,} bytes, came more")
    return content


# Errors of an archive that is cut off or damaged, or that lacks a file.
_DAMAGES: Final = (
    BadZipFile, EOFError, KeyError, NotImplementedError, OSError, RuntimeError, zlib.error,
)  # fmt: skip


def _of_archive(file: BinaryIO) -> bytes:
    try:
        with ZipFile(file) as archive, archive.open(_CONFIGURATION) as entry:
            return entry.read(MAX_JSON_BYTES + 1)
    except _DAMAGES as error:
        raise ValueError(f"wanted an archive with a {_CONFIGURATION}, came {error}") from error


def check_library(path: Path) -> None:
    """Check that what reads a file is installed.

    Raises:
        MissingLibraryError: It is an HDF5 file, and h5py is not.
    """
    with path.open("rb") as file:
        if file.read(8).startswith(b"\x89HDF"):
            _h5py()


def _h5py() -> Any:  # noqa: ANN401
    try:
        import h5py  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise missing_library("h5py") from None
    return h5py


def _of_hdf5(path: Path) -> bytes:
    h5py = _h5py()
    with h5py.File(path, "r") as file:
        if "model_config" not in file.attrs:
            raise ValueError(
                "wanted a whole model, came weights alone: name the class that made them, "
                "path/to/file.py:Model, or save the model with model.save('model.keras')"
            )
        stated = file.attrs.get_id("model_config")
        if stated.shape != ():  # many texts that are one text in the file would be read many times
            raise ValueError("wanted one text as the model_config, came a list")
        # Of a text of any length, the size is that of its place; it is not compressed.
        is_elsewhere = h5py.check_string_dtype(stated.dtype).length is None
        size = _beside_tensors(file, path) if is_elsewhere else stated.get_storage_size()
        if size > MAX_JSON_BYTES:
            raise ValueError(
                f"wanted a configuration of at most {MAX_JSON_BYTES:,} bytes, came {size:,}"
            )
        content = file.attrs["model_config"]
    return content.encode() if isinstance(content, str) else bytes(content)


def _beside_tensors(file: Any, path: Path) -> int:  # noqa: ANN401
    """How many bytes of a file are no tensors: no text in it is longer."""
    sizes: list[int] = []

    def note(_name: str, item: Any) -> None:  # noqa: ANN401
        if hasattr(item, "dtype"):
            sizes.append(item.id.get_storage_size())

    file.visititems(note)
    return path.stat().st_size - sum(sizes)


def _model_in(content: Any) -> Any:  # noqa: ANN401
    """The model in a configuration; of TensorFlow.js it lies deeper."""
    for key in ("modelTopology", "model_config"):
        inner = content.get(key) if isinstance(content, Mapping) else None
        content = inner if isinstance(inner, Mapping) else content
    return content


class _Part(io.RawIOBase):
    """A part of a file that is stored as it is."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self._start, self._size, self._at = file, start, size, 0

    def readable(self) -> bool:
        """That it can be read."""
        return True

    def seekable(self) -> bool:
        """That any place of it can be read."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        from_where = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(from_where + offset, 0)
        return self._at

    def tell(self) -> int:
        """The place."""
        return self._at

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401
        """Fill a buffer from the place on."""
        self._file.seek(self._start + self._at)
        read = self._file.read(max(min(len(buffer), self._size - self._at), 0))
        buffer[: len(read)] = read
        self._at += len(read)
        return len(read)


def _shapes(path: Path) -> dict[str, Shape]:
    """Shapes of the learned weights of a file by their places; none where it has none."""
    with path.open("rb") as file:
        head = file.read(8)
        if head.startswith(b"\x89HDF"):
            return _shapes_in(path)
        part = _stored_weights(file) if head.startswith(b"PK") else None
        return {} if part is None else _shapes_in(part)


def _stored_weights(file: BinaryIO) -> _Part | None:
    """The weights of an archive, where they are not compressed, as Keras stores them."""
    with ZipFile(file) as archive:
        if _WEIGHTS not in archive.namelist():
            return None
        entry = archive.getinfo(_WEIGHTS)
    file.seek(entry.header_offset + 26)  # the lengths of the name and of what follows it
    lengths = [int.from_bytes(file.read(2), "little") for _ in range(2)]
    start = entry.header_offset + 30 + sum(lengths)
    return _Part(file, start, entry.file_size) if entry.compress_type == ZIP_STORED else None


def _shapes_in(source: Path | _Part) -> dict[str, Shape]:
    found: dict[str, Shape] = {}

    def note(name: str, item: Any) -> bool | None:  # noqa: ANN401
        shape = getattr(item, "shape", None)
        if shape is not None and item.dtype.kind == "f" and not _STATISTICS.search(name):
            found[name] = checked(tuple(map(int, shape)))
        return True if len(found) > MOST_OPERATORS else None

    h5py = _h5py()
    with h5py.File(source, "r") as file:
        file.visititems(note)
    return found


def _snake(name: str) -> str:
    """A name of a class as Keras names its weights: ``Conv2D`` is ``conv2d``."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()
