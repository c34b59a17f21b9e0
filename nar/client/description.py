"""What a server says of itself, as its client gives it."""

from dataclasses import dataclass

from nar.index.rows import IndexState
from nar.v1 import retrieval_pb2
from nar.wire.limits import Limits, decode_limits
from nar.wire.records import decode_state


@dataclass(frozen=True, slots=True)
class Description:
    """What a server is.

    Attributes:
        version: Of its software.
        encoder: Kind of encoder.
        fingerprint: Sha256 of the encoder's configuration and weights.
        dim: Length of its vectors.
        index_rows: Architectures in the index.
        limits: What it accepts.
        operators: Its operator vocabulary.
        attribute_names: Attributes a node may have.
        index: Where its rows are, and whether it takes further ones.
    """

    version: str
    encoder: str
    fingerprint: str
    dim: int
    index_rows: int
    limits: Limits
    operators: tuple[str, ...]
    attribute_names: tuple[str, ...]
    index: IndexState


def decode_description(message: retrieval_pb2.DescribeResponse) -> Description:
    """The description of a message."""
    return Description(
        version=message.version,
        encoder=message.encoder.name,
        fingerprint=message.encoder.fingerprint,
        dim=message.encoder.dim,
        index_rows=message.index_rows,
        limits=decode_limits(message.limits),
        operators=tuple(message.operators),
        attribute_names=tuple(message.attribute_names),
        index=decode_state(message.index),
    )
