"""A page over a small atlas, real in every part, and a real browser where there is one."""

import gzip
import json
import urllib.request

import numpy as np
import onnx
import pytest
from corpora import corpus, item, rows
from encoding import small_default
from graphs import resnet
from live_server import live_server
from onnx import TensorProto, helper, numpy_helper
from playwright.sync_api import expect
from web_browser import MISSING, executable, limit_ms, started

from nar.answers.map import coordinates
from nar.answers.novelty import calibrate
from nar.answers.uses import corpus_uses
from nar.corpus import CorpusGraphs
from nar.encoding.embed import Embedder
from nar.index.exact import ExactIndex
from nar.index.reader import Reader
from nar.index.rows import index_row
from nar.index.settings import IndexConfig
from nar.motifs.partition import partition
from nar.web.pages import AtlasExtras, page_of
from nar.wire.settings import ServerConfig

MAX_FILE_BYTES = 100_000


@pytest.fixture(scope="session")
def items():
    """Two equal networks, another of their family, two others."""
    return [*rows(), item("timm:deep", resnet([3]), family="resnet")]


@pytest.fixture(scope="session")
def indexed(items, tmp_path_factory):
    """The architectures as an atlas has them: their corpus, an embedder, vectors, an index."""
    directory = corpus(tmp_path_factory.mktemp("web") / "corpus", items)
    embedder = Embedder(small_default())
    vectors = embedder.embed([each.graph for each in items])
    rows_of_items = [index_row(*pair) for pair in zip(items, vectors, strict=True)]
    with Reader(None, IndexConfig(), ExactIndex(rows_of_items, dim=embedder.dim)) as index:
        yield directory, embedder, vectors, index


@pytest.fixture(scope="session")
def motif(items):
    """The code of the block that residual networks of both families have most often."""
    first, deep = (partition(each.graph).counts() for each in (items[0], items[-1]))
    return f"{max(first.keys() & deep.keys(), key=deep.__getitem__):016x}"


@pytest.fixture(scope="session")
def novelty(items, indexed):
    return calibrate(indexed[2], [each.topology for each in items])


@pytest.fixture(scope="session")
def server(items, indexed, novelty):
    directory, embedder, vectors, index = indexed
    names = tuple(each.labels.name for each in items)
    extras = AtlasExtras(
        dict(zip(names, coordinates(vectors), strict=True)), (corpus_uses(directory), names)
    )
    graphs = CorpusGraphs(directory)
    page = page_of(ServerConfig(max_file_bytes=MAX_FILE_BYTES), graphs, extras)
    parts = {"novelty": novelty, "graphs": graphs, "page": page}
    with live_server(embedder, index, **parts, web_port=0) as live:
        yield live


@pytest.fixture(scope="session")
def bare_server(indexed):
    """Without a map, graphs, or what uses which block: all that a workspace may lack."""
    _, embedder, _, index = indexed
    page = page_of(ServerConfig(), None, AtlasExtras())
    with live_server(embedder, index, page=page, web_port=0) as live:
        yield live


@pytest.fixture(scope="session")
def model_file(tmp_path_factory):
    """An ONNX model of two layers."""
    weights = {name: np.zeros((4, 4, 3, 3), dtype=np.float32) for name in ("v", "w")}
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "v"], ["a"], pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["a"], ["b"]),
            helper.make_node("Conv", ["b", "w"], ["c"], pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["c"], ["y"]),
        ],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    path = tmp_path_factory.mktemp("onnx") / "two.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


# Its driver keeps a loop of asyncio running in this thread, which no test behind it may meet.
@pytest.fixture(scope="module")
def browser():
    if executable() is None:
        pytest.skip(MISSING)
    with started() as running:
        yield running


@pytest.fixture
def visit(browser, server, bare_server):
    """``visit(address)``: open a view. What leaves the server, or breaks its policy, fails."""
    asked, faults = [], []
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    page = context.new_page()
    limit = limit_ms()
    page.set_default_timeout(limit)
    expect.set_options(timeout=limit)
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if is_violation(said) else None)
    homes = tuple(f"http://{each.web_target}/" for each in (server, bare_server))

    def go(address="", is_bare=False):
        page.goto(f"{homes[is_bare]}#/{address}")
        return page

    yield go
    context.close()
    assert [url for url in asked if not url.startswith(homes)] == []
    assert faults == []


def is_violation(said):
    return "Content Security Policy" in said.text or "Content-Security-Policy" in said.text


@pytest.fixture(scope="session")
def columns(server):
    """What the map is drawn from."""
    with urllib.request.urlopen(f"http://{server.web_target}/page/map") as answer:
        return json.loads(gzip.decompress(answer.read()))
