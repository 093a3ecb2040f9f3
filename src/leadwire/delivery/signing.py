"""The headers of one POST, and the check a receiver makes of them. Pure.

Two signatures, both HMAC-SHA256. `X-Service-Signature` (the specification's, section 5) is over the body, keyed with
the secret's text exactly as it was copied, `whsec_` included. `webhook-signature` (Standard Webhooks 1.0) is over id,
time and body, keyed with the decoded secret; it is proof against replays, and holds two while a secret is staged.
"""

import base64
import functools
import hmac
import secrets
from collections.abc import Mapping
from typing import Final

from leadwire import __version__

_PREFIX: Final = "whsec_"
_USER_AGENT: Final = f"Leadwire/{__version__}"
TOLERANCE: Final = 300
"""Seconds that a `webhook-timestamp` may be off, either way."""


class BadSignature(ValueError):
    """The delivery is not what the holder of the secret sent; the message says which check failed."""


def new_secret() -> str:
    """`whsec_` and the base64 of 32 random bytes."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


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
) -> list[tuple[str, str]]:
    """Every header of one POST. `at` is in Unix seconds, `staged` the next secret while one is being rotated in."""
    made = [
        ("content-type", "application/json"),
        ("user-agent", _USER_AGENT),
        *signatures(event_id, body, secret, staged, at, prefix),
        (f"{prefix}Attempt", str(attempt)),
    ]
    if traceparent:
        made.append(("traceparent", traceparent))
    if test:
        made.append((f"{prefix}Test", "true"))
    if sequence is not None:
        made.append((f"{prefix}Sequence", str(sequence)))
    return made


def signatures(
    signed_id: str, body: bytes, secret: str, staged: str | None, at: int, prefix: str
) -> list[tuple[str, str]]:
    """The headers that sign a body, with its id and time."""
    content = b"%s.%d.%s" % (signed_id.encode(), at, body)
    signature = _standard(secret, content)
    return [
        (f"{prefix}Signature", _simple(secret, body)),
        ("webhook-id", signed_id),
        ("webhook-timestamp", str(at)),
        ("webhook-signature", f"{signature} {_standard(staged, content)}" if staged else signature),
    ]


def verify(
    body: bytes,
    received: Mapping[str, str],
    secret: str,
    *,
    now: int,
    tolerance: int = TOLERANCE,
    prefix: str = "X-Service-",
) -> None:
    """Check a delivery as a receiver should. Raises BadSignature, saying what does not hold.

    `received` are the headers, in any case. The Standard Webhooks headers are checked where they are present.
    """
    given = {name.lower(): value for name, value in received.items()}
    simple = given.get(f"{prefix}signature".lower())
    if simple is None:
        raise BadSignature(f"{prefix}Signature is missing")
    if not _same(simple, _simple(secret, body)):
        raise BadSignature(f"{prefix}Signature does not match the body")
    standard = ("webhook-id", "webhook-timestamp", "webhook-signature")
    if not any(name in given for name in standard):
        return
    if missing := [name for name in standard if name not in given]:
        raise BadSignature(f"{missing[0]} is missing")
    event_id, timestamp, signatures = (given[name] for name in standard)
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):  # int() raises at 4,300 digits
        raise BadSignature("webhook-timestamp is not a number")
    if abs(now - int(timestamp)) > tolerance:
        raise BadSignature("webhook-timestamp is too far from now: a replay, or a wrong clock")
    expected = _standard(secret, b"%s.%s.%s" % (_bytes(event_id), timestamp.encode(), body))
    if not any([_same(one, expected) for one in signatures.split(" ")]):  # noqa: C419 - all of them, in constant time
        raise BadSignature("webhook-signature does not match")


def _simple(secret: str, body: bytes) -> str:
    return "sha256=" + hmac.digest(secret.encode(), body, "sha256").hex()


def _standard(secret: str, content: bytes) -> str:
    return "v1," + base64.b64encode(hmac.digest(_key(secret), content, "sha256")).decode()


@functools.lru_cache(maxsize=4096)
def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except ValueError as error:
        raise ValueError("the secret is not whsec_ and base64") from error


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(_bytes(one), _bytes(other))


def _bytes(text: str) -> bytes:
    # Any str a server may hand us, lone surrogates too, and no two alike: a mismatch is BadSignature, never a crash.
    return text.encode(errors="surrogatepass")
