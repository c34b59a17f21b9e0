"""Novelty: how far a design is from the nearest known one, compared with designs of known families.

An index measures its own designs. These are near copies of each other more often than the models
that people ask with, so the shipped atlas is calibrated by the benchmark instead: with new designs
of known families, and with edits and parts of known models (`benchmark.calibration`).
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from nar.base.errors import CorpusError
from nar.base.files import write_whole
from nar.index.rows import Hit, IndexRow

# Chosen: designs that are measured. The standard error of a percentile is 1.1 points at most, and
# every measured design costs a search.
SAMPLED: Final = 2_000
# Chosen: designs that search at a time; scores against 100,000 rows then take 100 MB.
_CHUNK_ROWS: Final = 256
# The nearest row of another design is looked for among 10 hits; 50 are asked for only where all 10
# have the design of the query, which is the case for few queries.
_HITS: Final = (10, 50)
# Share of the rows that may change before novelty is measured again: a percentile moves by about
# two points at most, no more than the sample leaves open.
_STALE_SHARE: Final = 0.02
# Any seed, always the same, so that the same corpus gives the same measurement.
_SEED: Final = 0


@dataclass(frozen=True, slots=True, eq=False)
class Novelty:
    """The distances of designs of known families to the nearest known design, itself left out.

    Attributes:
        distances: Shape (designs,), 1 - cosine, ascending.
        changed: Rows of the index that were written or deleted since the measurement.
    """

    distances: NDArray[np.float32]
    changed: int = 0

    def percentile(self, score: float) -> float:
        """How many of a hundred designs of known families have a nearer neighbour than this one.

        Args:
            score: Cosine of the nearest architecture that is not of the same design.

        Example:
            >>> known = Novelty(np.array([0.1, 0.2, 0.3, 0.4], dtype=np.float32))
            >>> known.percentile(0.75)  # at a distance of 0.25: two of the four are nearer
            50.0
        """
        nearer = np.searchsorted(self.distances, 1 - score, side="left")
        return 100 * float(nearer) / len(self.distances)


def calibrate(vectors: NDArray[np.float32], designs: Sequence[str]) -> Novelty:
    """Measure a corpus with one member of each design, at most `SAMPLED` members.

    A sample, because all pairs would cost the square of the corpus.

    Args:
        vectors: Shape (architectures, dim), of length 1.
        designs: Shape (architectures,), topology fingerprints; at least two are different.

    Example:
        >>> vectors = np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32)
        >>> calibrate(vectors, ["a", "b", "c"]).distances.round(3)
        array([0.2, 0.2, 0.4], dtype=float32)
    """
    _, first, design = np.unique(np.array(designs), return_index=True, return_inverse=True)
    asking = np.random.default_rng(_SEED).permutation(first)[:SAMPLED]
    nearest = [
        np.where(design[rows][:, None] == design, -1.0, vectors[rows] @ vectors.T).max(axis=1)
        for rows in np.split(asking, range(_CHUNK_ROWS, len(asking), _CHUNK_ROWS))
    ]
    distances = np.sort(1 - np.concatenate(nearest)).astype(np.float32)
    return Novelty(distances)


class NoveltySource(Protocol):
    """What is measured: an `ArchitectureIndex`."""

    def sample(self, count: int) -> list[IndexRow]:
        """Some rows, as if drawn at random."""

    def search(self, vectors: NDArray[np.floating], top_k: int) -> list[list[Hit]]:
        """The nearest rows of each vector."""


def calibrate_index(index: NoveltySource) -> Novelty | None:
    """Measure an index with at most `SAMPLED` of its designs; None if it holds only one design."""
    first = {row.topology: row for row in reversed(index.sample(SAMPLED))}
    distances = list(_nearest(index, list(first.values())))
    return Novelty(np.sort(np.array(distances, dtype=np.float32))) if distances else None


def _nearest(index: NoveltySource, rows: Sequence[IndexRow]) -> Iterator[float]:
    for start in range(0, len(rows), _CHUNK_ROWS):
        asking = rows[start : start + _CHUNK_ROWS]
        for hits_wanted in _HITS:
            answers = index.search(np.stack([row.embedding for row in asking]), hits_wanted)
            copied = []
            for row, hits in zip(asking, answers, strict=True):
                others = [hit.score for hit in hits if hit.topology != row.topology]
                if not others and len(hits) == hits_wanted:
                    copied.append((row, hits[-1].score))
                yield from (1 - score for score in others[:1])
            asking = [row for row, _ in copied]
            if not asking:
                break
        # Where all hits are of the same design, the last hit bounds the score of any other design.
        yield from (1 - score for _, score in copied)


def keep_novelty(
    index: NoveltySource, path: Path, *, encoder: str, changed: int | None = None, rows: int = 0
) -> None:
    """Measure an index and write the measurement, if the index holds two designs or more.

    Args:
        index: Holds vectors of the encoder.
        path: File of the measurement.
        encoder: Fingerprint of the encoder.
        changed: Rows that were written or deleted since the last call; while few rows changed, the
            last measurement stays. None if all rows may have changed.
        rows: Number of rows of the index.
    """
    before = None if changed is None else kept_novelty(path, encoder=encoder)
    if before and changed is not None and before.changed + changed <= _STALE_SHARE * rows:
        write_novelty(path, replace(before, changed=before.changed + changed), encoder=encoder)
        return
    novelty = calibrate_index(index)
    if novelty is not None:
        write_novelty(path, novelty, encoder=encoder)


def kept_novelty(path: Path, *, encoder: str) -> Novelty | None:
    """The same as `read_novelty`, but None for a damaged file, which is then written anew."""
    try:
        return read_novelty(path, encoder=encoder)
    except CorpusError:
        return None


def write_novelty(path: Path, novelty: Novelty, *, encoder: str) -> None:
    """Keep a measurement, with the fingerprint of the encoder that it belongs to."""
    distances = [round(float(distance), 6) for distance in novelty.distances]
    text = json.dumps({"encoder": encoder, "distances": distances, "changed": novelty.changed})
    write_whole(path, lambda part: part.write_text(text))


def read_novelty(path: Path, *, encoder: str) -> Novelty | None:
    """A measurement of this encoder's vectors; None if there is none.

    Raises:
        CorpusError: The file is damaged.
    """
    if not path.exists():
        return None
    try:
        measured = json.loads(path.read_text())
        distances = np.array(measured["distances"], dtype=np.float32)
        is_ours = measured["encoder"] == encoder
        changed = int(measured.get("changed", 0))
        return Novelty(distances, changed) if is_ours and len(distances) else None
    except (ValueError, KeyError, TypeError) as error:
        raise CorpusError(
            f"{path} holds no measurement: {error}; embed the corpus again"
        ) from error
