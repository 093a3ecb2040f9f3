"""The form of an API key: `lw_<8-char id>_<43 base62><6-char CRC32>`.

The fixed start lets secret scanners find a leaked one; the checksum tells a typo without a look-up. Pure.
"""

import hashlib
import re
import secrets
import zlib
from collections.abc import Iterable
from typing import Final, Literal, get_args

Scope = Literal["leads:read", "leads:write", "conversations:read", "conversations:write", "bots:read", "events:read"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)

_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
API_KEY: Final = "lw"
RECEIVER: Final = "lwr"
"""How the tokens of webhook receivers begin. They have the form of API keys."""
_FORMS: Final = {
    kind: re.compile(f"{kind}_([0-9a-z]{{8}})_[0-9A-Za-z]{{43}}([0-9A-Za-z]{{6}})") for kind in (API_KEY, RECEIVER)
}


def new(kind: str = API_KEY) -> str:
    """Make a key of 256 random bits. It is shown once; stored are its look-up and its digest."""
    lookup = "".join(secrets.choice(_BASE62[:10] + _BASE62[36:]) for _ in range(8))
    start = f"{kind}_{lookup}_" + "".join(secrets.choice(_BASE62) for _ in range(43))
    return start + _checksum(start)


def granted(scopes: Iterable[str]) -> frozenset[str]:
    """What a key with these scopes may do. Who may write a resource may read it: a change answers all of it."""
    return frozenset(scopes).union(scope.replace(":write", ":read") for scope in scopes)


def lookup_of(text: str, kind: str = API_KEY) -> str | None:
    """The part that finds the row, or None when `text` cannot be a key of ours."""
    match = _FORMS[kind].fullmatch(text)
    return match[1] if match and _checksum(text[:-6]) == match[2] else None


def digest(text: str) -> bytes:
    """What is stored of a key or another token: its SHA-256. 256 random bits need no slower hash."""
    return hashlib.sha256(text.encode()).digest()


def _checksum(text: str) -> str:
    number = zlib.crc32(text.encode())
    return "".join(_BASE62[number // 62**digit % 62] for digit in range(5, -1, -1))
