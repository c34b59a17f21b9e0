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

from nar.corpus import iterate_cards
from nar.corpus.manifest import Manifest
from nar.encoding.checkpoint import fingerprint, load_checkpoint
from nar.encoding.encoder import Encoder
from nar.errors import CorpusError
from nar.files import package_path, write_whole
from nar.index.rows import IndexRow, index_row
from nar.novelty import Novelty, read_novelty, write_novelty

ENCODER: Final = "encoder"
VECTORS: Final = "vectors.parquet"
NOVELTY: Final = "novelty.json"
# What only the page reads; an atlas may be without.
MAP: Final = "map.parquet"
USES: Final = "uses.parquet"
# Of the files that nothing else says to be whole, as `sha256sum --check` reads it.
SUMS: Final = "SHA256SUMS"
_KEY: Final = b"nar.atlas"
_LEVEL: Final = 19
_AGAIN: Final = "pack it again with `nar atlas pack`"


@dataclass(frozen=True, slots=True)
class Atlas:
    """Where an atlas lies.

    Attributes:
        directory: Of the encoder and the vectors.
        corpus: Directory of the corpus that it was made from.
    """

    directory: Path
    corpus: Path

    @property
    def encoder(self) -> Path:
        """Directory of the checkpoint."""
        return self.directory / ENCODER

    @property
    def novelty(self) -> Path:
        """File of the distances that novelty is measured by."""
        return self.directory / NOVELTY


@dataclass(frozen=True, slots=True, eq=False)
class AtlasContent:
    """What an atlas holds.

    Attributes:
        encoder: What made the vectors.
        rows: One of each architecture, in the order of the corpus.
        novelty: How far designs of known families are from the nearest known one, if that was
            measured.
    """

    encoder: Encoder
    rows: tuple[IndexRow, ...]
    novelty: Novelty | None


def shipped_atlas() -> Atlas:
    """The atlas that came with the package.

    Raises:
        CorpusError: This installation has none.
    """
    atlas = Atlas(package_path("data", "atlas"), package_path("data", "corpus"))
    if not (atlas.directory / VECTORS).is_file():
        raise CorpusError(
            "this installation of NAR came without an atlas; build an index of your own: "
            "`python -m cluster.extract`, `cluster.pretrain`, `cluster.embed`"
        )
    return atlas


def write_vectors(atlas: Atlas, vectors: NDArray[np.float32]) -> None:
    """Write the vectors of a corpus whole or not at all, in half precision.

    Args:
        atlas: Where; its encoder made the vectors.
        vectors: Shape (architectures, dim), in the order of the corpus.
    """
    about = _identity(atlas, load_checkpoint(atlas.encoder))
    values = pa.array(vectors.astype(np.float16).ravel())
    column = pa.FixedSizeListArray.from_arrays(values, vectors.shape[1])
    table = pa.table({"vector": column}).replace_schema_metadata({_KEY: json.dumps(about)})
    write = partial(pq.write_table, table, compression="zstd", compression_level=_LEVEL)
    write_whole(atlas.directory / VECTORS, write)
    seal(atlas)


def keep_atlas_novelty(atlas: Atlas, novelty: Novelty, *, encoder: str) -> None:
    """Write down what novelty is measured by.

    Args:
        atlas: Where.
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
        CorpusError: It is missing, damaged, or of another corpus or encoder.
    """
    path = atlas.directory / VECTORS
    about = _about(path)
    check_seal(path)
    try:
        # Not read_table: that imports pyarrow's datasets and pandas, for half a second.
        column = pq.ParquetFile(path).read().column("vector").combine_chunks()
        vectors = column.flatten().to_numpy().reshape(len(column), -1).astype(np.float32)
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise damaged(path, error) from error
    cards = list(iterate_cards(atlas.corpus))
    encoder = load_checkpoint(atlas.encoder)
    if about != _identity(atlas, encoder) or len(cards) != len(vectors):
        raise CorpusError(f"{path} was made from another corpus or encoder; {_AGAIN}")
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = tuple(index_row(*pair) for pair in zip(cards, vectors, strict=True))
    return AtlasContent(encoder, rows, atlas_novelty(atlas))


def atlas_novelty(atlas: Atlas) -> Novelty | None:
    """What novelty is measured by in an atlas; no vector is read.

    Raises:
        CorpusError: It is missing or damaged.
    """
    if atlas.novelty.exists():
        check_seal(atlas.novelty)
    return read_novelty(atlas.novelty, encoder=atlas_encoder(atlas))


def atlas_encoder(atlas: Atlas) -> str:
    """Fingerprint of the encoder that made the vectors; neither it nor they are read.

    Raises:
        CorpusError: The atlas is missing or damaged.
    """
    return str(_about(atlas.directory / VECTORS)["encoder"])


def _about(path: Path) -> dict[str, Any]:
    """What the file of vectors says of itself."""
    try:
        about: dict[str, Any] = json.loads((pq.read_schema(path).metadata or {})[_KEY])
        return about
    except (OSError, pa.ArrowException, KeyError, ValueError, TypeError) as error:
        raise damaged(path, error) from error


def check_seal(path: Path) -> None:
    """See that a file is as it was sealed.

    Raises:
        CorpusError: It is not, or nobody sealed it.
    """
    sums = path.with_name(SUMS)
    try:
        lines = [line.split() for line in sums.read_text().splitlines()]
        wanted = {name: digest for digest, name in lines}[path.name]
    except (OSError, ValueError, KeyError) as error:
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
    """The error of a file that cannot be what it has to be."""
    return CorpusError(f"{path} holds no atlas: {error}; {_AGAIN}")


def _identity(atlas: Atlas, encoder: Encoder) -> dict[str, object]:
    """What the vectors depend on."""
    return {
        "encoder": fingerprint(encoder),
        "shards": [entry.identity for entry in Manifest.read(atlas.corpus).shards],
    }
