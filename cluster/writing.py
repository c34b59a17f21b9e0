"""How embedded parts of a corpus come into an index: workers write them, or this process does.

A Milvus server takes many writers, so each worker writes its own rows and tells their digests.
Milvus Lite takes one, and so does a collection that readers already get: there workers give rows
back, and this process writes them.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias

import ray
from ray.actor import ActorHandle

from cluster.actors import ActorPool, Failed, Item, ValueT, WorkerKind
from cluster.config import EmbedConfig
from cluster.embed_worker import EmbeddedPart, StagingTarget, named_part, parsed_part
from cluster.resources import WorkerStartError
from cluster.telemetry import JobTelemetry
from nar.base.console import progress
from nar.base.errors import IndexUnavailableError, InvalidInputError
from nar.index.bulk import IndexBuild
from nar.index.increments import Increment
from nar.index.settings import IndexConfig

Writer: TypeAlias = IndexBuild | Increment


@dataclass(frozen=True, slots=True)
class WriteMethod(Generic[ValueT]):
    """How rows are written.

    Attributes:
        ask: Submits a part to a worker.
        take: Takes what came of it; afterwards its rows are in the index. Says how many.
    """

    ask: Callable[[ActorHandle[Any], str], "ray.ObjectRef[ValueT]"]
    take: Callable[[ValueT], int]


def by_this_process(writer: Writer) -> WriteMethod[EmbeddedPart]:
    """Workers give rows back, and this process writes them."""

    def take(part: EmbeddedPart) -> int:
        writer.load(part.rows())
        return len(part.cards)

    return WriteMethod(lambda worker, part: worker.embed.remote(part), take)


def by_workers(build: IndexBuild, index: IndexConfig) -> WriteMethod[dict[str, str]]:
    """Workers write their rows themselves, and tell the digests."""
    target = ray.put(StagingTarget(index, build.staging.name))

    def take(digests: dict[str, str]) -> int:
        build.acknowledge(digests)
        return len(digests)

    return WriteMethod(lambda worker, part: worker.write.remote(part, target), take)


def write_method(build: IndexBuild, index: IndexConfig, *, workers_write: bool) -> WriteMethod[Any]:
    """How a collection that no reader gets yet is filled."""
    if workers_write and not build.staging.milvus.lite:
        return by_workers(build, index)
    return by_this_process(build)


@dataclass(frozen=True, slots=True)
class EmbedPool:
    """The workers that embed.

    Attributes:
        start: Starts one worker.
        size: How many there are.
        config: Their bounds, and rows of a part.
        telemetry: Counts what became of each row.
    """

    start: Callable[[], ActorHandle[Any]]
    size: int
    config: EmbedConfig
    telemetry: JobTelemetry

    def embed(self, method: WriteMethod[ValueT], parts: dict[str, int]) -> list[Failed]:
        """Embed parts into an index; of a part that fails, each row by itself.

        Args:
            method: How rows are written.
            parts: Part -> its rows.

        Returns:
            The rows that could not be embedded.

        Raises:
            IndexUnavailableError: The index does not answer; what it has acknowledged is kept.
            WorkerStartError: No worker starts.
        """
        self.telemetry.total = sum(parts.values())
        with progress("embedding", self.telemetry.total) as advance:
            failed_parts = self._embed(method, list(parts), advance)
            rows = [row for part in failed_parts for row in _rows_of(part.key)]
            failed = self._embed(method, rows, advance)
        self.telemetry.count("failed", len(failed))
        return failed

    def _embed(
        self, method: WriteMethod[ValueT], parts: Sequence[str], advance: Callable[[int], None]
    ) -> list[Failed]:
        """Embed parts, and take what comes back; gives the parts that failed."""
        failed = []
        waiting = Counter(parsed_part(part)[0] for part in parts)
        shards = len(waiting)
        pool = ActorPool(WorkerKind(self.start, method.ask), self.size, self.config)
        # A worker keeps to its shard, so that not every worker reads it.
        for outcome in pool.run([Item(part, group=parsed_part(part)[0]) for part in parts]):
            file, _ = parsed_part(outcome.key)
            waiting[file] -= 1
            if not waiting[file]:
                del waiting[file]
            self.telemetry.shards = {"waiting": len(waiting), "embedded": shards - len(waiting)}
            if isinstance(outcome, Failed):
                # Not of the part: the next would fare no better.
                if isinstance(outcome.error, IndexUnavailableError | WorkerStartError):
                    raise outcome.error
                failed.append(outcome)
                continue
            try:
                written = method.take(outcome.value)
            except InvalidInputError as error:
                failed.append(Failed(outcome.key, error))
                continue
            advance(written)
            self.telemetry.count("embedded", written)
        return failed


def _rows_of(part: str) -> list[str]:
    file, rows = parsed_part(part)
    return [named_part(file, [row]) for row in rows]
