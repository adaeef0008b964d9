"""The end of each request, as nginx logs it: one syslog datagram on loopback whose last word is the request's id.

UDP and not a Unix socket: in a network namespace of its own that queues 10 datagrams (net.unix.max_dgram_qlen), and
an engine that dies ends some hundred requests in one moment. And nginx stays with the socket of an agent that is gone.
"""

import asyncio
import socket
from collections.abc import Callable

BUFFER = 4 * 1024 * 1024
"""Bytes. The kernel grants as much as net.core.rmem_max allows."""


class Ended(asyncio.DatagramProtocol):
    """Calls `ended` with each id."""

    def __init__(self, ended: Callable[[str], None]) -> None:
        self._ended = ended

    def datagram_received(self, data: bytes, addr: object) -> None:  # noqa: ARG002 - asyncio's
        """Take the last word."""
        if words := data.decode("latin-1").split():
            self._ended(words[-1])


async def listen(ended: Callable[[str], None], port: int) -> asyncio.DatagramTransport:
    """Listen on loopback.

    Raises:
        OSError: the port is taken.
    """
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setblocking(False)
    udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    udp.bind(("127.0.0.1", port))
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: Ended(ended), sock=udp)
    return transport
