"""What a hub costs the driver of `cluster.extract`: results/scaling.md.

A table of configurations is generated: 200 types of transformers, each in some designs, each design
in many repositories, as fine-tunes are. It is read, each design is written down once, and all
captures come in by a stub, which gives the same small graph for each: the journal keeps them, and
shards are made of it. No model is built, and no Ray runs.

Run: make hub; or python -m benchmark speed hub 20000
"""

import json
import random
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from cluster import hub
from cluster.extraction import Captures, ExtractJob
from cluster.journal import BatchWriter, Journal, RunRecord, captured
from cluster.ledger import Ledger
from cluster.provenance import identity_of, labels_identity
from cluster.shards import Publisher, ShardRecord, cut
from nar.base.files import write_whole
from nar.base.workspace import Workspace
from nar.graphs.architecture import Labels, architecture
from nar.graphs.canonical import canonical
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import ATTRIBUTES, op_id
from nar.zoo.spec import CaptureSeconds, ZooCapture

KEPT: Final = Path(__file__).parents[2] / "results" / "hub.json"
REPOSITORIES: Final = 100_000
TYPES: Final = 200
# Chosen: designs of a type. Repositories are drawn with odds of 1 / rank, so that few designs have
# most of them; nobody here has counted how it is on a hub.
DESIGNS: Final = 50
BATCH, SHARD = 64, 2_048


@dataclass(frozen=True, slots=True)
class Cost:
    """What a hub cost the driver.

    Attributes:
        repositories: How many rows the table had.
        types: Of how many types.
        captures: How many designs are captured for them.
        names_s: Seconds of the processor in which the table was read and designs were written down.
        journal_s: In which the captures were kept.
        shards_s: In which the shards were made.
        mib: The most memory of the process, which makes the table, too.
    """

    repositories: int
    types: int
    captures: int
    names_s: float
    journal_s: float
    shards_s: float
    mib: int


def configurations(count: int) -> Iterator[tuple[str, str, str]]:
    """Rows of a table: repository, revision, configuration."""
    from transformers import CONFIG_MAPPING

    draw = random.Random(0)
    types = _plain(CONFIG_MAPPING)
    odds = [1 / rank for rank in range(1, TYPES * DESIGNS + 1)]
    designs = [(name, number) for number in range(DESIGNS) for name in types]
    for row, (name, number) in enumerate(draw.choices(designs, odds, k=count)):
        beside = {
            "_name_or_path": f"base/{name}",
            "id2label": {str(each): f"{row} {each}" for each in range(number % 3 + 2)},
            "initializer_range": draw.random(),
            "transformers_version": f"4.{draw.randrange(60)}.0",
        }
        settings = {**types[name], **beside, "designed_as": number}
        yield f"of{row % 997}/{name}-{row}", f"{row:040x}", json.dumps(settings)


def _plain(mapping: Any) -> dict[str, dict[str, Any]]:
    """The configurations of the first types that need no arguments."""

    def plain() -> Iterator[tuple[str, dict[str, Any]]]:
        for name in sorted(mapping):
            try:
                content = mapping[name]().to_dict()
                json.dumps(content)
            # A configuration that needs arguments refuses their lack in its own way.
            except Exception:
                continue
            yield name, content

    return dict(islice(plain(), TYPES))


def simulated(count: int, directory: Path) -> Cost:
    """A hub of so many repositories, through all that the driver does."""
    table = directory / "hub.parquet"
    columns = zip(*configurations(count), strict=True)
    names = ("repository", "revision", "config")
    pq.write_table(pa.table(dict(zip(names, map(list, columns), strict=True))), table)
    began = time.process_time()
    found = hub.placed([hub.ALL], table, directory / "kept")
    named = time.process_time()
    job = ExtractJob(list(found.shared), {}, zoo=found.zoo, shared=found.shared)
    parts = {name: {"the design": name} for name in found.zoo}
    journal = Journal(directory / "journal")
    run = RunRecord(seconds=0, workers=1, cores=1, labels=labels_identity())
    writer = BatchWriter(journal, BATCH, 60, run)
    graph = _small()
    for name in sorted(found.zoo):
        labels = Labels(name, "file", "transformers", "bert", "unknown")
        capture = ZooCapture(architecture(labels, graph), {}, CaptureSeconds(0, 0, 0))
        writer.add(captured(capture, identity_of(parts[name]), 0.1))
    writer.close()
    kept = time.process_time()
    workspace = Workspace(directory / "work")
    ledger = Ledger(workspace.root / "shards", ShardRecord)
    shards = cut(job.names, SHARD, job.captured_as)
    publisher = Publisher(workspace.corpus, ledger, journal, job.zoo)
    published = publisher.publish(shards, Captures(journal, parts, job).of)
    assert sum(entry.rows for entry in published.entries) == count
    ended = time.process_time()
    names_s, journal_s = round(named - began, 2), round(kept - named, 2)
    mib = _peak_kib() // 2**10
    shards_s = round(ended - kept, 2)
    return Cost(count, TYPES, len(found.zoo), names_s, journal_s, shards_s, mib)


def _small() -> ComputationalGraph:
    """A chain of activations, which stands for every design."""
    chain = np.array([range(31), range(1, 32)], dtype=np.int32)
    kinds = np.full(32, op_id("relu"), dtype=np.uint16)
    attributes = np.zeros((32, len(ATTRIBUTES)), dtype=np.int16)
    return canonical(ComputationalGraph(kinds, attributes, chain, parameters=0, flops=0))


def _peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


TEXT: Final = """\
## A hub

Written by `make hub`: a generated table of configurations of {types} types of transformers, of
which few designs have most of the repositories. It is read, each design is written down once, its
capture comes from a stub and goes into the journal, and shards are made with a row for each
repository. Seconds of the driver's processor, and the peak memory of the whole process, which
makes the table, too; no model is built.

| repositories | captures | saved | names/s | names s | journal s | shards s | peak MiB |
|---|---|---|---|---|---|---|---|
{rows}
More than these were not run, and how many repositories of a real hub share a design was not
counted.
"""
ROW: Final = (
    "| {repositories:,} | {captures:,} | {saved:.1%} | {rate:,.0f} | {names_s:,.1f} | "
    "{journal_s:,.1f} | {shards_s:,.1f} | {mib:,} |\n"
)


def section() -> str:
    """The part of results/scaling.md that tells of a hub; empty where none was measured."""
    costs = [Cost(**each) for each in json.loads(KEPT.read_text())] if KEPT.exists() else []
    if not costs:
        return ""
    rows = "".join(
        ROW.format(
            **asdict(cost),
            saved=1 - cost.captures / cost.repositories,
            rate=cost.repositories / cost.names_s,
        )
        for cost in costs
    )
    told = TEXT.format(types=costs[-1].types, rows=rows)
    return f"\n{told}"


def main() -> None:
    """Measure a size, keep it, and write the page anew."""
    # Imported here: that module has this one's part of the page.
    from benchmark.speed import fleet

    count = int(sys.argv[1]) if len(sys.argv) > 1 else REPOSITORIES
    with TemporaryDirectory() as directory:
        cost = simulated(count, Path(directory))
    Console().print(cost)
    if count >= REPOSITORIES:
        text = json.dumps([asdict(cost)], indent=1) + "\n"
        write_whole(KEPT, lambda part: part.write_text(text))
        write_whole(
            fleet.PAGE, lambda part: part.write_text(fleet.appended(fleet.PAGE.read_text()))
        )


if __name__ == "__main__":
    main()
