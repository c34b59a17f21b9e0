"""Embeds models on a server, with the plain stub of gRPC: one vector of length 1 a model.

    nar serve --port 50051
    python embed_over_grpc.py 127.0.0.1:50051 vectors.npy timm:resnet18 timm:resnet34

Graphs are captured here, so that the server sees no weights and runs no code of models. A client in
another language is in deploy/examples/clients; `nar.Client` asks again what a busy server refuses.
"""

import sys

import grpc
import numpy as np

import nar
from nar.v1 import retrieval_pb2 as wire
from nar.v1.retrieval_pb2_grpc import ArchitectureRetrievalServiceStub
from nar.wire.graphs import encode_graph


def main(target: str, file: str, *models: str) -> None:
    """Write the vectors of models into a file: a row each, in their order."""
    graphs = [nar.capture_architecture(model).architecture.graph for model in models]
    with grpc.insecure_channel(target) as channel:
        stub = ArchitectureRetrievalServiceStub(channel)
        request = wire.EmbedRequest(graphs=map(encode_graph, graphs))
        results = stub.Embed(request, timeout=30).results
    for model, result in zip(models, results, strict=True):
        if result.status.code:
            sys.exit(f"{model}: {result.status.message}")
        print(f"{model} {result.topology[:16]}")
    np.save(file, np.array([result.vector.values for result in results], dtype=np.float32))


if __name__ == "__main__":
    main(*sys.argv[1:])
