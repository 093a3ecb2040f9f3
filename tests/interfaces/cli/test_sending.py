"""Commands for allow-lists, and what `leadwire doctor` says of the way out and of what ends soon."""

import asyncio
import json
from datetime import timedelta

import pytest
import trustme

from leadwire.delivery.transport.guarded import GuardedTransport
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.changes import workspaces
from leadwire.domain.webhooks import certificates, changes
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.cli.checks import environment, sending
from tests.delivery.transport.connect_proxy import connect_proxy
from tests.flows.commands import run
from tests.interfaces.cli.test_endpoints import access
from tests.interfaces.web.test_certificates import issued


async def command(servers, *words: str) -> dict:
    done = await asyncio.to_thread(run, *words, "--json", **access(servers))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


async def test_allow_lists_of_keys_and_of_the_web_area(servers, workspace):
    await command(servers, "keys", "create", "--name", "crm", "--network", "203.0.113.7", "--workspace", workspace)
    assert await db.value("SELECT networks FROM api_key") == ["203.0.113.7/32"]
    await workspaces.set_networks(workspace, ["203.0.113.7"], "203.0.113.7")
    assert (await command(servers, "workspaces", "networks", workspace))["networks"] == ["203.0.113.7/32"]
    assert (await command(servers, "workspaces", "networks", workspace, "--clear"))["networks"] == []


async def test_what_ends_soon_is_a_warning(workspace):
    assert [one.level for one in await sending.ending()] == ["ok", "ok"]
    made = await changes.create(workspace, "https://hooks.example.com/", ["lead.created"])
    await certificates.replace(workspace, made.id, **issued(trustme.CA(), days=3))
    key, _ = await accounts.create_key(workspace, "CRM", expires_at=clock.now() + timedelta(days=3))
    for one, named in zip(await sending.ending(), (made.id, key), strict=True):
        assert one.level == "warning"
        assert named in one.says


URL = "https://leads.example.com"


@pytest.mark.parametrize(
    ("answer", "level", "says"),
    [
        (b"HTTP/1.1 407 No\r\n\r\n", "error", "proxy refused: 407, asked for our public address"),
        (b"", "error", "proxy closed the connection, asked for our public address"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "ok", "opens tunnels"),  # and then speaks no TLS: not the proxy's fault
    ],
)
async def test_doctor_tries_the_proxy(monkeypatch, answer, level, says):
    async def vetted(*_):
        return "93.184.216.34"

    monkeypatch.setattr(GuardedTransport, "_vetted", vetted)
    async with connect_proxy({}) as proxy:
        proxy.answer = answer
        url = proxy.url.replace("//", "//leadwire:sesame-77@")
        (found,) = await sending.proxy(Settings(egress_proxy=url, public_url=URL))
        assert proxy.asked == ["93.184.216.34:443"]
    assert (found.level, found.says) == (level, f"127.0.0.1:{proxy.port} {says}".replace(" proxy", ": proxy"))
    assert "sesame-77" not in found.says + found.fix


@pytest.mark.parametrize(
    ("answer", "level"),
    [
        (b"as usual", "ok"),  # 502: it gets nowhere, as it should
        (b"HTTP/1.1 403 No\r\n\r\n", "ok"),
        (b"HTTP/1.1 407 No\r\n\r\n", "error"),
        (b"SSH-2.0-x\r\n\r\n", "error"),
        (b"", "error"),
    ],
)
async def test_without_a_public_address_doctor_asks_for_a_tunnel_to_nowhere(answer, level):
    async with connect_proxy({}) as proxy:
        proxy.answer = answer
        (found,) = await sending.proxy(Settings(egress_proxy=proxy.url))
        assert (found.level, proxy.asked) == (level, ["192.0.2.1:443"])


async def test_doctor_looks_whether_the_proxy_is_there():
    (none,) = await sending.proxy(Settings())
    assert (none.level, none.says) == ("ok", "none: receivers are reached directly")
    async with connect_proxy({}) as proxy:
        pass
    (gone,) = await sending.proxy(Settings(egress_proxy=proxy.url))
    assert gone.level == "error"
    assert "cannot be reached" in gone.says


def test_a_proxy_takes_more_open_files(monkeypatch):
    monkeypatch.setattr(environment.resource, "getrlimit", lambda _: (10_000, 10_000))
    proxied = Settings(egress_proxy="http://proxy:3128")
    assert [environment._files(one).level for one in (Settings(), proxied)] == ["ok", "ok"]
    monkeypatch.setattr(environment.resource, "getrlimit", lambda _: (5_000, 5_000))
    assert [environment._files(one).level for one in (Settings(), proxied)] == ["ok", "error"]
