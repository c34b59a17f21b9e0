"""Encryption over a real socket: who is trusted, who is asked for, and what changes meanwhile."""

import http.client
import ssl
import time
import urllib.error
import urllib.request
from datetime import timedelta
from math import isnan
from pathlib import Path

import grpc
import pytest
from asking import sample
from authority import Authority
from live_server import live_server
from tiny_index import KNOWN
from waiting import wait_for

from nar.base.errors import ConfigError, IndexUnavailableError
from nar.client.client import Client
from nar.client.remote import ServiceError
from nar.serve.doors import check_doors
from nar.wire.settings import ClientConfig, ServerConfig

ROWS = len(KNOWN)
NAME = next(iter(KNOWN))
DAY = 86_400


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path, "authority")


def tls_of(certificate, key, client_ca_file=None):
    return {"certificate_file": certificate, "key_file": key, "client_ca_file": client_ca_file}


@pytest.fixture
def rows_seen(open_client):
    def seen(server, **files):
        config = ClientConfig(**files)
        with open_client(server.target, token="t", timeout_s=5, config=config) as client:
            return client.describe().index_rows

    return seen


@pytest.mark.slow
def test_a_client_that_trusts_the_authority_is_answered(
    embedder, index, authority, tmp_path, rows_seen
):
    tls = tls_of(*authority.issue("server"))
    with live_server(embedder, index, tls=tls, token="t") as server:
        assert rows_seen(server, ca_file=authority.file) == ROWS
        stranger = Authority(tmp_path, "stranger")
        for files in ({"ca_file": stranger.file}, {"tls": True}, {}):
            with pytest.raises(IndexUnavailableError):
                rows_seen(server, **files)


@pytest.mark.slow
def test_both_sides_show_certificates(embedder, index, authority, tmp_path, rows_seen):
    tls = tls_of(*authority.issue("server"), client_ca_file=authority.file)
    certificate, key = authority.issue("client")
    forged = Authority(tmp_path, "stranger").issue("forged")
    with live_server(embedder, index, tls=tls) as server:
        shown = {"ca_file": authority.file, "certificate_file": certificate, "key_file": key}
        assert rows_seen(server, **shown) == ROWS
        for bad in ({}, {"certificate_file": forged[0], "key_file": forged[1]}):
            with pytest.raises(IndexUnavailableError):
                rows_seen(server, ca_file=authority.file, **bad)


@pytest.mark.slow
def test_certificates_change_while_the_server_runs(
    embedder, index, authority, tmp_path, caplog, rows_seen
):
    certificate, key = authority.issue("server")
    caplog.set_level("INFO", "nar.base.files")
    with live_server(embedder, index, tls=tls_of(certificate, key)) as server:
        assert rows_seen(server, ca_file=authority.file) == ROWS
        key.write_text("half written")
        assert rows_seen(server, ca_file=authority.file) == ROWS
        assert "the certificates stay as they were" in caplog.text
        successor = Authority(tmp_path, "successor")
        successor.issue("server")
        assert rows_seen(server, ca_file=successor.file) == ROWS
        assert "the certificates were read again" in caplog.text
        with pytest.raises(IndexUnavailableError):
            rows_seen(server, ca_file=authority.file)


@pytest.mark.slow
def test_when_the_certificate_ends_is_shown_though_nobody_calls(
    embedder, index, authority, rows_seen
):
    def days_left(server):
        return (sample(server, "nar_tls_certificate_expiry_timestamp_seconds") - time.time()) / DAY

    certificate, key = authority.issue("server", lasts=timedelta(days=9))
    with live_server(embedder, index, tls=tls_of(certificate, key)) as server:
        assert days_left(server) == pytest.approx(9, abs=0.1)
        authority.issue("server", lasts=timedelta(days=90))
        assert days_left(server) == pytest.approx(90, abs=0.1)
        # The metrics have seen the change first, and callers still get it.
        assert rows_seen(server, ca_file=authority.file) == ROWS
        key.write_text("half written")
        assert days_left(server) == pytest.approx(90, abs=0.1)
    with live_server(embedder, index) as server:
        assert isnan(days_left(server))


@pytest.mark.slow
def test_whom_a_server_asks_for_changes_while_it_runs(
    embedder, index, authority, tmp_path, caplog, rows_seen
):
    newcomers = Authority(tmp_path, "newcomers")
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(authority.file.read_bytes())

    def seen_by(caller):
        certificate, key = caller.issue("caller")
        files = {"ca_file": authority.file, "certificate_file": certificate, "key_file": key}
        return rows_seen(server, **files)

    tls = tls_of(*authority.issue("server"), client_ca_file=trusted)
    with live_server(embedder, index, tls=tls) as server:
        assert seen_by(authority) == ROWS
        with pytest.raises(IndexUnavailableError):
            seen_by(newcomers)
        trusted.write_text("half written")
        assert seen_by(authority) == ROWS
        assert "the certificates stay as they were" in caplog.text
        trusted.write_bytes(newcomers.file.read_bytes())
        assert seen_by(newcomers) == ROWS
        with pytest.raises(IndexUnavailableError):
            seen_by(authority)


@pytest.mark.slow
def test_a_client_shows_what_its_files_hold_when_it_calls(
    embedder, index, authority, tmp_path, caplog, open_client
):
    caplog.set_level("INFO", "nar.base.files")
    certificate, key = Authority(tmp_path, "stranger").issue("caller")
    config = ClientConfig(ca_file=authority.file, certificate_file=certificate, key_file=key)
    tls = tls_of(*authority.issue("server"), client_ca_file=authority.file)
    with (
        live_server(embedder, index, tls=tls) as server,
        open_client(server.target, timeout_s=5, config=config) as client,
    ):
        authority.issue("caller")
        assert client.describe().index_rows == ROWS
        assert caplog.text.count("of a client were read again") == 1
        key.unlink()
        said_before = caplog.text
        assert client.describe().index_rows == ROWS
        assert client.describe().index_rows == ROWS
        complaints = caplog.text.removeprefix(said_before)
        assert complaints.count("of a client stay as they were") == 1
        assert "caller.key" in complaints


@pytest.mark.slow
def test_a_stream_goes_on_while_its_client_opens_another_channel(
    embedder, index, authority, open_client
):
    certificate, key = authority.issue("caller")
    config = ClientConfig(ca_file=authority.file, certificate_file=certificate, key_file=key)
    tls = tls_of(*authority.issue("server"), client_ca_file=authority.file)
    with (
        live_server(embedder, index, tls=tls, max_queries=1) as server,
        open_client(server.target, config=config) as client,
    ):
        answers = client.search_stream([NAME] * 5)
        first = next(answers)
        authority.issue("caller")
        assert client.describe().index_rows == ROWS
        assert connections(server) == 2
        assert [each.hits[0].id for each in answers] == [first.hits[0].id] * 4
        wait_for(lambda: connections(server) == 1)
        assert client.describe().index_rows == ROWS


@pytest.mark.slow
def test_who_closes_a_client_ends_its_calls_on_every_channel(embedder, index, authority):
    certificate, key = authority.issue("caller")
    config = ClientConfig(ca_file=authority.file, certificate_file=certificate, key_file=key)
    tls = tls_of(*authority.issue("server"), client_ca_file=authority.file)
    with live_server(embedder, index, tls=tls, max_queries=1) as server:
        with Client(server.target, config=config) as client:
            answers = client.search_stream([NAME] * 5)
            next(answers)
            authority.issue("caller")
            assert client.describe().index_rows == ROWS
        with pytest.raises(ServiceError, match="CANCELLED"):
            list(answers)
        wait_for(lambda: connections(server) == 0)


def connections(server):
    """How many clients have to a port of loopback, as the kernel tells it."""
    port, established = int(server.target.rpartition(":")[2]), "01"
    lines = "".join(Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6")).splitlines()
    ends = [line.split()[2:4] for line in lines]
    return sum(peer.endswith(f":{port:04X}") and state == established for peer, state in ends)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["missing", "mixed", "no certificate", "no authority"])
def test_files_at_fault_are_named_at_start(embedder, index, authority, fault):
    certificate, key = authority.issue("server")
    other, _ = authority.issue("other")
    junk = key.with_name("junk")
    junk.write_text("junk")
    settings, named = {
        "missing": (tls_of(certificate, key.with_name("gone")), "gone"),
        "mixed": (tls_of(other, key), "other.crt"),
        "no certificate": (tls_of(junk, key), "junk"),
        "no authority": (tls_of(certificate, key, junk), "junk"),
    }[fault]
    with pytest.raises(ConfigError, match=named), live_server(embedder, index, tls=settings):
        pass


def test_a_client_names_its_files_at_fault(authority, open_client):
    certificate, key = authority.issue("client")
    for files, named in (
        ({"certificate_file": certificate}, "came one without the other"),
        ({"ca_file": key}, "client.key"),
        ({"certificate_file": certificate, "key_file": certificate}, "client.crt"),
    ):
        with pytest.raises(ConfigError, match=named):
            open_client("127.0.0.1:1", config=ClientConfig(**files))


@pytest.mark.parametrize("host", ["0.0.0.0", "nar.example", "::"])
def test_clear_text_beyond_loopback_is_a_decision(host, authority):
    with pytest.raises(ConfigError, match="clear_text"):
        check_doors(ServerConfig(host=host, token="t"))
    check_doors(ServerConfig(host=host, token="t", clear_text=True))
    check_doors(ServerConfig(host=host, token="t", tls=tls_of(*authority.issue("server"))))


def test_metrics_beyond_loopback_are_shown_as_calls_are_or_by_a_decision(authority):
    beyond = {"metrics_host": "0.0.0.0"}
    tls = tls_of(*authority.issue("server"))
    with pytest.raises(ConfigError, match="metrics_clear_text"):
        check_doors(ServerConfig(**beyond))
    for fence in ({"tls": tls}, {"clear_text": True}, {"metrics_clear_text": True}):
        check_doors(ServerConfig(**beyond, **fence))


@pytest.mark.slow
def test_metrics_have_the_certificate_and_the_tokens_of_calls(embedder, index, authority):
    tls = tls_of(*authority.issue("server"))
    settings = {"tls": tls, "token": "t", "metrics_host": "0.0.0.0"}
    context = ssl.create_default_context(cafile=authority.file)
    with live_server(embedder, index, **settings) as server:
        port = server.metrics_url.rpartition(":")[2].partition("/")[0]

        def page(**headers):
            asked = urllib.request.Request(f"https://127.0.0.1:{port}/metrics", headers=headers)
            with urllib.request.urlopen(asked, context=context) as answer:
                return answer.read()

        assert b"nar_serving" in page(authorization="Bearer t")
        for headers in ({}, {"authorization": "Bearer other"}):
            with pytest.raises(urllib.error.HTTPError, match="401"):
                page(**headers)
        with pytest.raises((OSError, http.client.HTTPException)):
            urllib.request.urlopen(server.metrics_url)


def test_a_token_leaves_this_machine_in_clear_text_only_when_told(open_client):
    with pytest.raises(ConfigError, match="clear text"):
        open_client("nar.example:50051", token="t")
    for target, token, config in (
        ("nar.example:50051", None, ClientConfig()),
        ("nar.example:50051", "t", ClientConfig(clear_text=True)),
        ("nar.example:50051", "t", ClientConfig(tls=True)),
        ("[::1]:50051", "t", ClientConfig()),
        ("localhost:50051", "t", ClientConfig()),
    ):
        open_client(target, token=token, config=config).close()


@pytest.mark.slow
def test_clear_text_does_not_reach_a_port_that_encrypts(embedder, index, authority, rows_seen):
    tls = tls_of(*authority.issue("server"))
    with (
        live_server(embedder, index, tls=tls) as server,
        pytest.raises(IndexUnavailableError, match="speaks TLS"),
    ):
        rows_seen(server)
    with (
        live_server(embedder, index, tls=tls) as server,
        grpc.insecure_channel(server.target) as channel,
        pytest.raises(grpc.FutureTimeoutError),
    ):
        grpc.channel_ready_future(channel).result(0.5)
