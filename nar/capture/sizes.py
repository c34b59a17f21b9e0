"""Sizes of layers: as small integers for the graph, and as they are for its details.

Layers say their widths in their call. Behind them a width goes on as long as one axis still has it,
or all numbers are still there: norms, activations, sums, pooling, concatenation.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log2, prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nar.capture.trace import CAUSAL, LEAVES, NO_ATTRIBUTES, PARTS, Operation, Shape, Trace
from nar.graphs.details import MASKS, NOT_READ, NUMBERS, Details, Mask
from nar.graphs.ops import Trait, with_any

SQUARE, WIDE, TALL = 1, 2, 3  # of the attribute `kernel_shape`: see `nar.graphs.ops`
# Rank -> the axes of all places, with channels first or last. A mean over the last axis alone is
# left out: norms take it.
_ALL_PLACES = {
    3: ((-2,),),
    4: ((-2, -1), (-3, -2)),
    5: ((-3, -2, -1), (-4, -3, -2)),
}


def mean_class(axes: tuple[int, ...], rank: int) -> str:
    """The operator of a mean over ``axes``, counted from the end, of a tensor of rank ``rank``."""
    return "adaptive_avg_pool" if axes in _ALL_PLACES.get(rank, ()) else "mean"


def pair_sizes(shapes: Sequence[Shape], shape: Shape) -> Mapping[str, int]:
    """Sizes of a comparison: causal if it has all pairs of two equally long rows."""
    sides = {prod(each) for each in shapes}
    is_of_pairs = len(shapes) == 2 and len(sides) == 1 and prod(shape) >= max(sides) ** 2 > 1
    return CAUSAL if is_of_pairs else NO_ATTRIBUTES


def window(kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> dict[str, int]:
    """Attributes of a sliding window.

    Args:
        kernel: Extent along each spatial axis.
        stride: Step along each spatial axis, or one step for all axes.
        dilation: Distance of taps along each spatial axis, or one distance for all axes.
    """
    return {
        "kernel": max(kernel, default=0),
        "kernel_shape": _kernel_shape(kernel),
        "stride": max(stride, default=1),
        "dilation": max(dilation, default=1),
        "rank": len(kernel),
    }


def _kernel_shape(kernel: Sequence[int]) -> int:
    if len(kernel) < 2 or kernel[0] == kernel[-1]:
        return SQUARE
    return WIDE if kernel[-1] > kernel[0] else TALL


def covers(kernel: Sequence[int], source: Sequence[int], result: Sequence[int]) -> bool:
    """Whether a window covers the whole map at once, as global pooling does.

    Args:
        kernel: Extent along each spatial axis.
        source: Shape of the map that the window reads.
        result: Shape of the result.
    """
    extents = source[-len(kernel) :]
    is_one_pixel = set(result[-len(kernel) :]) == {1}
    return is_one_pixel and all(k >= extent for k, extent in zip(kernel, extents, strict=True))


def channel_ratio(channels_in: int, channels_out: int) -> dict[str, int]:
    """Quarter octaves from the input width to the output width; nothing where one is unknown."""
    if channels_in <= 0 or channels_out <= 0:
        return {}
    return {"channel_ratio": round(4 * log2(channels_out / channels_in))}


def layer_sizes(channels_in: int, channels_out: int) -> dict[str, int]:
    """Widths as they are; nothing where one is unknown."""
    widths = {"input_width": channels_in, "output_width": channels_out}
    return {name: width for name, width in widths.items() if width > 0}


def attention_sizes(
    query: Sequence[int], key: Sequence[int], value: Sequence[int]
) -> dict[str, int]:
    """Sizes of attention from the shapes of its operands, (..., heads, length, width).

    Heads are known where their axis stands between batch and length.
    """
    sizes = {"queries": query[-2], "keys": key[-2]}
    sizes |= {"head_size": query[-1], "value_size": value[-1]}
    if len(query) == len(key) == _WITH_HEADS:
        sizes |= {"heads": query[1], "key_value_heads": key[1]}
    return sizes


_WITH_HEADS = 4  # axes: batch, heads, length, width


_LAYERS: Final = with_any(Trait.WEIGHTED)
_CONVOLUTIONS: Final = with_any(Trait.CONVOLVES)
# Their results have channels of their own on the second axis.
_REARRANGES_CHANNELS: Final = frozenset({"pixel_shuffle", *_CONVOLUTIONS})
# Their results have no axis of features.
_WITHOUT_WIDTH: Final = frozenset({"matmul", "distance", "outer", "unfold", *LEAVES})
_QUERY, _KEY, _FIRST_BIAS = 0, 1, 3  # places of the operands of attention


def stated_of(modules: Iterable[tuple[str, object]]) -> dict[str, dict[str, int]]:
    """What modules state of the attention that they run: see `nar.capture.trace.TraceExtras`.

    Args:
        modules: Each with its path. Only their plain attributes are read, and those of their
            configurations; no code of theirs runs.
    """
    stated: dict[str, dict[str, int]] = {}
    for path, module in modules:
        attributes = _of_config(vars(module)) | vars(module)
        numbers = {
            what: read(attributes[word])
            for what, words, read in _STATED
            for word in reversed(words)
            if word in attributes
        }
        said = {what: number for what, number in numbers.items() if number is not None}
        if said:
            stated[path] = said
    return stated


def _of_config(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The window that the configuration of a layer states for it, as those of transformers do."""
    config = getattr(attributes.get("config"), "__dict__", {})
    layer, kinds = attributes.get("layer_idx"), config.get("layer_types")
    if not isinstance(layer, int) or not config.get("sliding_window"):
        return {}
    if isinstance(kinds, list) and layer < len(kinds) and "sliding" not in str(kinds[layer]):
        return {"sliding_window": 0}
    return {"sliding_window": config["sliding_window"]}


def _window(value: Any) -> int | None:  # noqa: ANN401
    """How many places a stated window holds; one of several axes holds their product."""
    if value is None:
        return 0
    extents = value if isinstance(value, list | tuple) else (value,)
    is_whole = all(isinstance(each, int) and not isinstance(each, bool) for each in extents)
    return max(prod(extents), 0) if is_whole and extents else None


def _both_sides(value: Any) -> int | None:  # noqa: ANN401
    """The window of which one side is stated, as Longformer's layers do."""
    return 2 * value if isinstance(value, int) and not isinstance(value, bool) else None


def _causal(value: Any) -> int | None:  # noqa: ANN401
    return int(value) if isinstance(value, bool) else None


# Attributes by which modules state what their attention may read, the surest first.
_STATED: Final[tuple[tuple[str, tuple[str, ...], Callable[[Any], int | None]], ...]] = (
    ("causal", ("is_causal", "causal"), _causal),
    ("window", ("sliding_window", "window_size", "attention_window"), _window),
    ("window", ("one_sided_attn_window_size",), _both_sides),
)


def details_of(trace: Trace, nodes: Sequence[int], order: NDArray[np.int64]) -> Details:
    """The details of the operators of a graph.

    Args:
        trace: Rewritten trace, without the parts that are merged in the graph.
        nodes: The value of each node, before the graph was brought to canonical order.
        order: Shape (nodes,), the canonical order of the nodes.
    """
    table = np.full((len(nodes), len(NUMBERS)), NOT_READ, dtype=np.int32)
    places = np.full(len(nodes), NOT_READ, dtype=np.int32)
    reader = _Reader(trace)
    numbers = [reader.numbers(value) for value in nodes]
    paths: dict[str, int] = {}
    for place, node in enumerate(order.tolist()):
        for column, name in enumerate(NUMBERS):
            table[place, column] = min(numbers[node].get(name, NOT_READ), _MOST)
        path = trace.operations[nodes[node]].path
        if path is not None:
            places[place] = paths.setdefault(path, len(paths))
    beside = trace.beside
    return Details(table, tuple(paths), places, beside.inputs, beside.outputs)


_MOST: Final = int(np.iinfo(np.int32).max)


class _Reader:
    """Reads the numbers of one value after another, each after its operands.

    Args:
        trace: Rewritten trace.
    """

    def __init__(self, trace: Trace) -> None:
        self._operations = trace.operations
        self._stated = trace.beside.stated
        self._widths: dict[int, int] = {}
        self._projected: set[int] = set()

    def numbers(self, value: int) -> dict[str, int]:
        """The numbers of an operator that were read, by their names in `NUMBERS`."""
        operation = self._operations[value]
        numbers = {name: operation.sizes[name] for name in NUMBERS if name in operation.sizes}
        if operation.operator == "attention":
            numbers |= self._attention(operation)
        elif operation.operator == "linear" and len(operation.numbers) == 2:
            out, inner = (int(number) for number in operation.numbers)
            numbers |= {"input_width": inner, "output_width": out}
        elif operation.operator == "embedding" and operation.shape:
            table = self._operations[operation.operands[0]].shape
            numbers |= {"input_width": table[0]} if table else {}
            numbers |= {"output_width": operation.shape[-1]}
        elif operation.operator == "topk" and operation.shape:
            # Of a router: how many experts a token goes through.
            return numbers | {"output_width": operation.shape[-1]}
        elif "output_width" not in numbers:
            width = self._width(operation)
            numbers |= {} if width is None else {"output_width": width}
        if "output_width" in numbers:
            self._widths[value] = numbers["output_width"]
            if self._is_projected(operation, numbers):
                self._projected.add(value)
        return numbers

    def _is_projected(self, operation: Operation, numbers: Mapping[str, int]) -> bool:
        """Whether a value is what layers make of whole features, and nothing else.

        A layer that reads fewer features than its source has reads those of each head by itself.
        """
        if operation.operator in _LAYERS:
            width = self._widths.get(operation.operands[0], 0)
            return width in (0, numbers.get("input_width", width))
        sources = [self._operations[each] for each in operation.operands if each in self._widths]
        is_whole = sum(source.elements for source in sources) == operation.elements
        are_projected = all(each in self._projected for each in operation.operands[: len(sources)])
        is_part = operation.operator in PARTS and len(sources) == 1
        return bool(sources) and are_projected and (is_whole or is_part)

    def _width(self, operation: Operation) -> int | None:
        """Channels or features of a result that its call does not state."""
        if operation.operator in _WITHOUT_WIDTH:
            return None
        if operation.operator in _REARRANGES_CHANNELS:
            return operation.shape[1] if len(operation.shape) > 1 else None
        sources = [
            (self._operations[each], self._widths[each])
            for each in operation.operands
            if each in self._widths
        ]
        if operation.operator == "concat" and len(sources) == len(operation.operands):
            return _joined(operation, sources)
        passed = (_passed(operation, source, width) for source, width in sources)
        return next((width for width in passed if width is not None), None)

    def _attention(self, operation: Operation) -> dict[str, int]:
        sizes = operation.sizes
        numbers = {"mask": MASKS.index(self._mask(operation))}
        heads = self._heads(operation) or sizes.get("heads", 0)
        if heads:
            numbers |= {"heads": heads, "key_value_heads": self._key_heads(operation, heads)}
            width = heads * sizes.get("value_size", 0)
            numbers |= {"output_width": width} if width else {}
        window = self._window(operation, numbers["mask"])
        return numbers if window is None else numbers | {"window": window}

    def _heads(self, operation: Operation) -> int:
        """Heads of a query that layers make, by its width; 0 where that is not known.

        The axis of heads does not tell where windows or heads are put into the batch.
        """
        value, size = operation.operands[_QUERY], operation.sizes.get("head_size", 0)
        width, places = self._widths.get(value, 0), operation.sizes.get("queries", 0)
        if value not in self._projected or not size or width % size or not width * places:
            return 0
        return 0 if self._operations[value].elements % (width * places) else width // size

    def _key_heads(self, operation: Operation, heads: int) -> int:
        """Heads of the key: the key was made with fewer numbers for a place than the query."""
        query, key = (self._operations[operation.operands[place]] for place in (_QUERY, _KEY))
        places, keys = operation.sizes.get("queries", 0), operation.sizes.get("keys", 0)
        whole = query.elements * keys
        of_key, rest = divmod(heads * key.elements * places, whole) if whole else (0, 0)
        is_divisor = not rest and 0 < of_key <= heads and heads % of_key == 0
        return of_key if is_divisor else operation.sizes.get("key_value_heads", heads)

    def _mask(self, operation: Operation) -> Mask:
        biases = [self._operations[each] for each in operation.operands[_FIRST_BIAS:]]
        if "causal" in operation.sizes or any("causal" in bias.sizes for bias in biases):
            return "causal"
        if "is_chunked" in operation.sizes:
            return "constant"
        if not biases:
            return "none"
        if self._stated_number(operation, "causal"):
            return "causal"
        if all(bias.operator == "constant" for bias in biases):
            return "constant"
        return "computed" if any(bias.reads_data for bias in biases) else "learned"

    def _window(self, operation: Operation, mask: int) -> int | None:
        stated, keys = self._stated_number(operation, "window"), operation.sizes.get("keys", 0)
        if "window" in operation.sizes:
            return operation.sizes["window"]
        if stated is None:
            return 0 if MASKS[mask] in ("none", "causal", "learned") else None
        # Of a square window some modules state one side.
        return stated * stated if stated and keys == stated * stated else stated

    def _stated_number(self, operation: Operation, what: str) -> int | None:
        """What the module of an operator states, or the module around it."""
        path = operation.path
        if path is None:
            return None
        for each in (path, path.rpartition(".")[0]):
            if what in self._stated.get(each, {}):
                return self._stated[each][what]
        return None


def _passed(operation: Operation, source: Operation, width: int) -> int | None:
    """The width of a result, from that of a value that it reads; None where no axis has it."""
    if width in operation.shape:
        return width
    if operation.elements == source.elements:
        # Patches that are merged have wider channels; heads that are split have their batch.
        is_merged = operation.shape[:1] == source.shape[:1] and source.shape[-1:] == (width,)
        return operation.shape[-1] if is_merged and _is_ranked(operation, source) else width
    if operation.operator not in PARTS or not source.elements:
        return None
    # Of a cut along the channels, whatever the shape in which it is seen.
    part, rest = divmod(width * operation.elements, source.elements)
    return None if rest else part


def _is_ranked(operation: Operation, source: Operation) -> bool:
    return len(operation.shape) == len(source.shape)


def _joined(operation: Operation, sources: Sequence[tuple[Operation, int]]) -> int | None:
    """The width of values put together: of all, where they are put together by channels."""
    places = {source.elements // width for source, width in sources if width}
    total = sum(width for _, width in sources)
    if len(places) == 1 and operation.elements == places.pop() * total:
        return total
    widths = {width for _, width in sources}
    return widths.pop() if len(widths) == 1 else None
