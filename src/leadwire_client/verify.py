"""The check a receiver makes of a webhook, before it believes a word of it: Standard Webhooks 1.0.

Of the two signatures only `webhook-signature` counts here. It covers id and time too, so that a recording is worth
nothing after minutes, and it holds one by each secret while a secret is replaced; `X-Service-Signature` does neither.
"""

import base64
import hmac
import time
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from leadwire_client.errors import InvalidSignature, StaleSignature, Unreadable
from leadwire_client.events import Event, Told, event_of

_PREFIX: Final = "whsec_"
_SHORTEST: Final = 24  # bytes of a key, as Standard Webhooks has it; an unset variable is then no secret


def verify(
    body: bytes,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    tolerance: float = 300.0,
    now: float | None = None,
    test_header: str = "X-Service-Test",
) -> Event:
    """The event of a delivery that a holder of `secret` signed, not more than `tolerance` seconds from now.

    `body` is the request's bytes as received, before any parsing; `headers` may be in any case. To replace a secret
    without a gap, pass the old and the new one until the old one is gone: any of them counts.
    A recorded delivery is accepted again within `tolerance`, and Leadwire itself may send an event twice: see
    `leadwire_client.inbox`. `now` is the Unix time, for tests; `math.inf` as `tolerance` lets you check deliveries that
    you stored.

    Raises StaleSignature and otherwise InvalidSignature (answer 401 to both), Unreadable when the signature holds but
    the body is no event, TypeError when `body` is not bytes, ValueError when a secret cannot be one.
    """
    event_id, given = authentic(body, headers, secret, tolerance=tolerance, now=now)
    try:
        told = msgspec.json.decode(body, type=Told)
        return event_of(told, event_id, test=given.get(test_header.lower()) == "true")
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Unreadable(f"the body is no event: {error}") from error


def authentic(
    body: bytes,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    tolerance: float = 300.0,
    now: float | None = None,
) -> tuple[str, dict[str, str]]:
    """The id of what a holder of `secret` signed, and its headers in lower case. Raises as `verify`, but Unreadable."""
    if not isinstance(body, bytes):
        raise TypeError("body must be the bytes as received: text that was decoded, or parsed, may differ from them")
    keys = _keys(secret)
    given = {name.lower(): value for name, value in headers.items()}
    event_id, timestamp, signatures = (_header(given, name) for name in ("id", "timestamp", "signature"))
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):  # int() raises at 4,300 digits
        raise InvalidSignature("webhook-timestamp is not a number")
    content = b"%s.%s.%s" % (_bytes(event_id), timestamp.encode(), body)
    expected = ["v1," + base64.b64encode(hmac.digest(key, content, "sha256")).decode() for key in keys]
    if not _any_same(signatures.split(" "), expected):
        raise InvalidSignature("webhook-signature does not match: another secret, or the body was changed on its way")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance:
        raise StaleSignature("webhook-timestamp is too far from now: sent again by somebody, or a wrong clock")
    return event_id, given


def _keys(secret: str | Sequence[str]) -> list[bytes]:
    """What each secret decodes to. Raises ValueError, without naming the secret."""
    keys = []
    for text in [secret] if isinstance(secret, str) else secret:
        try:
            key = base64.b64decode(text.removeprefix(_PREFIX), validate=True)
        except ValueError:
            key = b""
        if len(key) < _SHORTEST:
            raise ValueError(f"a secret is not {_PREFIX} and the base64 of at least {_SHORTEST} bytes")
        keys.append(key)
    if not keys:
        raise ValueError("there is no secret")
    return keys


def _header(given: Mapping[str, str], part: str) -> str:
    if value := given.get(f"webhook-{part}"):
        return value
    raise InvalidSignature(f"webhook-{part} is missing")


def _any_same(given: list[str], expected: list[str]) -> bool:
    """Whether any two are the same; compares all of them, each in constant time."""
    return any([hmac.compare_digest(_bytes(one), _bytes(other)) for one in given for other in expected])  # noqa: C419


def _bytes(text: str) -> bytes:
    # Any str a server may hand us, lone surrogates too, and no two alike: a mismatch is refused, never a crash.
    return text.encode(errors="surrogatepass")
