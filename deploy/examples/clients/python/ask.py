"""Ask a NAR server from Python with stubs that protoc makes, without the package of NAR.

It needs grpcio, grpcio-tools and googleapis-common-protos, and is run beside the stubs:

python -m grpc_tools.protoc -Iproto --python_out=stubs --grpc_python_out=stubs \
proto/nar/v1/retrieval.proto && PYTHONPATH=stubs python ask.py 127.0.0.1:50051 timm:resnet50
"""

import sys
from pathlib import Path

import grpc

from nar.v1 import retrieval_pb2, retrieval_pb2_grpc

# What a server sheds under load is asked again: see docs/server.md.
RETRIES = Path(__file__).parents[1] / "retries.json"


def main(target: str, name: str) -> None:
    """Print the nearest architectures of a known one."""
    options = [("grpc.service_config", RETRIES.read_text())]
    with grpc.insecure_channel(target, options=options) as channel:
        stub = retrieval_pb2_grpc.ArchitectureRetrievalServiceStub(channel)
        query = retrieval_pb2.Query(architecture=name, top_k=3)
        [result] = stub.Search(retrieval_pb2.SearchRequest(queries=[query]), timeout=30).results
    if result.status.code:
        sys.exit(f"{name}: {result.status.message}")
    if result.HasField("stale_since"):
        sys.stderr.write("the server cannot read its store: the answer may be old\n")
    for hit in result.hits:
        sys.stdout.write(f"{hit.score:.3f} {hit.architecture.name}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
