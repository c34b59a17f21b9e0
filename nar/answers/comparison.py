"""Comparison: how one graph becomes another one, in the words of the field where these are known.

Operators are paired (`nar.motifs.alignment`). What stands between two pairs, and what differs
within a pair, is an edit; equal edits are counted, whatever their place::

    first    input ─> conv 7x7 ─> relu ─> conv ─> relu ─────────> mean ─> linear
    second   input ─> conv 7x7 ─> gelu ─> conv ─> gelu ─> mul* ─> mean ─> linear

    relu becomes gelu, 2 times; layer scale, after gelu         mul* has a learned operand
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from nar.answers.edits import Edit, EditKind, Edits, Part, kind_of_run, kind_of_swap
from nar.answers.roles import roles
from nar.graphs.graph import ComputationalGraph, operand_lists, reader_lists
from nar.graphs.normal_form import normal_form
from nar.graphs.ops import ATTRIBUTES, Trait, ids_with_any, mask_of, op_id, op_name
from nar.motifs.alignment import period
from nar.motifs.borders import HAS_WEIGHTS, at_border, first_layers
from nar.motifs.neighbours import encode_neighbours, wiring

KERNEL, SHAPE, STRIDE, DILATION, RANK, RATIO, HEADS, LEARNED, _ = range(len(ATTRIBUTES))
_ADD, _ATTENTION, _LINEAR = map(op_id, ("add", "attention", "linear"))
IS_NORM: Final = mask_of(Trait.NORM)
_LAYER_IDS: Final = ids_with_any(Trait.WEIGHTED)
# Chosen: share of the norms beside shortcuts that make their place a rule; the first and the last
# norm of a design stand elsewhere.
_RULE_SHARE: Final = 0.75


class Side:
    """One of two graphs, with what is asked of its operators; each answer is worked out once.

    Args:
        graph: Canonical graph.
    """

    def __init__(self, graph: ComputationalGraph) -> None:
        self.graph = graph
        self.ids: list[int] = graph.op_ids.tolist()
        self.attributes: list[list[int]] = graph.attributes.tolist()

    @cached_property
    def operands(self) -> list[list[int]]:
        """What each operator reads."""
        return operand_lists(self.graph.nodes, self.graph.edge_index)

    @cached_property
    def readers(self) -> list[list[int]]:
        """What reads each operator."""
        return reader_lists(self.graph.nodes, self.graph.edge_index)

    @cached_property
    def near(self) -> list[int]:
        """Code of each operator with what it reads and is read by, attributes aside."""
        codes: list[int] = encode_neighbours(self.graph, steps=1).tolist()
        return codes

    @cached_property
    def known(self) -> frozenset[int]:
        """All codes of `near`."""
        return frozenset(self.near)

    @cached_property
    def text(self) -> str:
        """The names of all operators in one line, with a space around each."""
        return f" {' '.join(map(op_name, self.ids))} "

    def is_before_end(self, node: int) -> bool:
        """Whether an operator is a last layer of the design, or read by one."""
        ends = self.ends
        return ends[node] or any(ends[reader] for reader in self.readers[node])

    @cached_property
    def ends(self) -> list[bool]:
        """Which operators are layers after which no layer stands."""
        wires = wiring([self.graph])
        last: list[bool] = (at_border(wires) & ~first_layers(wires)).tolist()
        return last

    @cached_property
    def layers_before(self) -> list[int]:
        """How many layers with weights stand before each operator."""
        is_layer = HAS_WEIGHTS[self.graph.op_ids]
        before: list[int] = (np.cumsum(is_layer) - is_layer).tolist()
        return before

    def makes_keys(self, node: int) -> bool:
        """Whether a layer makes keys or values of an attention, and no queries."""
        if self.ids[node] != _LINEAR:
            return False
        reached, slots = node, set[int]()
        while True:
            readers = self.readers[reached]
            attends = [each for each in readers if self.ids[each] == _ATTENTION]
            slots.update(self.operands[each].index(reached) for each in attends)
            if attends or len(readers) != 1 or self.ids[readers[0]] in _LAYER_IDS:
                return bool(slots) and 0 not in slots
            reached = readers[0]

    @cached_property
    def adds_in_a_row(self) -> int:
        """How many sums are read by another sum alone."""
        return sum(
            self.ids[node] == _ADD and [self.ids[each] for each in readers] == [_ADD]
            for node, readers in enumerate(self.readers)
        )

    @cached_property
    def norm_places(self) -> list[str]:
        """Where each norm stands beside shortcuts; empty for a norm that stands elsewhere."""
        norms = (node for node, identifier in enumerate(self.ids) if IS_NORM[identifier])
        return [self._place_of_norm(node) for node in norms]

    @cached_property
    def norm_place(self) -> str:
        """Where most norms beside shortcuts stand; empty without shortcuts, or without a rule."""
        places = Counter(filter(None, self.norm_places))
        for place, times in places.most_common(1):
            if times >= _RULE_SHARE * places.total() and times > 1:
                return place
        return ""

    def _place_of_norm(self, node: int) -> str:
        """Before a branch, behind its sum with the shortcut, or at the end of the branch."""
        source = self.operands[node][0] if self.operands[node] else node
        sums = [self.ids[each] == _ADD for each in self.readers[source]]
        if any(sums):
            return "pre-norm"
        if self.ids[source] == _ADD:
            return "post-norm"
        readers = [self.ids[each] for each in self.readers[node]]
        return "norms at the end of the branches" if readers == [_ADD] else ""

    def block(self, nodes: Sequence[int]) -> str:
        """The operators of the shortest run that gives some nodes when it is repeated."""
        names = [op_name(self.ids[node]) for node in nodes]
        return " ".join(names[: period(names)])

    @cached_property
    def role_of(self) -> list[Part]:
        """The role of each operator: `embedding`, `body` or `head`."""
        told = roles(self.graph)
        names = np.where(told.head, "head", np.where(told.embedding, "embedding", "body"))
        of_node: list[Part] = names.tolist()
        return of_node

    @cached_property
    def borders(self) -> list[bool]:
        """Whether the data sets the widths of each operator."""
        at: list[bool] = at_border(wiring([self.graph])).tolist()
        return at

    def name(self, node: int) -> str:
        """Such as ``conv 3x3``; an operator with a learned operand has a star."""
        return described(self.ids[node], self.attributes[node])

    def plain(self, node: int) -> str:
        """The name without its window."""
        return op_name(self.ids[node]) + ("*" if self.attributes[node][LEARNED] else "")


def described(identifier: int, attributes: Sequence[int]) -> str:
    """An operator with what sets it apart, without stride and widths.

    Example:
        >>> described(op_id("conv"), [3, 1, 2, 1, 2, 4, 0, 0, 0])
        'conv 3x3'
        >>> described(op_id("mul"), [0, 0, 0, 0, 0, 0, 0, 1, 0])
        'mul*'
    """
    name = op_name(identifier) + ("*" if attributes[LEARNED] else "")
    kernel, rank = attributes[KERNEL], attributes[RANK]
    if kernel:
        one = [str(kernel)] * max(rank, 1)
        if attributes[SHAPE] in (2, 3) and rank == 2:
            one[attributes[SHAPE] - 2] = "1"
        name = f"{name} {'x'.join(one)}"
    if attributes[DILATION] > 1:
        name = f"{name} dilated {attributes[DILATION]}"
    return name


_BATCH_NORM: Final = op_id("batch_norm")
_CONVOLVES: Final = mask_of(Trait.CONVOLVES)
_LAYERS: Final = mask_of(Trait.WEIGHTED)
# Chosen: a run of operators is a block where it holds so many layers with weights; a shorter run
# that occurs elsewhere as well is no depth, but a layer.
_BLOCK_LAYERS: Final = 2
# Chosen: share of the operators of a run that the other graph has in the same surroundings, where
# the run is more of its blocks; those at the ends of a stage may be new.
_KNOWN_SHARE: Final = 0.8
# Chosen: convolutions behind so many layers are no longer the stem.
_STEM_LAYERS: Final = 2
# A ratio of widths is counted in quarters of an octave.
_STEPS_AN_OCTAVE: Final = 4
# Chosen: operators of both graphs up to which graphs as they are written are compared in any case;
# of larger ones, only where norms come or go in graphs that are related: it takes as long again.
_SMALL: Final = 1_500


@dataclass(frozen=True, slots=True)
class _Place:
    """An edit in one place: nodes of the first graph, and nodes of the second.

    Attributes:
        removed: Nodes of the first graph.
        added: Nodes of the second graph.
        kind: What it is, where the operators do not say it.
    """

    removed: Sequence[int]
    added: Sequence[int]
    kind: EditKind | None = None


def edits_between(first: ComputationalGraph, second: ComputationalGraph) -> Edits:
    """How one canonical graph becomes another one.

    Normal forms are compared, or the graphs as they are written where these have more in common: a
    layer that is put before a batch norm leaves it unfolded.
    """
    one, other = normal_form(first), normal_form(second)
    folded = (_batch_norms(first) - _batch_norms(one), _batch_norms(second) - _batch_norms(other))
    compared = _Comparison(one, other, folded)
    is_folded = one is not first or other is not second
    is_small = first.nodes + second.nodes <= _SMALL
    if is_folded and (is_small or (compared.is_related and compared.changes_norms)):
        written = _Comparison(first, second)
        compared = min(compared, written, key=lambda each: each.cost)
    return compared.edits()


def _batch_norms(graph: ComputationalGraph) -> int:
    return int((graph.op_ids == _BATCH_NORM).sum())


class _Comparison:
    """Two graphs side by side, with their operators paired.

    Args:
        first: A graph.
        second: Another one.
        folded: How many batch norms of each were folded; None where they are as written.
    """

    def __init__(
        self,
        first: ComputationalGraph,
        second: ComputationalGraph,
        folded: tuple[int, int] | None = None,
    ) -> None:
        self._sides = (Side(first), Side(second))
        self._folded = folded
        # A known network is compared with nothing, and makes no tables of classes.
        from nar.motifs.alignment import align

        self._alignment = align(first, second)
        self._pairs = self._alignment.pairs

    @cached_property
    def cost(self) -> float:
        """How long it takes to say what is not the same."""
        return self._alignment.cost

    @property
    def is_related(self) -> bool:
        """Whether most of one graph has a counterpart in the other."""
        return 2 * len(self._pairs) >= min(len(side.ids) for side in self._sides)

    @property
    def changes_norms(self) -> bool:
        """Whether a norm comes or goes: then graphs as they are written may have more in common."""
        one, other = (side.ids for side in self._sides)
        return any(
            any(IS_NORM[one[node]] for node in gap.first)
            or any(IS_NORM[other[node]] for node in gap.second)
            for gap in self._alignment.gaps
        )

    def edits(self) -> Edits:
        """Equal edits together."""
        changed = list(self._pair_changes())
        kept = len(self._pairs) - sum(place.kind not in _SIZES for place in changed)
        paired = [kept / max(len(side.ids), 1) for side in self._sides]
        places = [*self._runs(), *changed]
        return Edits(tuple(self._grouped(places)), (paired[0], paired[1]), self._folded is not None)

    def _runs(self) -> Iterator[_Place]:
        """Operators that come or go."""
        for gap in self._alignment.gaps:
            yield self._run(gap.first, gap.second)

    def _run(self, removed: Sequence[int], added: Sequence[int]) -> _Place:
        if removed and added:
            return self._named_run(removed, added)
        side = 0 if removed else 1
        if self._are_blocks(side, removed or added):
            return _Place(removed, added, "depth")
        return self._named_run(removed, added)

    def _named_run(self, removed: Sequence[int], added: Sequence[int]) -> _Place:
        one, other = self._sides
        kind = kind_of_run(
            " ".join(map(one.plain, removed)),
            " ".join(map(other.plain, added)),
            self._part(removed, added),
        )
        return _Place(removed, added, kind)

    def _part(self, removed: Sequence[int], added: Sequence[int]) -> Part:
        """The part of the design in which most of an edit is."""
        side, nodes = (self._sides[1], added) if added else (self._sides[0], removed)
        is_first = side.layers_before[nodes[0]] <= _STEM_LAYERS
        if is_first and any(_CONVOLVES[side.ids[node]] for node in nodes):
            return "stem"
        if any(_LAYERS[side.ids[node]] for node in nodes) and side.is_before_end(nodes[-1]):
            return "head"
        return Counter(side.role_of[node] for node in nodes).most_common(1)[0][0]

    def _are_blocks(self, side: int, nodes: Sequence[int]) -> bool:
        """Whether what one graph has more of are blocks that it, or the other one, has as well."""
        own, other = self._sides[side], self._sides[1 - side]
        layers = sum(_LAYERS[own.ids[node]] for node in nodes)
        is_stem = own.layers_before[nodes[0]] + layers <= _STEM_LAYERS + 1
        is_head = layers <= _BLOCK_LAYERS and own.is_before_end(nodes[-1])
        if layers < _BLOCK_LAYERS or is_stem or is_head:
            return False
        if period([own.ids[node] for node in nodes]) < len(nodes):
            return True
        known = sum(own.near[node] in other.known for node in nodes)
        paired = sum(own.near[node] in self._paired_codes[side] for node in nodes)
        is_known = max(known, paired) >= _KNOWN_SHARE * len(nodes)
        return is_known or f" {own.block(nodes)} " in other.text

    @cached_property
    def _paired_codes(self) -> tuple[frozenset[int], frozenset[int]]:
        """For each graph the surroundings of its operators that have a counterpart."""
        one, other = self._sides
        return (
            frozenset(one.near[node] for node, _ in self._pairs),
            frozenset(other.near[node] for _, node in self._pairs),
        )

    def _pair_changes(self) -> Iterator[_Place]:
        """Pairs of another class, or with other attributes."""
        one, other = self._sides
        for left, right in self._pairs:
            mine, its = one.attributes[left], other.attributes[right]
            if one.ids[left] != other.ids[right]:
                kind = kind_of_swap(op_name(one.ids[left]), op_name(other.ids[right]))
                yield _Place((left,), (right,), kind)
            elif mine != its:
                changed = _attribute_kind(mine, its)
                if changed == "width":
                    changed = self._width_kind(left, right)
                if changed:
                    yield _Place((left,), (right,), changed)

    def _width_kind(self, left: int, right: int) -> EditKind | None:
        """Of a layer whose ratio of widths changed; None where the data sets its widths."""
        one, other = self._sides
        if one.borders[left] or other.borders[right]:
            return None
        return "grouped_queries" if other.makes_keys(right) and one.makes_keys(left) else "width"

    def _grouped(self, places: Sequence[_Place]) -> Iterator[Edit]:
        groups: defaultdict[tuple[object, ...], list[_Place]] = defaultdict(list)
        for place in self._without_moved_strides(places):
            groups[self._key(place)].append(place)
        found = sorted(groups.values(), key=self._changed, reverse=True)
        edits = list(self._with_moved([self._edit(each) for each in found]))
        one, other = (side.norm_place for side in self._sides)
        if not one or not other or one == other:
            yield from edits
            return
        # Where norms stand elsewhere, the sums between them seem to be moved.
        yield from (each for each in edits if (each.kind, each.added) != ("moved", ("add",)))
        if all(each.kind != "norm_place" for each in edits):
            times = sum(map(bool, self._sides[1].norm_places))
            yield Edit("norm_place", times, (one,), (other,))

    def _with_moved(self, edits: Sequence[Edit]) -> Iterator[Edit]:
        """What goes in one place and comes in another one is moved."""
        gone = {each.removed: each for each in edits if not each.added and each.kind != "depth"}
        moved: dict[tuple[str, ...], int] = {}
        for edit in edits:
            if not edit.removed and edit.added in gone and edit.kind != "depth":
                moved[edit.added] = min(edit.times, gone[edit.added].times)
                yield replace(
                    edit, kind=self._kind_of_moved(edit), times=moved[edit.added],
                    removed=self._norm_places(edit)[0] or edit.added,
                    added=self._norm_places(edit)[1] or edit.added,
                )  # fmt: skip
        for edit in edits:
            names = edit.added or edit.removed
            is_one_sided = edit.kind != "depth" and not (edit.added and edit.removed)
            left = edit.times - (moved.get(names, 0) if is_one_sided else 0)
            if left:
                yield replace(edit, times=left)

    def _kind_of_moved(self, edit: Edit) -> EditKind:
        if edit.kind == "norm" and any(self._norm_places(edit)):
            return "norm_place"
        one, other = (side.adds_in_a_row for side in self._sides)
        return "parallel" if edit.added == ("add",) and other > one else "moved"

    def _norm_places(self, edit: Edit) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Where most norms of both stand; empty where that is the same place."""
        one, other = (side.norm_place for side in self._sides)
        if edit.kind != "norm" or not one or not other or one == other:
            return (), ()
        return (one,), (other,)

    def _without_moved_strides(self, places: Sequence[_Place]) -> Sequence[_Place]:
        """Leave strides out where as many grow as shrink: stages begin elsewhere, not otherwise."""
        steps = [self._step(place, STRIDE) for place in places if place.kind == "stride"]
        if sum(steps):
            return places
        return [place for place in places if place.kind != "stride"]

    def _key(self, place: _Place) -> tuple[object, ...]:
        if place.kind == "depth":
            side, nodes = (1, place.added) if place.added else (0, place.removed)
            return ("depth", side, self._sides[side].block(nodes))
        if place.kind == "width":
            return ("width", abs(self._step(place, RATIO)))
        names = self._names(place)
        return (place.kind, *(tuple(sorted(each)) for each in names))

    def _step(self, place: _Place, attribute: int) -> int:
        """By how much an attribute of a pair is larger in the second graph."""
        one, other = self._sides
        left, right = place.removed[0], place.added[0]
        return other.attributes[right][attribute] - one.attributes[left][attribute]

    def _names(self, place: _Place) -> tuple[tuple[str, ...], tuple[str, ...]]:
        name = _NAMED.get(place.kind or "operators", described)
        removed, added = (
            tuple(name(side.ids[node], side.attributes[node]) for node in nodes)
            for side, nodes in zip(self._sides, (place.removed, place.added), strict=True)
        )
        if place.kind == "norm":
            removed, added = self._with_folded(removed, added)
        return removed, added

    def _with_folded(
        self, removed: tuple[str, ...], added: tuple[str, ...]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """A norm that comes where batch norms were folded takes their place."""
        first, second = self._folded or (0, 0)
        norm = (op_name(_BATCH_NORM),)
        if norm in (removed, added):
            return removed, added
        if not removed and first > second:
            return norm, added
        return (removed, norm) if not added and second > first else (removed, added)

    def _changed(self, places: Sequence[_Place]) -> int:
        return sum(len(place.removed) + len(place.added) for place in places)

    def _edit(self, places: Sequence[_Place]) -> Edit:
        first = places[0]
        removed, added = self._names(first)
        after = Counter(map(self._before, places)).most_common(1)[0][0]
        role = Counter(self._part(place.removed, place.added) for place in places)
        kind, times = first.kind or "operators", len(places)
        if kind == "depth":
            side = 1 if first.added else 0
            block = self._sides[side].block(first.added or first.removed)
            names = tuple(block.split())
            removed, added = ((), names) if side else (names, ())
            times = self._changed(places) // len(names)
        return Edit(kind, times, removed, added, after, role.most_common(1)[0][0])

    def _before(self, place: _Place) -> str:
        side, nodes = (1, place.added) if place.added else (0, place.removed)
        own = self._sides[side]
        return own.name(nodes[0] - 1) if nodes[0] else ""


def _attribute_kind(one: Sequence[int], other: Sequence[int]) -> EditKind | None:
    """What the first attribute that differs is called."""
    return next((kind for number, kind in _ATTRIBUTE_KINDS if one[number] != other[number]), None)


def _with_ratio(identifier: int, attributes: Sequence[int]) -> str:
    factor = 2 ** (attributes[RATIO] / _STEPS_AN_OCTAVE)
    text = f"{factor:.2g}" if factor >= 1 else f"1/{1 / factor:.2g}"
    return f"{described(identifier, attributes)} x{text}"


def _with_heads(identifier: int, attributes: Sequence[int]) -> str:
    # 0 where a graph does not show how many there are: they may stand in the batch.
    return f"{attributes[HEADS]} heads" if attributes[HEADS] else "an unread number of heads"


def _with_stride(identifier: int, attributes: Sequence[int]) -> str:
    return f"{described(identifier, attributes)} of stride {attributes[STRIDE]}"


def _plain_name(identifier: int, _attributes: Sequence[int]) -> str:
    return op_name(identifier)


# Changes of a pair that leave it the same operator, of another size.
_SIZES: Final = frozenset[EditKind | None]({"heads", "width", "grouped_queries", "stride"})
_ATTRIBUTE_KINDS: Final[tuple[tuple[int, EditKind], ...]] = (
    (DILATION, "dilation"),
    (KERNEL, "kernel"),
    (SHAPE, "kernel"),
    (RANK, "kernel"),
    (LEARNED, "learned_operand"),
    (HEADS, "heads"),
    (RATIO, "width"),
    (STRIDE, "stride"),
)
# How operators of an edit are named, where windows are not what counts.
_NAMED: Final[Mapping[EditKind, Callable[[int, Sequence[int]], str]]] = {
    "heads": _with_heads,
    "width": _with_ratio,
    "grouped_queries": _plain_name,
    "stride": _with_stride,
    "norm": _plain_name,
    "activation": _plain_name,
}
