import urllib.request

import pytest
from prometheus_client import generate_latest

from nar.serve.telemetry import BUCKETS_S, METHODS, OBJECTIVES_S, Telemetry, serve_metrics
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
    server = serve_metrics(telemetry.registry, "127.0.0.1", 0)
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
        assert b"nar_serving 0.0" in answer.read()
    server.stop()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics")
