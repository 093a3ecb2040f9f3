"""Client certificates: shown to the receiver that they are for, and to nobody else."""

import asyncio
import ssl
from contextlib import asynccontextmanager

import httpx
import pytest
import trustme

from leadwire.delivery.transport.guarded import GuardedTransport
from leadwire.delivery.transport.identity import Identity
from tests.delivery.transport import hostile
from tests.delivery.transport.connect_proxy import connect_proxy
from tests.delivery.transport.test_guarded import HEADERS, LOOPBACK, PATIENCE
from tests.delivery.transport.test_proxy import NAME, PUBLIC, Sending


@pytest.fixture
def ca():
    return trustme.CA()


def pem(leaf: trustme.LeafCert) -> str:
    return leaf.private_key_and_cert_chain_pem.bytes().decode()


def identity(ca: trustme.CA, name: str, owner: str = "we_1") -> Identity:
    return Identity(owner, pem(ca.issue_cert(name, common_name=name)))


@asynccontextmanager
async def demanding(ca: trustme.CA):
    """A receiver that wants a certificate of `ca`; answers its port, and the names on those that it was shown."""
    shown = []

    async def behave(reader, writer):
        subject = writer.get_extra_info("peercert")["subject"]
        name = dict(pair for parts in subject for pair in parts)["commonName"]
        while True:
            await hostile._request(reader)
            shown.append(name)
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            await writer.drain()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("localhost", NAME).configure_cert(context)
    ca.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    async with hostile.server(behave, context) as port:
        yield port, shown


async def sent(transport, port, shown_as=None):
    try:
        answer = await transport.post(f"https://localhost:{port}/", HEADERS, b"{}", shown_as)
    except httpx.TransportError as error:
        return error.outcome
    return answer.status


async def test_each_owner_is_known_by_its_own_certificate_and_without_one_refused(ca):
    transport = GuardedTransport(LOOPBACK, timeout=PATIENCE, trusted_pem=ca.cert_pem.bytes())
    async with demanding(ca) as (port, shown):
        ada, grace = identity(ca, "ada.example.com"), identity(ca, "grace.example.com", "we_2")
        for one in (ada, grace, ada, grace):
            assert await sent(transport, port, one) == 204
        for one in (None, identity(trustme.CA(), "eve.example.com", "we_3")):
            # Python's server closes the connection without saying why.
            assert await sent(transport, port, one) in ("tls_error", "protocol_error")
        assert shown == ["ada.example.com", "grace.example.com"] * 2
        assert await sent(transport, port, ada) == 204
    await transport.aclose()


async def test_the_same_certificate_of_two_owners_shares_no_connection(ca):
    transport = GuardedTransport(LOOPBACK, timeout=PATIENCE, trusted_pem=ca.cert_pem.bytes())
    ours = identity(ca, "ada.example.com")
    async with demanding(ca) as (port, _):
        assert [await sent(transport, port, one) for one in (ours, ours._replace(owner="we_2"))] == [204, 204]
        clients = [pinned.client for pinned in transport._pinned.values()]
        assert len(clients) == len(set(map(id, clients))) == 2
    await transport.aclose()


async def test_a_new_one_replaces_the_old_one_at_once_and_nothing_of_that_is_kept(ca):
    transport = GuardedTransport(LOOPBACK, timeout=PATIENCE, trusted_pem=ca.cert_pem.bytes())
    async with demanding(ca) as (port, shown):
        for name in ("old.example.com", "new.example.com"):
            assert await sent(transport, port, identity(ca, name)) == 204
        assert shown == ["old.example.com", "new.example.com"]
        (kept,) = transport._pinned
        assert "new.example.com" in ssl_names(kept.identity.pem)
    await transport.aclose()


def test_its_key_is_not_in_what_may_be_logged(ca):
    assert repr(identity(ca, "ada.example.com")) == "Identity(we_1)"


def ssl_names(text: str) -> str:
    from cryptography import x509

    return x509.load_pem_x509_certificate(text.encode()).subject.rfc4514_string()


async def test_a_receiver_that_asks_for_none_is_shown_none(ca):
    seen = []

    async def behave(reader, writer):
        seen.append(writer.get_extra_info("peercert"))
        await hostile.answers(reader, writer)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("localhost").configure_cert(context)
    transport = GuardedTransport(LOOPBACK, timeout=PATIENCE, trusted_pem=ca.cert_pem.bytes())
    async with hostile.server(behave, context) as port:
        assert await sent(transport, port, identity(ca, "ada.example.com")) == 204
    assert seen == [None]
    await transport.aclose()


async def test_it_goes_through_the_proxy_too(ca):
    async with demanding(ca) as (port, shown), connect_proxy({f"{PUBLIC}:443": port}) as proxy:
        transport = Sending(proxy, ca)
        answer = await transport.post(f"https://{NAME}/", HEADERS, b"{}", identity(ca, "ada.example.com"))
        assert answer.status == 204
        assert shown == ["ada.example.com"]
        await transport.aclose()


async def test_no_more_clients_are_kept_than_without_certificates(ca, monkeypatch):
    from leadwire.delivery.transport import guarded

    monkeypatch.setattr(guarded, "_CLIENTS", 4)
    transport = GuardedTransport(LOOPBACK, timeout=PATIENCE, trusted_pem=ca.cert_pem.bytes())
    ours = identity(ca, "ada.example.com")
    async with demanding(ca) as (port, _):
        found = await asyncio.gather(*(sent(transport, port, ours._replace(owner=f"we_{n}")) for n in range(12)))
        assert found == [204] * 12
        assert len(transport._pinned) <= 4
    await transport.aclose()
