"""Client certificates of endpoints: what is refused, what is shown, and that the worker shows them to the receiver."""

import contextlib
import random
import ssl
from datetime import datetime, timedelta

import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from leadwire.delivery.endpoints import table
from leadwire.delivery.transport.guarded import GuardedTransport
from leadwire.domain.webhooks import certificates, changes, explain, reads
from leadwire.domain.webhooks.schema import Attempt
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.errors import Invalid, NotFound
from tests import make
from tests.delivery.transport.test_guarded import LOOPBACK, PATIENCE
from tests.delivery.transport.test_identity import demanding
from tests.delivery.wired import endpoint

URL = "https://hooks.example.com/leadwire"


@pytest.fixture(scope="module")
def ca():
    return trustme.CA()


def parts(leaf: trustme.LeafCert) -> dict[str, str]:
    """The fields of the form."""
    chain = "".join(one.bytes().decode() for one in leaf.cert_chain_pems)
    return {"certificate": chain, "key": leaf.private_key_pem.bytes().decode()}


def issued(ca, name="ada.example.com", days=365, **more) -> dict[str, str]:
    now = clock.now()
    return parts(
        ca.issue_cert(
            name, common_name=name, not_before=now - timedelta(days=1), not_after=now + timedelta(days=days), **more
        )
    )


def as_pem(key, encryption=None, form=PrivateFormat.PKCS8) -> str:
    return key.private_bytes(Encoding.PEM, form, encryption or NoEncryption()).decode()


@pytest.fixture
async def made(workspace):
    return await changes.create(workspace, URL, ["lead.created"])


def refusals(ca) -> dict[str, tuple[dict[str, str], str]]:
    good, other = issued(ca), issued(ca)
    private = load_pem_private_key(good["key"].encode(), None)
    secret = BestAvailableEncryption(b"sesame")
    return {
        "no key": ({**good, "key": ""}, "belong together"),
        "no certificate": ({**good, "certificate": " \n"}, "belong together"),
        "the key of another": ({**good, "key": other["key"]}, "the key of another certificate"),
        "encrypted, PKCS 8": ({**good, "key": as_pem(private, secret)}, "has a passphrase"),
        "encrypted, as before": (
            {**good, "key": as_pem(private, secret, PrivateFormat.TraditionalOpenSSL)}, "has a passphrase",
        ),
        "expired": (issued(ca, days=-0.5), "It is valid from"),
        "a certificate as the key": ({**good, "key": good["certificate"]}, "not a private key in PEM"),
        "a key as the certificate": ({**good, "certificate": good["key"]}, "not a certificate in PEM"),
        "nonsense": ({**good, "certificate": "nonsense"}, "not a certificate in PEM"),
        "cut": ({**good, "certificate": good["certificate"][:200]}, "not a certificate in PEM"),
        "too long": ({**good, "certificate": good["certificate"] * 30}, "At most 16,384 characters"),
        "too many": ({**good, "certificate": good["certificate"] * 9}, "At most 8 certificates"),
        "text that is not ASCII": ({**good, "key": "ключ"}, "not a private key in PEM"),
    }  # fmt: skip


REFUSED = tuple(refusals(trustme.CA()))


@pytest.mark.parametrize("name", REFUSED)
async def test_what_cannot_work_is_refused_by_name(workspace, made, ca, name):
    given, said = refusals(ca)[name]
    with pytest.raises(Invalid, match=said):
        await certificates.replace(workspace, made.id, **given)
    assert await db.value("SELECT certificate FROM webhook_endpoint") is None


async def test_weak_keys_and_odd_curves_are_refused(ca):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "ada")])
    for key in (rsa.generate_private_key(65_537, 1024), ec.generate_private_key(ec.SECP256K1())):
        now = clock.now()
        built = x509.CertificateBuilder().subject_name(name).issuer_name(name).serial_number(1)
        built = built.not_valid_before(now - timedelta(1)).not_valid_after(now + timedelta(1))
        signed = built.public_key(key.public_key()).sign(key, hashes.SHA256())
        with pytest.raises(Invalid, match="Use RSA with at least 2048 bits"):
            certificates.checked(signed.public_bytes(Encoding.PEM).decode(), as_pem(key))


def test_no_time_is_spent_on_whether_the_factors_of_a_key_are_primes(ca):
    """They are none here, and nobody says so: of primes of this size, OpenSSL would make sure for a minute."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    p, q, e = 3**5201, 5**3551, 65_537  # some 8,245 bits each
    numbers = rsa.RSAPublicNumbers(e, p * q)
    d = pow(e, -1, (p - 1) * (q - 1))
    key = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), numbers)
    name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "ada")]), clock.now()
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).serial_number(1)
    built = built.not_valid_before(now - timedelta(1)).not_valid_after(now + timedelta(1))
    signed = built.public_key(numbers.public_key()).sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    pem = as_pem(key.private_key(unsafe_skip_rsa_key_validation=True))
    with pytest.raises(Invalid, match="Use RSA with at least 2048 bits"):
        certificates.checked(signed.public_bytes(Encoding.PEM).decode(), pem)


def test_bytes_changed_anywhere_are_refused_or_do_no_harm(ca):
    given, dice = issued(ca), random.Random(7)
    whole = ssl.PEM_cert_to_DER_cert(given["certificate"])
    version = whole.index(bytes.fromhex("a003020102"))
    for place in (version + 4, *(dice.randrange(len(whole)) for _ in range(200))):
        changed = whole[:place] + bytes([whole[place] ^ 0x40]) + whole[place + 1 :]
        with contextlib.suppress(Invalid):
            certificates.checked(ssl.DER_cert_to_PEM_cert(changed), given["key"])


@pytest.mark.parametrize("year", [2060, 2061])
def test_a_time_that_python_cannot_tell_is_no_certificate(ca, year):
    """It begins or ends in the year 0."""
    given = parts(ca.issue_cert("ada.example.com", not_before=datetime(2060, 1, 1), not_after=datetime(2061, 1, 1)))
    whole = ssl.PEM_cert_to_DER_cert(given["certificate"])
    changed = whole.replace(b"%d0101" % year, b"00000101")
    assert changed != whole
    with pytest.raises(Invalid, match="not a certificate in PEM"):
        certificates.checked(ssl.DER_cert_to_PEM_cert(changed), given["key"])


@pytest.mark.parametrize("url", ["http://127.0.0.1:9000/", "pull:crm"])
async def test_it_needs_an_https_address(workspace, ca, url):
    plain = await changes.create(workspace, url, ["lead.created"])
    with pytest.raises(Invalid, match="needs an endpoint with an https address"):
        await certificates.replace(workspace, plain.id, **issued(ca))


async def test_another_workspace_s_endpoint_is_not_there(made, ca):
    with pytest.raises(NotFound):
        await certificates.replace("ws_other", made.id, **issued(ca))
    with pytest.raises(NotFound):
        await certificates.remove("ws_other", made.id)


async def test_it_is_sealed_and_never_shown(admin, workspace, made, ca):
    given = issued(ca)
    page = await admin.open(f"/webhooks/{made.id}/certificate")
    assert "Private key" in page
    page = await admin.fill(f"/webhooks/{made.id}/certificate", **given)
    assert "The certificate is stored, encrypted" in page
    assert "CN=ada.example.com" in page
    sealed = bytes(await db.value("SELECT certificate FROM webhook_endpoint"))
    assert b"PRIVATE" not in sealed
    assert "BEGIN PRIVATE KEY" in table.opened(made.id, table.WebhookEndpoint.certificate, sealed)
    assert table.WebhookEndpoint.certificate in table.SEALED
    for path in (f"/webhooks/{made.id}", f"/webhooks/{made.id}/certificate", "/webhooks", "/audit"):
        assert "PRIVATE KEY-----\nMI" not in await admin.open(path)
    noted = await db.rows("SELECT action, subject, detail FROM audit_entry WHERE action LIKE '%certificate%'")
    (entry,) = noted
    assert tuple(entry)[:2] == ("endpoint.certificate_replaced", made.id)
    assert entry["detail"].startswith("CN=ada.example.com")


async def test_a_refused_form_keeps_the_certificate_and_not_the_key(admin, made, ca):
    await admin.open(f"/webhooks/{made.id}/certificate")
    given = {**issued(ca), "key": issued(ca)["key"]}
    page = await admin.fill(f"/webhooks/{made.id}/certificate", 422, **given)
    assert "This is the key of another certificate" in page
    assert given["certificate"].splitlines()[1] in page.replace("&#43;", "+")
    assert given["key"].splitlines()[1] not in page.replace("&#43;", "+")


async def test_it_ends_soon_and_is_removed(admin, workspace, made, ca):
    await certificates.replace(workspace, made.id, **issued(ca, days=29))
    ((ending, subject, _),) = await reads.certificates_ending()
    assert (ending, subject) == (made.id, "CN=ada.example.com,OU=" + subject.partition(",OU=")[2])
    for path in ("/webhooks", f"/webhooks/{made.id}", f"/webhooks/{made.id}/certificate"):
        assert "ends" in await admin.open(path)
    assert "Without a new one every delivery fails" in await admin.open(f"/webhooks/{made.id}")
    await certificates.replace(workspace, made.id, **issued(ca, days=31))
    assert await reads.certificates_ending() == []
    assert "Without a new one" not in await admin.open(f"/webhooks/{made.id}")
    await admin.fill(f"/webhooks/{made.id}/certificate/remove")
    found = await reads.endpoint(workspace, made.id)
    assert (found.certificate_subject, found.certificate_ends_at) == (None, None)
    assert await db.value("SELECT certificate FROM webhook_endpoint") is None


async def test_the_worker_shows_it_to_the_receiver_from_the_next_attempt_on(workspace, bot, wire, ca, monkeypatch):
    wire.transport = GuardedTransport(LOOPBACK, timeout=PATIENCE, trusted_pem=ca.cert_pem.bytes(), resolve=_loopback)
    async with demanding(ca) as (port, shown):
        ours = await endpoint(workspace, f"https://hooks.example.com:{port}/")
        await make.lead(workspace, bot)
        (first,) = await wire.turn()
        assert first.outcome in ("tls_error", "protocol_error")
        for name in ("ada.example.com", "grace.example.com"):
            await certificates.replace(workspace, ours.id, **issued(ca, name))
            await make.lead(workspace, bot, email=f"x@{name}")
            (done,) = await wire.turn()
            assert (done.outcome, done.http_status) == ("delivered", 204)
        assert shown == ["ada.example.com", "grace.example.com"]


async def test_a_receiver_that_asks_for_one_is_explained():
    said = "received fatal alert: CertificateRequired"
    made = Attempt(1, 1, True, "2026-01-02T03:04:05.678Z", 5, "tls_error", None, said, None, False, [])
    assert "asks for a client certificate" in explain.meaning(made)


async def _loopback(host, port):
    return ["127.0.0.1"]
