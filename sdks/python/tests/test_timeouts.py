"""Tests with a server that responds very slowly."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from support import resolve

from outrider import APITimeoutError, AsyncOutrider, Outrider

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n"


@pytest.fixture
def slow_server() -> Iterator[str]:
    """A server that sends one byte of its response every 50 ms, so no single read times out."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            try:
                connection.sendall(HEAD)
                for _ in range(1000):
                    connection.sendall(b" ")
                    stopped.wait(0.05)
            except OSError:
                return

    stopped = threading.Event()
    thread = threading.Thread(target=serve)
    thread.start()
    host, port = listener.getsockname()[:2]
    yield f"http://{host}:{port}"
    stopped.set()
    thread.join()
    listener.close()


@pytest.mark.parametrize("kind", [Outrider, AsyncOutrider])
async def test_a_slow_response_body_raises_a_timeout(
    slow_server: str, kind: type[Outrider] | type[AsyncOutrider]
) -> None:
    client = kind(api_key="k", base_url=slow_server, timeout=0.5, max_retries=0)
    with pytest.raises(APITimeoutError):
        await resolve(client.models.list())
    await resolve(client.close())
