"""A connection to a database host that has vanished is given up within half a minute, not a quarter of an hour."""

import asyncio
import socket
import sys
from types import SimpleNamespace

import pytest

from leadwire.infrastructure import db


@pytest.mark.skipif(sys.platform != "linux", reason="the bounds are Linux's")
async def test_a_connection_by_tcp_has_bounds():
    listening = socket.create_server(("127.0.0.1", 0))
    _, writer = await asyncio.open_connection(*listening.getsockname())
    db._keep_alive(SimpleNamespace(_transport=writer.transport))
    options = writer.get_extra_info("socket")
    assert options.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    idle, interval, probes = (
        options.getsockopt(socket.IPPROTO_TCP, name)
        for name in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    )
    assert idle + interval * probes <= 30
    assert options.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) <= 30_000
    writer.close()
    listening.close()


async def test_the_pool_asks_for_it_on_every_connection(servers, monkeypatch):
    asked = []
    monkeypatch.setattr(db, "_keep_alive", asked.append)
    await db.prepare(_Silent())
    assert len(asked) == 1


class _Silent:
    async def set_type_codec(self, *_: object, **__: object) -> None:
        """A connection that accepts every setting."""
