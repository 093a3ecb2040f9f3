"""The guarded transport against receivers that misbehave: the outcome of each, within its deadline."""

import asyncio
import ssl
from datetime import UTC, datetime

import httpx
import pytest
import trustme

from leadwire.delivery.transport.addresses import networks
from leadwire.delivery.transport.guarded import IDLE, GuardedTransport
from leadwire.delivery.transport.responses import ReceiverResponse
from tests.delivery.transport import hostile
from tests.delivery.transport.test_addresses import FORBIDDEN_ADDRESSES

LOOPBACK = networks(["127.0.0.0/8", "::1/128"])
HEADERS = [("content-type", "application/json")]
DEADLINE = 0.6  # where the deadline is what is tested
PATIENCE = 30.0  # where it must not come first, however busy the machine is


@pytest.fixture
async def transport():
    made = GuardedTransport(LOOPBACK, timeout=PATIENCE)
    yield made
    await made.aclose()


def test_a_connection_is_given_up_before_servers_close_theirs():
    """By default they do so after 5 s (Node.js `keepAliveTimeout`, uvicorn, Apache httpd)."""
    assert IDLE.total_seconds() < 5


async def outcome(transport: GuardedTransport, url: str) -> str:
    """What the ledger would say; the attempt must end soon after its deadline whatever happens."""
    async with asyncio.timeout(transport._timeout + 60):
        try:
            return str((await transport.post(url, HEADERS, b"{}")).status)
        except httpx.TransportError as error:
            assert str(error)
            return error.outcome


@pytest.mark.parametrize(
    ("behavior", "expected"),
    [
        (hostile.answers, "204"),
        (hostile.redirects, "307"),
        (hostile.endless, "200"),
        (hostile.gzip_bomb, "200"),
        (hostile.hangs, "timeout"),
        (hostile.drips, "200"),
        (hostile.drips_headers, "timeout"),
        (hostile.floods_1xx, "timeout"),
        (hostile.resets_mid_headers, "protocol_error"),
        (hostile.closes_at_once, "protocol_error"),
        (hostile.speaks_no_http, "protocol_error"),
        (hostile.huge_headers, "protocol_error"),
        (hostile.many_headers(100), "204"),
        (hostile.many_headers(101), "protocol_error"),  # the HTTP client has no setting for that
    ],
)
async def test_every_misbehavior_has_its_outcome(behavior, expected):
    transport = GuardedTransport(LOOPBACK, timeout=DEADLINE if expected == "timeout" else PATIENCE)
    async with hostile.server(behavior) as port:
        assert await outcome(transport, f"http://127.0.0.1:{port}/") == expected


@pytest.mark.parametrize("behavior", [hostile.hangs, hostile.drips_headers, hostile.floods_1xx])
async def test_a_head_that_never_ends_is_said_to_be_incomplete(behavior):
    transport = GuardedTransport(LOOPBACK, timeout=DEADLINE)
    async with hostile.server(behavior) as port:
        with pytest.raises(httpx.TimeoutException, match="no complete head of a response in time"):
            await transport.post(f"http://127.0.0.1:{port}/", HEADERS, b"{}")


async def test_the_answer_is_cut_and_not_decompressed(transport):
    async with hostile.server(hostile.endless) as port:
        assert len((await transport.post(f"http://127.0.0.1:{port}/", HEADERS, b"{}")).body) <= 64 * 1024
    async with hostile.server(hostile.gzip_bomb) as port:
        answer = await transport.post(f"http://127.0.0.1:{port}/", HEADERS, b"{}")
    assert answer.body.startswith(b"\x1f\x8b")


@pytest.mark.parametrize("status", [200, 202, 299, 301, 404, 410, 500, 503])
async def test_the_status_decides_whatever_the_rest_of_the_answer_is(transport, status):
    async def sent(how: str) -> ReceiverResponse:
        async with hostile.server(hostile.broken_body(status, how)) as port:
            return await transport.post(f"http://127.0.0.1:{port}/", HEADERS, b"{}")

    whole = ("no gzip", "no length", "no text", "endless length", "in two lines", "a space", "no header")
    kinds = ("cut", "slow", "none", "endless chunks", "no chunks", *whole)
    answers = dict(zip(kinds, await asyncio.gather(*map(sent, kinds)), strict=True))
    assert {answer.status for answer in answers.values()} == {status}
    for how in ("cut", *whole):
        assert answers[how].body == b"half", how
    assert answers["none"].body == answers["no chunks"].body == b""


async def test_who_needs_the_whole_body_is_told_that_it_broke_off(transport):
    async with httpx.AsyncClient(transport=transport, trust_env=False) as client:
        for how in ("cut", "no chunks"):
            async with hostile.server(hostile.broken_body(200, how)) as port:
                with pytest.raises(httpx.RemoteProtocolError):
                    await client.post(f"http://127.0.0.1:{port}/", json={})


async def test_a_connection_is_used_again_when_its_body_came_in_parts(transport):
    made = []

    async def counted(reader, writer):
        made.append(writer)
        await hostile.answers_in_parts(reader, writer)

    async with hostile.server(counted) as port:
        for _ in range(30):
            assert (await transport.post(f"http://127.0.0.1:{port}/", HEADERS, b"{}")).body == b"ok"
    assert len(made) < 10  # now and then the next request comes before the connection is back: then there is one more


async def test_a_connection_closed_in_silence_is_opened_again(transport):
    async with hostile.server(hostile.answers_once_then_closes) as port:
        found = [await outcome(transport, f"http://127.0.0.1:{port}/") for _ in range(5)]
    # A request that crosses the close may have been acted upon, so it is not sent again here: one in some thousand.
    assert found.count("204") >= 3
    assert set(found) <= {"204", "protocol_error"}


async def test_nobody_there(transport):
    assert await outcome(transport, "http://127.0.0.1:1024/") == "connect_error"


async def test_ipv6(transport):
    async with hostile.server(hostile.answers, host="::1") as port:
        assert await outcome(transport, f"http://[::1]:{port}/") == "204"


@pytest.mark.parametrize("address", FORBIDDEN_ADDRESSES)
async def test_forbidden_addresses_are_refused_at_connect_too(address):
    transport = GuardedTransport((), timeout=PATIENCE)
    host = f"[{address}]" if ":" in address else address
    assert await outcome(transport, f"https://{host}/") == "blocked_address"

    async def resolve(host: str, port: int) -> list[str]:
        return [address]

    transport = GuardedTransport((), timeout=PATIENCE, resolve=resolve)
    assert await outcome(transport, "https://innocent.example.com/") == "blocked_address"


@pytest.mark.parametrize(
    "url", ["https://2130706433/", "https://0x7f000001/", "https://localhost/", "http://example.com/"]
)
async def test_what_entry_refuses_connect_refuses(url):
    assert await outcome(GuardedTransport((), timeout=PATIENCE), url) == "blocked_address"


async def test_one_bad_address_among_good_ones_refuses_them_all():
    async def resolve(host: str, port: int) -> list[str]:
        return ["93.184.216.34", "10.0.0.1"]

    assert (
        await outcome(GuardedTransport((), timeout=PATIENCE, resolve=resolve), "https://two.example.com/")
        == "blocked_address"
    )


async def test_an_address_that_nobody_answers_at_gives_way_to_the_next():
    """A look-up may have the dead one first each time: every attempt went there."""

    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    ca = trustme.CA()
    async with hostile.server(hostile.answers, _tls(ca.issue_cert("two.example.com"))) as port:
        transport = GuardedTransport(LOOPBACK, timeout=PATIENCE, resolve=resolve, trusted_pem=ca.cert_pem.bytes())
        url = f"https://two.example.com:{port}/"
        assert [await outcome(transport, url) for _ in range(2)] == ["connect_error", "204"]
        await transport.aclose()


async def test_a_name_that_moves_after_the_check_is_not_followed():
    """DNS rebinding: the connection goes to the vetted address, and the name is looked up once."""
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])

    async def resolve(host: str, port: int) -> list[str]:
        return next(answers)

    ca = trustme.CA()
    async with hostile.server(hostile.answers, _tls(ca.issue_cert("rebind.example.com"))) as port:
        transport = GuardedTransport(LOOPBACK, timeout=PATIENCE, resolve=resolve, trusted_pem=ca.cert_pem.bytes())
        url = f"https://rebind.example.com:{port}/"
        assert [await outcome(transport, url) for _ in range(3)] == ["204"] * 3
        await transport.aclose()
        assert await outcome(transport, url) == "blocked_address"


async def test_names_without_an_answer():
    async def fails(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    async def nothing(host: str, port: int) -> list[str]:
        return []

    async def never(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    for resolve, expected in ((fails, "dns_error"), (nothing, "dns_error"), (never, "timeout")):
        transport = GuardedTransport((), timeout=DEADLINE if expected == "timeout" else PATIENCE, resolve=resolve)
        assert await outcome(transport, "https://x.example.com/") == expected


async def test_tls_faults_are_told_apart_from_connect_errors():
    ca, stranger = trustme.CA(), trustme.CA()
    past = datetime(2020, 1, 1, tzinfo=UTC)
    cases = {
        "good": (hostile.answers, _tls(ca.issue_cert("localhost")), "204"),
        "expired": (hostile.answers, _tls(ca.issue_cert("localhost", not_after=past)), "tls_error"),
        "wrong host": (hostile.answers, _tls(ca.issue_cert("other.example.com")), "tls_error"),
        "self-signed": (hostile.answers, _tls(stranger.issue_cert("localhost")), "tls_error"),
        "TLS 1.0": (hostile.speaks_only_old_tls, None, "tls_error"),
        "no TLS": (hostile.speaks_no_http, None, "tls_error"),
    }
    found = {}
    for name, (behavior, context, _) in cases.items():
        async with hostile.server(behavior, context) as port:
            transport = GuardedTransport(LOOPBACK, timeout=PATIENCE, trusted_pem=ca.cert_pem.bytes())
            found[name] = await outcome(transport, f"https://localhost:{port}/")
    assert found == {name: expected for name, (_, _, expected) in cases.items()}


async def test_it_is_an_httpx_transport(transport):
    async with (
        hostile.server(hostile.answers) as port,
        httpx.AsyncClient(transport=transport, trust_env=False) as client,
    ):
        assert (await client.post(f"http://127.0.0.1:{port}/", json={})).status_code == 204
        with pytest.raises(httpx.ConnectError):
            await client.post("https://10.0.0.1/", json={})


async def test_many_requests_at_once_share_one_client(transport):
    async with hostile.server(hostile.answers) as port:
        found = await asyncio.gather(*(outcome(transport, f"http://127.0.0.1:{port}/") for _ in range(200)))
    assert set(found) == {"204"}


async def test_a_certificate_chain_of_a_megabyte_is_refused_before_it_is_read(tmp_path):
    ca = trustme.CA()
    leaf, root = ca.issue_cert("localhost").private_key_and_cert_chain_pem.bytes(), ca.cert_pem.bytes()
    chain = tmp_path / "chain.pem"
    chain.write_bytes(leaf + root * (1_000_000 // len(ssl.PEM_cert_to_DER_cert(root.decode())) + 1))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(chain)
    transport = GuardedTransport(LOOPBACK, timeout=PATIENCE, trusted_pem=root)
    async with hostile.server(hostile.answers, tls) as port:
        url = f"https://localhost:{port}/"
        assert await outcome(transport, url) == "tls_error"
        with pytest.raises(httpx.ConnectError, match="certificate chain is larger than 64 KiB"):
            await transport.post(url, HEADERS, b"{}")
    await transport.aclose()


def _tls(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context
