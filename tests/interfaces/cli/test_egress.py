"""`leadwire doctor --egress` connects to receivers step by step, and says which step fails."""

import asyncio
import ssl

import pytest
import trustme

from leadwire.infrastructure.settings import Settings, read
from leadwire.interfaces.cli.checks import egress
from tests.delivery.transport import hostile
from tests.delivery.transport.connect_proxy import connect_proxy
from tests.flows.commands import free_port
from tests.interfaces.cli.conftest import examined

OURS = read({"LEADWIRE_ALLOWED_NETWORKS": "127.0.0.0/8"})


@pytest.fixture
async def secure(monkeypatch):
    """A receiver that speaks TLS, whose authority is known here. Gives its port."""
    authority = trustme.CA()
    shown, known = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("localhost").configure_cert(shown)
    authority.configure_trust(known)
    monkeypatch.setattr(egress.ssl, "create_default_context", lambda: known)
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=shown)
    yield server.sockets[0].getsockname()[1]
    server.close()


async def found(url: str, settings: Settings = OURS) -> tuple[str, str]:
    (one,) = await egress.check(settings, [url])
    assert (one.fix == "") == (one.level == "ok")
    return one.about, one.says


async def test_a_receiver_is_reached(secure):
    assert await found(f"localhost:{secure}") == ("egress", f"localhost:{secure} is reached at 127.0.0.1")


async def test_each_step_that_fails_is_named(secure):
    port = free_port()
    about, says = await found(f"https://localhost:{port}/hook")
    assert (about, says.startswith(f"localhost:{port}: ")) == ("egress: connection", True)
    about, says = await found(f"https://127.0.0.1:{secure}/")
    assert (about, "certificate" in says) == ("egress: TLS", True)
    assert (await found("https://no-such-host.invalid.example.invalid"))[0] == "egress: address"
    assert (await found(f"https://localhost:{secure}", Settings()))[0] == "egress: address"
    assert await found("localhost:99999") == ("egress: address", "localhost:99999: Port out of range 0-65535")
    assert await found("x") == ("egress: address", "x:443: This URL cannot be used: x is a local name.")


async def test_a_name_that_nobody_knows(monkeypatch):
    async def unknown(*_, **__):
        raise OSError("Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", unknown, raising=False)
    assert await found("hooks.example.com") == ("egress: name", "hooks.example.com:443: Name or service not known")


async def test_the_way_leads_through_the_proxy():
    async with connect_proxy({}) as proxy:
        about, says = await found("https://93.184.216.34/", Settings(egress_proxy=proxy.url))
        assert (about, says) == ("egress: proxy", "93.184.216.34:443: proxy refused: 502")
        assert proxy.asked == ["93.184.216.34:443"]


async def test_something_that_speaks_no_tls():
    async def plain(_, writer):
        writer.write(b"SSH-2.0-x\r\n\r\n")
        await writer.drain()

    async with hostile.server(plain) as port:
        assert (await found(f"localhost:{port}"))[0] == "egress: TLS"


def test_the_command_tells_of_a_host_that_is_named(sound):
    code, found = examined("--egress", "localhost", **sound)
    assert (code, found["egress: address"]["level"]) == (1, "warning")
    assert found["egress: address"]["says"] == "localhost:443: This URL cannot be used: localhost is a local name."


def test_the_command_asks_for_a_host_where_nothing_was_sent_lately(sound):
    assert examined("--egress", **sound)[1]["egress"]["says"] == "nothing was tried lately"
