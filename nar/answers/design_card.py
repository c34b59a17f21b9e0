"""Design card: what a model is made of, read from its graph and from what capture saw beside it.

A field is None where it was not read: a card says nothing that it is not sure of. Most fields are
of the blocks that repeat; `nar.answers.repeats` finds these.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Final, Literal, TypeVar, cast

from nar.answers.repeats import DescribedGraph, Repeats, repeats_of
from nar.graphs.architecture import Architecture
from nar.graphs.details import Details, OperatorDetails
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import Trait, with_any
from nar.index.filters import CARD_WORDS, Activation, Attention, Kind, Mlp, Norm, Positions

Word = TypeVar("Word")
NormPlace = Literal["pre", "post", "both", "branch", "layer"]

_CONVS: Final = with_any(Trait.CONVOLVES)
_NORMS: Final[Mapping[str, Norm]] = {
    "layer_norm": "layer",
    "rms_norm": "rms",
    "batch_norm": "batch",
    "group_norm": "group",
    "instance_norm": "instance",
    "l2_norm": "l2",
    "response_norm": "response",
}
_ACTIVATIONS: Final = with_any(Trait.ACTIVATION) - {"erf", "threshold"}
# Between two layers they are gates: squeeze-and-excitation, routers, steps of a state space.
_GATES: Final = frozenset({"sigmoid", "hard_sigmoid", "softplus", "tanh", "log_sigmoid"})
_LAYERS: Final = _CONVS | {"linear"}
_POOLS: Final = frozenset({"mean", "adaptive_avg_pool", "adaptive_max_pool", "sum"})
# How the result of the blocks comes to one place, as heads say it.
_POOLED: Final[Mapping[str, str]] = {
    "mean": "mean",
    "adaptive_avg_pool": "mean",
    "max": "max",
    "adaptive_max_pool": "max",
}
_RECURRENT: Final = frozenset({"lstm", "gru", "rnn"})
# Through these the features of one layer come to the next.
_PASSES: Final = frozenset({
    *_NORMS, *_ACTIVATIONS, "mul", "add", "div", "split", "slice", "pad", "concat", "repeat",
    "index", "roll", "rotary", "scatter", "clamp", "glu", "masked_fill", "neg", "sub",
})  # fmt: skip
# Chosen: operators that are looked through on the way from one layer to another.
_REACH: Final = 12
# Chosen: share of the blocks, or of the operators of a class, that has to agree.
_MOST: Final = 0.8
_SOME: Final = 0.2  # chosen: from this share of other blocks on, a network is a mixture
_FEW: Final = 0.05  # chosen: rarer attention to another sequence is a detail, and no decoder
# Chosen: a table of fewer rows tells sentences or kinds of tokens apart, and not places.
_FEWEST_PLACES: Final = 8


@dataclass(frozen=True, slots=True)
class DesignCard:
    """What a model is made of; None where it was not read, or does not apply.

    Attributes:
        kind: What kind of network it is. ``mixed``: its blocks are of several kinds.
        depth: How many blocks repeat: those of the largest stack.
        stages: Blocks of each stage, where there are several.
        block: The layers of the block, in their order.
        norm: ``layer``, ``rms``, ``batch``, ``group``, ...; ``none`` where blocks have none.
        norm_place: ``pre``: before the layers of a branch. ``post``: behind the sum. ``both``:
            before and behind a branch. ``branch``: behind a branch. ``layer``: behind each layer.
        activation: What stands between two layers of a block.
        mlp: ``plain``: two layers. ``gated``: a product of two layers. ``mixture``: of experts.
        mlp_ratio: Width inside of the MLP over the width outside.
        attention: Whether heads have keys of their own, or share them in groups, or share one.
        heads: Heads of the query.
        key_value_heads: Heads of key and value.
        head_size: Width of query and key of one head.
        window: Keys that a query reads at most; 0 for all.
        causal: Whether a place reads only places before it.
        positions: How positions are encoded.
        stem: What the input goes through before the blocks.
        head: What makes the result behind the blocks.
        experts: How many experts a mixture has.
        top_k: How many of the experts a token goes through.

    Example:
        >>> from nar.capture import capture_module
        >>> import torch
        >>> layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        >>> model = torch.nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        >>> captured = capture_module(model, torch.zeros(1, 8, 64))
        >>> card = design_card(captured.graph, captured.details)
        >>> card.depth, card.norm_place, card.heads, card.mlp_ratio
        (3, 'post', 4, 2.0)
    """

    kind: Kind | None = None
    depth: int | None = None
    stages: tuple[int, ...] = ()
    block: str | None = None
    norm: Norm | None = None
    norm_place: NormPlace | None = None
    activation: Activation | None = None
    mlp: Mlp | None = None
    mlp_ratio: float | None = None
    attention: Attention | None = None
    heads: int | None = None
    key_value_heads: int | None = None
    head_size: int | None = None
    window: int | None = None
    causal: bool | None = None
    positions: Positions | None = None
    stem: str | None = None
    head: str | None = None
    experts: int | None = None
    top_k: int | None = None


def _common(found: Counter[Word]) -> Word | None:
    """What most have; None where they disagree, or there is nothing."""
    first = found.most_common(1)
    return first[0][0] if first and first[0][1] >= _MOST * found.total() else None


def card_words(item: Architecture) -> tuple[str, ...]:
    """What filters ask of a card: a word for each field, empty where it was not read."""
    card = design_card(item.graph, item.details)
    return tuple(getattr(card, name) or "" for name in CARD_WORDS)


def design_card(graph: ComputationalGraph, details: Details | None = None) -> DesignCard:
    """Read the card of a model.

    Args:
        graph: Canonical graph.
        details: What capture saw beside it; without it, fewer fields are read.
    """
    net = DescribedGraph(graph, details)
    return _Reading(net, repeats_of(net)).card()


class _Reading:
    """One card in the making.

    Args:
        net: The graph, with what was seen of each operator.
        repeats: Its blocks.
    """

    def __init__(self, net: DescribedGraph, repeats: Repeats | None) -> None:
        self._net = net
        self._repeats = repeats
        # Without blocks that repeat, the whole is one block.
        self._body = repeats.nodes if repeats else range(net.nodes)
        self._block = repeats.typical if repeats else tuple(range(net.nodes))

    def card(self) -> DesignCard:
        """The card."""
        repeats = self._repeats
        norm = self._norm()
        mlp, ratio = self._mlp()
        attention = self._attention_kind()
        return DesignCard(
            kind=self._kind(),
            depth=repeats.count if repeats else None,
            stages=repeats.stages if repeats else (),
            block=self._layers(),
            norm=norm,
            norm_place=self._norm_place(norm),
            activation=self._activation(),
            mlp=mlp,
            mlp_ratio=ratio,
            attention=attention,
            heads=self._agreed(lambda each: each.heads, self._heads_by_attribute),
            key_value_heads=self._agreed(lambda each: each.key_value_heads, self._shared_heads),
            head_size=self._agreed(lambda each: each.head_size),
            window=self._window(),
            causal=self._causal(),
            positions=self._positions(),
            stem=self._stem(),
            head=self._head(),
            experts=self._experts(),
            top_k=self._top_k(),
        )

    # Attention.

    @cached_property
    def _attends(self) -> list[int]:
        """Operators of attention in the blocks; of the whole network where blocks have none."""
        inside = [node for node in self._body if self._net.ops[node] == "attention"]
        return inside or [n for n, op in enumerate(self._net.ops) if op == "attention"]

    @cached_property
    def _crosses(self) -> frozenset[int]:
        """Operators of attention whose query and key come from different features."""
        return frozenset(node for node in self._all_attention if self._is_cross(node))

    @cached_property
    def _all_attention(self) -> list[int]:
        return [node for node, op in enumerate(self._net.ops) if op == "attention"]

    def _is_cross(self, node: int) -> bool:
        operands = self._net.operands[node]
        if len(operands) < 2:
            return False
        query, key = (self._residual_streams(operand) for operand in operands[:2])
        return bool(query and key) and not query & key

    def _residual_streams(self, node: int) -> frozenset[int]:
        """The nearest features, inputs and tables above an operator that other branches read."""
        found, seen, pending = set[int](), {node}, [node]
        while pending:
            each = pending.pop()
            if self._is_residual_stream(each):
                found.add(each)
                continue
            for operand in self._net.operands[each]:
                if operand not in seen:
                    seen.add(operand)
                    pending.append(operand)
        return frozenset(found)

    def _is_residual_stream(self, node: int) -> bool:
        is_sum = self._net.ops[node] == "add" and self._net.is_join(node)
        return is_sum or not self._net.operands[node]

    def _agreed(
        self,
        read: Callable[[OperatorDetails], int | None],
        otherwise: Callable[[int], int | None] = lambda node: None,
    ) -> int | None:
        """The number that all operators of attention have; None where they differ."""
        numbers = {
            otherwise(node) if (number := read(self._net.seen(node))) is None else number
            for node in self._attends
        }
        return numbers.pop() if len(numbers) == 1 else None

    def _heads_by_attribute(self, node: int) -> int | None:
        return self._net.attribute(node, "heads") or None

    def _attention_kind(self) -> Attention | None:
        if not self._all_attention:
            return None if self._mixes_places else "none"
        kinds = {self._sharing(node) for node in self._attends}
        return kinds.pop() if len(kinds) == 1 else None

    def _sharing(self, node: int) -> Attention | None:
        seen = self._net.seen(node)
        heads = seen.heads or self._heads_by_attribute(node)
        keys = seen.key_value_heads or self._shared_heads(node)
        if heads is None or keys is None:
            return None
        if heads == keys:
            return "multi-head"
        return "multi-query" if keys == 1 else "grouped"

    def _shared_heads(self, node: int) -> int | None:
        """Heads of keys by the widths of the layers that make query and key from one source."""
        net, operands = self._net, self._net.operands[node]
        # A scan of a state space is gated as well, and is no layer.
        layers = [self._layer_above(operand, itself=True) for operand in operands[:2]]
        heads = self._heads_by_attribute(node)
        if heads is None or len(layers) < 2 or None in layers or layers[0] == layers[1]:
            return None
        query, key = (layer for layer in layers if layer is not None)
        if {net.ops[query], net.ops[key]} != {"linear"} or net.operands[query] != net.operands[key]:
            return None
        steps = net.attribute(query, "channel_ratio") - net.attribute(key, "channel_ratio")
        # Steps of a quarter of a power of two, rounded: only a whole share of the heads is sure.
        shared = heads / 2 ** (steps / 4)
        return round(shared) if abs(shared - round(shared)) < 0.01 and heads >= shared else None

    def _causal(self) -> bool | None:
        masks = Counter(
            self._net.seen(node).mask for node in self._all_attention if node not in self._crosses
        )
        if not masks or None in masks:
            return None
        share = masks["causal"] / masks.total()
        if share >= _MOST:
            return True
        return False if share == 0 and masks["computed"] == 0 else None

    def _window(self) -> int | None:
        windows = {self._net.seen(node).window for node in self._attends}
        if None in windows:
            return None
        # Some layers read all keys, and others a window: the window is what tells them apart.
        window = max((each for each in windows if each is not None), default=None)
        # Where a window looks both ways, some modules state one side.
        return None if window and not self._causal() else window

    # The kind.

    def _kind(self) -> Kind | None:
        net, body = self._net, self._net.ops_of(self._body)
        every = range(net.nodes)
        if self._is_graph():
            return "graph"
        if self._is_u_net():
            return "u-net"
        if self._all_attention:
            return self._kind_of_attention()
        if self._has_state_space():
            return "state-space"
        if any(op in _RECURRENT for op in body):
            return "recurrent"
        if self._mixes_places:
            return None
        if any(net.ops[node] in _CONVS and net.attribute(node, "kernel") != 1 for node in every):
            return "cnn"
        # A convolution of one place is a linear layer of each.
        return "mlp" if any(net.ops[node] in _LAYERS for node in every) else None

    @cached_property
    def _mixes_places(self) -> bool:
        """Whether features are mixed by features, which may be attention that was not seen."""
        net = self._net
        return any(
            net.ops[node] in {"softmax", "cumsum"}
            or (net.ops[node] == "matmul" and len(net.operands[node]) > 1)
            for node in self._body
        )

    def _kind_of_attention(self) -> Kind | None:
        if self._is_mixed():
            return "mixed"
        crosses, every = len(self._crosses), len(self._all_attention)
        if crosses:
            return "encoder-decoder" if _FEW * every <= crosses < every else None
        causal = self._causal()
        return None if causal is None else "decoder-only" if causal else "encoder"

    def _is_mixed(self) -> bool:
        """Whether many blocks attend, and many others convolve, recur or scan."""
        if self._repeats is None:
            return False
        others = _CONVS | _RECURRENT | {"state_space", "cumsum"}
        blocks = [set(self._net.ops_of(block)) for block in self._repeats.every_block]
        attending = sum("attention" in block for block in blocks)
        other = sum("attention" not in block and bool(block & others) for block in blocks)
        return attending > 0 and other >= _SOME * len(blocks)

    def _has_state_space(self) -> bool:
        body = set(self._net.ops_of(self._body))
        return "state_space" in body or {"cumsum", "exp", "softplus"} <= body

    def _is_u_net(self) -> bool:
        """Whether features of several scales are joined again, on the way up."""
        net = self._net
        ups = {"upsample", "conv_transpose", "pixel_shuffle"}
        joined = 0
        for node, op in enumerate(net.ops):
            if op != "concat" or len(net.operands[node]) != 2:
                continue
            sides = [self._comes_from_upsampling(operand, ups) for operand in net.operands[node]]
            far = max(net.operands[node]) - min(net.operands[node])
            joined += sides.count(True) == 1 and far > 3
        downs = sum(self._net.attribute(node, "stride") > 1 for node in range(net.nodes))
        return (joined >= 2 and downs >= 2 and not self._all_attention) or joined >= 3

    def _comes_from_upsampling(self, node: int, ups: set[str]) -> bool:
        """Whether an operator stands at most three steps behind a layer that upsamples."""
        for _ in range(4):
            if self._net.ops[node] in ups:
                return True
            operands = self._net.operands[node]
            if len(operands) != 1:
                return False
            node = operands[0]
        return False

    def _is_graph(self) -> bool:
        ops = Counter(self._net.ops)
        if ops["topk"] or self._all_attention or not ops["scatter"]:
            return False
        inputs = self._net.details.inputs if self._net.details else ()
        return any(each.startswith(("edge_index", "adj")) for each in inputs)

    # Norm, activation and MLP.

    def _norm(self) -> Norm | None:
        found = Counter(
            _NORMS[self._net.ops[node]]
            for node in self._body
            if self._is_norm_of_residual_stream(node)
        )
        if len(found) > 1:
            del found["l2"]  # of weights of experts, or of vectors that are compared
        if not found:
            has_norms = not _NORMS.keys().isdisjoint(self._net.ops)
            return "none" if self._repeats and not has_norms else None
        return _common(found)

    def _is_norm_of_residual_stream(self, node: int) -> bool:
        """Whether a norm is one of the block's own, and not one of queries, keys or a gate."""
        if self._net.ops[node] not in _NORMS:
            return False
        readers = {self._net.ops[reader] for reader in self._net.readers[node]}
        if readers and readers <= {"attention", "rotary"}:
            return False
        return not self._is_squeezed(node)

    def _norm_place(self, norm: str | None) -> NormPlace | None:
        if norm in {None, "none"}:
            return None
        places = Counter(
            place
            for node in self._body
            if _NORMS.get(self._net.ops[node]) == norm and (place := self._place(node))
        )
        if first := _common(places):
            return first
        pair = places["pre"] + places["branch"]
        if pair >= _MOST * places.total() and min(places["pre"], places["branch"]) > 0:
            return "both"
        return None

    def _place(self, node: int) -> NormPlace | None:
        net = self._net
        operands, readers = net.operands[node], net.readers[node]
        if len(operands) != 1:
            return None
        [source] = operands
        beside = [each for each in net.readers[source] if each != node]
        if any(net.is_join(each) or net.ops[each] == "mul" for each in beside):
            return "pre"
        sums = [each for each in readers if net.is_join(each)]
        if net.is_join(source) and not beside and len(readers) > 1:
            return "post" if sums else None
        if net.ops[source] in _CONVS:
            return "layer"
        if any(net.is_join(each) and net.ops[each] == "add" for each in readers):
            return "branch"
        return None

    def _activation(self) -> Activation | None:
        found = Counter[str]()
        for node in self._body:
            if self._is_between_layers(node):
                found[self._net.ops[node]] += 1
        plain = Counter({op: times for op, times in found.items() if op not in _GATES})
        found = plain or (Counter() if self._all_attention else found)
        return cast("Activation | None", _common(found))

    def _is_between_layers(self, node: int) -> bool:
        net = self._net
        if net.ops[node] not in _ACTIVATIONS or self._is_squeezed(node):
            return False
        return self._layer_above(node) is not None and self._layer_below(node)

    def _layer_above(self, node: int, *, itself: bool = False) -> int | None:
        """The layer whose result comes to an operator, through norms and products."""
        if itself and self._net.ops[node] in _LAYERS:
            return node
        for _ in range(_REACH):
            operands = self._net.operands[node]
            if not operands:
                return None
            node = operands[0]
            if self._net.ops[node] in _LAYERS or self._net.ops[node] == "matmul":
                return node
            if self._net.ops[node] not in _PASSES | {"softmax"}:
                return None
        return None

    def _layer_below(self, node: int) -> bool:
        """Whether the result of an operator comes to a layer."""
        pending, seen = [(node, 0)], {node}
        while pending:
            each, steps = pending.pop()
            for reader in self._net.readers[each]:
                op = self._net.ops[reader]
                if op in _LAYERS or op in {"matmul", "attention"}:
                    return True
                if steps < _REACH and op in _PASSES | _POOLS and reader not in seen:
                    seen.add(reader)
                    pending.append((reader, steps + 1))
        return False

    def _is_squeezed(self, node: int) -> bool:
        """Whether an operator works on what was pooled to one place."""
        layers = 0
        for _ in range(_REACH):
            operands = self._net.operands[node]
            if not operands:
                return False
            node = operands[0]
            op = self._net.ops[node]
            if op in _POOLS:
                return True
            layers += op in _LAYERS
            if layers > 2 or op not in _PASSES | _LAYERS or self._net.is_join(node):
                return False
        return False

    @cached_property
    def _downs(self) -> list[int]:
        """The last layers of MLPs in the blocks."""
        return [node for node in self._body if self._is_down(node)]

    def _is_down(self, node: int) -> bool:
        net = self._net
        if net.ops[node] not in {"linear", "conv"} or not net.operands[node]:
            return False
        if net.ops[node] == "conv" and net.attribute(node, "kernel") != 1:
            return False
        # Two layers of squeeze-and-excitation, whose results may be summed as well, weigh channels.
        if self._is_squeezed(node):
            return False
        return self._inside(node) is not None and self._comes_to_sum(node)

    def _inside(self, node: int) -> Literal["plain", "gated"] | None:
        """What stands before the last layer of an MLP: an activation, or a gate."""
        net = self._net
        is_conv = net.ops[node] in _CONVS
        for _ in range(_REACH):
            node = net.operands[node][0]
            op = net.ops[node]
            if op == "glu":
                return "gated"
            if op == "mul" and len(net.operands[node]) == 2:
                return self._gate(node)
            if op in _ACTIVATIONS - _GATES:
                # Behind a sum stands what a shortcut of the next block reads.
                if any(map(net.is_join, net.operands[node])):
                    return None
                above = self._layer_above(node)
                if above is None or net.ops[above] not in _LAYERS:
                    return None
                # A bottleneck mixes places between its two layers, and an MLP does not.
                is_spatial = net.ops[above] in _CONVS and net.attribute(above, "kernel") > 1
                return None if is_spatial and is_conv else "plain"
            if op not in _NORMS and op not in {"mul", "conv_depthwise", "add", "concat"}:
                return None
            if net.is_join(node) or not net.operands[node]:
                return None
        return None

    def _gate(self, node: int) -> Literal["gated"] | None:
        """``gated`` where two layers, or two halves of one layer, are multiplied."""
        net = self._net
        first, second = net.operands[node]
        acts = [net.ops[each] in _ACTIVATIONS for each in (first, second)]
        # A gate of squeeze-and-excitation weighs channels, and is no MLP.
        if not any(acts) or any(map(self._is_squeezed, (first, second))):
            return None
        layers = [each if net.ops[each] in _LAYERS else self._layer_above(each)
                  for each in (first, second)]  # fmt: skip
        # Two convolutions that read neighbours, one a gate of the other, mix places as no MLP does.
        if any(layer is not None and self._mixes(layer) for layer in layers):
            return None
        ops = {None if layer is None else net.ops[layer] for layer in layers}
        return "gated" if ops <= _LAYERS else None

    def _mixes(self, layer: int) -> bool:
        """Whether a layer reads neighbours and all channels of them."""
        is_whole = self._net.ops[layer] in {"conv", "conv_grouped"}
        return is_whole and self._net.attribute(layer, "kernel") > 1

    def _comes_to_sum(self, node: int) -> bool:
        for _ in range(_REACH):
            readers = self._net.readers[node]
            if any(self._net.is_join(each) and self._net.ops[each] == "add" for each in readers):
                return True
            if len(readers) != 1:
                return False
            [node] = readers
            if self._net.ops[node] not in _PASSES:
                return False
        return False

    def _mlp(self) -> tuple[Mlp | None, float | None]:
        ratios = Counter(filter(None, (self._ratio(node) for node in self._downs)))
        if self._is_mixture():
            return "mixture", None
        kinds = Counter(filter(None, (self._inside(node) for node in self._downs)))
        kind = cast("Mlp | None", _common(kinds) if self._repeats else None)
        return kind, _common(ratios) if kind else None

    def _ratio(self, node: int) -> float | None:
        seen = self._net.seen(node)
        if seen.input_width and seen.output_width:
            return round(seen.input_width / seen.output_width, 2)
        step = -self._net.attribute(node, "channel_ratio")
        # Steps of a quarter of a power of two: only whole powers are sure.
        return float(2 ** (step // 4)) if step > 0 and step % 4 == 0 else None

    def _is_mixture(self) -> bool:
        return bool(self._routers)

    @cached_property
    def _routers(self) -> Mapping[int, int]:
        """The operators that pick experts, with the layers that score these."""
        above = {
            node: self._layer_above(node) for node in self._body if self._net.ops[node] == "topk"
        }
        return {node: layer for node, layer in above.items() if layer is not None}

    def _experts(self) -> int | None:
        widths = {self._net.seen(layer).output_width for layer in self._routers.values()}
        return widths.pop() if len(widths) == 1 else None

    def _top_k(self) -> int | None:
        """How many are picked; None where some pick more than others, as groups before experts."""
        picked = {self._net.seen(node).output_width for node in self._routers}
        experts = self._experts()
        count = picked.pop() if len(picked) == 1 else None
        return count if count and experts and count < experts else None

    # Both ends.

    def _positions(self) -> Positions | None:
        net = self._net
        if "rotary" in net.ops:
            return "rotary"
        masks = {net.seen(node).mask for node in self._attends}
        if "learned" in masks:
            return "relative"
        if not self._all_attention or "computed" in masks:
            return None
        inside = set(self._body)
        before = [node for node in range(net.nodes) if node not in inside]
        tables = [node for node in before if net.ops[node] == "embedding"]
        widths = {net.seen(node).output_width for node in tables[:1]}
        tables = [node for node in tables if net.seen(node).output_width in widths]
        rows = [net.seen(node).input_width for node in tables]
        if len(tables) > 1 and None not in rows:
            others = sorted(row for row in rows if row is not None)[:-1]
            if any(row >= _FEWEST_PLACES for row in others):
                return "learned"
        first = min(inside, default=0)
        adds = [node for node in before if net.ops[node] == "add" and node < first]
        if any(net.attribute(node, "parameter_operands") for node in adds):
            return "learned"
        return "fixed" if any(net.attribute(n, "constant_operands") for n in adds) else None

    def _stem(self) -> str | None:
        net = self._net
        if net.ops and net.ops[0] == "embedding":
            return "tokens"
        first = min(self._body, default=0)
        convs = [node for node in range(first) if net.ops[node] in _CONVS]
        reading = [
            node for node in range(net.nodes)
            if net.ops[node] in _LAYERS
            and any(net.ops[each] == "input" for each in net.operands[node])
        ]  # fmt: skip
        if not reading:
            return None
        node = reading[0]
        if net.ops[node] == "linear":
            return "linear"
        kernel, stride = (net.attribute(node, name) for name in ("kernel", "stride"))
        if kernel == stride and kernel > 1:
            return f"patches of {kernel}"
        text = f"conv {kernel} of stride {stride}" if stride > 1 else f"conv {kernel}"
        more = len([each for each in convs if each != node])
        pool = ", max_pool" if any(net.ops[each] == "max_pool" for each in range(first)) else ""
        return f"{text}{f' and {more} more' if more else ''}{pool}"

    def _head(self) -> str | None:
        net = self._net
        last = self._repeats.last if self._repeats else max(self._body, default=-1)
        behind = range(last + 1, net.nodes)
        ops = net.ops_of(behind)
        layers = [node for node in behind if net.ops[node] == "linear"]
        if not layers:
            return None if any(op in _LAYERS for op in ops) else "none"
        # Behind a map that is put together, a convolution gives the result, and no linear layer.
        if any(net.ops[node] in _CONVS for node in behind if node > layers[-1]):
            return None
        pools = [_POOLED[op] for op in ops if op in _POOLED]
        width = net.seen(layers[-1]).output_width
        text = f"linear to {width:,}" if width else "linear"
        return f"{pools[-1]}, {text}" if pools else text

    def _layers(self) -> str | None:
        if self._repeats is None:
            return None
        words = [word for node in self._block if (word := self._word(node))]
        runs = [(word, len(list(same))) for word, same in groupby(words)]
        return ", ".join(f"{times} x {word}" if times > 1 else word for word, times in runs) or None

    def _word(self, node: int) -> str | None:
        op = self._net.ops[node]
        if op in _CONVS:
            kernel = self._net.attribute(node, "kernel")
            return f"{op} {kernel}"
        if op in {"linear", "attention", "state_space", *_RECURRENT, *_NORMS}:
            return op
        return op if op in _ACTIVATIONS else None
