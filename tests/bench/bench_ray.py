"""Embedding a stored corpus into an index: in one process, and by the Ray job of `cluster.embed`.

Starting workers costs the same however large the corpus, so the corpus is embedded once as it is
and once in several copies: the difference is what an architecture costs.

Run: python tests/bench/bench_ray.py WORKSPACE [results.json]
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from measure import peak_memory_mib, report

from cluster.config import load_cluster_config
from cluster.embedding import embed
from cluster.session import connect
from nar.config import IndexConfig
from nar.corpus import iterate_shards, write_shard
from nar.corpus.manifest import Manifest
from nar.encoding.checkpoint import load_checkpoint
from nar.encoding.embed import Embedder
from nar.index.architecture_index import ArchitectureIndex
from nar.index.rows import index_row
from nar.workspace import Workspace

COPIES = 4


def copied(source: Workspace, root: Path, copies: int) -> Workspace:
    """The same checkpoint, and a corpus in which every architecture stands several times."""
    target = Workspace(root / f"copies-{copies}")
    shutil.copytree(source.checkpoint, target.checkpoint)
    target.corpus.mkdir()
    entries = []
    for entry, items in iterate_shards(source.corpus):
        for copy in range(copies):
            renamed = [
                replace(item, labels=replace(item.labels, name=f"{item.labels.name}#{copy}"))
                for item in items
            ]
            entries.append(write_shard(target.corpus / f"{copy}-{entry.file}", renamed))
    manifest = Manifest.read(source.corpus)
    manifest.model_copy(update={"shards": tuple(entries)}).write(target.corpus)
    return target


def plain(workspace: Workspace) -> int:
    """Read, embed, write and publish in this process, shard by shard."""
    embedder = Embedder(load_checkpoint(workspace.checkpoint))
    with (
        ArchitectureIndex(IndexConfig(uri=str(workspace.root / "plain.db"))) as index,
        index.build(embedder.fingerprint, embedder.dim) as build,
    ):
        for _, items in iterate_shards(workspace.corpus):
            vectors = embedder.embed([item.graph for item in items])
            build.upsert([index_row(*pair) for pair in zip(items, vectors, strict=True)])
        return build.publish()


def through_ray(workspace: Workspace) -> int:
    """The job of `cluster.embed` on the connected cluster."""
    config = IndexConfig(uri=str(workspace.root / "ray.db"))
    return embed(workspace, config, load_cluster_config(None).embed).rows


def row(
    name: str, work: Callable[[Workspace], int], workspaces: list[Workspace]
) -> dict[str, object]:
    rows, seconds = [], []
    for workspace in workspaces:
        start = time.perf_counter()
        rows.append(work(workspace))
        seconds.append(time.perf_counter() - start)
    rate = (rows[1] - rows[0]) / (seconds[1] - seconds[0])
    return {
        "way": name,
        "rows": " and ".join(f"{count:,}" for count in rows),
        "seconds": " and ".join(f"{taken:.1f}" for taken in seconds),
        "architectures/s": f"{rate:,.0f}",
    }


def main() -> None:
    source = Workspace(Path(sys.argv.pop(1)))
    with tempfile.TemporaryDirectory() as directory:
        workspaces = [copied(source, Path(directory), copies) for copies in (1, COPIES)]
        rows = [row("one process", plain, workspaces)]
        with connect(load_cluster_config(None)):
            rows.append(row("Ray", through_ray, workspaces))
    report(f"Embedding and indexing (peak memory of the driver {peak_memory_mib():.0f} MiB)", rows)


if __name__ == "__main__":
    main()
