"""Heads: how far a chain went at a time, as a signed line that is kept outside of the database.

Whoever can write to the whole database can put it back to what it was; what was written elsewhere meanwhile stays.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from leadwire.delivery.transport import shared
from leadwire.delivery.transport.addresses import checked
from leadwire.domain.accounts.audit.chain import Seal
from leadwire.infrastructure import clock, secret_box, settings
from leadwire.infrastructure.errors import Unavailable
from leadwire.infrastructure.http_client import httpx
from leadwire.infrastructure.secret_box import SecretBox

_PURPOSE: Final = "audit head"
_HEADERS: Final = {"Content-Type": "text/plain; charset=utf-8", "User-Agent": "Leadwire"}
_HEAD: Final = re.compile(r"\b(\w+),(\d{1,18}),(\d{4}-[0-9T:.-]{5,30}Z),([0-9a-f]{64}),([0-9a-f]{64})\b", re.ASCII)


class Head(NamedTuple):
    """The last entry of a chain, by number and hash (hex), at a time."""

    chain: str
    number: int
    at: str
    hash: str


def signed(seal: Seal) -> str:
    """The head of a chain, now, as one word: chain, number, time, hash, and the HMAC-SHA256 of these, in hex."""
    text = ",".join(map(str, Head(seal.chain, seal.last, clock.iso(clock.now()), seal.last_hash.hex())))
    return f"{text},{_code(secret_box.get().derived(_PURPOSE), text)}"


def read(lines: Iterable[str], box: SecretBox) -> tuple[set[Head], int]:
    """The heads in some lines, whatever else these say; and how many others no key of `box` has signed."""
    keys, heads, others = box.all_derived(_PURPOSE), set(), 0
    for match in (match for line in lines for match in _HEAD.finditer(line)):
        chain, number, at, digest, code = match.groups()
        text = match[0].rpartition(",")[0]
        if any(hmac.compare_digest(code, _code(key, text)) for key in keys):
            heads.add(Head(chain, int(number), at, digest))
        else:
            others += 1
    return heads, others


async def send(heads: Sequence[str]) -> None:
    """POST heads to LEADWIRE_AUDIT_HEAD_URL, if there is one, a line each. Raise what a client raises, Unavailable."""
    if not (url := settings.get().audit_head_url):
        return
    body = "".join(f"{head}\n" for head in heads)
    request = httpx.Request("POST", checked(url, settings.get().allowed_networks), content=body, headers=_HEADERS)
    answer = await shared.transport().handle_async_request(request)
    if not answer.is_success:
        raise Unavailable(f"LEADWIRE_AUDIT_HEAD_URL answered {answer.status_code}")


def _code(key: bytes, text: str) -> str:
    return hmac.digest(key, text.encode(), hashlib.sha256).hex()
