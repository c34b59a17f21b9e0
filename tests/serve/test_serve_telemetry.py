import asyncio
import threading
import urllib.request

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from nar.graphs import kernel
from nar.serve.telemetry import (
    BUCKETS_S,
    METHODS,
    METRICS_CONNECTIONS,
    OBJECTIVES_S,
    MetricsPort,
    Telemetry,
)
from nar.v1 import retrieval_pb2


@pytest.fixture
def telemetry():
    telemetry = Telemetry()
    telemetry.identify(version="1.2.3", fingerprint="abc", name="paper", dim=512)
    return telemetry


def test_every_series_is_there_before_the_first_call(telemetry):
    text = generate_latest(telemetry.registry).decode()
    assert 'nar_rpc_requests_total{code="INTERNAL",method="Describe"} 0.0' in text
    assert 'nar_rpc_items_total{code="NOT_FOUND",method="Get"} 0.0' in text
    assert 'nar_rpc_rejected_total{reason="overloaded"} 0.0' in text
    assert 'nar_rpc_duration_seconds_count{method="Search"} 0.0' in text
    assert 'nar_stage_duration_seconds_count{stage="motifs"} 0.0' in text


def test_identity_is_shown(telemetry):
    text = generate_latest(telemetry.registry).decode()
    assert 'nar_encoder_info{dim="512",fingerprint="abc",name="paper"} 1.0' in text
    assert 'nar_build_info{version="1.2.3"} 1.0' in text
    assert f'nar_graphs_info{{read_by="{kernel.in_use()}"}} 1.0' in text


def test_the_methods_are_those_of_the_contract():
    (service,) = retrieval_pb2.DESCRIPTOR.services_by_name.values()
    assert tuple(method.name for method in service.methods) == METHODS


def test_a_duration_falls_into_its_bucket(telemetry):
    telemetry.call_ended("Search", "OK", 0.0021)
    telemetry.stage_ran("encode", 0.3)
    value = telemetry.registry.get_sample_value
    duration = "nar_rpc_duration_seconds_bucket"
    assert value(duration, {"method": "Search", "le": "0.002"}) == 0
    assert value(duration, {"method": "Search", "le": "0.003"}) == 1
    assert value("nar_stage_duration_seconds_sum", {"stage": "encode"}) == 0.3


def test_buckets_rise_and_have_edges_on_the_objectives():
    assert list(BUCKETS_S) == sorted(set(BUCKETS_S))
    assert (BUCKETS_S[0], BUCKETS_S[-1]) == (0.001, 60.0)
    assert set(OBJECTIVES_S) <= set(BUCKETS_S)


def test_two_servers_in_one_process_count_apart():
    one, other = Telemetry(), Telemetry()
    one.rejected("overloaded")
    labels = {"reason": "overloaded"}
    assert one.registry.get_sample_value("nar_rpc_rejected_total", labels) == 1
    assert other.registry.get_sample_value("nar_rpc_rejected_total", labels) == 0


def test_the_port_shows_the_registry_and_closes(telemetry):
    async def asked():
        port = MetricsPort(telemetry.registry, may_read=lambda _: True)
        await port.open("127.0.0.1", 0)
        url = f"http://127.0.0.1:{port.port}/metrics"
        page = await asyncio.to_thread(lambda: urllib.request.urlopen(url).read())
        await port.close()
        return url, page

    url, page = asyncio.run(asked())
    assert b"nar_serving 0.0" in page
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url)


class Counted(CollectorRegistry):
    """A registry that counts the pages that are made of it."""

    pages = 0

    def collect(self):
        self.pages += 1
        return super().collect()


def test_half_requests_cost_no_page_and_keep_nobody_out():
    registry = Counted()

    async def asked():
        port = MetricsPort(registry, may_read=lambda _: True)
        await port.open("127.0.0.1", 0)
        threads = threading.active_count()
        half = []
        for _ in range(METRICS_CONNECTIONS + 9):
            reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
            writer.write(b"GET /metrics HTTP/1.1\r\n")
            half.append((reader, writer))
        # The oldest give way: their connections end without an answer.
        assert [await reader.read() for reader, _ in half[:9]] == [b""] * 9
        assert threading.active_count() == threads
        reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
        writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
        page = await reader.read()
        for each in (writer, *(other for _, other in half)):
            each.close()
        await port.close()
        return page

    assert asyncio.run(asked()).startswith(b"HTTP/1.1 200 OK")
    assert registry.pages == 1


def test_requests_that_come_together_share_a_page():
    registry = Counted()

    async def asked():
        port = MetricsPort(registry, may_read=lambda _: True)
        pages = await asyncio.gather(*(port._fresh_page() for _ in range(20)))
        return pages, await port._fresh_page()

    asyncio.run(asked())
    assert registry.pages == 2


def test_a_port_with_tokens_wants_one(telemetry):
    async def asked(head):
        port = MetricsPort(telemetry.registry, may_read=lambda given: given == "Bearer known")
        return (await port._reply(head)).split()[1]

    for given, number in (("Bearer known", b"200"), ("Bearer other", b"401"), ("", b"401")):
        assert asyncio.run(asked(["GET / HTTP/1.1", f"Authorization: {given}"])) == number
    assert asyncio.run(asked(["POST / HTTP/1.1", "Authorization: Bearer known"])) == b"405"
