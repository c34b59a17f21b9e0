"""Blocks: the motif types of an atlas, found by their operators, and which models contain them.

An atlas holds the codes of blocks only. The operators of a block are read from the corpus, from the
smallest network that has it, and kept in the user's cache: that takes seconds, once.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nar.answers.atlas import USES, Atlas, read_atlas
from nar.answers.conditions import MemoryValues, check_values
from nar.answers.uses import Uses, read_uses
from nar.base.console import stderr
from nar.base.errors import CorpusError, InvalidInputError
from nar.base.files import write_whole
from nar.corpus import Corpus
from nar.graphs.architecture import Architecture
from nar.graphs.ops import OPS
from nar.graphs.ragged import slices_within
from nar.index.filters import Filter
from nar.index.rows import IndexEntry
from nar.motifs.partition import partition, partition_all

Operators = Mapping[int, tuple[str, ...]]
_COLUMNS: Final = ("code", "operators")
# Graphs are cut into motifs together: more nodes at a time are no faster, and take more memory.
_NODES_A_BATCH: Final = 10_000
_CODE: Final = re.compile(r"[0-9a-f]{16}")
_NUMBERED: Final = re.compile(r"(\S+)#([1-9][0-9]*)")
# In a pattern, the word for any number of operators.
_ANY: Final = "..."
# Chosen: names that a refusal suggests.
_NEAR: Final = 3


@dataclass(frozen=True, slots=True)
class Block:
    """A motif type that was asked for, and how often it is used.

    Attributes:
        code: Its fingerprint, 16 hex digits.
        operators: Its operators in canonical order; empty where they were not read.
        architectures: How many architectures contain it.
        occurrences: How often it occurs in these architectures together.
    """

    code: str
    operators: tuple[str, ...]
    architectures: int
    occurrences: int


@dataclass(frozen=True, slots=True)
class BlockUser:
    """An architecture that contains some blocks; `occurrences` counts all these blocks together."""

    name: str
    family: str
    task: str
    parameters: int
    occurrences: int


@dataclass(frozen=True, slots=True)
class BlockUsers:
    """The architectures that contain some blocks.

    Attributes:
        blocks: The motif types that occur, the most widely used first.
        users: Architectures that contain at least one block, most occurrences first.
        families: How many of these architectures each family has, the largest number first.
    """

    blocks: tuple[Block, ...]
    users: tuple[BlockUser, ...]
    families: Mapping[str, int]

    def of_family(self, family: str) -> tuple[BlockUser, ...]:
        """The users of one family, or all users where its name is empty."""
        return tuple(user for user in self.users if family in ("", user.family))


def users_of_blocks(
    codes: Iterable[int],
    uses: Uses,
    rows: Sequence[IndexEntry | None],
    operators: Operators = MappingProxyType({}),
) -> BlockUsers:
    """Find and count the architectures that contain some motif types.

    Args:
        codes: Codes of the motif types, each once.
        uses: Which architectures contain which motif type.
        rows: The entry in the index of each row of that table; None for a row that does not count.
        operators: Operators of motif types, by code.

    Example:
        >>> from nar.answers.uses import uses_of
        >>> users_of_blocks([7], uses_of([{7: 2}, {9: 1}]), [None, None]).users
        ()
    """
    totals: Counter[int] = Counter()
    blocks = []
    for code in codes:
        counts = zip(*(each.tolist() for each in uses.of(code)), strict=True)
        kept = {row: count for row, count in counts if rows[row] is not None}
        totals.update(kept)
        if kept:
            sums = (len(kept), sum(kept.values()))
            blocks.append(Block(f"{code:016x}", operators.get(code, ()), *sums))
    blocks.sort(key=lambda block: (-block.architectures, len(block.operators), block.code))
    users = [_user(entry, totals[row]) for row in totals if (entry := rows[row])]
    users.sort(key=lambda user: (-user.occurrences, user.name))
    families = Counter(user.family for user in users)
    return BlockUsers(tuple(blocks), tuple(users), dict(families.most_common()))


def _user(entry: IndexEntry, occurrences: int) -> BlockUser:
    return BlockUser(entry.name, entry.family, entry.task, entry.parameters, occurrences)


def atlas_block_users(
    atlas: Atlas, motif: str, wanted: Filter, find: Callable[[str], Architecture], cache: Path
) -> BlockUsers:
    """The architectures of an atlas that contain the blocks which a text means.

    Args:
        atlas: The atlas.
        motif: See `codes_of`.
        wanted: Conditions that the architectures must meet.
        find: Gives the architecture that the text names.
        cache: Directory that keeps the operators of the blocks.

    Raises:
        CorpusError: Nobody has counted the blocks of the atlas.
        InvalidInputError: The text means no block, or the filter asks for what nothing has.
    """
    uses = read_uses(atlas)
    if uses is None:
        raise CorpusError("the blocks of this atlas were not counted; `nar atlas draw` counts them")
    index = read_atlas(atlas).index
    check_values(MemoryValues(index), wanted)
    with stderr.status("reading the blocks of the atlas"):
        operators = operators_of_blocks(atlas, uses, cache)
    stderr.print(f"asking the atlas of NAR, {len(operators):,} motif types", style="dim")
    entries = {entry.name: entry for entry in index.page("", index.count(), wanted)}
    rows = [entries.get(name) for name in index.values("name")]
    return users_of_blocks(codes_of(motif, operators, find), uses, rows, operators)


def block_code(text: str) -> int | None:
    """The code of a motif type in a text; None if the text is not 16 hex digits."""
    return int(text, 16) if _CODE.fullmatch(text) else None


def codes_of(
    motif: str, operators: Operators, find: Callable[[str], Architecture]
) -> Sequence[int]:
    """Codes of the motif types that a text means.

    Args:
        motif: A code; ``NAME#2``, the second motif type that `nar motifs` shows of a model; or a
            pattern, see `block_pattern`.
        operators: Operators of every motif type, by code.
        find: Gives the architecture of a name.

    Raises:
        InvalidInputError: The text is no code, no motif type of a model, and no pattern.
    """
    code = block_code(motif)
    if code is not None:
        return [code]
    numbered = _NUMBERED.fullmatch(motif)
    if numbered:
        return [_numbered(find(numbered[1]), numbered[1], int(numbered[2]))]
    pattern = block_pattern(motif)
    return [code for code, names in operators.items() if pattern.search(" ".join(names))]


def _numbered(item: Architecture, name: str, number: int) -> int:
    codes = partition(item.graph).by_share()
    if number > len(codes):
        reason = f"{name} has {len(codes)} motif types, as `nar motifs` shows; came #{number}"
        raise InvalidInputError("motif", reason)
    return codes[number - 1]


def operators_of_blocks(atlas: Atlas, uses: Uses, cache: Path) -> Operators:
    """Operators of each motif type of an atlas, in canonical order, by code.

    Args:
        atlas: The atlas.
        uses: Which architectures of the atlas contain which motif type.
        cache: Directory that keeps the operators; it is made if need be.
    """
    digest = sha256((atlas.directory / USES).read_bytes()).hexdigest()[:16]
    path = cache / f"blocks-{digest}.parquet"
    if not path.exists():
        read = _read_operators(atlas, uses)
        table = pa.table(dict(zip(_COLUMNS, _columns(read), strict=True)))
        # Where nothing can be kept, the next call reads them again.
        with suppress(OSError):
            cache.mkdir(parents=True, exist_ok=True)
            write_whole(path, partial(pq.write_table, table, compression="zstd"))
        return read
    table = pq.ParquetFile(path).read()
    codes, texts = (table.column(name).to_pylist() for name in _COLUMNS)
    return {code: tuple(text.split()) for code, text in zip(codes, texts, strict=True)}


def _columns(operators: Operators) -> tuple[pa.Array, list[str]]:
    return pa.array(list(operators), pa.uint64()), [" ".join(each) for each in operators.values()]


def _read_operators(atlas: Atlas, uses: Uses) -> Operators:
    nodes = np.array([card.nodes for card in Corpus(atlas.corpus).cards()])
    wanted = set(smallest_users(uses, nodes).tolist())
    operators: dict[int, tuple[str, ...]] = {}
    first = 0
    for _, items in Corpus(atlas.corpus).shards():
        asked = [item for row, item in enumerate(items, start=first) if row in wanted]
        for code, names in _operators_in(asked):
            operators.setdefault(code, names)
        first += len(items)
    return operators


def smallest_users(uses: Uses, nodes: NDArray[np.int64]) -> NDArray[np.int32]:
    """Rows that together contain every motif type: for each type, the smallest row that has it.

    Args:
        uses: Which architectures contain which motif type.
        nodes: Shape (architectures,), number of operators of each row.

    Returns:
        Shape (rows,), ascending.

    Example:
        >>> from nar.answers.uses import uses_of
        >>> smallest_users(uses_of([{7: 2}, {9: 1, 8: 1}, {7: 1}]), np.array([5, 4, 3])).tolist()
        [1, 2]
    """
    order = np.lexsort((nodes[uses.rows], uses.codes))
    _, first = np.unique(uses.codes[order], return_index=True)
    return np.unique(uses.rows[order][first])


def _operators_in(items: Sequence[Architecture]) -> Iterator[tuple[int, tuple[str, ...]]]:
    graphs = [item.graph for item in items]
    for batch in slices_within([graph.nodes for graph in graphs], _NODES_A_BATCH):
        for cut in partition_all(graphs[batch]):
            yield from ((code, tuple(cut.operators(code))) for code in cut.counts())


def block_pattern(pattern: str) -> re.Pattern[str]:
    """The expression that finds a pattern in the operators of a motif, joined by spaces.

    A word is the name of an operator, with ``*`` for any letters; ``*`` alone is any one operator,
    ``...`` any number of operators. Operators stand in canonical order, as `nar motifs` shows them;
    a motif may have more operators before and after.

    Args:
        pattern: Words with spaces between them.

    Raises:
        InvalidInputError: There is no word, or a word is the name of no operator.

    Example:
        >>> wanted = block_pattern("conv *norm relu")
        >>> bool(wanted.search("input conv batch_norm relu")), bool(wanted.search("conv relu"))
        (True, False)
        >>> bool(block_pattern("linear ... linear").search("linear gelu dropout linear"))
        True
        >>> block_pattern("convv")
        Traceback (most recent call last):
        ...
        nar.base.errors.InvalidInputError: motif: no operator is called 'convv'; did you mean conv?
    """
    words = pattern.split()
    if not set(words) - {_ANY}:
        raise InvalidInputError("motif", f"wanted operators such as 'conv relu', came {pattern!r}")
    return re.compile("".join(map(_part, words)))


def _part(word: str) -> str:
    """The expression of one word; each operator stands between the borders of a name."""
    if word == _ANY:
        return r"(?:\S+ )*?"
    letters = re.escape(word).replace(r"\*", r"\S*")
    if not any(re.fullmatch(letters, name) for name in OPS):
        near = get_close_matches(word, OPS, n=_NEAR)
        hint = f"did you mean {', '.join(near)}?" if near else "`nar motifs` shows names"
        raise InvalidInputError("motif", f"no operator is called {word!r}; {hint}")
    return rf"(?<!\S){letters}(?:\s|$)"
