"""The contract as JSON over a real HTTP socket: the messages of gRPC, and the same refusals."""

import json
import socket
import ssl
from functools import partial

import grpc
import pytest
from asking import one_query, sample
from authority import Authority
from google.protobuf.json_format import MessageToDict, Parse
from live_server import live_server
from tiny_index import KNOWN
from waiting import wait_for
from web_asking import ask

from nar.serve.http.requests import HTTP_STATUS
from nar.serve.http.server import POLICY
from nar.serve.status import CODES
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub

REQUESTS = {
    "Search": one_query(),
    "Embed": wire.EmbedRequest(graphs=[one_query().queries[0].graph]),
    "Get": wire.GetRequest(architectures=["timm:plain", "timm:nobody"]),
    "List": wire.ListRequest(page_size=2),
    "Describe": wire.DescribeRequest(),
}


@pytest.fixture(scope="module")
def live(embedder, index):
    with live_server(embedder, index, web_port=0, max_message_bytes=20_000) as server:
        yield server


def untimed(message):
    if hasattr(message, "timings"):
        message.ClearField("timings")
    return message


@pytest.mark.parametrize("method", REQUESTS)
def test_answers_are_the_messages_of_grpc(live, method):
    request = REQUESTS[method]
    with grpc.insecure_channel(live.target) as channel:
        wanted = getattr(ArchitectureRetrievalServiceStub(channel), method)(request)
    status, headers, body = ask(live, f"/v1/{method.lower()}", json.dumps(MessageToDict(request)))
    assert status == 200
    assert headers["x-request-id"]
    assert untimed(Parse(json.dumps(body), type(wanted)())) == untimed(wanted)


def test_an_empty_body_is_an_empty_message(live):
    status, _, body = ask(live, "/v1/describe", b"")
    assert (status, body["indexRows"]) == (200, str(len(KNOWN)))


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/search", b"{", 400),
        ("/v1/search", b"\xff", 400),
        ("/v1/search", b"[" * 5_000, 400),
        ("/v1/search", b'{"nobody": 1}', 400),
        ("/v1/search", b"{}", 400),
        ("/v1/explain", b'{"architecture": "timm:nobody", "others": ["timm:plain"]}', 404),
        ("/v1/search", b" " * 20_001, 413),
    ],
)
def test_what_is_refused_is_a_status(live, path, body, status):
    came, _, refusal = ask(live, path, body)
    assert came == status
    assert refusal["code"]
    assert refusal["message"]


@pytest.mark.parametrize("path", ["/v1/upsert", "/v1/delete", "/v1/searchstream", "/v1/nothing"])
def test_nothing_else_is_offered(live, path):
    assert ask(live, path)[0] == 404


def test_reading_takes_a_post(live):
    assert ask(live, "/v1/describe", method="GET")[0] == 405


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "[::1]"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": "x", "Origin": "http://x"}, 403),
        ({"Host": "localhost:7", "Origin": "http://localhost:7"}, 200),
        ({"Host": "localhost:7", "Origin": "http://localhost:8"}, 403),
        ({"Host": "localhost:7", "Origin": "https://localhost:7"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403),
    ],
)
def test_only_pages_of_this_server_ask(live, headers, status):
    assert ask(live, "/v1/describe", **headers)[0] == status


def test_a_link_of_another_site_may_lead_to_the_page(live):
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert ask(live, "/", method="GET", **link)[0] == 404  # this server has no page
    assert ask(live, "/page/map", method="GET", **link)[0] == 403


def test_every_reply_says_what_a_browser_may_do(live):
    for path in ("/v1/describe", "/v1/nothing", "/"):
        _, headers, _ = ask(live, path)
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["set-cookie"] is None


@pytest.mark.slow
def test_a_token_is_wanted_where_grpc_wants_one(embedder, index):
    with live_server(embedder, index, web_port=0, token="t") as server:
        assert ask(server, "/v1/describe")[0] == 401
        assert ask(server, "/v1/describe", authorization="Bearer other")[0] == 401
        assert ask(server, "/v1/describe", authorization="Bearer t")[0] == 200


@pytest.mark.slow
def test_tls_is_that_of_grpc_and_follows_its_files(embedder, index, tmp_path):
    authority = Authority(tmp_path, "authority")
    certificate, key = authority.issue("server")
    tls = {"certificate_file": certificate, "key_file": key}
    trusting = ssl.create_default_context(cafile=authority.file)
    with live_server(embedder, index, web_port=0, tls=tls) as server:
        assert ask(server, "/v1/describe", context=trusting)[0] == 200
        stranger = Authority(tmp_path, "stranger")
        for new, old in zip(stranger.issue("other"), (certificate, key), strict=True):
            new.replace(old)
        with pytest.raises(ssl.SSLCertVerificationError):
            ask(server, "/v1/describe", context=trusting)


def test_a_server_without_a_web_port_has_none(server):
    assert server.web_target.endswith(":0")


@pytest.mark.slow
def test_a_client_that_leaves_is_no_fault_of_the_server(live):
    port = int(live.web_target.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as leaving:
        head = "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{"
        leaving.sendall(head.encode())
    counted = partial(sample, live, "nar_rpc_requests_total", method="Search")
    wait_for(lambda: counted(code="INVALID_ARGUMENT") >= 1)
    assert counted(code="INTERNAL") == 0


@pytest.mark.slow
def test_every_status_of_a_call_has_a_number():
    assert set(CODES.values()) | {grpc.StatusCode.INTERNAL} <= set(HTTP_STATUS)
