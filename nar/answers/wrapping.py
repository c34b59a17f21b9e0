"""Wrapping: what deployment puts around a known network is taken off, step by step.

A softmax on the result, a normalisation of the input, adapters that were not merged or one more
output make another graph of a network that everybody knows. At query time they are taken off, and
the index is asked after every step: a network may have a sigmoid or an affine of its own, which a
greedy peeling would go past. Stored graphs stay as they are.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from math import sqrt
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from nar.graphs.canonical import Adjacency
from nar.graphs.fingerprints import (
    Fingerprinted,
    Network,
    Sameness,
    fingerprinted,
    near_totals,
    same_at_inference,
)
from nar.graphs.graph import ComputationalGraph, operand_lists
from nar.graphs.normal_form import LinearLayer
from nar.graphs.ops import ATTRIBUTES, Trait, mask_of, op_id, op_name
from nar.index.rows import Hit, IndexRow

Place = Literal["result", "input", "layers", "outputs", "pointwise"]
FindSame = Callable[..., Sequence[IndexRow]]

# What is put behind a network to read its result: probabilities, choices, a scale, one embedding.
_ON_RESULT: Final = frozenset(
    map(
        op_id,
        (
            "softmax", "log_softmax", "sigmoid", "log_sigmoid", "argmax", "topk", "max", "sort",
            "l2_norm", "mul", "div", "exp", "clamp", "compare", "mean", "slice", "index",
            "upsample",
        ),
    )
)  # fmt: skip
# What is put before it: a normalisation, an order of channels, a size.
_ON_INPUT: Final = frozenset(
    map(
        op_id,
        ("add", "sub", "mul", "div", "neg", "batch_norm", "clamp", "flip", "index", "upsample"),
    )
)
_INPUT: Final = op_id("input")
_SCALES: Final = frozenset(map(op_id, ("mul", "div")))
_ADD: Final = op_id("add")
_ADAPTED: Final = frozenset(map(op_id, ("linear", "conv")))
_WEIGHTED: Final = mask_of(Trait.WEIGHTED)
_POOLS: Final = mask_of(Trait.POOLS_TO_SIZE)
_ON_POOLED: Final = mask_of(Trait.ON_POOLED)
_LINEAR, _CONV = map(op_id, ("linear", "conv"))
_CHANNEL_RATIO: Final = ATTRIBUTES.index("channel_ratio")
# Chosen: nodes of the graphs that are looked up for one question, all together: hashing them takes
# some 40 ms. Three operators on the input, one on the result and adapters are 16 graphs.
_MOST_NODES: Final = 15_000
_MOST: Final = 64  # chosen: graphs of one question, however small they are
_LEAST: Final = 8  # chosen: graphs of one question, however large they are
# Chosen: more results are those of a detector, which nobody adds one to.
_MOST_RESULTS: Final = 6
# Chosen: of several results at most so many end in something that reads a result.
_FREE_RESULTS: Final = 2
# Chosen: nodes of one more output; the auxiliary head of a segmenter has five.
_OUTPUT_NODES: Final = 12
# Chosen: attributes hold ratios of widths to a quarter of an octave, which leaves a rank open by
# less than this share.
_RANK_SLACK: Final = 0.07


@dataclass(frozen=True, slots=True)
class TakenOff:
    """What was taken off in one place.

    Attributes:
        place: Behind a ``result``, before an ``input``, on some ``layers`` (adapters of low rank),
            further ``outputs``, or layers that are ``pointwise``, which were written the other way.
        operators: Operators behind a result or before an input, in the order in which they run. Of
            pointwise layers, as which the network that is asked about has them.
        count: How many adapted layers, further outputs or pointwise layers.
        rank: Rank of the adapters; 0 where it is not known.
    """

    place: Place
    operators: tuple[str, ...] = ()
    count: int = 0
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Wrapped:
    """What is known behind a wrapping.

    Attributes:
        same: In which way it is the same as what is behind the wrapping.
        hits: Known architectures, the nearest first.
        taken_off: What was taken off to see them.
    """

    same: Sameness
    hits: tuple[Hit, ...]
    taken_off: tuple[TakenOff, ...]


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """A network without its wrapping.

    Attributes:
        network: What is known.
        taken_off: What was taken off.
    """

    network: Fingerprinted
    taken_off: tuple[TakenOff, ...]


@dataclass(frozen=True, slots=True)
class _Adapter:
    """One adapter: ``add(base(x), mul(up(down(x))))``.

    Attributes:
        add: The node that adds the change.
        base: The layer that is adapted.
        change: All nodes of the change.
        ratios: Attribute ``channel_ratio`` of its two layers.
    """

    add: int
    base: int
    change: tuple[int, ...]
    ratios: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A graph with some nodes taken off.

    Attributes:
        passed: Nodes whose readers read the given operand in their place.
        dropped: Nodes that are gone with all that only they read.
        moves: What was done, in order: place, and operator.
        cost: How much was taken off: a node is one, and so are all adapters.
        below: The node behind which the last operator was taken off a result; -1 where none was.
    """

    passed: Mapping[int, int]
    dropped: frozenset[int]
    moves: tuple[tuple[Place, str], ...] = ()
    cost: int = 0
    below: int = -1

    @property
    def gone(self) -> frozenset[int]:
        return self.dropped.union(self.passed)


class _Peeling:
    """A graph, and what can be taken off it.

    Args:
        graph: A valid graph.
    """

    def __init__(self, graph: ComputationalGraph) -> None:
        self.graph = graph
        self._op_ids = graph.op_ids.tolist()
        self._operands = operand_lists(graph.nodes, graph.edge_index)
        self._times_read = Counter(graph.edge_index[0].tolist())

    def steps(self) -> Iterator[_Step]:
        """Each graph with something taken off, those with least taken off first."""
        most = min(_MOST, max(_LEAST, _MOST_NODES // self.graph.nodes))
        number = count()
        waiting = [(0, next(number), _Step({}, frozenset()))]
        seen = {waiting[0][2].gone}
        for _ in range(most + 1):
            if not waiting:
                return
            _, _, step = heappop(waiting)
            if step.moves:
                yield step
            for further in self._next(step):
                if further.gone not in seen:
                    seen.add(further.gone)
                    heappush(waiting, (further.cost, next(number), further))

    def graph_of(self, step: _Step) -> ComputationalGraph:
        """The graph that a step leaves."""
        gone = step.gone
        kept = [node for node in range(self.graph.nodes) if node not in gone]
        number = {node: position for position, node in enumerate(kept)}
        edges = [
            (number[_behind(step, source)], number[node])
            for node in kept
            for source in self._operands[node]
        ]
        return replace(
            self.graph,
            op_ids=self.graph.op_ids[kept],
            attributes=self.graph.attributes[kept],
            edge_index=np.array(edges, dtype=np.int32).reshape(-1, 2).T.copy(),
        )

    def taken_off(self, step: _Step, parameters: int | None = None) -> tuple[TakenOff, ...]:
        """What a step took off, by place.

        Args:
            step: The step.
            parameters: Learned scalars of the network behind it, where they are known.
        """
        moves: dict[Place, list[str]] = {}
        for place, operator in step.moves:
            moves.setdefault(place, []).append(operator)
        return tuple(self._in_place(place, names, parameters) for place, names in moves.items())

    def _in_place(self, place: Place, names: Sequence[str], parameters: int | None) -> TakenOff:
        if place == "layers":
            return TakenOff(place, count=len(self._adapters), rank=self._rank(parameters))
        if place == "outputs":
            return TakenOff(place, count=len(names))
        if place == "pointwise":
            return TakenOff(place, tuple(dict.fromkeys(names)), len(names))
        # Results are peeled from the outside to the inside.
        return TakenOff(place, tuple(names if place == "input" else reversed(names)))

    def _next(self, step: _Step) -> Iterator[_Step]:
        read = Counter(
            _behind(step, source)
            for node, sources in enumerate(self._operands)
            if node not in step.gone
            for source in sources
        )
        live = [node for node in range(self.graph.nodes) if node not in step.gone]
        results = [node for node in live if not read[node]]
        yield from self._without_results(step, results)
        yield from self._without_input(step, live, read)
        if self._adapters and not any(place == "layers" for place, _ in step.moves):
            changed = {node for each in self._adapters for node in each.change}
            passed = {**step.passed, **{each.add: each.base for each in self._adapters}}
            moves = (*step.moves, ("layers", ""))
            yield _Step(passed, step.dropped | changed, moves, step.cost + 1, step.below)
        if 2 <= len(results) <= _MOST_RESULTS:
            yield from self._without_output(step, results, read)

    def _without_results(self, step: _Step, results: Sequence[int]) -> Iterator[_Step]:
        peeled = [
            node
            for node in results
            if self._op_ids[node] in _ON_RESULT and len(self._operands[node]) == 1
        ]
        if len(peeled) > _FREE_RESULTS:
            # Of many results the network has most in one kind, and what was added is another.
            ends = Counter(self._op_ids[node] for node in results)
            peeled = [
                node
                for node in peeled
                if node == step.below or (step.below < 0 and ends[self._op_ids[node]] == 1)
            ]
        for node in peeled:
            moves = (*step.moves, ("result", op_name(self._op_ids[node])))
            below = _behind(step, self._operands[node][0])
            yield _Step(step.passed, step.dropped | {node}, moves, step.cost + 1, below)

    def _without_input(
        self, step: _Step, live: Sequence[int], read: Mapping[int, int]
    ) -> Iterator[_Step]:
        for node in live:
            if self._op_ids[node] in _ON_INPUT and len(self._operands[node]) == 1:
                source = _behind(step, self._operands[node][0])
                if self._op_ids[source] == _INPUT and read[source] == 1 and read[node]:
                    moves = (*step.moves, ("input", op_name(self._op_ids[node])))
                    passed = {**step.passed, node: source}
                    yield _Step(passed, step.dropped, moves, step.cost + 1, step.below)

    def _without_output(
        self, step: _Step, results: Sequence[int], read: Mapping[int, int]
    ) -> Iterator[_Step]:
        """One result less, with what is computed for it alone, if that is little."""
        for result in results:
            left, alone, waiting = dict(read), {result}, [result]
            while waiting:
                for operand in self._operands[waiting.pop()]:
                    source = _behind(step, operand)
                    left[source] -= 1
                    if not left[source]:
                        alone.add(source)
                        waiting.append(source)
            if len(alone) <= _OUTPUT_NODES and 2 * len(alone) < self.graph.nodes:
                moves, cost = (*step.moves, ("outputs", "")), step.cost + len(alone)
                yield _Step(step.passed, step.dropped | alone, moves, cost, step.below)

    @cached_property
    def _adapters(self) -> tuple[_Adapter, ...]:
        found = map(self._adapter, np.flatnonzero(self.graph.op_ids == _ADD).tolist())
        return tuple(each for each in found if each)

    def _adapter(self, add: int) -> _Adapter | None:
        if len(self._operands[add]) != 2:
            return None
        one, other = self._operands[add]
        return self._change_of(add, one, other) or self._change_of(add, other, one)

    def _change_of(self, add: int, base: int, value: int) -> _Adapter | None:
        change: list[int] = []
        up = self._past_scales(value, change)
        if not self._is_layer(base) or not self._is_layer(up):
            return None
        down = self._past_scales(self._operands[up][0], change)
        if not self._is_layer(down):
            return None
        change += [up, down]
        source = self._past_scales(self._operands[down][0], change)
        layers = [self._layer(node) for node in (base, down, up)]
        fits = layers[0].takes_in(*layers[1:]) and source == self._operands[base][0]
        ratios = layers[1].attributes[_CHANNEL_RATIO], layers[2].attributes[_CHANNEL_RATIO]
        return _Adapter(add, base, tuple(change), ratios) if fits else None

    def _past_scales(self, value: int, passed: list[int]) -> int:
        """A value before it was scaled; the scales are added to the list."""
        while (
            self._op_ids[value] in _SCALES
            and len(self._operands[value]) == 1
            and self._times_read[value] == 1
        ):
            passed.append(value)
            [value] = self._operands[value]
        return value

    def _is_layer(self, node: int) -> bool:
        is_layer = self._op_ids[node] in _ADAPTED and len(self._operands[node]) == 1
        return is_layer and self._times_read[node] == 1

    def _layer(self, node: int) -> LinearLayer:
        return LinearLayer(self._op_ids[node], tuple(self.graph.attributes[node].tolist()))

    def _rank(self, parameters: int | None) -> int:
        """The rank of the adapters, by their weights; 0 where that does not follow.

        An adapter of rank r has r (inputs + outputs) weights, and its attributes hold r / inputs
        and outputs / r, rounded.
        """
        extra = 0 if parameters is None else self.graph.parameters - parameters
        if extra <= 0:
            return 0
        widths = sum(
            2 ** (-down / 4) + 2 ** (up / 4) for down, up in (x.ratios for x in self._adapters)
        )
        about = sqrt(extra / widths)
        low, high = about * (1 - _RANK_SLACK), about * (1 + _RANK_SLACK)
        fitting = [rank for rank in range(1, round(high) + 2) if low <= rank <= high]
        fitting = [rank for rank in fitting if extra % rank == 0]
        # People take powers of two.
        return min(fitting, key=lambda rank: (rank & (rank - 1) != 0, abs(rank - about)), default=0)


def _behind(step: _Step, node: int) -> int:
    """The node that is read where a node was passed over."""
    while node in step.passed:
        node = step.passed[node]
    return node


@dataclass(frozen=True, slots=True, eq=False)
class _LookUp:
    """One graph that is looked up.

    Attributes:
        peeling: The graph as it came.
        step: What was taken off it.
        graph: What that leaves.
        topology: Its topology fingerprint.
    """

    peeling: _Peeling
    step: _Step
    graph: ComputationalGraph
    topology: str

    def of_design(self, rows: Sequence[IndexRow]) -> Unwrapped:
        """The network behind the wrapping, by rows of its design.

        The parameter total of a graph holds the adapters, too: without them it is that of a known
        network of the same attributes that is about as large.
        """
        coded = Adjacency(self.graph).coded()
        mine = self.graph.parameters
        equal = [
            row.parameters
            for row in rows
            if row.parameters <= mine
            and near_totals(row.parameters, mine)
            and coded.exact(row.parameters) == row.exact
        ]
        total = max(equal, default=None)
        graph = replace(self.graph, parameters=mine if total is None else total)
        return Unwrapped(fingerprinted(graph), self.peeling.taken_off(self.step, total))


def unwrapped(networks: Sequence[Network], find: FindSame) -> list[Unwrapped | None]:
    """What is known behind the wrappings of networks; None where one is known as it is, or nothing.

    Args:
        networks: The networks.
        find: Rows with any of these fingerprints: ``find_by_fingerprint`` of an index.
    """
    looks = [_looks(network.graph) for network in networks]
    asked = [number for number, each in enumerate(looks) if each]
    found: list[Unwrapped | None] = [None] * len(networks)
    if not asked:
        return found
    topologies = {networks[number].topology for number in asked}
    topologies |= {look.topology for number in asked for look in looks[number]}
    designs = _grouped(find(topologies=sorted(topologies)), lambda row: row.topology)
    left = []
    for number in asked:
        if networks[number].topology in designs:
            continue
        look = next((look for look in looks[number] if look.topology in designs), None)
        if look is None:
            left.append(number)
        else:
            found[number] = look.of_design(designs[look.topology])
    for number, behind in _at_inference(left, networks, looks, find):
        found[number] = behind
    return found


def _at_inference(
    left: Sequence[int],
    networks: Sequence[Network],
    looks: Sequence[Sequence[_LookUp]],
    find: FindSame,
) -> Iterator[tuple[int, Unwrapped]]:
    """The same by normal forms, which cost more."""
    if not left:
        return
    forms = {number: [fingerprinted(look.graph) for look in looks[number]] for number in left}
    wanted = {networks[number].inference for number in left}
    wanted |= {form.inference for number in left for form in forms[number]}
    rows = _grouped(find(inferences=sorted(wanted)), lambda row: row.inference)
    for number in left:
        if _is_known(networks[number], rows):
            continue
        for look, form in zip(looks[number], forms[number], strict=True):
            if _is_known(form, rows):
                yield number, Unwrapped(form, look.peeling.taken_off(look.step))
                break


def _grouped(rows: Iterable[IndexRow], key: Callable[[IndexRow], str]) -> dict[str, list[IndexRow]]:
    groups: dict[str, list[IndexRow]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _is_known(network: Network | Fingerprinted, rows: Mapping[str, Sequence[IndexRow]]) -> bool:
    return any(same_at_inference(network, row) for row in rows.get(network.inference, ()))


def _looks(graph: ComputationalGraph) -> list[_LookUp]:
    peeling = _Peeling(graph)
    looks = []
    for step in peeling.steps():
        left = peeling.graph_of(step)
        # What has no layer left is everybody's.
        if _WEIGHTED[left.op_ids].any():
            looks.append(_LookUp(peeling, step, left, Adjacency(left).topology()))
    for written, layers in ((_CONV, _pointwise(graph)), (_LINEAR, _unpooled(graph))):
        if layers.any():
            other = _as_other(graph, layers, _LINEAR if written == _CONV else _CONV)
            move: tuple[Place, str] = ("pointwise", op_name(written))
            moves = (move,) * int(layers.sum())
            step = _Step({}, frozenset(), moves)
            looks.append(_LookUp(peeling, step, other, Adjacency(other).topology()))
    return looks


# A layer over the features of each place is a linear layer to some, and a convolution to others.


def _pointwise(graph: ComputationalGraph) -> NDArray[np.bool_]:
    """Which nodes are convolutions of one place without a stride: shape (nodes,)."""
    of = {name: graph.attributes[:, ATTRIBUTES.index(name)] for name in ("kernel", "stride")}
    is_one: NDArray[np.bool_] = (graph.op_ids == _CONV) & (of["kernel"] == 1) & (of["stride"] == 1)
    return is_one


def _unpooled(graph: ComputationalGraph) -> NDArray[np.bool_]:
    """Which nodes are linear layers of places, not of what a global pooling leaves."""
    pooled = _POOLS[graph.op_ids]
    operands, passes = operand_lists(graph.nodes, graph.edge_index), _ON_POOLED[graph.op_ids]
    for node in Adjacency(graph).order:
        if passes[node] and operands[node]:
            pooled[node] |= pooled[operands[node][0]]
    is_linear: NDArray[np.bool_] = (graph.op_ids == _LINEAR) & ~pooled
    return is_linear


def _as_other(
    graph: ComputationalGraph, layers: NDArray[np.bool_], operator: int
) -> ComputationalGraph:
    """The graph whose layers are all of the other operator: linear, or a convolution of a map."""
    op_ids, attributes = graph.op_ids.copy(), graph.attributes.copy()
    op_ids[layers] = operator
    window = {"kernel": 1, "kernel_shape": 1, "stride": 1, "dilation": 1, "rank": 2}
    for name, number in window.items():
        attributes[layers, ATTRIBUTES.index(name)] = number if operator == _CONV else 0
    return replace(graph, op_ids=op_ids, attributes=attributes)
