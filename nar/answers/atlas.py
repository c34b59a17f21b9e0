"""The atlas: an encoder trained on a corpus, and the vector of every architecture in it.

It lies beside the corpus and repeats nothing of it: labels and fingerprints are read from the
cards of the corpus, which stand in the order of the vectors.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nar.answers.novelty import Novelty, read_novelty, write_novelty
from nar.base.errors import CorpusError
from nar.base.files import write_whole
from nar.base.workspace import job, package_path
from nar.corpus import Corpus, Location
from nar.corpus.columns import numbers_of
from nar.corpus.manifest import Manifest
from nar.encoding.stored import StoredEmbedder, read_files
from nar.index.exact import ExactIndex
from nar.index.rows import COLUMNS, COUNTS, FINGERPRINTS, IndexRow
from nar.index.table import Column, Fingerprints, Ids, Texts

ENCODER: Final = "encoder"
VECTORS: Final = "vectors.parquet"
NOVELTY: Final = "novelty.json"
# Files that only the page reads; an atlas may lack them.
MAP: Final = "map.parquet"
USES: Final = "uses.parquet"
# Digests of the files that have no other check, in the format of `sha256sum --check`.
SUMS: Final = "SHA256SUMS"
# Columns that have another name in an index than in a corpus, and the columns that both have.
_OF_CARD: Final = {"nodes": "node_count"}
_CARD_COLUMNS: Final = tuple(_OF_CARD.get(name, name) for name in COLUMNS if name != "id")
_KEY: Final = b"nar.atlas"
# The highest level of zstd without `--ultra`: an atlas is written once, and every wheel carries it.
_LEVEL: Final = 19
# Chosen: rows that are read at a time. That this beats reading all rows at once was measured:
# `results/benchmarks.md`, "vectors that are read a few rows at a time".
_ROWS_AT_ONCE: Final = 1_024
_AGAIN: Final = "pack it again with `nar atlas pack`"


@dataclass(frozen=True, slots=True)
class Atlas:
    """Where an atlas lies.

    Attributes:
        directory: Holds the encoder and the vectors.
        corpus: The corpus from which the atlas was made.
    """

    directory: Path
    corpus: Location

    @property
    def encoder(self) -> Path:
        """Directory of the checkpoint."""
        return self.directory / ENCODER

    @property
    def novelty(self) -> Path:
        """File of the distances by which novelty is measured."""
        return self.directory / NOVELTY


@dataclass(frozen=True, slots=True, eq=False)
class AtlasContent:
    """What an atlas holds.

    Attributes:
        embedder: Made the vectors.
        index: A row of each architecture, in the order of the corpus.
        novelty: How far designs of known families are from the nearest known one, if that was
            measured.
    """

    embedder: StoredEmbedder
    index: ExactIndex
    novelty: Novelty | None

    @property
    def rows(self) -> list[IndexRow]:
        """The rows as records, made now: a kilobyte each, and their vectors once more."""
        return self.index.rows()


def shipped_atlas() -> Atlas:
    """The atlas that came with the package.

    Raises:
        CorpusError: This installation has none.
    """
    atlas = Atlas(package_path("data", "atlas"), package_path("data", "corpus"))
    if not (atlas.directory / VECTORS).is_file():
        raise CorpusError(
            "this installation of NAR came without an atlas; build an index of your own: "
            f"{job('extract')}, {job('pretrain')}, {job('embed')}"
        )
    return atlas


def write_vectors(atlas: Atlas, vectors: NDArray[np.float32]) -> None:
    """Write the vectors of a corpus whole or not at all, in half precision.

    Args:
        atlas: The atlas; its encoder made the vectors.
        vectors: Shape (architectures, dim), in the order of the corpus.
    """
    about = _identity(atlas, read_files(atlas.encoder).fingerprint)
    # Whole vectors as bytes: as lists of numbers they take ten times as long to read.
    halves = np.ascontiguousarray(vectors, dtype="<f2")
    kind = pa.binary(halves.dtype.itemsize * halves.shape[1])
    column = pa.FixedSizeBinaryArray.from_buffers(kind, len(halves), [None, pa.py_buffer(halves)])
    table = pa.table({"vector": column}).replace_schema_metadata({_KEY: json.dumps(about)})
    write = partial(pq.write_table, table, compression="zstd", compression_level=_LEVEL)
    write_whole(atlas.directory / VECTORS, write)
    seal(atlas)


def keep_atlas_novelty(atlas: Atlas, novelty: Novelty, *, encoder: str) -> None:
    """Write the distances by which novelty is measured.

    Args:
        atlas: The atlas.
        novelty: The distances.
        encoder: Fingerprint of the encoder that they were measured with.
    """
    write_novelty(atlas.novelty, novelty, encoder=encoder)
    seal(atlas)


def seal(atlas: Atlas) -> None:
    """Write down the sums of the files as they are: from now on, a changed byte is found."""
    paths = [atlas.directory / name for name in (NOVELTY, VECTORS, MAP, USES)]
    named = [path for path in paths if path.exists()]
    lines = "".join(f"{_sum(path)}  {path.name}\n" for path in named)
    write_whole(atlas.directory / SUMS, lambda part: part.write_text(lines))


def read_atlas(atlas: Atlas) -> AtlasContent:
    """Read every row.

    Raises:
        CorpusError: The atlas is missing, damaged, or of another corpus or encoder.
    """
    path = atlas.directory / VECTORS
    about = _about(path)
    check_seal(path)
    embedder = StoredEmbedder(atlas.encoder)
    if about != _identity(atlas, embedder.fingerprint):
        raise CorpusError(f"{path} was made from another corpus or encoder; {_AGAIN}")
    vectors = _read_vectors(path, embedder.dim)
    cards = Corpus(atlas.corpus).columns(_CARD_COLUMNS)
    if len(cards) != len(vectors):
        raise CorpusError(f"{path} holds {len(vectors)} vectors, its corpus {len(cards)}; {_AGAIN}")
    counts = {name: cards.column(_OF_CARD.get(name, name)) for name in COUNTS}
    numbers = {name: numbers_of(each).astype(np.int64) for name, each in counts.items()}
    index = ExactIndex.of_columns(vectors, _texts(cards), numbers)
    return AtlasContent(embedder, index, _read_novelty(atlas, embedder.fingerprint))


def _read_vectors(path: Path, dim: int) -> NDArray[np.float32]:
    """Shape (architectures, dim), of length 1.

    A few rows at a time, in the same memory: on a virtual machine fresh memory costs more than what
    is done with it.
    """
    try:
        # Not read_table: that imports pyarrow's datasets and pandas, for half a second.
        file = pq.ParquetFile(path, memory_map=True)
        vectors = np.empty((file.metadata.num_rows, dim), dtype=np.float32)
        low = 0
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=["vector"], use_threads=False):
            part, column = vectors[low : low + len(batch)], batch.column("vector")
            if column.type != pa.binary(2 * dim):
                raise TypeError(f"its vectors are {column.type}, wanted {pa.binary(2 * dim)}")
            halves = np.frombuffer(column.buffers()[1], dtype="<f2").reshape(-1, dim)
            part[:] = halves[column.offset : column.offset + len(column)]
            part /= np.sqrt(np.einsum("rd,rd->r", part, part))[:, None]
            low += len(batch)
    except (OSError, pa.ArrowException, KeyError, ValueError, TypeError) as error:
        raise damaged(path, error) from error
    return vectors


def _texts(cards: pa.Table) -> dict[str, Column]:
    """The text columns of an index, from the cards of a corpus."""
    # Not `dictionary_encode`: for that pyarrow makes 286 functions, in 0.1 s.
    names = Texts.of(cards.column("name").to_pylist())
    texts: dict[str, Column] = {"id": Ids(names), "name": names}
    for name in COLUMNS:
        if name in FINGERPRINTS:
            column = cards.column(name).combine_chunks()
            digests = np.frombuffer(column.buffers()[1], dtype="V32")
            texts[name] = Fingerprints(digests[column.offset : column.offset + len(column)])
        elif name not in texts and name not in COUNTS:
            texts[name] = Texts.of(cards.column(name).to_pylist())
    return texts


def atlas_novelty(atlas: Atlas) -> Novelty | None:
    """The distances by which an atlas measures novelty; no vector is read.

    Raises:
        CorpusError: The atlas is missing or damaged.
    """
    return _read_novelty(atlas, atlas_encoder(atlas))


def _read_novelty(atlas: Atlas, encoder: str) -> Novelty | None:
    if atlas.novelty.exists():
        check_seal(atlas.novelty)
    return read_novelty(atlas.novelty, encoder=encoder)


def atlas_encoder(atlas: Atlas) -> str:
    """Fingerprint of the encoder that made the vectors; only the header of their file is read.

    Raises:
        CorpusError: The atlas is missing or damaged.
    """
    return str(_about(atlas.directory / VECTORS)["encoder"])


def _about(path: Path) -> dict[str, Any]:
    """What the metadata of the file of vectors say: the identity that was written with it."""
    try:
        about: dict[str, Any] = json.loads((pq.read_schema(path).metadata or {})[_KEY])
        return about
    except (OSError, pa.ArrowException, KeyError, ValueError, TypeError) as error:
        raise damaged(path, error) from error


def check_seal(path: Path) -> None:
    """See that a file is as it was sealed.

    Raises:
        CorpusError: The file has changed, or was never sealed.
    """
    sums = path.with_name(SUMS)
    try:
        words = sums.read_text().split()
        wanted = words[words.index(path.name) - 1]
    except (OSError, ValueError) as error:
        raise CorpusError(f"{sums} does not say what {path.name} was: {_AGAIN}") from error
    came = _sum(path)
    if came != wanted:
        raise CorpusError(
            f"{path} is damaged: wanted sha256 {wanted[:16]}, came {came[:16]}; install NAR again, "
            f"or {_AGAIN}"
        )


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def damaged(path: Path, error: Exception) -> CorpusError:
    """The error of a file of an atlas that cannot be read."""
    return CorpusError(f"{path} holds no atlas: {error}; {_AGAIN}")


def _identity(atlas: Atlas, encoder: str) -> dict[str, object]:
    """What the vectors depend on: the encoder, by its fingerprint, and the shards of the corpus."""
    return {
        "encoder": encoder,
        "shards": [entry.identity for entry in Manifest.read(atlas.corpus).shards],
    }
