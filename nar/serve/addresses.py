"""Addresses: which of them never leave this machine."""

import ipaddress


def address(host: str, port: int) -> str:
    """Host and port as one word.

    Example:
        >>> address("::1", 50051)
        '[::1]:50051'
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether what is sent to a host stays on this machine.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
        (True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def host_of(target: str) -> str:
    """The host of an address as clients write it.

    Example:
        >>> host_of("[::1]:50051"), host_of("dns:///nar.example:50051"), host_of("localhost:1")
        ('::1', 'nar.example', 'localhost')
    """
    host, _, _ = target.rpartition("/")[2].rpartition(":")
    return host.strip("[]")
