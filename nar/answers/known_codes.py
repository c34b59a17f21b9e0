"""The exact codes of all known networks in one file, fetched by exact fingerprint.

A code is kept as a number, and codes that many networks have get small numbers: the numbers of a
network, in ascending order, differ by little, and a few hundred bytes a network are left. Codes
that come together for the first time have numbers beside each other::

    networks      a: conv relu add      b: conv relu mul
    numbers       0 conv  1 relu  2 add  3 mul
    kept          a: 0 1 2              b: 0 1 3      as differences, byte by byte, compressed
"""

import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from nar.answers.answer import COMPARED, RANKED, Graphs
from nar.answers.pairs import CodedArchitectures, Values, rarity_of, shipped_scorer
from nar.base.errors import CorpusError
from nar.base.files import write_whole
from nar.base.workspace import package_path
from nar.graphs.architecture import Architecture
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ragged import Integers, offsets
from nar.index.rows import Hit, IndexEntry
from nar.motifs.config import MotifConfig
from nar.motifs.feature_sets import FeatureSets, feature_sets, joined
from nar.motifs.partition import split_all

FILE: Final = "codes.npz"
# Chosen: 32 bits of a code. Of 10^6 known codes one stands for another by chance once in 4,000.
_BITS: Final = np.uint64(32)
# Chosen: 16 bytes of a fingerprint tell networks apart, of whatever number.
_DIGEST: Final = 16
# Bytes of a number, or of a difference of codes: the highest are zero, and take no room.
_BYTES: Final = 4
# Chosen: nodes that are read together; more at a time take more memory and are no faster.
_NODES_A_BATCH: Final = 50_000
_HIGHEST: Final = 9  # of zlib: written once, and carried by every wheel
_MOTIFS: Final = MotifConfig()


class KnownCodes:
    """The codes of known networks.

    Args:
        path: Written by `write_known_codes`.

    Raises:
        CorpusError: The file is missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        try:
            with np.load(path) as kept:
                digests = kept["digests"].tobytes()
                self._start = offsets(kept["sizes"])
                self._packed = kept["packed"].tobytes()
                self._codes = np.cumsum(_of_planes(kept["codes"].tobytes()))
                self._number = _of_planes(kept["numbers"].tobytes())
                self._kinds = kept["kinds"]
                having = kept["having"].astype(np.int64)
            known = {len(each) for each in (self._codes, self._number, self._kinds, having)}
            if len(known) > 1 or len(digests) != _DIGEST * (len(self._start) - 1):
                raise ValueError("its parts do not fit together")
        except (OSError, KeyError, ValueError, BadZipFile, zlib.error) as error:
            raise CorpusError(f"{path} holds no codes of networks: {error}") from error
        self._place = {
            digests[at : at + _DIGEST]: number
            for number, at in enumerate(range(0, len(digests), _DIGEST))
        }
        self._rarity = rarity_of(having, len(self._place))

    def __contains__(self, exact: str) -> bool:
        """Whether the network of an exact fingerprint is known."""
        return _digest(exact) in self._place

    def __len__(self) -> int:
        """Number of networks."""
        return len(self._place)

    def read(self, graphs: Sequence[ComputationalGraph]) -> CodedArchitectures:
        """Networks that are read anew, known or not.

        Args:
            graphs: Canonical graphs.
        """
        sets = _read(graphs)
        codes = (sets.codes >> _BITS).astype(np.int64)
        place = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        # Unknown codes are numbered behind all known ones, the same in every network.
        unknown = len(self._codes) + codes
        numbers = np.where(self._codes[place] == codes, self._number[place], unknown)
        rarity = self._rarity[np.minimum(numbers, len(self._codes))]
        counts = [(graph.nodes, graph.parameters, graph.flops) for graph in graphs]
        return CodedArchitectures.of(
            numbers.astype(np.uint64), sets.aspects, rarity, sets.start, counts
        )

    def fetch(self, entries: Sequence[IndexEntry]) -> CodedArchitectures:
        """Known networks by the rows of an index.

        Args:
            entries: Rows of networks that are all known.
        """
        each = [self._numbers(self._place[_digest(entry.exact)]) for entry in entries]
        numbers = np.concatenate([np.empty(0, dtype=np.int64), *each])
        counts = [(entry.nodes, entry.parameters, entry.flops) for entry in entries]
        kinds, rarity = self._kinds[numbers], self._rarity[numbers]
        start = offsets([len(of_one) for of_one in each])
        return CodedArchitectures.of(numbers.astype(np.uint64), kinds, rarity, start, counts)

    def _numbers(self, place: int) -> Integers:
        packed = self._packed[self._start[place] : self._start[place + 1]]
        return np.cumsum(_of_planes(zlib.decompress(packed)))


def write_known_codes(path: Path, items: Iterable[Architecture]) -> int:
    """Keep the codes of some networks; those of one exact fingerprint once.

    Returns:
        How many networks are kept.

    Raises:
        CorpusError: There is none.
    """
    exacts: list[str] = []
    sets: list[FeatureSets] = []
    for batch in _batches(items):
        exacts += batch
        sets.append(_read(list(batch.values())))
    if not exacts:
        raise CorpusError(f"there is no network to keep in {path}: wanted a corpus that has some")
    arrays = _arrays(exacts, joined(sets))
    write_whole(path, partial(_save, arrays=arrays))
    return len(exacts)


def _batches(items: Iterable[Architecture]) -> Iterator[dict[str, ComputationalGraph]]:
    """Graphs by exact fingerprint, each once, some at a time."""
    seen = set[str]()
    batch: dict[str, ComputationalGraph] = {}
    nodes = 0
    for item in items:
        if item.exact in seen:
            continue
        seen.add(item.exact)
        batch[item.exact] = item.graph
        nodes += item.graph.nodes
        if nodes >= _NODES_A_BATCH:
            yield batch
            batch, nodes = {}, 0
    if batch:
        yield batch


def _arrays(exacts: Sequence[str], sets: FeatureSets) -> Mapping[str, NDArray[np.generic]]:
    """What is kept of networks and their codes."""
    codes, first, place, having = np.unique(
        sets.codes >> _BITS, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.lexsort((first, -having))  # frequent ones first, then in the order that they come
    number = np.empty(len(codes), dtype=np.int64)
    number[order] = np.arange(len(codes))
    packed = [
        zlib.compress(_planes(np.sort(number[place[start:end]])), _HIGHEST)
        for start, end in zip(sets.start[:-1], sets.start[1:], strict=True)
    ]
    return {
        "digests": np.frombuffer(b"".join(map(_digest, exacts)), dtype=np.uint8),
        "sizes": np.array([len(each) for each in packed], dtype=np.uint32),
        "packed": np.frombuffer(b"".join(packed), dtype=np.uint8),
        "codes": np.frombuffer(_planes(codes), dtype=np.uint8),
        "numbers": np.frombuffer(_planes(number, ascending=False), dtype=np.uint8),
        "kinds": sets.aspects[first[order]],
        "having": having[order].astype(np.uint32),
    }


def _save(path: Path, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    # To a path, numpy would append an ending.
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def _planes(values: NDArray[np.integer], *, ascending: bool = True) -> bytes:
    """Numbers below 2^32, or the differences of ascending ones: all lowest bytes first."""
    numbers = np.diff(values.astype(np.int64), prepend=0) if ascending else values
    return numbers.astype("<u4").view(np.uint8).reshape(-1, _BYTES).T.tobytes()


def _of_planes(planes: bytes) -> Integers:
    each = np.frombuffer(planes, dtype=np.uint8).reshape(_BYTES, -1)
    return np.ascontiguousarray(each.T).view("<u4").ravel().astype(np.int64)


def _read(graphs: Sequence[ComputationalGraph]) -> FeatureSets:
    return feature_sets(split_all(graphs, _MOTIFS), border_widths=_MOTIFS.border_widths)


def _digest(exact: str) -> bytes:
    return bytes.fromhex(exact)[:_DIGEST]


@cache
def shipped_known_codes() -> KnownCodes | None:
    """The codes of the shipped corpus; None if NAR came without."""
    path = package_path("data", FILE)
    return KnownCodes(path) if path.is_file() else None


def ranked_again(
    graph: ComputationalGraph,
    hits: Sequence[Hit],
    graphs: Graphs,
    max_nodes: int | None = None,
) -> list[Hit]:
    """Hits by copy, the first of them ranked once more by the codes that they share with a graph.

    Args:
        graph: Canonical graph that asks.
        hits: Its hits by copy, nearest first. Their scores stay as they are.
        graphs: Has the graphs of hits that are not known, as those of a user's own index; hits
            without one are neither raised nor lowered.
        max_nodes: Bound on the nodes of the graphs that are read; None for any number.
    """
    known, scorer = shipped_known_codes(), shipped_scorer()
    first = hits[:RANKED]
    if known is None or scorer is None or len(first) < 2:
        return list(hits)
    asking = known.read([graph])
    pairs: dict[int, Values] = {}
    places = [place for place, hit in enumerate(first) if hit.exact in known]
    if places:
        stored = known.fetch([first[place] for place in places])
        pairs |= zip(places, asking.compared(0, stored, np.arange(len(places))), strict=True)
    for place, other in _own_graphs(first, set(places), graphs, max_nodes):
        pairs[place] = asking.compared(0, known.read([other]), np.arange(1))[0]
    if not pairs:
        return list(hits)
    scores = np.zeros(len(first), dtype=np.float32)
    scores[list(pairs)] = scorer.scores(np.stack(list(pairs.values())))
    order = scorer.order(np.array([hit.score for hit in first]), scores)
    return [*(first[place] for place in order.tolist()), *hits[RANKED:]]


def _own_graphs(
    hits: Sequence[Hit], known: Collection[int], graphs: Graphs, max_nodes: int | None
) -> Iterator[tuple[int, ComputationalGraph]]:
    """The graphs of the first hits that are not known, with their places."""
    wanted: dict[str, int] = {}
    left = max_nodes
    for place, hit in enumerate(hits):
        if place in known or len(wanted) == COMPARED:
            continue
        if left is not None:
            if hit.nodes > left:
                continue
            left -= hit.nodes
        wanted[hit.name] = place
    if wanted:
        sources = {hits[place].source for place in wanted.values()}
        for name, item in graphs.graphs(list(wanted), sources).items():
            yield wanted[name], item.graph
