"""What is kept of where a visitor comes from: the page; and of their network only what cannot be read."""

import functools
import hashlib
import hmac
from typing import Final
from urllib.parse import parse_qs, urlsplit, urlunsplit

from leadwire.infrastructure import secret_box
from leadwire.infrastructure.unseen import UNSEEN

_CAMPAIGN: Final = 200  # characters


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
    campaign = UNSEEN.sub("", named)[:_CAMPAIGN]
    return urlunsplit(parts._replace(fragment="", netloc=parts.netloc.rpartition("@")[2])), campaign or None


@functools.cache
def _key() -> bytes:
    return secret_box.get().derived("visitors' networks")
