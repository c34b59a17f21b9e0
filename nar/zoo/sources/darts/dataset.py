"""The NAS data set: 30,000 DARTS networks in ten classes at each distance of the difficulty curve.

A row is the text of a genotype with its class, the centre of that class and its distance from it
in edits, so that anyone can check the distance. Ships with the package;
``python -m benchmark darts TARGET`` makes it again.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from nar.base.errors import CorpusError
from nar.base.files import write_whole
from nar.base.workspace import package_path
from nar.zoo.sources.darts.genotypes import parse_genotype
from nar.zoo.sources.darts.models import SEED
from nar.zoo.sources.darts.sampling import CLASSES, Member, sample_centres, sample_texts

DISTANCES = (2, 4, 8, 12, 16)
MEMBERS = 30_000  # of the data set at each distance: 3,000 in each class
SCHEMA_VERSION = 1  # to be raised when a file of the old columns can no longer be read
_VERSION_KEY = b"nar.darts.schema"
_SEED_KEY = b"nar.darts.seed"
_LEVEL = 19  # of zstd: its strongest ordinary level, for the file is written once and shipped


def _field(name: str, kind: pa.DataType, description: str) -> pa.Field:
    return pa.field(name, kind, nullable=False, metadata={"description": description})


_SCHEMA = pa.schema(
    [
        _field("genotype", pa.string(), "text form, as nar.zoo.sources.darts.genotypes reads it"),
        _field("label", pa.int8(), "class, 0 to 9"),
        _field("centre", pa.string(), "genotype at the centre of the class"),
        _field("distance", pa.int8(), "edits between genotype and centre"),
    ]
)


def generate(
    seed: int = SEED, *, distances: Sequence[int] = DISTANCES, members: int = MEMBERS
) -> pa.Table:
    """Sample the data set: always the same rows in the same order.

    Args:
        seed: Fixes centres and members; the centres are the same at every distance.
        distances: Edits between a member and the centre of its class.
        members: Rows at each distance, the classes in turn; a smaller sample is the beginning of a
            larger one.

    Returns:
        Columns ``genotype``, ``label``, ``centre``, ``distance``; distance by distance.

    Raises:
        InvalidInputError: A distance is outside what `sample_texts` can promise.
    """
    centres = [str(centre) for centre in sample_centres(seed)]
    labels = [number % CLASSES for number in range(members)]
    parts = [
        pa.table(
            {
                "genotype": sample_texts(members, distance=distance, seed=seed),
                "label": labels,
                "centre": [centres[label] for label in labels],
                "distance": [distance] * members,
            },
            schema=_SCHEMA,
        )
        for distance in distances
    ]
    keys = {_VERSION_KEY: str(SCHEMA_VERSION), _SEED_KEY: str(seed)}
    return pa.concat_tables(parts).replace_schema_metadata(keys)


def write(table: pa.Table, path: Path) -> None:
    """Write a generated table whole or not at all, as zstd Parquet, a row group a distance."""
    write_whole(
        path,
        partial(
            pq.write_table,
            table,
            compression="zstd",
            compression_level=_LEVEL,
            row_group_size=MEMBERS,
            use_dictionary=["label", "centre", "distance"],
        ),
    )


def read(path: Path | None = None, *, distance: int | None = None) -> pa.Table:
    """Read the data set back.

    Args:
        path: A file that `write` made; None for the file that ships with the package.
        distance: Only the rows of this distance.

    Raises:
        CorpusError: The file is missing, damaged, or of another schema version.
    """
    if path is None:
        path = package_path("zoo", "sources", "darts", "data", "curve.parquet")
    way_out = "make it again with `python -m benchmark darts`"
    try:
        table = pq.read_table(
            path, filters=None if distance is None else [("distance", "=", distance)]
        )
    except (OSError, pa.ArrowException) as error:
        raise CorpusError(f"data set {path} cannot be read ({error}); {way_out}") from error
    version = (table.schema.metadata or {}).get(_VERSION_KEY, b"none").decode()
    if version != str(SCHEMA_VERSION) or table.column_names != _SCHEMA.names:
        wanted = f"wanted schema {SCHEMA_VERSION}, came {version}"
        raise CorpusError(f"data set {path}: {wanted}; {way_out}")
    return table


def members_at(distance: int, *, count: int = MEMBERS) -> list[Member]:
    """The first so many members that ship with the package for one distance of `DISTANCES`."""
    table = read(distance=distance).slice(0, count)
    rows = zip(table["genotype"].to_pylist(), table["label"].to_pylist(), strict=True)
    return [Member(parse_genotype(text), label) for text, label in rows]
