"""The headers of one POST. Pure.

Two signatures by HMAC-SHA256. `X-Service-Signature` (the specification's, section 5) is over the body, keyed with
the secret's text exactly as it was copied, `whsec_` included. `webhook-signature` (Standard Webhooks 1.0) is over id,
time and body, keyed with the decoded secret; it is proof against replays, and holds two while a secret is staged.
There an endpoint that has keys gets one by Ed25519 more, `v1a`, over the same.
"""

import base64
import functools
import hmac
import secrets
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from leadwire import __version__

_PREFIX: Final = "whsec_"
_USER_AGENT: Final = f"Leadwire/{__version__}"


def new_secret() -> str:
    """`whsec_` and the base64 of 32 random bytes."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def new_signing_key() -> str:
    """The base64 of a private key's 32 bytes."""
    return base64.b64encode(secrets.token_bytes(32)).decode()


def public_key(signing_key: str) -> bytes:
    """The 32 bytes that a receiver verifies with."""
    return _private(signing_key).public_key().public_bytes_raw()


def headers(  # noqa: PLR0913 - one for each thing a header is made of
    *,
    event_id: str,
    body: bytes,
    secret: str,
    staged: str | None,
    at: int,
    attempt: int,
    prefix: str,
    traceparent: str | None = None,
    test: bool = False,
    sequence: int | None = None,
    signing_key: str = "",
    ordering_key: str | None = None,
) -> list[tuple[str, str]]:
    """Every header of one POST. `at` is in Unix seconds, `staged` the next secret while one is being rotated in,
    `signing_key` what `new_signing_key` has made.
    """
    pairs = [
        ("content-type", "application/json"),
        ("user-agent", _USER_AGENT),
        *signatures(event_id, body, secret, staged, at, prefix, signing_key),
        (f"{prefix}Attempt", str(attempt)),
    ]
    if traceparent:
        pairs.append(("traceparent", traceparent))
    if ordering_key:
        pairs.append((f"{prefix}Ordering-Key", ordering_key))
    if test:
        pairs.append((f"{prefix}Test", "true"))
    if sequence is not None:
        pairs.append((f"{prefix}Sequence", str(sequence)))
    return pairs


def signatures(
    signed_id: str, body: bytes, secret: str, staged: str | None, at: int, prefix: str, signing_key: str = ""
) -> list[tuple[str, str]]:
    """The headers that sign a body, with its id and time."""
    content = b"%s.%d.%s" % (signed_id.encode(), at, body)
    standard = [_standard(key, content) for key in (secret, staged) if key]
    if signing_key:
        standard.append("v1a," + base64.b64encode(_private(signing_key).sign(content)).decode())
    return [
        (f"{prefix}Signature", "sha256=" + hmac.digest(secret.encode(), body, "sha256").hex()),
        ("webhook-id", signed_id),
        ("webhook-timestamp", str(at)),
        ("webhook-signature", " ".join(standard)),
    ]


def _standard(secret: str, content: bytes) -> str:
    return "v1," + base64.b64encode(hmac.digest(_key(secret), content, "sha256")).decode()


@functools.lru_cache(maxsize=4096)
def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except ValueError as error:
        raise ValueError("the secret is not whsec_ and base64") from error


@functools.lru_cache(maxsize=4096)
def _private(signing_key: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(base64.b64decode(signing_key))
