"""The query server: gRPC in, the library inside, Prometheus beside."""
