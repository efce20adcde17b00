"""What needs a server that is slower than any real one."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from stage import done

from outrider import APITimeoutError, AsyncOutrider, Outrider

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n"


@pytest.fixture
def trickling() -> Iterator[str]:
    """Sends a byte of its answer every 50 ms, and so is never late with a piece."""
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
async def test_a_body_that_trickles_in_is_not_waited_for_beyond_the_timeout(
    trickling: str, kind: type[Outrider] | type[AsyncOutrider]
) -> None:
    client = kind(api_key="k", base_url=trickling, timeout=0.5, max_retries=0)
    began = time.monotonic()
    with pytest.raises(APITimeoutError):
        await done(client.models.list())
    assert time.monotonic() - began < 3
    await done(client.close())
