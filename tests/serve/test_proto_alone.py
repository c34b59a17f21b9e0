"""The contract compiles with nothing beside its folder."""

import subprocess
import sys
from pathlib import Path

PROTO = Path(__file__).parents[2] / "proto"


def test_the_contract_holds_what_it_imports(tmp_path):
    protoc = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}", f"--python_out={tmp_path}"]
    subprocess.run([*protoc, str(PROTO / "nar/v1/retrieval.proto")], check=True)
    assert (tmp_path / "nar/v1/retrieval_pb2.py").exists()
