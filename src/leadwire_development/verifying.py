"""The check that a receiver makes of a delivery: of both signatures, by nothing but their documentation. Pure."""

import base64
import hmac
from collections.abc import Mapping
from typing import Final

TOLERANCE: Final = 300
"""Seconds that a `webhook-timestamp` may be off, either way."""
_STANDARD: Final = ("webhook-id", "webhook-timestamp", "webhook-signature")


class BadSignature(ValueError):
    """The delivery is not what the holder of the secret sent; the message says which check failed."""


def verify(body: bytes, received: Mapping[str, str], secret: str, *, now: int, prefix: str = "X-Service-") -> None:
    """Check a delivery as a receiver should. Raises BadSignature, saying what does not hold.

    `received` are the headers, in any case. The Standard Webhooks headers are checked where they are present.
    """
    given = {name.lower(): value for name, value in received.items()}
    simple = given.get(f"{prefix}signature".lower())
    if simple is None:
        raise BadSignature(f"{prefix}Signature is missing")
    if not _same(simple, "sha256=" + hmac.digest(secret.encode(), body, "sha256").hex()):
        raise BadSignature(f"{prefix}Signature does not match the body")
    if not any(name in given for name in _STANDARD):
        return
    if missing := [name for name in _STANDARD if name not in given]:
        raise BadSignature(f"{missing[0]} is missing")
    event_id, timestamp, signatures = (given[name] for name in _STANDARD)
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):  # int() raises at 4,300 digits
        raise BadSignature("webhook-timestamp is not a number")
    if abs(now - int(timestamp)) > TOLERANCE:
        raise BadSignature("webhook-timestamp is too far from now: a replay, or a wrong clock")
    content = b"%s.%s.%s" % (_bytes(event_id), timestamp.encode(), body)
    expected = "v1," + base64.b64encode(hmac.digest(_key(secret), content, "sha256")).decode()
    if not any([_same(one, expected) for one in signatures.split(" ")]):  # noqa: C419 - all of them, in constant time
        raise BadSignature("webhook-signature does not match")


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError as error:
        raise ValueError("the secret is not whsec_ and base64") from error


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(_bytes(one), _bytes(other))


def _bytes(text: str) -> bytes:
    # Any str a server may hand us, lone surrogates too, and no two alike: a mismatch is BadSignature, never a crash.
    return text.encode(errors="surrogatepass")
