"""What the page asks, over a real socket: names, the map, models, comparisons, users, files."""

import http.client
import json
import select
import shutil
import socket
from base64 import b64decode
from contextlib import ExitStack, contextmanager

import numpy as np
import psutil
import pytest
import torch
from google.protobuf.json_format import MessageToDict, ParseDict
from graphs import resnet, swin
from live_server import live_server
from waiting import wait_for
from web_asking import ask

from nar.answers.words import sentences
from nar.base.children import memory_bytes
from nar.base.model_files import READ
from nar.client.client import Client
from nar.graphs.canonical import canonical
from nar.index.cards import VARIABLE, write_cards
from nar.index.filters import CARD_WORDS, Filter, conditions_of
from nar.motifs.partition import partition
from nar.v1.retrieval_pb2 import SearchResult
from nar.web import pages
from nar.web.pages import AtlasExtras, page_of
from nar.wire.graphs import encode_graph
from nar.wire.records import decode_answer
from nar.wire.settings import ServerConfig

# Each row has its own: a list of them offers nothing.
NO_LIST = {"name", "topology", "exact", "inference"}


def names(server, text):
    _, _, said = ask(server, f"/page/names?text={text}", method="GET")
    return [each["name"] for each in said]


def post(server, page, **asked):
    return ask(server, f"/page/{page}", json.dumps(asked))


@pytest.mark.slow
def test_names_are_suggested_by_words_and_likeness(server):
    assert names(server, "BERT") == ["hf:bert"]
    assert names(server, "swin%20unet") == ["smp:unet/swin"]
    assert names(server, "bertt") == ["hf:bert"]
    assert names(server, "timm:a")[0] == "timm:a"
    assert names(server, "") == names(server, "%20") == []


@pytest.mark.slow
def test_the_map_says_what_the_index_says(items, columns):
    wanted = {each.labels.name: each.labels for each in items}
    assert set(columns["names"]) == set(wanted)
    for label in ("family", "task", "tier", "source"):
        column = columns["labels"][label]
        codes = np.frombuffer(b64decode(column["codes"]), dtype="<u2")
        told = [column["values"][code] for code in codes]
        assert told == [getattr(wanted[name], label) for name in columns["names"]]
    points = np.frombuffer(b64decode(columns["points"]), dtype="<u2").reshape(-1, 2)
    assert len(np.unique(points, axis=0)) >= 4


@pytest.mark.slow
def test_a_model_is_cut_as_the_library_cuts_it(server):
    graph = canonical(resnet([3]))
    cut = partition(graph)
    _, _, known = post(server, "model", architecture="timm:deep")
    _, _, sent = post(server, "model", graph=MessageToDict(encode_graph(graph)), name="mine")
    assert sent == {**known, "name": "mine"}
    assert {each["code"]: each["count"] for each in known["motifs"]} == {
        f"{code:016x}": count for code, count in cut.counts().items()
    }
    assert known["nodes"] == graph.nodes


def test_what_is_drawn_stands_for_every_motif(server):
    _, _, view = post(server, "model", architecture="timm:deep")
    drawn = [view["repeats"][each["group"]] * each["count"] for each in view["drawn"]]
    assert sum(drawn) == sum(each["count"] for each in view["motifs"])


def test_a_comparison_holds_every_block_of_both_once(server):
    pair = {"first": {"architecture": "timm:a"}, "second": {"architecture": "timm:deep"}}
    _, _, told = post(server, "diff", **pair)
    for side, of_side in enumerate(("first", "second")):
        shown = [row[side] for row in told["rows"] if row[side] is not None]
        assert shown == list(range(len(told[of_side]["drawn"])))
    assert told["verdict"].startswith("They are different designs")


def test_equal_networks_are_the_same(server):
    pair = {"first": {"architecture": "timm:a"}, "second": {"architecture": "timm:b"}}
    _, _, told = post(server, "diff", **pair)
    assert told["verdict"] == "They are the same network: equal exact fingerprint."
    assert told["shared"] == "100% of timm:a and 100% of timm:b have a counterpart in the other."
    assert all(first == second for first, second in told["rows"])


@pytest.mark.slow
def test_what_a_design_is_like_is_said_as_the_command_says_it(server):
    query = {"architecture": "timm:deep", "partsIfNew": ["PART_RESEMBLANCE"], "parts": [2, 4]}
    _, _, answer = ask(server, "/v1/search", json.dumps({"queries": [query]}))
    [result] = answer["results"]
    told = decode_answer(ParseDict(result, SearchResult()))
    assert [each["text"] for each in result["sentences"]] == [each.text for each in sentences(told)]
    assert {"resemblance", "family"} <= {each["part"] for each in result["sentences"]}
    assert told.compared is not None


def test_who_uses_a_block_is_counted(server, items):
    _, _, view = post(server, "model", architecture="timm:a")
    for motif in view["motifs"]:
        _, _, told = post(server, "users", code=motif["code"])
        having = {
            each.labels.name: partition(each.graph).counts().get(int(motif["code"], 16))
            for each in items
        }
        wanted = {name: count for name, count in having.items() if count}
        assert {each["name"]: each["occurrences"] for each in told["users"]} == wanted
        assert told["total"] == motif["users"] == len(wanted)


@pytest.mark.parametrize(
    ("page", "body", "status"),
    [
        ("model", b"[]", 400),
        ("model", b"{", 400),
        ("model", b"{}", 400),
        ("model", b'{"architecture": "timm:nobody"}', 404),
        ("model", b'{"graph": 7}', 400),
        ("model", b'{"graph": {"nodes": [0]}}', 400),
        ("diff", b'{"first": {"architecture": "timm:a"}}', 400),
        ("users", b'{"code": "xyz"}', 400),
        ("users", b'{"code": "0_00000000000000"}', 400),
        ("file?name=model.py", b"", 400),
    ],
)
def test_what_is_refused_is_a_status(server, page, body, status):
    came, _, said = ask(server, f"/page/{page}", body)
    assert came == status
    assert said["message"]


@pytest.mark.slow
def test_a_large_model_is_drawn_short(server):
    graph = MessageToDict(encode_graph(canonical(swin([2, 2, 1_000, 2]))))
    status, _, view = post(server, "model", graph=graph)
    assert status == 200
    assert view["nodes"] > 8_000
    assert len(view["drawn"]) < 60


@pytest.mark.slow
def test_pages_want_the_token_that_calls_want(indexed):
    _, embedder, _, index = indexed
    page = page_of(ServerConfig(), None, AtlasExtras())
    with live_server(embedder, index, page=page, web_port=0, token="t") as server:
        for path in ("/page/names?text=a", "/page/map", "/page/model", "/page/file?name=a.onnx"):
            assert ask(server, path)[0] == 401
        assert ask(server, "/page/names?text=a", authorization="Bearer t")[0] == 200
        assert ask(server, "/", method="GET")[0] == 200


@pytest.mark.slow
def test_an_exported_program_is_read(server, tmp_path):
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU())
    program = torch.export.export(module, (torch.zeros(1, 3, 8, 8),))
    torch.export.save(program, tmp_path / "model.pt2")
    content = (tmp_path / "model.pt2").read_bytes()
    status, _, graph = ask(server, "/page/file?name=mine.PT2", content)
    assert status == 200
    assert [graph["operators"][at] for at in graph["nodes"]] == ["input", "conv", "relu"]


def test_a_file_is_bounded_while_it_comes(server):
    """A body that does not say its length: it is refused as soon as it is too large."""
    port = int(server.web_target.rpartition(":")[2])
    connection = http.client.HTTPConnection("127.0.0.1", port)
    parts = iter([b"x" * 60_000, b"x" * 60_000])
    connection.request("POST", "/page/file?name=a.onnx", parts, encode_chunked=True)
    answer = connection.getresponse()
    assert answer.status == 413
    connection.close()


@contextmanager
def half_sent(server, path, count, content_length):
    """Connections whose bodies have begun and do not go on."""
    host, _, port = server.web_target.rpartition(":")
    head = f"POST {path} HTTP/1.1\r\nHost: {server.web_target}\r\n"
    head += f"Content-Length: {content_length}\r\n\r\nx"
    with ExitStack() as stack:
        opened = []
        for _ in range(count):
            one = stack.enter_context(socket.create_connection((host, int(port))))
            one.sendall(head.encode())
            opened.append(one)
        yield opened


def refusals(connections):
    """The statuses of the connections that were answered."""
    answered, _, _ = select.select(connections, [], [], 0)
    return [int(one.recv(4096, socket.MSG_PEEK).split()[1]) for one in answered]


@pytest.mark.slow
def test_slow_files_take_no_place_of_a_call_and_few_wait(indexed):
    _, embedder, _, index = indexed
    bounds = {"max_in_flight": 1, "web_port": 0}
    page = page_of(ServerConfig(), None, AtlasExtras())
    with (
        live_server(embedder, index, page=page, **bounds) as server,
        half_sent(server, "/page/file?name=a.onnx", 5, 1_000_000) as opened,
        Client(server.target) as client,
    ):
        wait_for(lambda: len(refusals(opened)) == 3)
        assert refusals(opened) == [429] * 3
        assert [client.describe().index_rows for _ in range(3)] == [index.count()] * 3
        assert ask(server, "/page/names?text=bert", method="GET")[0] == 200


@pytest.mark.slow
def test_bodies_that_do_not_end_are_few(indexed):
    _, embedder, _, index = indexed
    page = page_of(ServerConfig(uploads=2, max_upload_s=120), None, AtlasExtras())
    with (
        live_server(embedder, index, page=page, web_port=0) as server,
        half_sent(server, "/page/diff", 20, 15_900_000) as opened,
    ):
        wait_for(lambda: len(refusals(opened)) == 18)
        assert refusals(opened) == [429] * 18
        # A body that comes at once needs no turn.
        assert post(server, "model", architecture="none")[0] == 404


def chain(nodes):
    """A legal graph of many nodes, as JSON; no two of its blocks are alike."""
    kinds = ["conv", "relu", "add", "mul", "linear", "softmax"]
    return {
        "operators": kinds,
        "nodes": [(each * each + each // 7) % len(kinds) for each in range(nodes)],
        "edgeIndex": {"sources": list(range(nodes - 1)), "targets": list(range(1, nodes))},
    }


@pytest.mark.slow
def test_large_models_are_compared_beside_as_small_ones_are_here(server, monkeypatch):
    pair = {"first": {"architecture": "timm:a"}, "second": {"architecture": "timm:deep"}}
    _, _, here = post(server, "diff", **pair)
    monkeypatch.setattr(pages, "_LARGE_NODES", 0)
    assert post(server, "diff", **pair)[2] == here


@pytest.mark.slow
def test_a_comparison_that_takes_too_long_is_ended(indexed):
    _, embedder, _, index = indexed
    page = page_of(ServerConfig(max_call_s=0.05), None, AtlasExtras())
    sides = {"first": {"graph": chain(1_500)}, "second": {"graph": chain(1_501)}}
    with live_server(embedder, index, page=page, web_port=0) as server:
        status, _, said = post(server, "diff", **sides)
        assert (status, "took longer" in said.get("message", "")) == (504, True), said
        assert readers() == []


def readers():
    """The processes beside that read files."""
    children = psutil.Process().children(recursive=True)
    return [each for each in children if "nar.web.reading" in each.cmdline()]


@pytest.mark.slow
def test_the_reader_of_a_file_ends_when_its_sender_leaves(server, model_file, monkeypatch):
    monkeypatch.setattr("nar.web.uploads._MAX_S", 100_000.0)
    content = model_file.read_bytes()
    host, _, port = server.web_target.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port))
    connection.request("POST", "/page/file?name=two.onnx", content)
    wait_for(readers)
    # A reader that is stopped would never answer by itself.
    [reader] = readers()
    reader.suspend()
    connection.close()
    wait_for(lambda: not reader.is_running())
    # Its turn is free: the next file is read.
    assert ask(server, "/page/file?name=two.onnx", content)[0] == 200


@pytest.mark.slow
def test_two_models_have_a_bound_together(indexed):
    _, embedder, _, index = indexed
    page = page_of(ServerConfig(max_call_nodes=2_000), None, AtlasExtras())
    with live_server(embedder, index, page=page, web_port=0) as server:
        sides = {"first": {"graph": chain(1_000)}, "second": {"graph": chain(1_001)}}
        status, _, said = post(server, "diff", **sides)
        assert (status, "2,001" in said["message"]) == (400, True)
        faulty = {**sides, "second": {"graph": {**chain(900), "nodes": [99] * 900}}}
        assert post(server, "diff", **faulty)[0] == 400


def test_a_file_leaves_room_where_temporary_files_lie(server, monkeypatch):
    usage = shutil.disk_usage("/")._replace(free=1_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    status, _, said = ask(server, "/page/file?name=a.onnx", b"x" * 501)
    assert (status, said["message"]) == (429, "there is room for 500 bytes here; try later")


# Less than any machine has.
MIB = 1024**2


@pytest.mark.parametrize(
    ("groups", "files", "bytes_"),
    [
        ("0::/", {"memory.max": 3 * MIB}, 3 * MIB),
        ("0::/pod/box", {"pod/memory.max": MIB, "pod/box/memory.max": "max"}, MIB),
        ("0::/hidden/path", {"memory.max": 2 * MIB}, 2 * MIB),
        ("9:memory:/box\n8:cpu:/box", {"memory/box/memory.limit_in_bytes": MIB}, MIB),
        ("9:memory:/", {"memory/memory.limit_in_bytes": 2**63 - 4096}, None),
        ("0::/", {"memory.max": "max"}, None),
        (None, {}, None),
    ],
)
def test_a_process_beside_knows_the_memory_of_its_container(tmp_path, groups, files, bytes_):
    own = tmp_path / "own"
    if groups is not None:
        own.write_text(groups + "\n")
    for name, content in files.items():
        file = tmp_path / "groups" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{content}\n")
    found = memory_bytes(tmp_path / "groups", own)
    assert found == (bytes_ or psutil.virtual_memory().total)


@pytest.mark.parametrize("has_cards", [True, False])
def test_what_can_be_asked_for_is_offered(server, has_cards, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cards.parquet"))
    if has_cards:
        write_cards(tmp_path / "cards.parquet", {})
    _, _, offered = ask(server, "/page/offers", method="GET")
    columns = {condition["column"] for condition in offered["conditions"]}
    no_list = NO_LIST | (set() if has_cards else CARD_WORDS.keys())
    assert columns == {each.column for each in conditions_of(Filter)} - no_list
    assert offered["files"] == dict(READ)


def test_every_label_is_a_column_of_the_map(columns):
    assert set(columns["labels"]) == {
        each.column for each in conditions_of(Filter) if each.is_label
    }
