"""No change of the wire contract breaks the clients that are out there."""

import re
import subprocess
import sys
from pathlib import Path

import contract
import pytest
from contract import BASELINE, breaks, contract_of, keep, read_contract
from google.protobuf import json_format
from google.protobuf.descriptor_pb2 import (
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    MethodOptions,
)
from google.protobuf.message_factory import GetMessageClass

from nar.v1 import retrieval_pb2

BEFORE = FileDescriptorProto(
    package="toy.v1",
    message_type=[
        {
            "name": "Query",
            "field": [
                {"name": "graph", "number": 1, "type": 11, "type_name": ".toy.v1.Graph"},
                {"name": "names", "number": 2, "type": 9, "label": 3},
                {"name": "bound", "number": 3, "type": 3, "proto3_optional": True},
                {"name": "vector", "number": 4, "type": 12, "oneof_index": 0},
            ],
            "oneof_decl": [{"name": "target"}, {"name": "_bound"}],
            "nested_type": [{"name": "Part", "field": [{"name": "x", "number": 1, "type": 1}]}],
        },
        {"name": "Graph"},
    ],
    enum_type=[{"name": "By", "value": [{"name": "BY_A", "number": 0}]}],
    service=[
        {
            "name": "Service",
            "method": [
                {"name": "Ask", "input_type": ".toy.v1.Query", "output_type": ".google.rpc.Status"}
            ],
        }
    ],
)


def now():
    file = FileDescriptorProto.FromString(retrieval_pb2.DESCRIPTOR.serialized_pb)
    return contract_of(file)


# A descriptor set for each release, as `buf breaking --against` takes it. At a release:
# python -m grpc_tools.protoc -Iproto --include_imports --descriptor_set_out=tests/serve/released/\
# VERSION.binpb proto/nar/v1/retrieval.proto
RELEASED = sorted((Path(__file__).parent / "released").glob("*.binpb"))


@pytest.mark.parametrize("released", RELEASED, ids=lambda path: path.stem)
def test_clients_of_a_release_are_served_still(released):
    [then] = [
        file
        for file in FileDescriptorSet.FromString(released.read_bytes()).file
        if file.package == retrieval_pb2.DESCRIPTOR.package
    ]
    assert breaks(contract_of(then), now()) == {}


def after(change):
    file = FileDescriptorProto()
    file.CopyFrom(BEFORE)
    change(file, file.message_type[0])
    return contract_of(file)


def test_the_contract_breaks_no_client():
    broken = breaks(read_contract(BASELINE), now())
    assert not broken, f"{broken}; if that is meant, tests/contract.py says how to take it"


def test_the_list_says_what_clients_count_on():
    told = contract_of(BEFORE)
    assert told["Query"] == {
        "graph": {"number": 1, "type": "Graph"},
        "names": {"number": 2, "type": "string", "repeated": True},
        "bound": {"number": 3, "type": "int64", "optional": True},
        "vector": {"number": 4, "type": "bytes", "oneof": "target"},
    }
    assert told["Query.Part"] == {"x": {"number": 1, "type": "double"}}
    assert told["By"] == {"BY_A": {"number": 0}}
    level = "IDEMPOTENCY_UNKNOWN"
    ask = {"takes": "Query", "gives": "google.rpc.Status", "idempotency": level}
    assert told["Service"] == {"Ask": ask}


def test_the_bodies_on_the_page_of_the_server_are_requests():
    page = (Path(__file__).parents[2] / "docs" / "server.md").read_text()
    bodies = re.findall(r"grpcurl .*-d '([^']+)'[^`]*? nar\.v1\.(\w+)/(\w+)", page)
    services = retrieval_pb2.DESCRIPTOR.services_by_name
    methods = [services[service].methods_by_name[name] for _, service, name in bodies]
    assert len(bodies) == page.count("-d '{") == 2
    for (body, _, _), method in zip(bodies, methods, strict=True):
        request = GetMessageClass(method.input_type)()
        json_format.Parse(body, request)
        assert request.ListFields()


def rename_field(_, query):
    query.field[1].name = "titles"


def swap_names(_, query):
    query.field[1].name, query.field[2].name = query.field[2].name, query.field[1].name


def read_only(file, _):
    level = MethodOptions.NO_SIDE_EFFECTS
    file.service[0].method[0].options.idempotency_level = level


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        (lambda _, query: query.field.pop(1), {"Query.names": "removed"}),
        (rename_field, {"Query.names": "renamed to titles"}),
        (
            lambda _, query: setattr(query.field[1], "number", 9),
            {"Query.names": "number 2 became 9"},
        ),
        (
            lambda _, query: setattr(query.field[1], "type", FieldDescriptorProto.TYPE_BYTES),
            {"Query.names": "type string became bytes"},
        ),
        (
            lambda _, query: setattr(query.field[0], "type_name", ".toy.v1.Query"),
            {"Query.graph": "type Graph became Query"},
        ),
        (
            lambda _, query: query.field[1].ClearField("label"),
            {"Query.names": "repeated True became None"},
        ),
        (
            lambda _, query: query.field[2].ClearField("proto3_optional"),
            {"Query.bound": "optional True became None"},
        ),
        (
            lambda _, query: query.field[3].ClearField("oneof_index"),
            {"Query.vector": "oneof target became None"},
        ),
        (
            lambda _, query: setattr(query.field[0], "oneof_index", 0),
            {"Query.graph": "oneof None became target"},
        ),
        (lambda file, _: file.message_type.pop(1), {"Graph": "removed"}),
        (lambda _, query: query.nested_type.pop(), {"Query.Part": "removed"}),
        (
            lambda file, _: setattr(file.enum_type[0].value[0], "number", 1),
            {"By.BY_A": "number 0 became 1"},
        ),
        (
            lambda file, _: setattr(file.enum_type[0].value[0], "name", "BY_B"),
            {"By.BY_A": "renamed to BY_B"},
        ),
        (lambda file, _: file.service[0].method.pop(), {"Service.Ask": "removed"}),
        (
            lambda file, _: setattr(file.service[0].method[0], "server_streaming", True),
            {"Service.Ask": "gives google.rpc.Status became stream google.rpc.Status"},
        ),
        (
            read_only,
            {"Service.Ask": "idempotency IDEMPOTENCY_UNKNOWN became NO_SIDE_EFFECTS"},
        ),
        (lambda file, _: setattr(file.service[0], "name", "Other"), {"Service": "removed"}),
        (
            lambda file, _: setattr(file, "package", "toy.v2"),
            {
                "package.toy.v1": "removed",
                "Query.graph": "type Graph became toy.v1.Graph",
                "Service.Ask": "takes Query became toy.v1.Query",
            },
        ),
    ],
)
def test_a_breaking_change_is_named(change, broken):
    assert breaks(contract_of(BEFORE), after(change)) == broken


def test_names_that_change_places_are_two_breaks():
    assert breaks(contract_of(BEFORE), after(swap_names)).keys() == {"Query.names", "Query.bound"}


def add(file, query):
    query.field.add(name="top_k", number=5, type=FieldDescriptorProto.TYPE_UINT32)
    query.field.add(name="id", number=6, type=FieldDescriptorProto.TYPE_STRING, oneof_index=0)
    file.message_type.add(name="New")
    file.enum_type[0].value.add(name="BY_C", number=1)
    file.service[0].method.add(name="Tell", input_type=".toy.v1.New", output_type=".toy.v1.New")


def test_additions_break_nothing():
    assert after(add) != contract_of(BEFORE)
    assert breaks(contract_of(BEFORE), after(add)) == {}


def test_only_breaks_that_are_meant_are_kept(tmp_path):
    path = tmp_path / "contract.yaml"
    assert keep(contract_of(BEFORE), path, frozenset()) == {}
    assert keep(after(add), path, frozenset()) == {}
    kept = read_contract(path)
    assert kept == after(add)
    removed = contract_of(FileDescriptorProto())
    assert "Query" in keep(removed, path, frozenset({"Graph"}))
    assert read_contract(path) == kept
    assert keep(removed, path, frozenset({*kept, "package.toy.v1"})) == {}
    assert read_contract(path) == removed


@pytest.mark.slow
def test_the_command_adds_and_refuses_what_is_not_meant(tmp_path):
    path = tmp_path / "contract.yaml"
    command = [sys.executable, contract.__file__, "--list", str(path)]
    keep({"Graph": {}}, path, frozenset())
    subprocess.run(command, check=True)
    assert read_contract(path) == now()
    keep(now() | {"Gone": {}}, path, frozenset())
    refused = subprocess.run(command, capture_output=True, text=True)
    assert (refused.returncode, "Gone: removed" in refused.stderr) == (1, True)
    subprocess.run([*command, "--break", "Gone"], check=True)
    assert read_contract(path) == now()
