"""Tokens: which are accepted as settings, who they let in, and that they change while it runs."""

import logging
import re

import pytest
from asking import sample
from live_server import live_server
from tiny_index import KNOWN
from typer.testing import CliRunner
from web_asking import ask

from nar.base.errors import ConfigError
from nar.cli.app import app
from nar.client.client import Client
from nar.client.remote import ServiceError
from nar.config import load_config
from nar.serve.doors import Tokens
from nar.wire.settings import ServerConfig


def asked(server, token):
    with Client(server.target, token=token) as client:
        try:
            return client.describe().index_rows
        except ServiceError as error:
            return error.code


@pytest.mark.slow
def test_several_tokens_from_files_change_while_the_server_runs(embedder, index, tmp_path, caplog):
    readers = tmp_path / "readers"
    readers.write_text("# two teams\nred\nblue\n")
    caplog.set_level(logging.INFO, "nar")
    with live_server(embedder, index, token="own", reader_tokens_file=readers) as server:
        assert [asked(server, token) for token in ("own", "red", "blue")] == [len(KNOWN)] * 3
        assert [asked(server, token) for token in ("green", "two", None)] == ["UNAUTHENTICATED"] * 3
        readers.write_text("blue\ngreen\n")
        assert [asked(server, token) for token in ("own", "blue", "green")] == [len(KNOWN)] * 3
        assert asked(server, "red") == "UNAUTHENTICATED"
        readers.write_text("two words\n")
        assert asked(server, "green") == len(KNOWN)
        assert "line 1: wanted a token of visible ASCII" in caplog.text
    assert f"tokens of readers: 2 in {readers}" in caplog.text
    assert "words" not in caplog.text


@pytest.mark.parametrize("emptied", ["", "\n", "# red\n"], ids=["empty", "blank", "commented"])
def test_a_file_without_tokens_lets_nobody_in(tmp_path, emptied):
    readers = tmp_path / "readers"
    readers.write_text("red\n")
    tokens = Tokens(ServerConfig(reader_tokens_file=readers))
    assert tokens.scope("Bearer red").role == "reader"
    readers.write_text(emptied)
    assert tokens.scope("Bearer red") is None
    assert (tokens.are_wanted, tokens.are_stale) == (True, False)
    with pytest.raises(ConfigError, match="holds no token"):
        Tokens(ServerConfig(reader_tokens_file=readers))


@pytest.mark.slow
def test_a_file_that_cannot_be_read_revokes_nothing_and_is_told(embedder, index, tmp_path):
    readers = tmp_path / "readers"
    readers.write_text("red\n")
    with live_server(embedder, index, reader_tokens_file=readers) as server:
        readers.unlink()
        assert asked(server, "red") == len(KNOWN)
        assert sample(server, "nar_tokens_stale") == 1
        readers.write_text("blue\n")
        assert sample(server, "nar_tokens_stale") == 0
        assert (asked(server, "red"), asked(server, "blue")) == ("UNAUTHENTICATED", len(KNOWN))


@pytest.mark.slow
def test_a_caller_is_told_a_wrong_token_from_none(embedder, index, open_client, caplog):
    caplog.set_level(logging.INFO, "nar")
    with live_server(embedder, index, web_port=0, token="own") as server:
        said = {}
        for token in (None, "other"):
            with open_client(server.target, token=token) as client:
                with pytest.raises(ServiceError) as caught:
                    client.describe()
                said[token] = caught.value.reason
        assert said[None] == "no token came: send `authorization: Bearer <token>`"
        assert said["other"] == "the token that came is not known here"
        for headers, reason in (
            ({}, said[None]),
            ({"authorization": "Basic own"}, said[None]),
            ({"authorization": "Bearer other"}, said["other"]),
        ):
            status, _, body = ask(server, "/v1/describe", **headers)
            assert (status, body["message"]) == (401, reason)
    peers = [call.peer for call in caplog.records if getattr(call, "code", "") == "UNAUTHENTICATED"]
    assert {peer.rpartition(":")[0] for peer in peers} == {"ipv4:127.0.0.1", "http:127.0.0.1"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "written", "way_out"),
    [
        (None, None, "no token came: .*: set NAR_TOKEN"),
        ("", None, "no token came: .*: NAR_TOKEN is set and empty"),
        ("other", None, "is not known here: it is that of NAR_TOKEN"),
        ("own", "other", r"is not known here: it is that of server\.token in --config"),
    ],
)
def test_the_command_line_says_how_a_token_comes(
    embedder, index, tmp_path, monkeypatch, variable, written, way_out
):
    settings = tmp_path / "nar.yaml"
    settings.write_text(f"server: {{token: {written}}}" if written else "{}")
    with live_server(embedder, index, token="own") as server:
        monkeypatch.delenv("NAR_TOKEN", raising=False)
        if variable is not None:
            monkeypatch.setenv("NAR_TOKEN", variable)
        arguments = ["search", "timm:resnet50", "--server", server.target, "--config", settings]
        done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 1
    assert re.search(
        f"UNAUTHENTICATED: .*{way_out} \\(request [0-9a-f]{{32}}\\)$", done.stderr.strip()
    )
    assert "other" not in done.stderr


def test_roles(tmp_path):
    reader, writer = tmp_path / "readers", tmp_path / "writers"
    reader.write_text("one\nboth\n")
    writer.write_text("two\nboth")
    tokens = Tokens(ServerConfig(token="own", reader_tokens_file=reader, writer_tokens_file=writer))
    roles = {"one": "reader", "two": "writer", "both": "writer", "own": "writer", "x": None}
    for token, role in roles.items():
        assert getattr(tokens.scope(f"Bearer {token}"), "role", None) == role
        assert getattr(tokens.scope(f"bearer {token}"), "role", None) == role
        assert tokens.scope(token) is None
        assert tokens.scope(f"Bearer {token} ") is None
    for nobody in ("", "Bearer", "Bearer ", "Basic one", "Bearer # two teams"):
        assert tokens.scope(nobody) is None


@pytest.mark.parametrize(
    ("token", "reason"),
    [("", "empty"), ("abc\n", "line break at its end"), ("höher", "other"), ("a b", "a space")],
)
def test_a_token_that_nobody_can_send_is_no_setting(token, reason, tmp_path):
    settings = tmp_path / "nar.yaml"
    settings.write_text(f'server: {{token: "{token}"}}'.replace("\n", "\\n"))
    with pytest.raises(ConfigError, match=reason) as caught:
        load_config(settings)
    assert not token or token.strip() not in str(caught.value).replace("visible ASCII", "")


@pytest.mark.parametrize(
    ("token", "said"),
    [
        (
            "abc\n",
            "NAR_TOKEN ends with a line break: take it away (`export NAR_TOKEN=$(cat FILE)`)",
        ),
        ("a b", "NAR_TOKEN: wanted a token of visible ASCII characters, came one with a space"),
    ],
)
def test_a_token_of_the_environment_that_nobody_can_send_is_no_fault_of_a_file(
    token, said, tmp_path, monkeypatch
):
    settings = tmp_path / "client.yaml"
    settings.write_text("client: {tls: true}")
    monkeypatch.setenv("NAR_TOKEN", token)
    for path in (None, settings):
        with pytest.raises(ConfigError) as caught:
            load_config(path)
        assert str(caught.value) == said
    arguments = ["search", "timm:resnet50", "--server", "127.0.0.1:1", "--config", settings]
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (1, f"error {said}")


@pytest.mark.parametrize(
    ("token", "reason"),
    [("abc\n", "line break"), ("ä", "other"), ("a b", "a space"), ("", "empty")],
)
def test_a_client_refuses_a_token_that_it_cannot_send(token, reason, open_client):
    with pytest.raises(ConfigError, match=f"token: .*{reason}") as caught:
        open_client("127.0.0.1:1", token=token)
    assert not token or token not in str(caught.value).replace("a space", "")


def test_the_token_of_the_environment_stands_in_for_none(tmp_path, monkeypatch):
    monkeypatch.setenv("NAR_TOKEN", "env")
    settings = tmp_path / "nar.yaml"
    for written, token in (("{}", "env"), ("{token: null}", "env"), ("{token: own}", "own")):
        settings.write_text(f"server: {written}")
        assert load_config(settings).server.token.get_secret_value() == token
    monkeypatch.setenv("NAR_TOKEN", "")
    assert load_config(None).server.token is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "holds no token"),
        ("# none\n", "holds no token"),
        ("ok\nnö\n", "line 2"),
        (None, "gone"),
    ],
)
def test_a_file_at_fault_is_named_at_start(content, reason, tmp_path):
    path = tmp_path / "gone"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigError, match=reason):
        Tokens(ServerConfig(reader_tokens_file=path))
