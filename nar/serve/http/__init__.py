"""JSON over HTTP, for browsers: the messages of the contract, through the layers of gRPC calls."""
