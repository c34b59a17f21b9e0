"""The query server: it answers gRPC calls with the library, and Prometheus reads its metrics."""
