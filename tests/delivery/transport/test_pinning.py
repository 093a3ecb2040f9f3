"""The whole way to a connection: what is judged, looked up, pinned and connected to is one and the same host."""

import socket
import ssl

import pytest
import trustme
from pyreqwest.exceptions import PyreqwestError

from leadwire.delivery.transport import guarded
from leadwire.delivery.transport.addresses import networks
from leadwire.delivery.transport.guarded import GuardedTransport
from tests.delivery.transport import hostile
from tests.delivery.transport.test_guarded import HEADERS, PATIENCE, outcome

VETTED = networks(["127.64.0.0/16"])  # no 127.0.0.1 among them, so that nothing is reached by accident
REACHED = {
    "hooks.example.com": "hooks.example.com",
    "HOOKS.Example.COM": "hooks.example.com",
    "hooks.example.com.": "hooks.example.com",
    "a_b.example.com": "a_b.example.com",
    "xn--fa-hia.evil.example": "xn--fa-hia.evil.example",  # decoded and looked up as in 2003 it would be `fass`
    "XN--FA-HIA.evil.example.": "xn--fa-hia.evil.example",
    "xn--bcher-kva.evil.example": "xn--bcher-kva.evil.example",
    "xn--80ak6aa92e.evil.example": "xn--80ak6aa92e.evil.example",  # Cyrillic only
    "xn--pple-43d.evil.example": "xn--pple-43d.evil.example",  # Cyrillic and Latin
    "xn--ls8h.evil.example": "xn--ls8h.evil.example",  # an emoji
}
BLOCKED = """
fa\u00df.evil.example \u0430pple.example xn--a.example xn--.example xn--99999999.example x.xn--a
2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 127.1 127.64.1 127.0.0.1 127.0.0.1. 0X7F.0.0.1 127.0.0.0x1
[::1] [::ffff:127.0.0.1] [fe80::1%25eth0] [::ffff:127.64.0.1%25lo] [::1%251] [fe80::1%eth0]
localhost LOCALHOST localhost. printer exa%6dple.com \uff11\uff12\uff17.0.0.1 127\u3002
hooks.example.com%00.evil.example
""".split()


class _Names:
    """A name server of the test's own: every name has its own address of the loopback network."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def address(self, host: str) -> str:
        return f"127.64.1.{sorted(set(REACHED.values())).index(host) + 1}"

    async def resolve(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        return [self.address(host)]


@pytest.fixture
def names():
    return _Names()


@pytest.fixture
def ca():
    return trustme.CA()


@pytest.fixture
async def receiver(ca):
    """The port on every address of the machine, and the addresses that connections came to."""
    reached = []

    async def behave(reader, writer):
        reached.append(writer.get_extra_info("sockname")[0])
        await hostile.answers(reader, writer)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("*.example.com", "*.evil.example").configure_cert(context)
    async with hostile.server(behave, context, host="0.0.0.0") as port:
        yield port, reached


def transport(names: _Names, ca: trustme.CA) -> GuardedTransport:
    return GuardedTransport(VETTED, timeout=PATIENCE, resolve=names.resolve, trusted_pem=ca.cert_pem.bytes())


@pytest.mark.parametrize("spelled", REACHED)
async def test_the_connection_goes_to_the_vetted_address_of_the_very_name(spelled, names, ca, receiver):
    port, reached = receiver
    host = REACHED[spelled]
    assert await outcome(transport(names, ca), f"https://{spelled}:{port}/") == "204"
    assert (names.asked, reached) == ([host], [names.address(host)])


@pytest.mark.parametrize("spelled", BLOCKED)
async def test_a_spelling_that_could_be_read_in_two_ways_reaches_nobody(spelled, names, ca, receiver):
    port, reached = receiver
    for url in (f"https://{spelled}:{port}/", f"http://{spelled}:{port}/"):
        assert await outcome(transport(names, ca), url) == "blocked_address"
    assert (names.asked, reached) == ([], [])


async def test_the_systems_name_service_is_asked_for_the_very_name(names, ca, receiver, monkeypatch):
    port, reached = receiver
    asked = []

    def getaddrinfo(host, *_, **__):
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (names.address("xn--fa-hia.evil.example"), port))]

    monkeypatch.setattr(guarded.socket, "getaddrinfo", getaddrinfo)
    made = GuardedTransport(VETTED, timeout=PATIENCE, trusted_pem=ca.cert_pem.bytes())
    assert await outcome(made, f"https://xn--fa-hia.evil.example:{port}/") == "204"
    assert asked == [b"xn--fa-hia.evil.example"]
    assert reached == [names.address("xn--fa-hia.evil.example")]


async def test_a_client_looks_no_name_up_itself():
    """What the pin does not answer fails, even where the system knows the name."""
    reached = []

    async def behave(reader, writer):
        reached.append(writer)
        await hostile.answers(reader, writer)

    made = GuardedTransport(VETTED, timeout=PATIENCE)
    async with hostile.server(behave) as port:
        client = made._build(guarded._Origin("http", "pinned.example.com", port), "127.0.0.1")
        for scheme in ("http", "https"):
            with pytest.raises(PyreqwestError):
                await client.post(f"{scheme}://localhost:{port}/").build().send()
        assert reached == []
        assert (await client.post(f"http://pinned.example.com:{port}/").build().send()).status == 204
    await client.close()


@pytest.fixture
def built(monkeypatch):
    """The hosts that clients were built for."""
    hosts = []
    build = GuardedTransport._build

    def counted(self, origin, address, *tunnel):
        hosts.append(origin.host)
        return build(self, origin, address, *tunnel)

    monkeypatch.setattr(GuardedTransport, "_build", counted)
    return hosts


async def test_more_hosts_in_turn_than_clients_do_not_build_one_for_every_request(built, monkeypatch):
    monkeypatch.setattr(guarded, "_CLIENTS", 8)
    made = GuardedTransport(VETTED, timeout=PATIENCE)
    async with hostile.server(hostile.answers, host="0.0.0.0") as port:
        for _ in range(40):
            for number in range(10):
                assert (await made.post(f"http://127.64.2.{number}:{port}/", HEADERS, b"{}")).status == 204
        assert len(made._pinned) == 8
        await made.aclose()
    assert len(built) < 300  # of 400; about 160 are expected, give or take 20


async def test_a_name_looked_up_again_keeps_its_client_while_its_address_stays(built, names, ca, receiver, monkeypatch):
    port, reached = receiver
    monkeypatch.setattr(guarded, "_ANSWER_HOLDS", 0.0)
    made = transport(names, ca)
    url = f"https://hooks.example.com:{port}/"
    assert [await outcome(made, url) for _ in range(3)] == ["204"] * 3
    assert (len(names.asked), len(built), len(reached)) == (3, 1, 1)
    monkeypatch.setattr(names, "address", lambda host: "127.64.1.200")
    assert await outcome(made, url) == "204"
    assert (len(built), reached[1:]) == (2, ["127.64.1.200"])
