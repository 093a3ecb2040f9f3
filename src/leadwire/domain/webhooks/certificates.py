"""The client certificate that an endpoint's receiver is shown (mutual TLS).

It is kept sealed, together with its key. A new one replaces it from the next attempt on.
"""

from datetime import datetime
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from leadwire.delivery.endpoints import changes as rows
from leadwire.delivery.endpoints import table
from leadwire.delivery.endpoints.table import WebhookEndpoint
from leadwire.delivery.transport import identity
from leadwire.domain.webhooks import changes, reads
from leadwire.domain.webhooks.schema import Endpoint
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.errors import Invalid, invalid_field

_LARGEST: Final = 16_384  # characters of each file
_LONGEST_CHAIN: Final = 8  # certificates
_SHOWN: Final = 300  # characters of a subject


class Certificate(NamedTuple):
    """What is kept of one. `pem`: the key, the certificate and its chain."""

    pem: str
    subject: str
    ends_at: datetime


def checked(certificate: str, key: str) -> Certificate:
    """The certificate with its chain, and the key, both as PEM. Raise Invalid."""
    for field, text in (("certificate", certificate), ("key", key)):
        if not text.strip():
            raise invalid_field(f"/{field}", "required", "A certificate and its key belong together: give both.")
        if len(text) > _LARGEST:
            raise invalid_field(f"/{field}", "too_long", f"At most {_LARGEST:,} characters.")
    chain, private = _chain(certificate), _private(key)
    if private.public_key() != chain[0].public_key():
        message = "This is the key of another certificate. The first one given is yours."
        raise invalid_field("/key", "wrong_key", message)
    begins, ends = chain[0].not_valid_before_utc, chain[0].not_valid_after_utc
    if not begins <= clock.now() < ends:
        raise invalid_field("/certificate", "not_valid_now", f"It is valid from {begins:%Y-%m-%d} to {ends:%Y-%m-%d}.")
    parts = [private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())]
    pem = b"".join([*parts, *(certificate.public_bytes(Encoding.PEM) for certificate in chain)]).decode()
    try:
        identity.check(pem)
    except ValueError as error:
        message = "Use RSA with at least 2048 bits, ECDSA on P-256 or P-384, or Ed25519."
        raise invalid_field("/key", "unsupported", message) from error
    subject = chain[0].subject.rfc4514_string() or f"serial number {chain[0].serial_number:x}"
    return Certificate(pem, "".join(filter(str.isprintable, subject))[:_SHOWN], ends)


def _chain(text: str) -> list[x509.Certificate]:
    try:
        chain = x509.load_pem_x509_certificates(text.encode())
        first = chain[0]  # of which these are read only now
        _ = first.public_key(), first.subject.rfc4514_string(), first.not_valid_before_utc, first.not_valid_after_utc
    except (ValueError, UnsupportedAlgorithm, x509.InvalidVersion) as error:
        raise invalid_field("/certificate", "malformed", "This is not a certificate in PEM.") from error
    if len(chain) > _LONGEST_CHAIN:
        raise invalid_field("/certificate", "too_many", f"At most {_LONGEST_CHAIN} certificates.")
    return chain


def _private(text: str) -> PrivateKeyTypes:
    try:
        # Whether two large factors are primes takes OpenSSL a minute, in which nothing else is done. What the client
        # that shows the certificate needs of them, `identity.check` finds out at once.
        return load_pem_private_key(text.encode(), None, unsafe_skip_rsa_key_validation=True)
    except TypeError as error:
        message = "The key has a passphrase. Give it without: openssl pkey -in KEY"
        raise invalid_field("/key", "encrypted", message) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise invalid_field("/key", "malformed", "This is not a private key in PEM.") from error


async def replace(workspace: str, endpoint_id: str, certificate: str, key: str) -> Endpoint:
    """Show the receiver this certificate, and no other. Raise NotFound, Invalid."""
    async with db.transaction():
        if not (await changes.locked(workspace, endpoint_id)).url.startswith("https:"):
            raise Invalid("A client certificate needs an endpoint with an https address.")
        parsed = checked(certificate, key)
        sealed = table.sealed(endpoint_id, WebhookEndpoint.certificate, parsed.pem)
        values = {"certificate": sealed, "certificate_subject": parsed.subject, "certificate_ends_at": parsed.ends_at}
        await rows.update(endpoint_id, values)
        return await reads.endpoint(workspace, endpoint_id)


async def remove(workspace: str, endpoint_id: str) -> None:
    """Show the receiver none. Raise NotFound."""
    async with db.transaction():
        await changes.locked(workspace, endpoint_id)
        values = {"certificate": None, "certificate_subject": None, "certificate_ends_at": None}
        await rows.update(endpoint_id, values)
