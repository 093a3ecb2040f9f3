"""The way out through an operator's proxy: to vetted addresses only, with its failures told by name."""

import ast
import asyncio
import base64
import gc
import ssl
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
import trustme

import leadwire
from leadwire.delivery.transport import tunnels
from leadwire.delivery.transport.guarded import GuardedTransport
from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import OperatorError
from tests.delivery.transport import hostile
from tests.delivery.transport.connect_proxy import connect_proxy
from tests.delivery.transport.test_guarded import DEADLINE, HEADERS, LOOPBACK, PATIENCE, outcome

PUBLIC = "93.184.216.34"
PUBLIC_6 = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"
NAME = "hooks.example.com"
PASSWORD = "Basic " + base64.b64encode(b"leadwire:sesame-77").decode()


@pytest.fixture
def ca():
    return trustme.CA()


@pytest.fixture
async def receiver(ca):
    """A receiver whose certificate is for a name and for a public address, and the heads that it was sent."""
    heads = []

    async def behave(reader, writer):
        while True:
            heads.append(await hostile._request(reader))
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            await writer.drain()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(NAME, PUBLIC, PUBLIC_6).configure_cert(context)
    async with hostile.server(behave, context) as port:
        yield port, heads


class Sending(GuardedTransport):
    """Through a proxy, where each name has an address of the test's."""

    def __init__(self, proxy, ca, address=PUBLIC, timeout=PATIENCE, allowed=()):
        async def resolve(host, port):
            return [address]

        super().__init__(allowed, timeout=timeout, proxy=proxy.url, resolve=resolve, trusted_pem=ca.cert_pem.bytes())


async def failure(transport, url=f"https://{NAME}/"):
    with pytest.raises(httpx.TransportError) as raised:
        await transport.post(url, HEADERS, b"{}")
    return raised.value.outcome, str(raised.value)


@pytest.mark.parametrize("authorization", ["", PASSWORD])
@pytest.mark.parametrize(("address", "place"), [(PUBLIC, f"{PUBLIC}:443"), (PUBLIC_6, f"[{PUBLIC_6}]:443")])
async def test_the_proxy_is_asked_for_the_vetted_address_and_sees_nothing_else(
    ca, receiver, authorization, address, place
):
    port, heads = receiver
    async with connect_proxy({place: port}, authorization) as proxy:
        transport = Sending(proxy, ca, address)
        for _ in range(3):
            answer = await transport.post(f"https://{NAME}/hook", [*HEADERS, ("x-token", "sesame-88")], b'{"a": 1}')
            assert answer.status == 204
        await transport.aclose()
    assert set(proxy.asked) == {place}
    assert len(proxy.asked) < 3  # connections are used again
    assert all(b"host: hooks.example.com\r\n" in head.lower() for head in heads)
    assert all(b"proxy-authorization" not in head.lower() for head in heads)
    assert b"sesame-88" not in b"".join(proxy.heads) + proxy.passed
    assert NAME.encode() not in b"".join(proxy.heads)


async def test_an_address_may_be_the_host_itself(ca, receiver):
    port, _ = receiver
    async with connect_proxy({f"{PUBLIC}:443": port, f"[{PUBLIC_6}]:443": port}) as proxy:
        transport = Sending(proxy, ca)
        assert await outcome(transport, f"https://{PUBLIC}/") == "204"
        refused = "proxy_error", "through a proxy, a URL needs a name instead of an IPv6 address"
        assert await failure(transport, f"https://[{PUBLIC_6}]/") == refused
        await transport.aclose()


@pytest.mark.parametrize("address", ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "64:ff9b::a00:1"])
async def test_the_guard_still_judges(ca, address):
    async with connect_proxy({}) as proxy:
        transport = Sending(proxy, ca, address)
        assert await outcome(transport, f"https://{NAME}/") == "blocked_address"
        assert proxy.asked == []


async def test_the_operators_own_networks_are_reached_directly(ca, receiver):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(NAME).configure_cert(context)
    async with connect_proxy({}) as proxy, hostile.server(hostile.answers, context) as port:
        transport = Sending(proxy, ca, "127.0.0.1", allowed=LOOPBACK)
        assert await outcome(transport, f"https://{NAME}:{port}/") == "204"
        await transport.aclose()
        async with hostile.server(hostile.answers) as plain:
            transport = Sending(proxy, ca, "127.0.0.1", allowed=LOOPBACK)
            assert await outcome(transport, f"http://127.0.0.1:{plain}/") == "204"
            await transport.aclose()
    assert proxy.asked == []


@pytest.mark.parametrize("status", [400, 403, 407, 429, 500, 502, 503, 504, 302])
async def test_a_proxy_that_refuses_is_named_with_its_status(ca, status):
    async with connect_proxy({}) as proxy:
        proxy.answer = f"HTTP/1.1 {status} Whatever\r\nX-Secret: sesame-99\r\n\r\nsesame-99".encode()
        transport = Sending(proxy, ca)
        assert await failure(transport) == ("proxy_error", f"proxy refused: {status}")
        await transport.aclose()


async def test_a_wrong_password_is_a_407_and_not_told(ca):
    async with connect_proxy({}, PASSWORD) as proxy:
        wrong = proxy.url.replace("sesame-77", "sesame-66")
        transport = GuardedTransport((), timeout=PATIENCE, proxy=wrong)
        assert await failure(transport, f"https://{PUBLIC}/") == ("proxy_error", "proxy refused: 407")
        assert len(proxy.heads) == 1
        await transport.aclose()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", "proxy closed the connection"),
        (b"HTTP/1.1 200 OK\r\n", "proxy closed the connection"),
        (b"SSH-2.0-OpenSSH_9\r\n\r\n", "proxy does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 5000 + b"\r\n", "proxy does not speak HTTP"),
    ],
)
async def test_a_proxy_that_cuts_or_is_none(ca, answer, said):
    async with connect_proxy({}) as proxy:
        proxy.answer = answer
        transport = Sending(proxy, ca)
        assert await failure(transport) == ("proxy_error", said)
        await transport.aclose()


async def test_a_proxy_that_hangs_is_named_before_the_time_is_over(ca, monkeypatch):
    monkeypatch.setattr(tunnels, "_LIMIT", 1.0)
    async with connect_proxy({}) as proxy:
        proxy.answer = None
        transport = Sending(proxy, ca)
        assert await failure(transport) == ("proxy_error", "proxy did not answer CONNECT within 1 s")
        assert Sending(proxy, ca, timeout=DEADLINE)._tunnels._limit == DEADLINE / 2
        await transport.aclose()


@pytest.mark.parametrize("url", ["", "http://proxy..example.com:3128"])
async def test_a_proxy_that_is_not_there(ca, url):
    async with connect_proxy({}) as proxy:
        url = url or proxy.url
    transport = Sending(SimpleNamespace(url=url), ca)
    name, said = await failure(transport)
    assert name == "proxy_error"
    assert said.startswith("proxy cannot be reached: ")
    await transport.aclose()


async def test_it_works_again_as_soon_as_the_proxy_does(ca, receiver):
    async with connect_proxy({f"{PUBLIC}:443": receiver[0]}) as proxy:
        transport = Sending(proxy, ca)
        proxy.answer = b"HTTP/1.1 503 Busy\r\n\r\n"
        assert await failure(transport) == ("proxy_error", "proxy refused: 503")
        proxy.answer = b"as usual"
        assert await outcome(transport, f"https://{NAME}/") == "204"
        await transport.aclose()


async def test_a_tunnel_that_is_cut_is_no_refusal(ca, receiver):
    async with connect_proxy({f"{PUBLIC}:443": receiver[0]}) as proxy:
        proxy.cut_after = 100  # amid the certificate
        transport = Sending(proxy, ca)
        name, _ = await failure(transport)
        assert name in ("tls_error", "connect_error", "protocol_error")
        await transport.aclose()


@pytest.mark.parametrize(
    ("behavior", "expected"),
    [
        (hostile.hangs, "timeout"),
        (hostile.endless, "200"),
        (hostile.closes_at_once, "protocol_error"),
        (hostile.huge_headers, "protocol_error"),
    ],
)
async def test_receivers_that_misbehave_have_the_same_outcomes(ca, behavior, expected):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(NAME).configure_cert(context)
    async with hostile.server(behavior, context) as port, connect_proxy({f"{PUBLIC}:443": port}) as proxy:
        transport = Sending(proxy, ca, timeout=4.0 if expected == "timeout" else PATIENCE)
        assert await outcome(transport, f"https://{NAME}/") == expected
        await transport.aclose()


async def test_a_certificate_of_another_host_is_refused_through_the_tunnel(ca):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("other.example.com").configure_cert(context)
    async with hostile.server(hostile.answers, context) as port, connect_proxy({f"{PUBLIC}:443": port}) as proxy:
        transport = Sending(proxy, ca)
        assert await outcome(transport, f"https://{NAME}/") == "tls_error"
        await transport.aclose()


async def test_many_at_once_go_through(ca, receiver):
    async with connect_proxy({f"{PUBLIC}:443": receiver[0]}) as proxy:
        transport = Sending(proxy, ca)
        found = await asyncio.gather(*(outcome(transport, f"https://{NAME}/{n}") for n in range(50)))
        assert found == ["204"] * 50
        await transport.aclose()


async def test_nobody_else_on_the_machine_can_use_the_way_out(ca, receiver):
    async with connect_proxy({f"{PUBLIC}:443": receiver[0]}) as proxy:
        transport = Sending(proxy, ca)
        assert await outcome(transport, f"https://{NAME}/") == "204"
        (tunnel,) = transport._tunnels._tunnels.values()
        before = list(proxy.asked)
        password = f"Proxy-Authorization: {tunnel.authorization}"
        for line, header in (
            (f"CONNECT {NAME}:443", "X-A: b"),
            (f"CONNECT {NAME}:443", "Proxy-Authorization: wrong"),
            ("CONNECT 10.0.0.1:443", password),
            (f"CONNECT {NAME}:444", password),
            (f"GET http://{NAME}:443", password),
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(tunnel.url.rpartition(":")[2]))
            writer.write(f"{line} HTTP/1.1\r\n{header}\r\n\r\n".encode())
            assert await reader.read() == b"HTTP/1.1 403 Forbidden\r\n\r\n"
            writer.close()
        assert proxy.asked == before
        await transport.aclose()


async def test_a_way_ends_with_its_client(ca, receiver):
    async with connect_proxy({f"{PUBLIC}:443": receiver[0]}) as proxy:
        transport = Sending(proxy, ca)
        assert await outcome(transport, f"https://{NAME}/") == "204"
        kept = transport._tunnels
        assert len(kept._tunnels) == 1
        await transport.aclose()
        gc.collect()
        assert len(kept._tunnels) == 0
        assert not kept._busy


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("http://proxy:3128", ("proxy", 3128, "")),
        ("http://u:p%40ss%3A%25@10.0.0.5:8080/", ("10.0.0.5", 8080, "Basic " + base64.b64encode(b"u:p@ss:%").decode())),
        ("http://[fd00::1]:3128", ("fd00::1", 3128, "")),
    ],
)
def test_how_a_proxy_is_named(url, parts):
    proxy = tunnels.Proxy.read(url)
    assert tuple(proxy) == parts
    assert repr(proxy) == f"Proxy({parts[0]}:{parts[1]})"


@pytest.mark.parametrize(
    "wrong",
    ["https://u:sesame-77@proxy:3128", "http://u:sesame-77@proxy", "proxy:3128", "http://u:sesame-77", "socks5://p:1080",
     "http://u:sesame-77@proxy:3128/path", "http://u:sesame-77@proxy:99999", "http://u:sesame-77@[::1:3128",
     "sesame-77"],
)  # fmt: skip
def test_what_is_no_proxy_is_refused_without_its_password(wrong):
    with pytest.raises(OperatorError) as refused:
        settings.read({"LEADWIRE_EGRESS_PROXY": wrong})
    assert str(refused.value).startswith("LEADWIRE_EGRESS_PROXY cannot be used: a proxy is http://host:port")
    assert "sesame-77" not in str(refused.value)


def test_whatever_leaves_the_house_knows_of_the_proxy():
    for path in Path(leadwire.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "GuardedTransport":
                assert "proxy" in {given.arg for given in node.keywords}, path


async def test_so_do_requests_that_read_a_whole_answer(ca):
    async def answers(reader, writer):
        await hostile._request(reader)
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{"a": 1}')
        await writer.drain()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(NAME).configure_cert(context)
    async with (
        hostile.server(answers, context) as port,
        connect_proxy({f"{PUBLIC}:443": port}) as proxy,
        httpx.AsyncClient(transport=Sending(proxy, ca), trust_env=False) as client,
    ):
        assert (await client.get(f"https://{NAME}/keys")).json() == {"a": 1}
    assert proxy.asked == [f"{PUBLIC}:443"]
