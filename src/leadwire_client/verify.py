"""The check a receiver makes of a webhook, before it believes a word of it: Standard Webhooks 1.0.

Of the two signatures only `webhook-signature` counts here. It covers id and time too, so that a recording is worth
nothing after minutes, and it holds one by each secret while a secret is replaced; `X-Service-Signature` does neither.
One by a key of Ed25519 is checked where a public key is given instead of a secret.
"""

import base64
import hmac
import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from leadwire_client.errors import InvalidSignature, StaleSignature, Unreadable
from leadwire_client.events import Event, Told, event_of

_PREFIX: Final = "whsec_"
_PUBLIC: Final = "whpk_"
_SHORTEST: Final = 24  # bytes of a key, as Standard Webhooks has it; an unset variable is then no secret


def verify(
    body: bytes,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    tolerance: float = 300.0,
    now: float | None = None,
) -> Event:
    """The event of a delivery that a holder of `secret` signed, not more than `tolerance` seconds from now.

    `secret` is `whsec_...`; or `whpk_...`, a public key, for an endpoint that signs with one (see `PublicKeys`).
    `body` is the request's bytes as received, before any parsing; `headers` may be in any case. To replace a secret
    without a gap, pass the old and the new one until the old one is gone: any of them counts.
    A recorded delivery is accepted again within `tolerance`, and Leadwire itself may send an event twice: see
    `leadwire_client.inbox`. `now` is the Unix time, for tests; `math.inf` as `tolerance` lets you check deliveries that
    you stored.

    Raises StaleSignature and otherwise InvalidSignature (answer 401 to both), Unreadable when the signature holds but
    the body is no event, TypeError when `body` is not bytes, ValueError when a secret cannot be one,
    ImportError for a public key without the package cryptography.
    """
    event_id, given = authentic(body, headers, secret, tolerance=tolerance, now=now)
    try:
        told = msgspec.json.decode(body, type=Told)
        return event_of(told, event_id, test=own_header(given, "test") == "true")
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
    if not any([key.signed(content, given) for given in signatures.split(" ") for key in keys]):  # noqa: C419 - all
        raise InvalidSignature("webhook-signature does not match: another secret, or the body was changed on its way")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance:
        raise StaleSignature("webhook-timestamp is too far from now: sent again by somebody, or a wrong clock")
    return event_id, given


def own_header(given: Mapping[str, str], name: str) -> str | None:
    """The value of a header of Leadwire's own, by its name without the prefix; None without it. `given` is in lower
    case.

    Each installation has its prefix, X-Service- by default. It is what stands before the name of the signature that
    begins with `sha256=`: other headers may end alike.
    """
    signatures = [key for key, value in given.items() if key.endswith("signature") and value.startswith("sha256=")]
    names = [f"{key.removesuffix('signature')}{name}" for key in (*signatures, "x-service-signature")]
    return next((given[key] for key in names if key in given), None)


class _Secret(NamedTuple):
    key: bytes

    def signed(self, content: bytes, given: str) -> bool:
        """Whether it made this signature; compares in constant time."""
        expected = b"v1," + base64.b64encode(hmac.digest(self.key, content, "sha256"))
        return hmac.compare_digest(_bytes(given), expected)


class _PublicKey:
    def __init__(self, key: bytes) -> None:
        from cryptography.exceptions import InvalidSignature as NotSigned
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        self._key = Ed25519PublicKey.from_public_bytes(key)
        self._refused = (NotSigned, ValueError)

    def signed(self, content: bytes, given: str) -> bool:
        """Whether its private key made this signature."""
        version, _, signature = given.partition(",")
        try:
            self._key.verify(base64.b64decode(signature, validate=True), content)
        except self._refused:
            return False
        return version == "v1a"


def _keys(secret: str | Sequence[str]) -> list[_Secret | _PublicKey]:
    """What each secret decodes to. Raises ValueError, without naming the secret."""
    keys: list[_Secret | _PublicKey] = []
    for text in [secret] if isinstance(secret, str) else secret:
        public = text.startswith(_PUBLIC)
        try:
            key = base64.b64decode(text.removeprefix(_PUBLIC if public else _PREFIX), validate=True)
        except ValueError:
            key = b""
        if public:
            keys.append(_PublicKey(key))
        elif len(key) >= _SHORTEST:
            keys.append(_Secret(key))
        else:
            raise ValueError(f"a secret is not {_PREFIX} and the base64 of at least {_SHORTEST} bytes")
    if not keys:
        raise ValueError("there is no secret")
    return keys


def _header(given: Mapping[str, str], part: str) -> str:
    if value := given.get(f"webhook-{part}"):
        return value
    raise InvalidSignature(f"webhook-{part} is missing")


def _bytes(text: str) -> bytes:
    # Any str a server may hand us, lone surrogates too, and no two alike: a mismatch is refused, never a crash.
    return text.encode(errors="surrogatepass")
