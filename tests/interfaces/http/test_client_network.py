"""Where a request comes from."""

import ipaddress

import pytest

from leadwire.infrastructure import settings
from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.http import client_network
from tests.waiting import eventually

PROXIES = (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("fd00::/8"))


@pytest.mark.parametrize(
    ("peer", "forwarded", "seen"),
    [
        ("203.0.113.9", "", "203.0.113.9"),
        ("203.0.113.9", "198.51.100.1", "203.0.113.9"),
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "1.1.1.1, 198.51.100.1, 10.0.0.2", "198.51.100.1"),
        ("10.0.0.1", "nonsense", "10.0.0.1"),
        ("10.0.0.1", "nonsense, 198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("fd00::1", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "", "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.9", "", "203.0.113.9"),
        ("fe80::1%eth0", "", "fe80::/64"),
        ("", "", "unknown"),
    ],
)
def test_the_network_behind_proxies(peer, forwarded, seen, monkeypatch):
    monkeypatch.setattr(client_network.settings, "get", lambda: Settings(trusted_proxies=PROXIES))
    monkeypatch.setattr(client_network, "_report", lambda: None)
    headers = [(b"x-forwarded-for", forwarded.encode())]
    assert client_network.network({"client": (peer, 0), "headers": headers}) == seen


@pytest.fixture
def behind_a_proxy(monkeypatch):
    """The tests' own address is a trusted proxy's."""
    monkeypatch.setenv("LEADWIRE_TRUSTED_PROXIES", "127.0.0.0/8")
    settings.get.cache_clear()
    yield
    monkeypatch.undo()
    settings.get.cache_clear()


async def _until_refused(client, *lines: str) -> int:
    """How many wrong keys are answered 401 before the 429."""
    headers = [("Authorization", "Bearer wrong"), *(("X-Forwarded-For", line) for line in lines)]
    count = 0
    while (await client.get("/v1/leads", headers=headers)).status_code != 429:
        count += 1
    return count


async def test_whoever_guesses_keys_behind_a_proxy_slows_down_nobody_else(behind_a_proxy, anonymous, no_refill):
    assert await _until_refused(anonymous, "203.0.113.9") == 60
    assert await _until_refused(anonymous, "203.0.113.9") == 0
    assert await _until_refused(anonymous, "8.8.8.8", "203.0.113.9") == 0  # a line of their own does not help
    assert await _until_refused(anonymous, "203.0.113.10") == 60


async def test_nobody_is_believed_who_is_no_proxy(anonymous, no_refill):
    assert await _until_refused(anonymous, "203.0.113.9") == 60
    assert await _until_refused(anonymous, "203.0.113.10") == 0


@pytest.mark.parametrize(
    ("peer", "forwarded", "reported"),
    [
        ("172.18.0.1", "203.0.113.9", True),  # a proxy that nobody named
        ("127.0.0.9", "203.0.113.9", False),  # one that is named
        ("172.18.0.1", "", False),  # no proxy
        ("9.9.9.9", "203.0.113.9", False),  # anybody can make up the header
    ],
)
async def test_a_proxy_that_is_not_trusted_is_reported_once(redis, monkeypatch, caplog, peer, forwarded, reported):
    monkeypatch.setattr(client_network, "_reported", [])
    monkeypatch.setattr(
        client_network.settings, "get", lambda: Settings(trusted_proxies=(ipaddress.ip_network("127.0.0.0/8"),))
    )
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    for _ in range(3):
        client_network.network({"type": "http", "client": (peer, 1), "headers": headers})
    if reported:
        await eventually(lambda: redis.exists(client_network.NOT_TRUSTED))
    assert bool(await redis.exists(client_network.NOT_TRUSTED)) is reported
    assert [one.getMessage() for one in caplog.records].count("proxy.not_trusted") == reported
