"""The committed code of the wire contract is what `make proto` writes."""

import sysconfig
from importlib.resources import files
from pathlib import Path

import pytest
from grpc_tools import protoc

from nar.v1 import retrieval_pb2

ROOT = Path(__file__).parents[1]
GENERATED = ("retrieval_pb2.py", "retrieval_pb2.pyi", "retrieval_pb2_grpc.py")


@pytest.fixture(scope="module")
def regenerated(tmp_path_factory):
    out = tmp_path_factory.mktemp("generated")
    code = protoc.main(
        [
            "protoc",
            f"-I{ROOT / 'proto'}",
            f"-I{files('grpc_tools') / '_proto'}",
            f"-I{sysconfig.get_path('purelib')}",
            *(f"--{kind}_out={out}" for kind in ("python", "pyi", "grpc_python")),
            "nar/v1/retrieval.proto",
        ]
    )
    assert code == 0
    return out / "nar" / "v1"


@pytest.mark.parametrize("name", GENERATED)
def test_committed_code_is_current(regenerated, name):
    assert (ROOT / "nar/v1" / name).read_bytes() == (regenerated / name).read_bytes()


def test_nothing_else_is_generated(regenerated):
    assert sorted(path.name for path in regenerated.iterdir()) == sorted(GENERATED)


def test_each_method_has_messages_of_its_own():
    (service,) = retrieval_pb2.DESCRIPTOR.services_by_name.values()
    for method in service.methods:
        # A stream carries the messages of the call that it repeats.
        name = method.name.removesuffix("Stream")
        assert method.input_type.name == f"{name}Request"
        assert method.output_type.name == f"{name}Response"


def test_everything_in_the_contract_has_a_comment():
    lines = (ROOT / "proto/nar/v1/retrieval.proto").read_text().splitlines()
    declared = [
        number
        for number, line in enumerate(lines)
        if line.startswith(("message ", "service ", "  rpc ", "  oneof "))
        or (line.endswith(";") and " = " in line and "option" not in line and "syntax" not in line)
    ]
    assert len(declared) > 90
    assert [lines[number] for number in declared if "//" not in lines[number - 1]] == []
