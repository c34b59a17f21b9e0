"""Asks the query server beside it whether it serves; exit code 0 says yes.

    python probe.py 127.0.0.1:50051 [CA_FILE NAME_IN_THE_CERTIFICATE [CERTIFICATE_FILE KEY_FILE]]

The gRPC probe of Kubernetes speaks clear text only; this one speaks TLS where a file is named, and
shows a certificate of its own to a server that asks callers for one.
"""

import sys
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

PATIENCE_S = 4.0
NUMBERS_OF_ARGUMENTS = (1, 3, 5)


def channel(address: str, ca_file: str = "", name: str = "", *shown: str) -> grpc.Channel:
    """A channel to the server, encrypted if there is a file of authorities.

    Args:
        address: Of the server.
        ca_file: Authorities that are trusted.
        name: For which the server's certificate is.
        shown: Files of a certificate and its key, if the server asks for one.
    """
    if not ca_file:
        return grpc.insecure_channel(address)
    certificate, key = (Path(each).read_bytes() for each in shown) if shown else (None, None)
    authorities = Path(ca_file).read_bytes()
    credentials = grpc.ssl_channel_credentials(authorities, key, certificate)
    # The certificate is for the name of the Service, not for loopback.
    return grpc.secure_channel(
        address, credentials, options=[("grpc.ssl_target_name_override", name)]
    )


def main(*arguments: str) -> bool:
    """Whether the server says SERVING.

    Args:
        arguments: Address; authorities and name; certificate and key.
    """
    if len(arguments) not in NUMBERS_OF_ARGUMENTS or arguments[0].startswith("-"):
        sys.exit(__doc__)
    try:
        opened = channel(*arguments)
    except OSError as error:
        sys.exit(f"cannot read {error.filename}: {error.strerror}")
    with opened:
        health = health_pb2_grpc.HealthStub(opened)
        try:
            reply = health.Check(health_pb2.HealthCheckRequest(), timeout=PATIENCE_S)
        except grpc.RpcError as error:
            sys.stderr.write(f"{error.code().name}: {error.details()}\n")
            return False
    return reply.status == health_pb2.HealthCheckResponse.SERVING


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:]))
