"""The items of a call: each is decoded, answered and counted by itself, under its own status."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from nar.answers.retrieve import unknown
from nar.base.errors import NarError
from nar.graphs.fingerprints import Fingerprinted
from nar.index.rows import IndexRow
from nar.serve.calls import StageClock
from nar.serve.status import code_name, status_of
from nar.serve.telemetry import Telemetry
from nar.v1 import retrieval_pb2 as wire
from nar.wire.convert import decode_each
from nar.wire.graphs import decode_graph
from nar.wire.limits import Limits

Item = TypeVar("Item")
Record = TypeVar("Record")
Result = TypeVar("Result")


class Looked(Protocol):
    """What look-ups need of an index."""

    def get(self, keys: Sequence[str]) -> dict[str, IndexRow]:
        """Rows by name or id; a key that nothing has is left out."""


class Items:
    """Decodes and encodes the items of calls.

    Args:
        limits: What the server accepts.
        telemetry: Counts items by status.
    """

    def __init__(self, limits: Limits, telemetry: Telemetry) -> None:
        self.limits = limits
        self._telemetry = telemetry

    def decode(
        self,
        field: str,
        items: Sequence[Item],
        decode: Callable[[Item], Record],
        clock: StageClock,
    ) -> list[Record | NarError]:
        """The record of each item, or the error that it deserves.

        Raises:
            InvalidQueryError: No items, or too many.
            GivenUpError: Nobody waits for those that remain.
        """

        def patiently(item: Item) -> Record:
            clock.patience.check()
            return decode(item)

        return decode_each(field, items, patiently, max_items=self.limits.max_items)

    def graph(self, message: wire.Graph, clock: StageClock) -> Fingerprinted:
        """The canonical graph of a message, if it keeps to the limits.

        Raises:
            InvalidGraphError: Names the field at fault.
        """
        return decode_graph(
            message,
            max_nodes=self.limits.max_nodes,
            max_edges=self.limits.max_edges,
            fingerprint=clock.fingerprint,
        )

    def encode(
        self,
        method: str,
        outcomes: Sequence[Record | NarError],
        encode: Callable[[Record], Result],
        refusal: Callable[..., Result],
    ) -> list[Result]:
        """The result of each item: its answer, or its error as a status of its own.

        Args:
            method: What items are counted under.
            outcomes: A record or an error of each item.
            encode: Makes the result of a record.
            refusal: Makes the result that has nothing but a status.
        """
        results = []
        for outcome in outcomes:
            if isinstance(outcome, NarError):
                status = status_of(outcome)
                result, code = refusal(status=status), code_name(status)
            else:
                result, code = encode(outcome), "OK"
            self._telemetry.item_answered(method, code)
            results.append(result)
        return results


def rows_of(names: Sequence[str | NarError], index: Looked) -> list[IndexRow | NarError]:
    """The row of each name or id, or the error that nothing has it; errors stay as they are."""
    rows = index.get([name for name in names if isinstance(name, str)])
    return [(rows.get(name) or unknown(name)) if isinstance(name, str) else name for name in names]
