"""Addresses of servers: how they are written, and whether they stay on this machine."""

import ipaddress
from typing import Final

from nar.base.errors import ConfigError

# What stands before a list of addresses, by grpc's rules for names.
_LISTS: Final = {"ipv4", "ipv6"}


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


def hosts_of(target: str) -> list[str]:
    """The hosts in the target of a client: of one address, or of several.

    Raises:
        ConfigError: It is a list that does not say so: grpc would look it up as one name.

    Example:
        >>> hosts_of("[::1]:50051"), hosts_of("dns:///nar.example:50051"), hosts_of("localhost:1")
        (['::1'], ['nar.example'], ['localhost'])
        >>> hosts_of("ipv4:10.0.0.1:50051,10.0.0.2:50051")
        ['10.0.0.1', '10.0.0.2']
    """
    scheme, _, listed = target.partition(":")
    if scheme in _LISTS:
        return [_host_of(each) for each in listed.split(",")]
    if "," in target:
        scheme = "ipv6" if "[" in target else "ipv4"
        raise ConfigError(
            f"wanted the address of a server, came {target}; several addresses: `{scheme}:{target}`"
        )
    return [_host_of(target)]


def _host_of(address: str) -> str:
    host, _, _ = address.rpartition("/")[2].rpartition(":")
    return host.strip("[]")
