"""Clients without our package: what `deploy/examples/clients` shows, run against a live server."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import grpc
import pytest
from live_server import live_server
from waiting import wait_for

from nar.client.calling import SERVICE_CONFIG
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub

ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / "deploy/examples/clients"
RETRIES = CLIENTS / "retries.json"
MODULES = ROOT / "node_modules"


def test_the_policy_of_the_examples_is_that_of_our_client():
    assert json.loads(RETRIES.read_text()) == SERVICE_CONFIG


@pytest.mark.slow
def test_a_python_stub_without_our_package_is_answered(server, tmp_path):
    protoc = [sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}"]
    made = (f"--python_out={tmp_path}", f"--grpc_python_out={tmp_path}")
    subprocess.run([*protoc, *made, str(ROOT / "proto/nar/v1/retrieval.proto")], check=True)
    # Ours would be found first below the checkout: the stubs alone are on the path.
    alone = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, str(CLIENTS / "python/ask.py"), server.target]
    done = subprocess.run(
        [*command, "timm:plain"], capture_output=True, text=True, env=alone, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 3
    unknown = subprocess.run(
        [*command, "timm:nobody"], capture_output=True, text=True, env=alone, cwd=tmp_path
    )
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "timm:nobody" in unknown.stderr


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("node") is None or not MODULES.exists(),
    reason="node, or @grpc/grpc-js and @grpc/proto-loader below node_modules, are not installed",
)
def test_node_reads_the_contract_itself(server):
    command = ["node", str(CLIENTS / "node/ask.js"), str(ROOT / "proto"), server.target]
    modules = {**os.environ, "NODE_PATH": str(MODULES)}
    done = subprocess.run([*command, "timm:plain"], capture_output=True, text=True, env=modules)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 3), done.stderr


@pytest.mark.slow
def test_a_plain_stub_with_the_policy_is_answered_though_grpc_drops_calls(embedder, index):
    """While the server is held, four calls may wait unseen, and grpc drops what comes beyond."""
    busy, resume = threading.Event(), threading.Event()

    def hold():
        busy.set()
        resume.wait(300)

    policy = [("grpc.service_config", RETRIES.read_text())]
    with (
        live_server(embedder, index, unseen_calls=4) as server,
        grpc.insecure_channel(server.target) as bare,
        grpc.insecure_channel(server.target, options=policy) as patient,
    ):
        hasty, stub = map(ArchitectureRetrievalServiceStub, (bare, patient))
        for each in (hasty, stub):
            each.Describe(wire.DescribeRequest())
        server.between_calls(hold)
        assert busy.wait(300)
        dropped = [hasty.Describe.future(wire.DescribeRequest()) for _ in range(20)]
        wait_for(lambda: any(call.done() for call in dropped))
        calls = [stub.Describe.future(wire.DescribeRequest()) for _ in range(20)]
        resume.set()
        assert Counter(call.code().name for call in dropped)["CANCELLED"] > 0
        assert Counter(call.code().name for call in calls) == {"OK": 20}
