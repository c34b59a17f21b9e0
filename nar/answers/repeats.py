"""Repeats: the blocks of a network that stand one behind the other, and how many there are.

By the modules that ran the operators, where these are known: blocks are the modules of a list,
``encoder.layers.0`` to ``encoder.layers.11``, the deepest list whose modules hold several layers.
Else by what repeats in the order of the operators.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.graphs.details import Details, OperatorDetails
from nar.graphs.graph import ComputationalGraph, operand_lists, reader_lists
from nar.graphs.ops import ATTRIBUTES, Trait, op_name, with_any

_NUMBERED: Final = re.compile(r"^(.*?)(\d+)$")
_WEIGHTED: Final = with_any(Trait.WEIGHTED) | {"attention", "matmul"}
_JOINS: Final = frozenset({"add", "mul", "concat", "sub"})
_NOTHING: Final = OperatorDetails()
# Chosen: a block has two layers at least; one layer with its norm and activation is none.
_FEWEST_LAYERS: Final = 2
# Chosen: share of the operators of the largest list that a list inside it has to hold.
_COVER: Final = 0.6
# Chosen: a block of a stage and the first one, which changes the scale, have more in common.
_ALIKE: Final = 0.7
# Chosen: operators of the largest block that is looked for without names of modules.
_LONGEST: Final = 400
_KEYS: Final = [ATTRIBUTES.index(name) for name in ("kernel", "kernel_shape", "rank")]


class DescribedGraph:
    """A graph by operators, with what capture saw of each.

    Args:
        graph: Canonical graph.
        details: What capture saw beside it.

    Attributes:
        ops: The class of each operator.
        operands: What each operator reads.
        readers: What reads each operator.
    """

    def __init__(self, graph: ComputationalGraph, details: Details | None) -> None:
        self.graph = graph
        self.details = details
        self.ops = [op_name(each) for each in graph.op_ids.tolist()]
        self.operands = operand_lists(graph.nodes, graph.edge_index)
        self.readers = reader_lists(graph.nodes, graph.edge_index)
        self._seen: dict[int, OperatorDetails] = {}

    @property
    def nodes(self) -> int:
        """Number of operators."""
        return len(self.ops)

    def seen(self, node: int) -> OperatorDetails:
        """What capture saw of an operator."""
        if self.details is None:
            return _NOTHING
        if node not in self._seen:
            self._seen[node] = self.details.of(node)
        return self._seen[node]

    def attribute(self, node: int, name: str) -> int:
        """An attribute of an operator; 0 where it has none."""
        return int(self.graph.attributes[node, ATTRIBUTES.index(name)])

    def is_join(self, node: int) -> bool:
        """Whether an operator adds or lays together what several others made."""
        return self.ops[node] in {"add", "concat"} and len(self.operands[node]) > 1

    def ops_of(self, nodes: Iterable[int]) -> list[str]:
        """The classes of some operators."""
        return [self.ops[node] for node in nodes]


@dataclass(frozen=True, slots=True)
class Repeats:
    """The blocks of the largest stack.

    Attributes:
        every_block: The operators of each block, in their order.
        stages: Blocks of each stage; empty where there is one stage.
        count: How many blocks there are.
        last: The last operator of any stack.
    """

    every_block: tuple[tuple[int, ...], ...]
    stages: tuple[int, ...]
    count: int
    last: int

    @property
    def nodes(self) -> list[int]:
        """The operators of all blocks."""
        return [node for block in self.every_block for node in block]

    @property
    def typical(self) -> tuple[int, ...]:
        """A block of the size that most blocks have."""
        sizes = Counter(map(len, self.every_block))
        size = sizes.most_common(1)[0][0]
        return next(block for block in self.every_block if len(block) == size)


def repeats_of(net: DescribedGraph) -> Repeats | None:
    """The blocks of a network; None where nothing repeats."""
    return _by_modules(net) or _by_order(net)


@dataclass(frozen=True, slots=True)
class _List:
    """The modules of one list.

    Attributes:
        key: Path of the list, # for each number before and of its own.
        blocks: The operators of each module, by its numbers.
    """

    key: str
    blocks: Mapping[tuple[int, ...], list[int]]

    @property
    def size(self) -> int:
        """Number of operators."""
        return sum(map(len, self.blocks.values()))


def _by_modules(net: DescribedGraph) -> Repeats | None:
    if net.details is None:
        return None
    lists = [each for each in _lists(net.details) if _is_stack(net, each)]
    if not lists:
        return None
    largest = max(lists, key=lambda each: each.size)
    fitting = [
        each
        for each in lists
        if each.key.startswith(largest.key) and each.size >= _COVER * largest.size
    ]
    alike = [each for each in fitting if each is largest or _is_alike(net, each)]
    chosen = max(alike, key=lambda each: len(each.blocks))
    groups = Counter(numbers[:-1] for numbers in chosen.blocks)
    stages = tuple(groups.values()) if len(groups) > 1 else ()
    blocks = tuple(run for block in chosen.blocks.values() for run in _runs_of(net, block))
    last = max(node for each in lists for block in each.blocks.values() for node in block)
    return Repeats(blocks, stages, len(blocks), last)


def _is_alike(net: DescribedGraph, each: _List) -> bool:
    """Whether modules beside each other hold much the same.

    Blocks of a stage do; attention and MLP of one block do not, though they may stand in a list.
    """
    shares = [
        _shared(net, first, second)
        for (one, first), (other, second) in pairwise(each.blocks.items())
        if one[:-1] == other[:-1]
    ]
    alike = sum(share >= _ALIKE for share in shares)
    return bool(shares) and alike >= _ALIKE * len(shares)


def _shared(net: DescribedGraph, first: Sequence[int], second: Sequence[int]) -> float:
    """Share of the operators of two modules that both have."""
    one, other = Counter(net.ops_of(first)), Counter(net.ops_of(second))
    return (one & other).total() / (one | other).total()


def _runs_of(net: DescribedGraph, block: Sequence[int]) -> list[tuple[int, ...]]:
    """The operators of a module, for each time that it ran: weights may be shared."""
    assert net.details is not None, "modules are known"
    times = Counter(
        int(net.details.places[node]) for node in block if net.ops[node] in _WEIGHTED - {"matmul"}
    )
    [count, *others] = set(times.values()) or {1}
    if others or len(times) < _FEWEST_LAYERS or len(block) % count:
        return [tuple(block)]
    size = len(block) // count
    return [tuple(block[start : start + size]) for start in range(0, len(block), size)]


def _lists(details: Details) -> list[_List]:
    """Every list of modules."""
    found: defaultdict[str, defaultdict[tuple[int, ...], list[int]]]
    found = defaultdict(lambda: defaultdict(list))
    of_path = [list(_levels(path)) for path in details.paths]
    for node, place in enumerate(details.places.tolist()):
        if place >= 0:
            for key, numbers in of_path[place]:
                found[key][numbers].append(node)
    return [_List(key, blocks) for key, blocks in found.items()]


def _levels(path: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Each list on a path, with the numbers that lead to the module.

    Example:
        >>> list(_levels("layer1.0.conv2"))
        [('layer#', (1,)), ('layer#.#', (1, 0)), ('layer#.#.conv#', (1, 0, 2))]
    """
    parts, numbers = list[str](), list[int]()
    for part in path.split("."):
        match = _NUMBERED.match(part)
        if match is None:
            parts.append(part)
            continue
        parts.append(f"{match[1]}#")
        numbers.append(int(match[2]))
        yield ".".join(parts), tuple(numbers)


def _is_stack(net: DescribedGraph, each: _List) -> bool:
    """Whether the modules of a list are blocks, one behind the other."""
    if len(each.blocks) < 2:
        return False
    layers = sorted(
        sum(net.ops[node] in _WEIGHTED for node in block) for block in each.blocks.values()
    )
    if layers[len(layers) // 2] < _FEWEST_LAYERS:
        return False
    block_of = {node: number for number, block in enumerate(each.blocks.values()) for node in block}
    linked = {
        (block_of[source], block_of[target])
        for source, target in net.graph.edge_index.T.tolist()
        if source in block_of and target in block_of
    }
    follow = sum((first, first + 1) in linked for first in range(len(each.blocks) - 1))
    return 2 * follow >= len(each.blocks) - 1


def _by_order(net: DescribedGraph) -> Repeats | None:
    """Blocks by what repeats in the canonical order."""
    codes = _codes(net)
    best: tuple[int, int, list[tuple[int, int]]] | None = None
    for period in range(2, min(_LONGEST, len(codes) // 2) + 1):
        runs = _runs(codes, period)
        cover = sum(length for _, length in runs)
        # A multiple of a period covers no more than the period.
        if cover and (best is None or cover > 1.05 * best[0]) and _has_layers(net, runs, period):
            best = (cover, period, runs)
    if best is None:
        return None
    _, period, runs = best
    blocks = tuple(
        tuple(range(begin, begin + period))
        for start, length in runs
        for begin in range(start, start + length - period + 1, period)
    )
    return Repeats(blocks, (), _counted(net, blocks, runs), max(max(each) for each in blocks))


def _codes(net: DescribedGraph) -> NDArray[np.int64]:
    columns = np.column_stack([
        net.graph.op_ids.astype(np.int64), net.graph.attributes[:, _KEYS].astype(np.int64)
    ])  # fmt: skip
    _, codes = np.unique(columns, axis=0, return_inverse=True)
    return codes.ravel()


def _runs(codes: NDArray[np.int64], period: int) -> list[tuple[int, int]]:
    """Where the codes repeat with a period: first operator and length, two periods at least."""
    equal = np.concatenate([[False], codes[:-period] == codes[period:], [False]])
    edges = np.flatnonzero(np.diff(equal.astype(np.int8)))
    spans = zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    runs = [(start, end - start + period) for start, end in spans if end - start >= period]
    return [(start, length // period * period) for start, length in runs]


def _has_layers(net: DescribedGraph, runs: Sequence[tuple[int, int]], period: int) -> bool:
    start = runs[0][0]
    ops = net.ops_of(range(start, start + period))
    return sum(op in _WEIGHTED for op in ops) >= _FEWEST_LAYERS


def _counted(
    net: DescribedGraph, blocks: Sequence[tuple[int, ...]], runs: Sequence[tuple[int, int]]
) -> int:
    """How many blocks there are, with those that a change of scale interrupts.

    The first block of a stage has a layer more, so it is in no run; its sums are counted.
    """
    if len(runs) < 2:
        return len(blocks)
    sums = sum(map(net.is_join, blocks[0]))
    # The sums of the first and of the last block may stand outside of the runs, less than a block
    # away: a run begins where operators agree, which may be in the middle of a block.
    size = len(blocks[0])
    first, last = max(runs[0][0] - size, 0), min(runs[-1][0] + runs[-1][1] + size, net.nodes)
    return round(sum(map(net.is_join, range(first, last))) / sums) if sums else len(blocks)
