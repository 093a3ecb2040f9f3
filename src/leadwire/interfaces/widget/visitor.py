"""What a request tells of the visitor behind it: browser, system, page; and what is stored of their network."""

import functools
import hashlib
import hmac
import re
from typing import Final
from urllib.parse import parse_qs, urlsplit, urlunsplit

from leadwire.infrastructure import secret_box

_BROWSERS: Final = (
    ("Edge", r"Edg(?:e|A|iOS)?/"),
    ("Opera", r"OPR/|Opera"),
    ("Samsung Internet", r"SamsungBrowser/"),
    ("Firefox", r"Firefox/|FxiOS/"),
    ("Chrome", r"Chrome/|CriOS/"),
    ("Safari", r"Version/.*Safari/"),
)
_SYSTEMS: Final = (
    ("iOS", r"iPhone|iPad|iPod"),
    ("Android", r"Android"),
    ("Windows", r"Windows NT"),
    ("ChromeOS", r"CrOS"),
    ("macOS", r"Mac OS X|Macintosh"),
    ("Linux", r"Linux|X11"),
)
_CAMPAIGN: Final = 200  # characters


def blinded(workspace: str, network: str) -> bytes:
    """A keyed hash of the visitor's network, to count and to block by: enough to know it again, nothing to read."""
    return hmac.digest(_key(), f"{workspace}\0{network}".encode(), hashlib.sha256)[:16]


def browser_and_system(agent: str) -> tuple[str | None, str | None]:
    """The browser's and the system's name, where the User-Agent tells."""
    agent = agent[:500]
    return (
        next((name for name, sign in _BROWSERS if re.search(sign, agent)), None),
        next((name for name, sign in _SYSTEMS if re.search(sign, agent)), None),
    )


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
    campaign = "".join(one for one in named if one.isprintable())[:_CAMPAIGN]
    return urlunsplit(parts._replace(fragment="", netloc=parts.netloc.rpartition("@")[2])), campaign or None


@functools.cache
def _key() -> bytes:
    return secret_box.get().derived("visitors' networks")
