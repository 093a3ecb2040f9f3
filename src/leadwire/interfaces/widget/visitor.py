"""What a request tells of the visitor behind it: the page; and what is stored of their network."""

import functools
import hashlib
import hmac
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit, urlunsplit

from msgspec import structs

from leadwire.domain.bots.visitors import identities
from leadwire.domain.bots.visitors.variables import PAGE, VERIFIED
from leadwire.infrastructure import secret_box
from leadwire.infrastructure.errors import Forbidden
from leadwire.interfaces.widget.schema import NewVisitorMessage

_CAMPAIGN: Final = 200  # characters
_WHO: Final = ("email", "user_id")  # tell one person from another; no attribute says who somebody is


def blinded(workspace: str, network: str) -> bytes:
    """A keyed hash of the visitor's network, to count and to block by: enough to know it again, nothing to read."""
    return hmac.digest(_key(), f"{workspace}\0{network}".encode(), hashlib.sha256)[:16]


def page(url: str | None) -> tuple[str | None, str | None]:
    """A page's address without what is only the browser's (the fragment), and its campaign (`utm_campaign`)."""
    if not url:
        return None, None
    try:
        parts = urlsplit(url)
        named = parse_qs(parts.query, max_num_fields=100).get("utm_campaign", [""])[0]
    except ValueError:
        return None, None
    if parts.scheme not in ("http", "https", ""):
        return None, None
    campaign = "".join(letter for letter in named if letter.isprintable())[:_CAMPAIGN]
    return urlunsplit(parts._replace(fragment="", netloc=parts.netloc.rpartition("@")[2])), campaign or None


async def told(bot_id: str, message: NewVisitorMessage, before: Mapping[str, Any] | None = None) -> dict[str, str]:
    """What the page tells, as variables: attributes, and who the visitor is if their website vouches for it.

    `before` holds the variables of the conversation. Raise Forbidden when an identity is not proven, or another
    than the conversation's.
    """
    attributes = {f"{PAGE}{name}": value for name, value in message.attributes.items() if name not in _WHO}
    if message.identity is None:
        return attributes
    person = await identities.verified(bot_id, identities.Vouched(**structs.asdict(message.identity)))
    if any((before or {}).get(f"{VERIFIED}{key}", now) != now for key in _WHO if (now := person.get(VERIFIED + key))):
        raise Forbidden("The conversation is another person's.", code="identity_refused")
    return attributes | person


@functools.cache
def _key() -> bytes:
    return secret_box.get().derived("visitors' networks")
