"""What is kept of a receiver's response headers, for people: bounded, and without its secrets. Pure."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

MASKED: Final = "(masked)"
_SECRET: Final = re.compile(r"cookie|authoriz|token|secret|passw|session|api-?key|csrf|signature", re.IGNORECASE)
# In a value: who signs in at an address, and its query and fragment. Both may hold a token.
_USERINFO: Final = re.compile(r"//[^\s/?#<>\"]*@")
_QUERY: Final = re.compile(r"([?#])[^\s<>\"]+")
_LARGEST: Final = 4096  # characters of all
_LONGEST: Final = 500  # of one value

_encode = msgspec.json.Encoder().encode


def kept(headers: Iterable[tuple[str, str]]) -> str | None:
    """Return headers as JSON, a list of pairs, in their order; None without any. What is too much is left out."""
    pairs, size = [], 0
    for name, value in headers:
        text = MASKED if _SECRET.search(name) else _QUERY.sub(rf"\1{MASKED}", _USERINFO.sub("//", value))[:_LONGEST]
        size += len(name) + len(text) + 6
        if size > _LARGEST:
            break
        pairs.append((name[:_LONGEST], text))
    return _encode(pairs).decode() if pairs else None
