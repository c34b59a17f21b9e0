"""Requests over HTTP, as a program sends them."""

import http.client
import json
import ssl
from http.client import HTTPMessage

from live_server import LiveServer


def ask(
    server: LiveServer,
    path: str,
    body: bytes | str = b"{}",
    method: str = "POST",
    context: ssl.SSLContext | None = None,
    **headers: str,
) -> tuple[int, HTTPMessage, object]:
    """Status, headers and the parsed body of one request."""
    port = int(server.web_target.rpartition(":")[2])
    if context:
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context)
    else:
        connection = http.client.HTTPConnection("127.0.0.1", port)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, names)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    is_json = answer.headers["content-type"] == "application/json"
    return answer.status, answer.headers, json.loads(content) if is_json else content
