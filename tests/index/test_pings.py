"""Milvus Lite and the pings of its own client."""

import threading

import grpc
import pytest
from waiting import wait_for

from nar.index.lite import LOOPBACK, LiteServer

# As pymilvus pings, only faster.
PINGING = (
    ("grpc.keepalive_time_ms", 1_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)


@pytest.mark.slow
def test_a_client_who_pings_is_not_cut_off(tmp_path):
    server, states = LiteServer(tmp_path / "index.db"), []
    is_cut_off = threading.Event()

    def see(state):
        states.append(state)
        if grpc.ChannelConnectivity.READY in states[:-1]:
            is_cut_off.set()

    with grpc.insecure_channel(f"{LOOPBACK}:{server.port}", options=PINGING) as channel:
        channel.subscribe(see, try_to_connect=True)
        wait_for(lambda: grpc.ChannelConnectivity.READY in states)
        # grpc sends one a second at most, and by default is cut off after the third.
        assert not is_cut_off.wait(6.0)
    server.close()
