"""Search of the shipped atlas: latency by kind of query and searches a second, by who searches.

First what a search costs without a server: a bare product of numpy, the index in memory, FAISS
where it is installed. Then `nar serve` as it ships, and servers that let Milvus search
(`index.reader_rows` is 0): Lite, and a Milvus server where `make milvus` has made one.

Run: python -m benchmark speed serve [results.json]
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event

import grpc
import numpy as np
from graphs import bert, resnet
from milvus_server import COMMAND, milvus_server
from server_process import ATLAS, WORKSPACE, ServerProcess, process_of
from waiting import wait_for

from benchmark.campaigns.load import closed_loop, serialized
from benchmark.speed.measure import report
from nar.answers.atlas import AtlasContent, read_atlas, shipped_atlas
from nar.answers.atlas_store import open_atlas
from nar.config import NarConfig
from nar.graphs.canonical import canonical
from nar.index.settings import IndexConfig
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub as Stub
from nar.wire.graphs import encode_graph
from nar.wire.settings import ServerConfig

CALLS = int(os.environ.get("NAR_BENCH_CALLS", "200"))
CLIENTS = (1, 4, 16)
LOAD_S, DEADLINE_S, SETTLE_S = 10.0, 60.0, 900.0
BATCH = 64
NONE = "-"

Vectors = np.ndarray
Row = dict[str, object]


def queries(vectors: Vectors) -> dict[str, list[wire.Query]]:
    """The queries of one call, by what they are."""
    asked = [wire.Query(vector=wire.Vector(values=each), top_k=10) for each in vectors]
    family = wire.Filter(families=["resnet"])
    graphs = {"resnet-50": resnet([3, 4, 6, 3]), "10,000 nodes": bert(1_000)}
    return {
        "vector": asked[:1],
        "name": [wire.Query(architecture="timm:resnet50", top_k=10)],
        "filter": [wire.Query(vector=asked[0].vector, top_k=10, filter=family)],
        **{
            name: [wire.Query(graph=encode_graph(canonical(graph)), top_k=10)]
            for name, graph in graphs.items()
        },
        f"{BATCH} vectors": asked[:BATCH],
    }


def latency(work: Callable[[], object], calls: int) -> str:
    """Milliseconds, p50 / p99, after a tenth of the calls to warm up."""
    seconds = []
    for call in range(-(calls // 10), calls):
        started = time.perf_counter()
        work()
        if call >= 0:
            seconds.append(time.perf_counter() - started)
    p50, p99 = np.percentile(seconds, [50, 99]) * 1_000
    return f"{p50:.1f} / {p99:.1f}"


def searches_a_second(target: str, of: list[wire.Query]) -> str:
    """With as many clients at once as `CLIENTS` says, each of whom waits for its answer."""
    asked = serialized([("Search", wire.SearchRequest(queries=of))])
    loads = [
        closed_loop(target, asked, clients=clients, seconds=LOAD_S, deadline_s=DEADLINE_S)
        for clients in CLIENTS
    ]
    assert all(load.codes.keys() == {"OK"} for load in loads)
    p99 = loads[-1].milliseconds(["OK"], 99)
    return f"{' / '.join(f'{load.goodput:.0f}' for load in loads)}, {p99:.0f} ms"


def bare(content: AtlasContent, vectors: Vectors) -> Iterator[Row]:
    """What a search costs without a server, and without Milvus."""
    known = np.stack([row.embedding for row in content.rows])
    index = content.index
    index.prepare()
    yield bare_row("numpy", partial(by_numpy, known), vectors)
    yield bare_row("index in memory", lambda asked: index.search(asked, 10), vectors)
    try:
        import faiss
    except ImportError:
        return
    flat = faiss.IndexFlatIP(known.shape[1])
    hnsw = faiss.IndexHNSWFlat(known.shape[1], 16, faiss.METRIC_INNER_PRODUCT)
    hnsw.hnsw.efConstruction, hnsw.hnsw.efSearch = 200, 128
    for name, searcher in {"FAISS flat": flat, "FAISS HNSW": hnsw}.items():
        searcher.add(known)
        yield bare_row(name, lambda asked, searcher=searcher: searcher.search(asked, 10), vectors)


def by_numpy(known: Vectors, asked: Vectors) -> Vectors:
    """The ten nearest of each, in no order."""
    return np.argpartition(-(asked @ known.T), 10, axis=1)[:, :10]


def bare_row(name: str, search: Callable[[Vectors], object], vectors: Vectors) -> Row:
    """Only vectors are searched without a server."""
    return {
        "search by": name,
        "vector": latency(lambda: search(vectors[:1]), CALLS),
        f"{BATCH} vectors": latency(lambda: search(vectors[:BATCH]), CALLS // 10),
    }


def served(name: str, server: ServerProcess, started_s: float, vectors: Vectors) -> Row:
    """Everything that is measured over loopback."""
    with grpc.insecure_channel(server.target) as channel:
        stub = Stub(channel)
        asked_for = wire.DescribeRequest()
        # The shipped server stores the atlas beside its first calls; what is measured comes after.
        wait_for(lambda: stub.Describe(asked_for).index.collection != "", limit_s=SETTLE_S)

        def call(of: list[wire.Query]) -> None:
            answered = stub.Search(wire.SearchRequest(queries=of))
            assert not any(result.status.code for result in answered.results)

        asked = queries(vectors)
        slow = {"10,000 nodes", f"{BATCH} vectors"}
        few = max(20, CALLS // 5)
        row: Row = {"search by": name}
        for kind, of in asked.items():
            row[kind] = latency(partial(call, of), few if kind in slow else CALLS)
        for kind in ("vector", "resnet-50"):
            row[f"{kind}, searches/s"] = searches_a_second(server.target, asked[kind])
    return row | {"start s": f"{started_s:.1f}", "MB": resident_mb(server.process.pid)}


def resident_mb(pid: int) -> int:
    """Resident size of a process now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


def measured(name: str, config: IndexConfig, program: str, last: str, vectors: Vectors) -> Row:
    """A server of the atlas, from its start to its end."""
    # All callers wait: what is shed has no latency.
    patient = ServerConfig(port=0, metrics_port=0, token=None, max_wait_s=600)
    told = NarConfig(index=config, server=patient)
    started = time.perf_counter()
    with process_of(program, told.model_dump_json(), last) as server:
        return served(name, server, time.perf_counter() - started, vectors)


def servers(directory: Path, vectors: Vectors) -> Iterator[Row]:
    """In front of Milvus Lite, in Lite itself, and in a Milvus server: one after the other."""
    lite = IndexConfig(uri=str(directory / "FLAT" / "index.db"))
    yield measured("nar serve", lite, ATLAS, "named", vectors)
    yield searched("Milvus Lite, FLAT", lite, vectors)
    graphs = IndexConfig(uri=str(directory / "HNSW" / "index.db"), kind="HNSW")
    yield searched("Milvus Lite, HNSW", graphs, vectors)
    # A Milvus server takes a part of a core while nobody asks it anything.
    with milvus(directory) as uri:
        if uri:
            server = IndexConfig(uri=uri, kind="HNSW", timeout_s=60)
            yield searched("Milvus 2.3.5, HNSW", server, vectors)


def searched(name: str, store: IndexConfig, vectors: Vectors) -> Row:
    """A server that lets Milvus search the atlas."""
    atlas = shipped_atlas()
    open_atlas(atlas, store, Event()).close()
    config = store.model_copy(update={"reader_rows": 0})
    return measured(name, config, WORKSPACE, str(atlas.encoder), vectors)


@contextmanager
def milvus(directory: Path) -> Iterator[str | None]:
    """URI of a Milvus server, if there is one here."""
    if not COMMAND.exists():
        yield None
        return
    with milvus_server(directory) as uri:
        yield uri


def main() -> None:
    content = read_atlas(shipped_atlas())
    draw = np.random.default_rng(1).integers(len(content.rows), size=BATCH)
    vectors = np.stack([content.rows[position].embedding for position in draw.tolist()])
    vectors += np.random.default_rng(2).normal(0, 0.01, vectors.shape).astype(np.float32)
    with tempfile.TemporaryDirectory() as directory:
        rows = [*bare(content, vectors), *servers(Path(directory), vectors)]
    columns = list(dict.fromkeys(column for row in reversed(rows) for column in row))
    whole = [{column: row.get(column, NONE) for column in columns} for row in rows]
    title = (
        f"Search of the atlas, {len(content.rows):,} rows of {vectors.shape[1]}: ms, p50 / p99; "
        f"searches a second at {', '.join(map(str, CLIENTS))} clients, and p99 of the last"
    )
    report(title, whole)


if __name__ == "__main__":
    main()
