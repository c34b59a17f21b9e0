"""What Describe tells is all that a client must keep to."""

import re
from pathlib import Path

import pytest

from nar.index.filters import MAX_DEPTH
from nar.index.rows import TEXT_BYTES
from nar.v1 import retrieval_pb2
from nar.wire.graphs import MAX_OPERATOR_CHARS
from nar.wire.limits import Limits, decode_limits, encode_limits, limits_of
from nar.wire.settings import ServerConfig

PROTO = Path(__file__).parents[2] / "proto/nar/v1/retrieval.proto"
SETTINGS = [name for name in ServerConfig.model_fields if name.startswith("max_")]
OTHER_NAMES = {"max_queries": "max_items"}
# What no call is refused for, or for what others do: a client could not keep to it.
NOT_TOLD = {
    "max_streams": "HTTP/2 tells it to every connection, and clients wait by themselves",
    "max_connections": "counts the connections of all clients",
    "max_handshake_s": "ends connections that say nothing, and no call",
    "max_connection_idle_s": "ends connections without calls, which clients open again",
    "max_held_bytes": "counts the bytes of all clients",
    "max_wait_s": "depends on how many others call",
    "max_stale_s": "of the store, whose answers say themselves since when they may be old",
    "max_page_requests": "of the page, which takes no place of a call",
    "max_file_bytes": "of the page, which takes files that the wire does not",
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_limit_of_a_server_is_told(setting):
    default = ServerConfig.model_fields[setting].default
    changed = ServerConfig(**{setting: default + 7})
    told = setting not in NOT_TOLD
    assert (limits_of(changed) != limits_of(ServerConfig())) is told
    if told:
        assert getattr(limits_of(changed), OTHER_NAMES.get(setting, setting)) == default + 7


def test_nothing_is_left_out_that_is_no_setting():
    assert NOT_TOLD.keys() <= {*SETTINGS}


def test_what_no_setting_changes_is_told_too():
    limits = limits_of(ServerConfig())
    assert (limits.max_filter_depth, limits.max_operator_chars) == (MAX_DEPTH, MAX_OPERATOR_CHARS)


def test_limits_cross_the_wire_whole():
    limits = limits_of(ServerConfig(max_call_s=0.25, max_idle_s=1.5, max_upload_s=1e6))
    assert decode_limits(encode_limits(limits)) == limits
    fields = retrieval_pb2.Limits.DESCRIPTOR.fields_by_name
    assert set(fields) == set(Limits.__dataclass_fields__)


def test_the_contract_says_how_long_texts_of_an_architecture_may_be():
    (message,) = re.findall(r"message NewArchitecture \{(.*?)\n\}", PROTO.read_text(), re.DOTALL)
    said = re.findall(r"Up to (\d+) bytes\.\n  string (\w+) =", message)
    assert {name: int(size) for size, name in said} == TEXT_BYTES
