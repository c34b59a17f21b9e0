"""Search latency over loopback by kind of query and by stage, on an index of 1,300 rows.

Run: python tests/bench/bench_serve.py [results.json]
"""

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import grpc
import numpy as np
from graphs import bert, resnet
from measure import report
from server_process import server_process

from nar.architecture import Labels, architecture
from nar.canonical import canonical
from nar.config import IndexConfig
from nar.encoding.checkpoint import save_checkpoint
from nar.encoding.paper.encoder import paper_encoder
from nar.encoding.paper.recipe import PaperConfig, PaperRecipe
from nar.index.architecture_index import ArchitectureIndex, index_row
from nar.motifs.config import MotifConfig
from nar.serve.graphs import encode_graph
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub
from nar.workspace import Workspace

ROWS = 1_300
CALLS = 200
STAGES = ("parse", "motifs", "encode", "search")


def installed(directory: Path) -> Workspace:
    """An untrained encoder of full width and random rows: time does not ask what they mean."""
    workspace = Workspace(directory)
    encoder = paper_encoder(PaperConfig.of(MotifConfig(), PaperRecipe()))
    fingerprint = save_checkpoint(workspace.checkpoint, encoder)
    draw = np.random.default_rng(0)
    graph = canonical(bert(1))
    rows = []
    for number in range(ROWS):
        labels = Labels(f"timm:{number}", "timm", "timm 1", "resnet", "t")
        item = replace(architecture(labels, graph), topology=draw.bytes(32).hex())
        rows.append(index_row(item, draw.normal(size=encoder.config.dim).astype(np.float32)))
    with (
        ArchitectureIndex(IndexConfig(uri=str(workspace.index))) as index,
        index.build(fingerprint, encoder.config.dim) as build,
    ):
        build.upsert(rows)
        build.publish()
    return workspace


def requests() -> dict[str, Callable[[int], wire.SearchRequest]]:
    vectors = np.random.default_rng(1).normal(size=(CALLS * 64, 512)).astype(np.float32)
    queries = [wire.Query(vector=wire.Vector(values=vector), top_k=10) for vector in vectors]
    resnet50 = wire.Query(graph=encode_graph(canonical(resnet([3, 4, 6, 3]))), top_k=10)
    large = wire.Query(graph=encode_graph(canonical(bert(1_000))), top_k=10)
    return {
        "vector": lambda call: wire.SearchRequest(queries=[queries[call]]),
        "name": lambda call: wire.SearchRequest(
            queries=[wire.Query(architecture=f"timm:{call}", top_k=10)]
        ),
        "resnet-50": lambda _: wire.SearchRequest(queries=[resnet50]),
        "graph of 10,000 nodes": lambda _: wire.SearchRequest(queries=[large]),
        "64 vectors": lambda call: wire.SearchRequest(queries=queries[64 * call : 64 * call + 64]),
    }


def measured(
    search: Callable[[wire.SearchRequest], wire.SearchResponse],
    request: Callable[[int], wire.SearchRequest],
    calls: int,
) -> dict[str, np.ndarray]:
    """Milliseconds of each call: as the client sees it, and by stage."""
    times: dict[str, list[float]] = {name: [] for name in ("call", *STAGES)}
    for call in range(calls):
        sent = request(call)
        started = time.perf_counter()
        response = search(sent)
        times["call"].append(1000 * (time.perf_counter() - started))
        assert not any(result.status.code for result in response.results)
        for stage in STAGES:
            times[stage].append(getattr(response.timings, f"{stage}_ns") / 1e6)
    return {name: np.array(values) for name, values in times.items()}


def main() -> None:
    rows = []
    with (
        tempfile.TemporaryDirectory() as directory,
        server_process(installed(Path(directory))) as server,
        grpc.insecure_channel(server.target) as channel,
    ):
        search = ArchitectureRetrievalServiceStub(channel).Search
        for kind, request in requests().items():
            measured(search, request, 10)
            times = measured(search, request, CALLS // 10 if "10,000" in kind else CALLS)
            shown = {
                name: f"{np.percentile(values, 50):.1f} / {np.percentile(values, 99):.1f}"
                for name, values in times.items()
            }
            rows.append({"query": kind, **shown})
    report(f"Search over loopback, {ROWS:,} rows of 512: ms, p50 / p99", rows)


if __name__ == "__main__":
    main()
