"""One client and several servers: what it is told to call, and the name that they all bear."""

import pytest
from authority import Authority
from live_server import live_server
from tiny_index import KNOWN
from typer.testing import CliRunner

from nar.base.errors import ConfigError, IndexUnavailableError
from nar.cli.app import app
from nar.wire.settings import ClientConfig

ROWS = len(KNOWN)


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path, "authority")


def tls_of(authority, name, *names):
    certificate, key = authority.issue(name, names=names)
    return {"certificate_file": certificate, "key_file": key}


def listed(*servers):
    return "ipv4:" + ",".join(server.target for server in servers)


@pytest.mark.slow
def test_two_servers_of_one_name_stand_in_for_each_other(embedder, index, authority, open_client):
    first, second = (tls_of(authority, each, "nar.example") for each in ("first", "second"))
    with (
        live_server(embedder, index, tls=first) as one,
        live_server(embedder, index, tls=second) as other,
        open_client(
            listed(one, other),
            config=ClientConfig(ca_file=authority.file, server_name="nar.example"),
        ) as client,
    ):
        assert client.describe().index_rows == ROWS
        one.begin_stop()
        one.join()
        assert client.describe().index_rows == ROWS


@pytest.mark.slow
def test_a_server_of_another_name_or_authority_is_not_trusted(
    embedder, index, authority, tmp_path, open_client
):
    stranger = Authority(tmp_path, "stranger")
    with live_server(embedder, index, tls=tls_of(authority, "server", "nar.example")) as server:
        cases = ((authority, "nar"), (authority, "x.example"), (stranger, "nar.example"))
        for trusted, name in cases:
            config = ClientConfig(ca_file=trusted.file, server_name=name)
            with (
                open_client(listed(server, server), timeout_s=5, config=config) as client,
                pytest.raises(IndexUnavailableError),
            ):
                client.describe()


def test_several_addresses_over_tls_want_a_name(authority, open_client):
    config = ClientConfig(ca_file=authority.file)
    with pytest.raises(ConfigError, match=r"several addresses: wanted client\.server_name"):
        open_client("ipv4:127.0.0.1:1,127.0.0.1:2", config=config)
    open_client("ipv4:127.0.0.1:1", config=config).close()


def test_a_name_that_nothing_would_check_is_refused(open_client):
    with pytest.raises(ConfigError, match=r"set client\.tls or client\.ca_file"):
        open_client("127.0.0.1:1", config=ClientConfig(server_name="nar.example"))


@pytest.mark.slow
def test_a_name_of_dns_is_checked_without_further_settings(embedder, index, authority, open_client):
    config = ClientConfig(ca_file=authority.file)
    for name, is_trusted in (("localhost", True), ("nar.example", False)):
        with live_server(embedder, index, tls=tls_of(authority, "server", name)) as server:
            target = f"dns:///localhost:{server.target.rpartition(':')[2]}"
            with open_client(target, timeout_s=5, config=config) as client:
                if is_trusted:
                    assert client.describe().index_rows == ROWS
                else:
                    with pytest.raises(IndexUnavailableError):
                        client.describe()


@pytest.mark.slow
def test_a_token_goes_in_clear_text_to_a_list_that_stays_on_this_machine(
    embedder, index, open_client
):
    with (
        live_server(embedder, index, token="t") as server,
        open_client(listed(server, server), token="t") as client,
    ):
        assert client.describe().index_rows == ROWS
    with pytest.raises(ConfigError, match="clear text"):
        open_client("ipv4:127.0.0.1:1,10.0.0.1:1", token="t")


@pytest.mark.parametrize(
    ("addresses", "way_out"),
    [
        ("127.0.0.1:1,127.0.0.1:2", "several addresses: `ipv4:127.0.0.1:1,127.0.0.1:2`"),
        ("[::1]:1,[::1]:2", "several addresses: `ipv6:[::1]:1,[::1]:2`"),
    ],
)
def test_a_list_has_to_say_that_it_is_one(addresses, way_out, open_client):
    with pytest.raises(ConfigError) as caught:
        open_client(addresses)
    assert way_out in str(caught.value)
    done = CliRunner().invoke(app, ["search", "timm:resnet50", "--server", addresses])
    assert done.exit_code == 1
    assert way_out in done.stderr
