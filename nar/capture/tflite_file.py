"""A TensorFlow Lite file: the records in it, of which no offset and no count is believed.

A file is one FlatBuffer: tables that refer to their fields by offsets. Every offset is checked
against the file, and all lists together may hold so many entries: a small file could otherwise name
one long list a million times. Numbers of weights are never read.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from mmap import mmap
from typing import Final, TypeVar

import numpy as np

from nar.capture.onnx.facts import MAX_NUMBERS, Numbers
from nar.capture.onnx.writing import MOST_OPERATORS, few_numbers
from nar.capture.trace import Shape

# Chosen: an operator takes some 17 entries: its record, three inputs, a result, and two tensors,
# each with a buffer and a shape of four axes. So the largest file of operators has them all.
_MOST_ENTRIES: Final = 20 * MOST_OPERATORS
# Chosen: names are for errors and for operators that a file brings along.
_MOST_TEXT: Final = 200
_MOST_RANK: Final = 8  # of TensorFlow Lite's own operators 6
# Chosen: more numbers than any tensor has, and few enough that the sum of all fits in 64 bits.
_MOST_ELEMENTS: Final = 1 << 40


class Content:
    """The bytes of a file, read where they lie inside it.

    Args:
        content: The file.
    """

    def __init__(self, content: mmap | bytes) -> None:
        self._content = content
        self._left = _MOST_ENTRIES

    def numbers(self, at: int, count: int, kind: str) -> tuple[int, ...]:
        """The entries of a list, which count to those of all lists.

        Args:
            at: Where they begin.
            count: How many there are.
            kind: Their kind as `struct` names it.

        Raises:
            ValueError: They do not lie inside the file, or too much was read before.
        """
        self._check(at, count * struct.calcsize(f"<{kind}"))
        self._left -= count
        if self._left < 0:
            raise ValueError(f"wanted at most {_MOST_ENTRIES:,} entries in all lists, came more")
        return struct.unpack_from(f"<{count}{kind}", self._content, at)

    def number(self, at: int, kind: str) -> int:
        """One number."""
        self._check(at, struct.calcsize(f"<{kind}"))
        number: int = struct.unpack_from(f"<{kind}", self._content, at)[0]
        return number

    def few(self, at: int, length: int) -> bytes:
        """A few bytes."""
        self._check(at, length)
        return self._content[at : at + length]

    def _check(self, at: int, length: int) -> None:
        if not 0 <= at <= len(self._content) - length:
            raise ValueError(
                f"wanted offsets inside the {len(self._content):,} bytes of the file, came {at:,}"
            )


@dataclass(frozen=True, slots=True)
class BufferTable:
    """A table of a FlatBuffer: fields by their number, each there or left out.

    Attributes:
        content: The file.
        at: Where the table begins.
    """

    content: Content
    at: int

    def _place(self, field: int) -> int | None:
        """Where a field lies; None if it is left out."""
        fields = self.at - self.content.number(self.at, "i")
        entry = 4 + 2 * field  # behind the lengths of the list of fields and of the table
        if entry >= self.content.number(fields, "H"):
            return None
        offset = self.content.number(fields + entry, "H")
        return self.at + offset if offset else None

    def number(self, field: int, kind: str = "i", default: int = 0) -> int:
        """A number; the default where it is left out."""
        place = self._place(field)
        return default if place is None else self.content.number(place, kind)

    def table(self, field: int) -> "BufferTable | None":
        """A table."""
        place = self._place(field)
        return None if place is None else BufferTable(self.content, self._buffer_at(place))

    def list(self, field: int) -> tuple[int, int]:
        """Where the entries of a list begin, and how many there are."""
        place = self._place(field)
        if place is None:
            return 0, 0
        start = self._buffer_at(place)
        return start + 4, self.content.number(start, "I")

    def numbers(self, field: int, kind: str = "i") -> tuple[int, ...]:
        """A list of numbers."""
        return self.content.numbers(*self.list(field), kind)

    def tables(self, field: int) -> "tuple[BufferTable, ...]":
        """A list of tables."""
        start, count = self.list(field)
        offsets = self.content.numbers(start, count, "I")
        places = range(start, start + 4 * count, 4)
        return tuple(
            BufferTable(self.content, place + offset)
            for place, offset in zip(places, offsets, strict=True)
        )

    def text(self, field: int) -> str:
        """A text, or the beginning of a long one."""
        start, length = self.list(field)
        return self.content.few(start, min(length, _MOST_TEXT)).decode("utf-8", "replace")

    def _buffer_at(self, place: int) -> int:
        return place + self.content.number(place, "I")


# Kinds of tensors, by their codes: floats, and whole numbers as `numpy` names them.
_FLOATS: Final = {0: "f4", 1: "f2", 10: "f8", 18: ""}
_WHOLE: Final = {2: "i4", 3: "u1", 4: "i8", 6: "?", 7: "i2", 9: "i1", 12: "u8", 15: "u4", 16: "u2"}
_FOUR_BITS: Final = 17  # the code of whole numbers of which a byte holds two
_WIDEST: Final = 8  # bytes of a number


@dataclass(frozen=True, slots=True)
class LiteTensor:
    """A value of a subgraph.

    Attributes:
        name: Its name.
        shape: Its shape, of which extents that are open have those of an example.
        is_float: Whether its numbers stand for floats.
        buffer: Which buffer of the file holds its numbers.
        is_stored: Whether its numbers are in the file.
        is_state: Whether they stay from one run to the next.
        numbers: Its numbers where they are few, and of quantised ones where it is one.
    """

    name: str
    shape: Shape
    is_float: bool
    buffer: int
    is_stored: bool
    is_state: bool
    numbers: Numbers | None = None

    @property
    def is_learned(self) -> bool:
        """Whether it is a weight: several floats in the file."""
        return self.is_stored and self.is_float and prod(self.shape) > 1


@dataclass(frozen=True, slots=True)
class LiteOperator:
    """An operator.

    Attributes:
        name: Its name in the format, or the name that the file gives to an operator of its own.
        inputs: Numbers of the tensors that it reads; -1 where one is left out.
        outputs: Numbers of its results.
        options: What it states.
        further: What it states, of operators of StableHLO.
    """

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: BufferTable | None
    further: BufferTable | None

    def stated(self, field: int, kind: str = "i", default: int = 0) -> int:
        """A number that it states."""
        return self.options.number(field, kind, default) if self.options else default


@dataclass(frozen=True, slots=True)
class LiteGraph:
    """A graph of the file, or the body of one of its operators.

    Attributes:
        tensors: Its values.
        inputs: Numbers of the tensors that it is given.
        outputs: Numbers of its results.
        operators: Its operators, in the order in which they run.
    """

    tensors: tuple[LiteTensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: tuple[LiteOperator, ...] = field(repr=False)


def read_lite(content: mmap | bytes) -> tuple[LiteGraph, ...]:
    """The graphs of a TensorFlow Lite file, the whole model first.

    Args:
        content: The file, which stays open: what operators state is read from it later.

    Raises:
        ValueError: It is no such file, or what it says does not fit.
    """
    read = Content(content)
    if read.few(4, 4) != b"TFL3":
        raise ValueError("wanted a TensorFlow Lite model of version 3, came another file")
    model = BufferTable(read, read.number(0, "I"))
    codes = [_name_of(code) for code in model.tables(1)]
    buffers = model.tables(4)
    graphs = tuple(_graph(each, codes, buffers) for each in model.tables(2))
    if not graphs:
        raise ValueError("wanted a model with a graph, came none")
    return graphs


def _name_of(code: BufferTable) -> str:
    """The name of an operator, by its code."""
    number = max(code.number(0, "b"), code.number(3))
    if number == _CUSTOM:
        return code.text(1) or "CUSTOM"
    return BUILT_IN[number] if 0 <= number < len(BUILT_IN) else f"operator {number}"


def _graph(graph: BufferTable, codes: list[str], buffers: tuple[BufferTable, ...]) -> LiteGraph:
    _, count = graph.list(3)
    if count > MOST_OPERATORS:
        raise ValueError(f"wanted at most {MOST_OPERATORS:,} operators, came {count:,}")
    return LiteGraph(
        tuple(_tensor(each, buffers) for each in graph.tables(0)),
        graph.numbers(1),
        graph.numbers(2),
        tuple(
            LiteOperator(
                _at(codes, each.number(0, "I"), "an operator"),
                each.numbers(1),
                each.numbers(2),
                each.table(4),
                each.table(12),
            )
            for each in graph.tables(3)
        ),
    )


_Entry = TypeVar("_Entry")


def _at(entries: Sequence[_Entry], place: int, what: str) -> _Entry:
    if not 0 <= place < len(entries):
        raise ValueError(f"wanted {what} among {len(entries)}, came number {place}")
    return entries[place]


def _tensor(tensor: BufferTable, buffers: tuple[BufferTable, ...]) -> LiteTensor:
    shape, kind = tensor.numbers(0), tensor.number(1, "b")
    if min(shape, default=0) < 0:
        raise ValueError(f"wanted extents of 0 or more, came the shape {shape}")
    if len(shape) > _MOST_RANK or prod(shape) > _MOST_ELEMENTS:
        raise ValueError(
            f"wanted tensors of at most {_MOST_RANK} axes and {_MOST_ELEMENTS:,} numbers, came one "
            f"of the shape {shape}"
        )
    number = tensor.number(2, "I")
    start, length = _stored(_at(buffers, number, "a buffer")) if number else (0, 0)
    if length and prod(shape) > 8 * length and tensor.table(6) is None:
        raise ValueError(f"wanted the numbers of the shape {shape}, came {length:,} bytes")
    quantisation = tensor.table(4)
    is_quantised = quantisation is not None and quantisation.list(2)[1] > 0
    form = _WHOLE.get(kind) or _FLOATS.get(kind)
    few = None
    if form and 0 < length <= _WIDEST * MAX_NUMBERS:
        few = few_numbers(tensor.content.few(start, length), form, shape)
    if few is not None and quantisation is not None and is_quantised:
        few = _as_floats(few, quantisation)
    is_float = kind in _FLOATS or kind == _FOUR_BITS or is_quantised
    is_state = bool(tensor.number(5, "?"))
    return LiteTensor(tensor.text(3), shape, is_float, number, length > 0, is_state, few)


def _as_floats(few: Numbers, quantisation: BufferTable) -> Numbers | None:
    """The number that a quantised number stands for; None for several."""
    if few.size != 1:
        return None
    scales, zeros = quantisation.numbers(2, "f"), quantisation.numbers(3, "q")
    return np.asarray((few.astype(np.float64) - (zeros or (0,))[0]) * scales[0], np.float32)


def _stored(buffer: BufferTable) -> tuple[int, int]:
    """Where the numbers of a buffer begin, and how many bytes they have.

    A file of more than two gigabytes has them behind the tables.
    """
    start, length = buffer.list(0)
    if length:
        return start, length
    offset, size = buffer.number(1, "Q"), buffer.number(2, "Q")
    return (offset, size) if offset > 1 else (0, 0)


_CUSTOM: Final = 32  # the code of an operator that has a name in place of a code
# Names of operators by their codes.
_NAMES: Final = """
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE
EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D
LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6
RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM
EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND
TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN
EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX
MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV
SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT
REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV
REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU
SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU
REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE
NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL
PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS
HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE
READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM
MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX
UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT
STABLEHLO_LOGISTIC STABLEHLO_ADD STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM
STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE STABLEHLO_BROADCAST_IN_DIM
STABLEHLO_CONVOLUTION STABLEHLO_SLICE STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS
STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM
STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RSQRT STABLEHLO_SELECT
STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER STABLEHLO_COMPARE STABLEHLO_CONVERT
STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD STABLEHLO_IOTA
STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE STABLEHLO_GATHER
STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW STABLEHLO_COMPOSITE
STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE
"""
BUILT_IN: Final = tuple(_NAMES.split())
