"""Messages nobody should send: made field by field from the contract, or valid ones, broken.

What is made follows the descriptor, so that a field or method that is added is tried by itself.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from nar.v1 import retrieval_pb2 as wire

SERVICE: Final = wire.DESCRIPTOR.services_by_name["ArchitectureRetrievalService"]
METHODS: Final[Mapping[str, MethodDescriptor]] = SERVICE.methods_by_name
UNARY: Final = [
    name for name, each in METHODS.items() if not each.client_streaming | each.server_streaming
]
MAX_DEPTH: Final = 5
MANY: Final = 6
JUNK_BYTES: Final = 200

HOSTILE_TEXTS: Final = (
    *("", "'", '"', "\\", "a\\", "'] or id not in ['", "x' or '1' == '1", "a\nb", "\0", "\x85"),
    *("\u2028", "{x}", "%", "$meta", "true", "\U0001f600", "e\u0301", " a", "x" * 5_000),
    *("timm:resnet50", "resnet", "conv", "relu", "input", "unknown:65535", "unknown:-1", "a" * 64),
)
INT64: Final = st.sampled_from([-(2**63), -1, 0, 1, 2**31, 2**63 - 1]) | st.integers(0, 99)
UINT32: Final = st.sampled_from([0, 1, 10, 1_000, 1_001, 2**16, 2**31, 2**32 - 1])
FLOATS: Final = st.sampled_from([0.0, -0.0, 1.0, 1e-45, 3e38]) | st.floats(width=32)
SCALARS: Final[Mapping[int, st.SearchStrategy[Any]]] = {
    FieldDescriptor.TYPE_STRING: st.sampled_from(HOSTILE_TEXTS)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    FieldDescriptor.TYPE_INT64: INT64,
    FieldDescriptor.TYPE_UINT64: st.integers(0, 2**64 - 1),
    FieldDescriptor.TYPE_UINT32: UINT32 | st.integers(0, 9),
    FieldDescriptor.TYPE_SINT32: st.integers(-(2**31), 2**31 - 1) | st.integers(-9, 9),
    FieldDescriptor.TYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_FLOAT: FLOATS,
    FieldDescriptor.TYPE_DOUBLE: st.floats(),
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_BYTES: st.binary(max_size=20),
    FieldDescriptor.TYPE_ENUM: st.integers(-1, 9),
}


def made(method: str, count: int, number: int) -> list[bytes]:
    """Messages of a method whose fields hold anything, drawn by Hypothesis."""
    messages: list[bytes] = []

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(_messages(METHODS[method].input_type, MAX_DEPTH))
    def collect(message: Message) -> None:
        messages.append(message.SerializeToString())

    collect()
    return messages


@cache
def _messages(kind: Descriptor, depth: int) -> st.SearchStrategy[Message]:
    fields = {
        field.name: _values(field, depth)
        for field in kind.fields
        if depth > 0 or field.type != FieldDescriptor.TYPE_MESSAGE
    }
    build = GetMessageClass(kind)
    # At most one field of a oneof stays: the last that is set.
    return st.fixed_dictionaries({}, optional=fields).map(lambda values: build(**values))


def _values(field: FieldDescriptor, depth: int) -> st.SearchStrategy[Any]:
    is_message = field.type == FieldDescriptor.TYPE_MESSAGE
    if is_message and field.message_type.GetOptions().map_entry:
        key, value = field.message_type.fields
        return st.dictionaries(_values(key, depth), _values(value, depth - 1), max_size=MANY)
    one = _messages(field.message_type, depth - 1) if is_message else SCALARS[field.type]
    return st.lists(one, max_size=MANY) if field.is_repeated else one


def flipped(draw: random.Random, valid: bytes) -> bytes:
    """Some bits are others."""
    content = bytearray(valid)
    for _ in range(draw.choice((1, 1, 2, 8))):
        if content:
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return bytes(content)


def cut(draw: random.Random, valid: bytes) -> bytes:
    """The end is missing."""
    return valid[: draw.randrange(len(valid) + 1)]


def doubled(draw: random.Random, valid: bytes) -> bytes:
    """A part stands twice."""
    first, last = sorted(draw.randrange(len(valid) + 1) for _ in range(2))
    return valid[:last] + valid[first:]


def overwritten(draw: random.Random, valid: bytes) -> bytes:
    """A part is junk."""
    first = draw.randrange(len(valid) + 1)
    part = draw.randbytes(draw.randrange(1, 9))
    return valid[:first] + part + valid[first + len(part) :]


def junk(draw: random.Random, _: bytes) -> bytes:
    """Nothing but junk."""
    return draw.randbytes(draw.randrange(JUNK_BYTES))


def whole(_: random.Random, valid: bytes) -> bytes:
    """As it was."""
    return valid


BREAK: Final[Sequence[Callable[[random.Random, bytes], bytes]]] = (
    *(flipped, flipped, flipped, cut, doubled, overwritten),
    *(junk, whole),
)


def broken(draw: random.Random, valid: bytes) -> bytes:
    """A valid message, in some way broken; sometimes as it is."""
    return draw.choice(BREAK)(draw, valid)
