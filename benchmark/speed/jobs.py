"""Stored graphs into an index: one plain process beside `cluster.embed` on workers and nodes.

DARTS networks are drawn first; the encoder is that of the atlas, the index Milvus Lite. Every way
reads, embeds, writes, verifies, publishes and measures novelty. The nodes of Ray are up before;
what a command takes to start and its workers to come up counts. At the end the index of the last
way is brought to a corpus of which 1% is another, and to an equal corpus.

Run: python -m benchmark speed jobs [results.json]
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import yaml
from nodes import running_nodes

from benchmark.speed.changed import change, linked
from benchmark.speed.measure import peak_memory_mib, report
from nar.answers.atlas import shipped_atlas
from nar.answers.novelty import keep_novelty
from nar.base.workspace import Workspace
from nar.corpus import Corpus
from nar.encoding.embed import Embedder, load_checkpoint
from nar.index.architecture_index import ArchitectureIndex
from nar.index.rows import index_row
from nar.index.settings import IndexConfig

ROWS = int(os.environ.get("NAR_BENCH_ROWS", "100000"))
# Several shards for each worker, also of few rows.
SHARD_ROWS = min(2_048, -(-ROWS // 8))
# Workers of each node, by way.
WAYS = {
    "Ray, 1 worker": (1,),
    "Ray, 2 nodes of 1 worker": (1, 1),
    "Ray, 2 workers on 1 node": (2,),
}
# A machine that pauses must not end a run of many minutes.
TIMEOUT_S = 120

ResultT = TypeVar("ResultT")


def plain(workspace: Workspace) -> int:
    """The same steps in this process, shard by shard."""
    embedder = Embedder(load_checkpoint(workspace.checkpoint))
    with ArchitectureIndex(
        IndexConfig(uri=str(workspace.root / "index.db"), timeout_s=TIMEOUT_S)
    ) as index:
        with index.build(embedder.fingerprint, embedder.dim) as build:
            for _, items in Corpus(workspace.corpus).shards():
                vectors = embedder.embed([item.graph for item in items])
                build.upsert([index_row(*pair) for pair in zip(items, vectors, strict=True)])
            rows = build.publish()
        keep_novelty(index, workspace.novelty, encoder=embedder.fingerprint)
    return rows


def command(workspace: Workspace, environment: Mapping[str, str], *words: str) -> dict[str, Any]:
    """What a command of the cluster says."""
    where = ("--work", str(workspace.root))
    sizes = ("--cluster-config", str(workspace.root.parent / "sizes.yaml"))
    done = subprocess.run(
        [sys.executable, "-m", *words, *where, *sizes, "--json"],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        check=True,
    )
    return dict(json.loads(done.stdout))


def workspaces(root: Path, corpus: Path) -> Iterator[Workspace]:
    """One after the other, all with the same corpus and encoder, and none with an index."""
    number = 0
    while True:
        number += 1
        workspace = Workspace(root / str(number))
        linked(corpus, workspace.corpus)
        workspace.checkpoint.symlink_to(shipped_atlas().encoder.absolute())
        yield workspace


def timed(work: Callable[[], ResultT]) -> tuple[ResultT, float]:
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def row(way: str, rows: int, seconds: float, plain_s: float) -> dict[str, object]:
    return {
        "way": way,
        "rows": f"{rows:,}",
        "seconds": f"{seconds:.1f}",
        "rows/s": f"{rows / seconds:,.0f}",
        "seconds of plain": f"{seconds / plain_s:.3f}",
    }


def measured(root: Path) -> Iterator[dict[str, object]]:
    sizes = {
        "embed": {"part_rows": 512, "num_workers": "auto"},
        "extract": {"shard_size": SHARD_ROWS},
    }
    (root / "sizes.yaml").write_text(yaml.safe_dump(sizes))
    (root / "nar.yaml").write_text(yaml.safe_dump({"index": {"timeout_s": TIMEOUT_S}}))
    drawn = Workspace(root / "drawn")
    command(drawn, {}, "cluster.draw", "--count", str(ROWS))
    fresh = workspaces(root, drawn.corpus)
    rows, plain_s = timed(partial(plain, next(fresh)))
    yield row("one process", rows, plain_s, plain_s)
    for way, cpus in WAYS.items():
        with running_nodes(0) as nodes:
            for count in cpus:
                nodes.add(cpus=count)
            workspace = next(fresh)
            settings = ("--config", str(root / "nar.yaml"))
            again = partial(command, workspace, nodes.environment, "cluster.embed", *settings)
            answer, seconds = timed(again)
            yield row(way, answer["rows"], seconds, plain_s)
            if way == [*WAYS][-1]:
                change(workspace.corpus)
                for what in ("1% changed", "nothing changed"):
                    answer, seconds = timed(again)
                    yield row(what, answer["embedded"], seconds, plain_s)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        rows = []
        for each in measured(Path(directory)):
            sys.stderr.write(f"{each}\n")
            rows.append(each)
    report(f"Embedding and indexing (peak memory of the process {peak_memory_mib():.0f} MiB)", rows)


if __name__ == "__main__":
    main()
