"""Signatures: the weights of each architecture in one compact file, and which are like others.

A signature is the multiset of the shapes of a model's weights, and the set of the kinds of their
names. Architectures of one signature share a row. Numbers of layers are not lost: they are the
counts of the shapes.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nar.base.errors import CorpusError
from nar.base.files import write_whole
from nar.base.workspace import package_path
from nar.graphs.weights import Shape, Weights

SIGNATURES_FILE: Final = "signatures.parquet"
_VERSION_KEY: Final = b"nar.signatures"
_VERSION: Final = b"1"
_TEXTS: Final = pa.list_(pa.string())
_SCHEMA: Final = pa.schema(
    [
        pa.field("models", _TEXTS, metadata={"description": "their names in the corpus"}),
        pa.field("shapes", _TEXTS, metadata={"description": "shape and how many: 64x3x7x7 1"}),
        pa.field("depth", pa.int32(), metadata={"description": "largest number of a name, plus 1"}),
        pa.field("kinds", _TEXTS, metadata={"description": "last two parts of names of weights"}),
    ],
    metadata={_VERSION_KEY: _VERSION},
)
# How much of a file's weights an architecture has counts this much, how much of an architecture's
# weights the file has the rest: parts of a model, and models with other heads, find their whole.
# Measured on timm and torchvision: 0.5 finds 0.78 of halves first, from 0.75 on 0.85.
_OF_FILE: Final = 0.75
# What equal kinds of names add: it decides between equal shapes. Measured there: 0 to 0.4 differ
# by 0.01.
_OF_NAMES: Final = 0.25
# What it costs to have fewer layers than a file names. Chosen: as much as all names are worth.
_TOO_SHALLOW: Final = 0.25
# What it adds to have all weights of a file, as the whole of a part has, and as many layers.
# Measured on halves of 120 models: from 0.1 on the whole is first for 0.02 more of them, and among
# five for 0.04 more; twice as much for the layers finds fewer.
_WHOLE: Final = 0.1
_AS_DEEP: Final = 0.05  # half of it, as twice as much finds fewer
# Architectures that have all weights of a file, and otherwise differ in so few that they are one
# body with other heads: the file cannot tell them apart. Chosen: less than a layer of ten.
_HEAD: Final = 0.05
# Chosen: rows that are looked at for one match, as a body has some ten heads.
_ROWS_A_MATCH: Final = 10
# In place of a size of 0, by which nothing can be divided.
_NOTHING: Final = 1e-9
# Chosen: the default level of the corpus takes a tenth of the time, and a tenth more bytes.
_LEVEL: Final = 19


@dataclass(frozen=True, slots=True)
class Match:
    """An architecture whose weights are like those of a file.

    Attributes:
        models: Names of the architectures of this signature; where they have all weights of the
            file, names of architectures with the same body come behind them.
        own: How many of the names are of this signature, which the shares are about.
        of_file: Share of the file's weights that it has, by their number, 0 to 1.
        of_model: Share of its weights that the file has.
        names: Share of the kinds of names of the file's weights that it has.
        missing: Shapes that it has and the file has not, and how many.
        other: Shapes that the file has and it has not.
        score: What matches are ordered by.
    """

    models: tuple[str, ...]
    own: int
    of_file: float
    of_model: float
    names: float
    missing: Mapping[Shape, int]
    other: Mapping[Shape, int]
    score: float

    @property
    def is_same(self) -> bool:
        """Whether the shapes are the same, each as often."""
        return not self.missing and not self.other


def write_signatures(path: Path, weights: Iterable[tuple[str, Weights]]) -> int:
    """Write the signatures of some architectures.

    Args:
        path: The file.
        weights: Name and weights of each architecture; a name without weights is left out.

    Returns:
        How many architectures are in it.
    """
    models = defaultdict[tuple[tuple[str, ...], int, tuple[str, ...]], list[str]](list)
    for name, each in weights:
        if each.counts:
            counts = sorted(each.shapes.items())
            texts = tuple(f"{'x'.join(map(str, shape))} {count}" for shape, count in counts)
            models[texts, each.depth, tuple(sorted(each.kinds))].append(name)
    rows = sorted(models.items(), key=lambda row: row[1][0])
    columns = ([names for _, names in rows], *([key[part] for key, _ in rows] for part in range(3)))
    arrays = [pa.array(each, field.type) for each, field in zip(columns, _SCHEMA, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=_SCHEMA)
    write_whole(
        path,
        lambda part: pq.write_table(
            table, part, compression="zstd", compression_level=_LEVEL, write_statistics=False
        ),
    )
    return sum(len(names) for _, names in rows)


class Signatures:
    """The signatures of a corpus, to be compared with the weights of a file.

    Args:
        path: Written by `write_signatures`.

    Raises:
        CorpusError: The file is missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        table = _read(path)
        self._models: list[list[str]] = table.column("models").to_pylist()
        self._rows = len(table)
        shapes = _texts(table, "shapes")
        counted = [text.split(" ") for text in shapes.words]
        self._shapes: dict[Shape, int] = {}
        of_word = [
            self._shapes.setdefault(_shape(shape), len(self._shapes)) for shape, _ in counted
        ]
        self._known = list(self._shapes)
        self._shape = np.array(of_word, dtype=np.int64)[shapes.ids]
        self._count = np.array([int(count) for _, count in counted], dtype=np.float64)[shapes.ids]
        self._row = shapes.rows
        self._depth = np.array(table.column("depth").to_pylist(), dtype=np.int64)
        kinds = _texts(table, "kinds")
        self._kinds = {word: place for place, word in enumerate(kinds.words)}
        self._kind, self._kind_row = kinds.ids, kinds.rows
        # Rare shapes and names tell more: the logarithm of rows over rows that have them.
        self._weight = self._rarity(self._shape, len(self._shapes))
        self._kind_weight = self._rarity(self._kind, len(self._kinds))
        self._size = self._sum(self._row, self._count * self._weight[self._shape])
        self._number = self._sum(self._row, self._count)

    def nearest(self, weights: Weights, count: int = 5) -> list[Match]:
        """The architectures whose weights are most like some, the nearest first.

        Args:
            weights: Those of a file.
            count: How many matches at most.
        """
        asked = np.zeros(len(self._shapes))
        unknown = 0
        for shape, times in weights.shapes.items():
            if shape in self._shapes:
                asked[self._shapes[shape]] = times
            else:
                unknown += times
        shared = np.minimum(asked[self._shape], self._count)
        rarest = np.log(1 + self._rows)
        common = self._sum(self._row, shared * self._weight[self._shape])
        whole = float(asked @ self._weight) + unknown * rarest
        names = self._names(weights.kinds)
        of_model = common / np.maximum(self._size, _NOTHING)
        score = (
            _OF_FILE * common / max(whole, _NOTHING) + (1 - _OF_FILE) * of_model + _OF_NAMES * names
        )
        # A part of a model does not have layers that the model lacks.
        score -= _TOO_SHALLOW * (self._depth < weights.depth)
        number = self._sum(self._row, shared)
        total = sum(weights.shapes.values())
        # What shares nothing is like nothing, whatever its depth is.
        is_like = score > 0
        score += _WHOLE * (number == total) + _AS_DEEP * (self._depth == weights.depth)
        score = np.where(is_like, score, 0)
        rows = np.argsort(-score, kind="stable")[: _ROWS_A_MATCH * count]
        matches: list[Match] = []
        for row in rows:
            if score[row] <= 0 or len(matches) > count:
                break
            found = self._match(int(row), weights, (number[row] / total, names[row], score[row]))
            _add(matches, found, total)
        return matches[:count]

    def _names(self, kinds: frozenset[str]) -> NDArray[np.float64]:
        """How alike names are, for each row: as scores of shapes, by the rarity of kinds."""
        asked = np.zeros(len(self._kinds))
        known = [self._kinds[kind] for kind in kinds if kind in self._kinds]
        asked[known] = 1
        unknown = (len(kinds) - len(known)) * np.log(1 + self._rows)
        weight = self._kind_weight[self._kind]
        common = self._sum(self._kind_row, asked[self._kind] * weight)
        whole = float(asked @ self._kind_weight) + unknown
        own = self._sum(self._kind_row, weight)
        alike: NDArray[np.float64] = common / np.maximum(
            _OF_FILE * whole + (1 - _OF_FILE) * own, _NOTHING
        )
        return alike

    def _match(self, row: int, weights: Weights, rated: tuple[float, float, float]) -> Match:
        of_file, names, score = rated
        first, end = np.searchsorted(self._row, (row, row + 1))
        entries = range(first, end)
        own = {self._known[self._shape[each]]: int(self._count[each]) for each in entries}
        asked = weights.shapes
        missing = {shape: own[shape] - asked.get(shape, 0) for shape in own}
        other = {shape: asked[shape] - own.get(shape, 0) for shape in asked}
        lacking = {shape: times for shape, times in missing.items() if times > 0}
        return Match(
            models=tuple(self._models[row]),
            own=len(self._models[row]),
            of_file=float(of_file),
            of_model=1 - sum(lacking.values()) / max(sum(own.values()), 1),
            names=float(names),
            missing=lacking,
            other={shape: times for shape, times in other.items() if times > 0},
            score=float(score),
        )

    def _rarity(self, ids: NDArray[np.int64], words: int) -> NDArray[np.float64]:
        having = np.bincount(ids, minlength=words)
        return np.log(1 + self._rows / np.maximum(having, 1))

    def _sum(self, rows: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(rows, values, minlength=self._rows).astype(np.float64)


def _add(matches: list[Match], found: Match, total: int) -> None:
    """Add a match: to one with the same body, or behind all."""
    for place, match in enumerate(matches):
        if _is_one_body(match, found, total):
            matches[place] = replace(match, models=match.models + found.models)
            return
    matches.append(found)


def _is_one_body(one: Match, other: Match, total: int) -> bool:
    """Whether two architectures have all weights of a file, and differ in a head alone.

    Args:
        one: The first.
        other: The second.
        total: How many weights the file has.
    """
    if one.is_same or other.is_same or one.other or other.other:
        return False
    shapes = one.missing.keys() | other.missing.keys()
    apart = sum(abs(one.missing.get(each, 0) - other.missing.get(each, 0)) for each in shapes)
    return apart <= _HEAD * (total + sum(other.missing.values()))


@dataclass(frozen=True, slots=True)
class _Texts:
    """A column of lists of texts.

    Attributes:
        words: The distinct texts.
        ids: Place of each text among the words, all lists one after the other.
        rows: Row of each text.
    """

    words: Sequence[str]
    ids: NDArray[np.int64]
    rows: NDArray[np.int64]


def _texts(table: pa.Table, name: str) -> _Texts:
    column = table.column(name).combine_chunks()
    offsets = np.array(column.offsets.to_pylist(), dtype=np.int64)
    coded = column.flatten().dictionary_encode()
    ids = np.array(coded.indices.to_pylist(), dtype=np.int64)
    rows = np.repeat(np.arange(len(column)), np.diff(offsets))
    return _Texts(coded.dictionary.to_pylist(), ids, rows)


def _shape(text: str) -> Shape:
    return tuple(map(int, text.split("x")))


def _read(path: Path) -> pa.Table:
    try:
        table = pq.read_table(BytesIO(path.read_bytes()), use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise CorpusError(f"signatures {path} cannot be read: {error}") from error
    if (table.schema.metadata or {}).get(_VERSION_KEY) != _VERSION or not table.schema.equals(
        _SCHEMA
    ):
        raise CorpusError(f"signatures {path} are of another version; make them anew")
    return table


@cache
def shipped_signatures() -> Signatures | None:
    """The signatures that NAR ships; None if it came without."""
    path = package_path("data", SIGNATURES_FILE)
    return Signatures(path) if path.is_file() else None
