"""The benchmark on the cluster: cells in parallel, each kept until its code or data change."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import ray
import torch
from ray.actor import ActorHandle

from cluster.actors import ActorPool, Recruiter, starter
from cluster.code import closure_digest
from cluster.config import EvaluateConfig
from cluster.items import Done, Item
from cluster.ledger import digest, file_digest
from cluster.resources import bound_memory, pool_size, worker_share
from nar.console import progress
from nar.corpus import shipped_corpus
from nar.corpus.manifest import Manifest
from nar.evaluation.benchmark import frozen
from nar.evaluation.benchmark.datasets import REWRITES, REWRITES_FILE
from nar.evaluation.cell_files import content_of, write_cell
from nar.evaluation.cells import Cell, CellResult, run_cell
from nar.evaluation.methods.registry import find_method

TASKS = "nar.evaluation.benchmark.tasks"
# The graphs of every data set are read or drawn.
UNUSED = ("nar.capture",)


@dataclass(frozen=True, slots=True)
class EvaluateReport:
    """What a run did.

    Attributes:
        ran: Cells that were run.
        kept: Cells that were there already, made by the same code on the same data.
        failures: Why a cell is missing, by its name.
        seconds: Wall time.
    """

    ran: int
    kept: int
    failures: dict[str, str]
    seconds: float


class EvaluateWorker:
    """Runs cells; keeps the data set that it has read."""

    def __init__(self, cache_directory: Path, memory_limit_bytes: int | None) -> None:
        bound_memory(memory_limit_bytes)
        torch.set_num_threads(1)
        self._cache_directory = cache_directory

    def run(self, cell: Cell) -> CellResult:
        """Run one cell."""
        return run_cell(cell, cache_directory=self._cache_directory)


def evaluate(cells: Sequence[Cell], directory: Path, config: EvaluateConfig) -> EvaluateReport:
    """Run cells on the connected cluster; what is there already is not run again.

    Args:
        cells: What to run.
        directory: Gets a file a cell; on storage that every node sees.
        config: Sizes of the workers.

    Raises:
        InvalidInputError: A cell names no method.
        WorkerStartError: The cluster has no room.
    """
    started = time.monotonic()
    contents = {str(cell): content(cell) for cell in cells}
    waiting = {
        str(cell): cell
        for cell in cells
        if content_of(cell_path(directory, cell)) != contents[str(cell)]
    }
    failures = {}
    with progress("evaluating", len(waiting)) as advance:
        for outcome in _pool(waiting, directory, config).run(_items(waiting)):
            if isinstance(outcome, Done):
                cell = waiting[outcome.key]
                path = cell_path(directory, cell)
                write_cell(path, outcome.value, content=contents[outcome.key])
            else:
                failures[outcome.key] = str(outcome.error)
            advance(1)
    kept = len(contents) - len(waiting)
    seconds = time.monotonic() - started
    return EvaluateReport(len(waiting) - len(failures), kept, failures, round(seconds, 1))


def _pool(
    waiting: dict[str, Cell], directory: Path, config: EvaluateConfig
) -> ActorPool[CellResult]:
    share = worker_share(config)
    start = starter(EvaluateWorker, share, directory, config.memory_limit_bytes)

    def ask(worker: ActorHandle[EvaluateWorker], key: str) -> "ray.ObjectRef[CellResult]":
        return worker.run.remote(waiting[key])

    return ActorPool(Recruiter(start, ask), pool_size(config, share), config)


def _items(waiting: dict[str, Cell]) -> list[Item]:
    """Cells of one data set go to one worker, as far as that keeps all of them busy."""
    return [Item(key, group=cell.data) for key, cell in waiting.items()]


def cell_path(directory: Path, cell: Cell) -> Path:
    """File of a cell."""
    return directory / "cells" / f"{cell}.parquet"


def content(cell: Cell) -> str:
    """Digest of everything that decides a cell: its names, the code, the data."""
    shipped = files("nar.evaluation").joinpath("data")
    names = (frozen.FILE, *([REWRITES_FILE] if cell.data == REWRITES else []))
    data = (file_digest(Path(str(shipped.joinpath(name)))) for name in names)
    shards = (entry.sha256 for entry in Manifest.read(shipped_corpus()).shards)
    parts = (find_method(cell.method).code, TASKS)
    code = (closure_digest(part, without=UNUSED) for part in parts)
    return digest(str(cell), *code, *data, *shards)
