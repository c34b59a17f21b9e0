"""Model: random operations on an index, a dictionary and exact numpy beside it; they never differ.

Hypothesis draws the operations and shrinks what fails to the shortest sequence, which is printed.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from milvus_server import milvus_server
from oracle import DIM, Oracle
from waiting import wait_for

from benchmark.campaigns.campaign import Options, Tally, main, option
from benchmark.campaigns.operations import OPERATIONS, Operation, Reload, Restart, Subject
from nar.index.architecture_index import ArchitectureIndex
from nar.index.reader import Reader
from nar.index.rows import IndexRow
from nar.index.settings import IndexConfig

ENCODER: Final = "e" * 64
SEQUENCES: Final = 20
MAX_OPERATIONS: Final = 50
Open = Callable[[], Subject]


@dataclass(frozen=True, kw_only=True)
class Model(Options):
    """How much, and of what."""

    operations: int = option(200_000, "operations in all")
    store: str = option("lite", "what is compared", ("lite", "reader", "server"))

    @property
    def variant(self) -> str:
        """The index."""
        return self.store


class Subjects:
    """The index under test, which can be restarted and rebuilt.

    Args:
        open_subject: Opens it.
        config: Where it is.
    """

    def __init__(self, open_subject: Open, config: IndexConfig) -> None:
        self._open, self._config = open_subject, config
        with ArchitectureIndex(config) as index:
            self._publish(index, [])
        self.subject = open_subject()

    def empty(self) -> Oracle:
        """Take all rows out; gives the oracle of an empty index."""
        hits = self.subject.search(np.eye(1, DIM, dtype=np.float32), 1_000)[0]
        if hits:
            self.subject.delete([hit.id for hit in hits])
        return Oracle()

    def do(self, operation: Operation, oracle: Oracle) -> None:
        """One operation, on index and oracle."""
        if isinstance(operation, Restart | Reload):
            self.subject.close()
            if isinstance(operation, Reload):
                with ArchitectureIndex(self._config) as index:
                    self._publish(index, list(oracle.rows.values()))
            self.subject = self._open()
            return
        operation(self.subject, oracle)

    def _publish(self, index: ArchitectureIndex, rows: list[IndexRow]) -> None:
        with index.build(ENCODER, DIM) as build:
            build.load(rows)
            build.publish()


def model(told: Model) -> Iterator[Tally]:
    """Ask and compare."""
    done, chunk, faults = 0, 0, []
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        uri = str(directory / "index.db")
        if told.store == "server":
            uri = stack.enter_context(milvus_server(directory))
        config = IndexConfig(uri=uri, alias="model", follow_s=0.1)
        subjects = Subjects(_opener(told.store, config), config)
        stack.callback(lambda: subjects.subject.close())
        while done < told.operations and not faults:
            operations, fault = _sequences(subjects, told.seed + chunk)
            done, chunk = done + operations, chunk + 1
            faults += [f"seed {told.seed + chunk - 1}: {fault}"] if fault else []
            yield Tally(done, told.operations, {"sequences": chunk * SEQUENCES}, tuple(faults))


def _sequences(subjects: Subjects, number: int) -> tuple[int, str]:
    """Some sequences drawn from one seed: how many operations, and the shortest that failed."""
    done, said = 0, ""

    @seed(number)
    @settings(
        max_examples=SEQUENCES,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(OPERATIONS, min_size=MAX_OPERATIONS // 2, max_size=MAX_OPERATIONS))
    def holds(operations: Sequence[Operation]) -> None:
        nonlocal done, said
        oracle = subjects.empty()
        try:
            for operation in operations:
                done += 1
                subjects.do(operation, oracle)
        except Exception as error:
            # The last one that fails is the shortest.
            said = f"{type(error).__name__}: {error}; {list(operations)}"
            raise

    try:
        holds()
    except Exception as error:
        return done, said or repr(error)
    return done, ""


def _opener(store: str, config: IndexConfig) -> Open:
    def open_reader() -> Reader:
        reader = Reader(lambda _: ArchitectureIndex(config, encoder=ENCODER), config)
        reader.begin()
        wait_for(lambda: reader.holds_rows)
        return reader

    return open_reader if store == "reader" else lambda: ArchitectureIndex(config, encoder=ENCODER)


if __name__ == "__main__":
    main(Model, model)
