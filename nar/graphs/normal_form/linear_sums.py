"""LinearSum: linear layers of one value, added up, as the one layer that can stand for them."""

from dataclasses import dataclass, replace
from math import log2

from nar.graphs.ops import ATTRIBUTES, Trait, ids_with_any, op_id

_SQUARE = 1  # of the attribute kernel_shape
_LINEAR, _CONV, _DEPTHWISE = map(op_id, ("linear", "conv", "conv_depthwise"))
_CONVOLUTIONS = ids_with_any(Trait.MERGES_BRANCHES)
_THREEFOLD = round(4 * log2(3))  # of the attribute channel_ratio
_KERNEL = ATTRIBUTES.index("kernel")
_KERNEL_SHAPE = ATTRIBUTES.index("kernel_shape")
_STRIDE = ATTRIBUTES.index("stride")
_CHANNEL_RATIO = ATTRIBUTES.index("channel_ratio")


@dataclass(frozen=True, slots=True)
class LinearLayer:
    """A layer with weights.

    Attributes:
        op_id: Its operator.
        attributes: In the order of `nar.graphs.ops.ATTRIBUTES`.
    """

    op_id: int
    attributes: tuple[int, ...]

    @property
    def keeps_shape(self) -> bool:
        """Whether a value and what the layer makes of it can be added."""
        is_changing = self.attributes[_STRIDE] > 1 or self.attributes[_CHANNEL_RATIO] != 0
        return self.op_id in _CONVOLUTIONS and not is_changing

    def added_to(self, other: "LinearLayer") -> "LinearLayer | None":
        """The layer of the larger window, where two layers differ in nothing but their windows."""
        kernel = max(self.attributes[_KERNEL], other.attributes[_KERNEL])
        layers = (self, other)
        shapes = {x.attributes[_KERNEL_SHAPE] for x in layers if x.attributes[_KERNEL] == kernel}
        one, same = (x._with_window(kernel, max(shapes)) for x in layers)
        if one != same or self.op_id not in _CONVOLUTIONS | {_LINEAR}:
            return None
        return one if len(shapes) == 1 else one._with_window(kernel, _SQUARE)

    def takes_in(self, down: "LinearLayer", up: "LinearLayer") -> bool:
        """Whether two layers in sequence are a change of this one, of a rank below both its widths.

        Adapters are trained as such pairs (LoRA). Of a convolution the first has its window, and
        the second has none. Ratios of widths are rounded, so their sum may be one off.
        """
        first, second, both = (x.attributes[_CHANNEL_RATIO] for x in (down, up, self))
        is_narrow = first < 0 < second and abs(first + second - both) <= 1
        return is_narrow and up.is_pointwise and down._as_wide_as(self) == self

    @property
    def is_pointwise(self) -> bool:
        """Whether it mixes channels and nothing else."""
        if self.op_id == _LINEAR:
            return True
        is_plain = self.attributes[_KERNEL] == self.attributes[_STRIDE] == 1
        return is_plain and self.op_id == _CONV

    def third(self) -> "LinearLayer | None":
        """One of three equal parts of a linear layer that is three times as wide as its source."""
        if self.op_id != _LINEAR or self.attributes[_CHANNEL_RATIO] != _THREEFOLD:
            return None
        attributes = list(self.attributes)
        attributes[_CHANNEL_RATIO] = 0
        return LinearLayer(self.op_id, tuple(attributes))

    def _as_wide_as(self, other: "LinearLayer") -> "LinearLayer":
        attributes = list(self.attributes)
        attributes[_CHANNEL_RATIO] = other.attributes[_CHANNEL_RATIO]
        return LinearLayer(self.op_id, tuple(attributes))

    def _with_window(self, kernel: int, shape: int) -> "LinearLayer":
        attributes = list(self.attributes)
        attributes[_KERNEL], attributes[_KERNEL_SHAPE] = kernel, shape
        return LinearLayer(self.op_id, tuple(attributes))


@dataclass(frozen=True, slots=True)
class LinearSum:
    """What a node gives, as a sum of linear layers that all read one other node.

    Attributes:
        source: The node that is read.
        layer: What can stand for all layers together; None where there is none.
        layers: How many layers are added up.
        norms: How many batch norms of the source itself.
        has_source: Whether the source itself is added, too.
        is_scaled: Whether a learned scale, and no shift, comes last.
        parts: Operands of the node, and operands of these, that nobody needs where one layer stands
            for the sum.
    """

    source: int
    layer: LinearLayer | None = None
    layers: int = 0
    norms: int = 0
    has_source: bool = False
    is_scaled: bool = False
    parts: tuple[int, ...] = ()

    @property
    def is_one_layer(self) -> bool:
        """Whether one layer stands for the sum.

        A plain residual around one layer is a design of its own, unless the layer is depthwise:
        those are deployed without it. A layer with a scale is one, too, and a sum of linear layers,
        which may be laid along different axes. A change of low rank is no layer of the sum.
        """
        if self.layer is None or self.is_scaled:
            return False
        is_residual = self.has_source and self.layers + self.norms == 1
        is_linear_sum = self.layers > 1 and self.layer.op_id == _LINEAR
        return not is_linear_sum and (not is_residual or self.layer.op_id == _DEPTHWISE)

    def of(self, *parts: int, is_scaled: bool | None = None) -> "LinearSum":
        """The same sum, given by a node with these operands."""
        is_scaled = self.is_scaled if is_scaled is None else is_scaled
        return replace(self, parts=parts, is_scaled=is_scaled)

    def with_source(self, *parts: int) -> "LinearSum | None":
        """The sum and its source added up; None where that has another shape."""
        return _fitting(replace(self, has_source=True, is_scaled=False, parts=parts))

    def averaged(self, *parts: int) -> "LinearSum | None":
        """The mean of linear layers, given by a node with these operands; None of other sums."""
        is_linear = self.layer is not None and self.layer.op_id == _LINEAR and not self.is_scaled
        return replace(self, layers=1, parts=parts) if is_linear and self.layers > 1 else None

    def added_to(self, other: "LinearSum", *parts: int) -> "LinearSum | None":
        """Two sums added up; None where no layer stands for both."""
        if self.source != other.source:
            return None
        layer = self.layer or other.layer
        if self.layer and other.layer:
            layer = self.layer.added_to(other.layer)
            if layer is None:
                return None
        return _fitting(
            LinearSum(
                self.source,
                layer,
                self.layers + other.layers,
                self.norms + other.norms,
                self.has_source or other.has_source,
                parts=parts,
            )
        )


def _fitting(total: LinearSum) -> LinearSum | None:
    reads_source = total.has_source or total.norms > 0
    fits = total.layer is None or total.layer.keeps_shape or not reads_source
    return total if fits else None
