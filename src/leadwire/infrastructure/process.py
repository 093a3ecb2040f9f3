"""What a process needs of its system: a listening socket, a signal to stop. Imports nothing heavy."""

import asyncio
import os
import signal
import socket
import sys
from typing import Final

from leadwire.infrastructure.errors import OperatorError

SUPERVISED: Final = "LEADWIRE_SUPERVISED"
"""Set by `up`: the end of standard input then means that `up` has ended, and the process stops too."""


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raise OperatorError when the port is in use or not permitted.

    Not `socket.create_server`: its sockets have protocol 0, so asyncio leaves TCP_NODELAY off, which costs 40 ms on
    every keep-alive request.
    """
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, _, _, address = infos[0]
        listening = socket.socket(family, kind, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
        listening.setblocking(False)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise OperatorError(f"cannot listen on {host}:{port}: {reason}") from error
    return listening


def stop_event() -> asyncio.Event:
    """Return an event that SIGTERM, SIGINT or the end of the supervisor sets."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)

    def read_stdin() -> None:
        if not os.read(sys.stdin.fileno(), 64):
            loop.remove_reader(sys.stdin.fileno())
            stop.set()

    if os.environ.get(SUPERVISED):
        loop.add_reader(sys.stdin.fileno(), read_stdin)
    return stop
