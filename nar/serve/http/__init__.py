"""JSON over HTTP, for browsers: the messages of the contract, through the layers of gRPC calls.

A server without an HTTP port imports this module of the package and no other.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

# Answers a request of the page; errors of NAR become statuses.
Page: TypeAlias = "Callable[[Request], Awaitable[Response]]"


@dataclass(frozen=True, slots=True)
class Site:
    """Pages and files that an HTTP port shows beside the methods of the contract.

    Attributes:
        pages: What answers at each path.
        static: Directory of the files of the page; None where there is no page.
    """

    pages: Mapping[str, Page] = field(default_factory=dict)
    static: Path | None = None
