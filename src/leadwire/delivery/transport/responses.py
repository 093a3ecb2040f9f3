"""What a receiver answered, out of what pyreqwest has of it."""

import asyncio
from collections.abc import Mapping
from typing import Final, NamedTuple

from pyreqwest.exceptions import PyreqwestError
from pyreqwest.response import Response

_LARGEST_BODY: Final = 64 * 1024  # bytes that are read
_BODY_WAIT: Final = 1.0  # seconds that a body nobody depends on may take after its head
_NO_CONTENT: Final = 204
_MULTIPLE_CHOICES: Final = 300
_RETRY_AFTER: Final = "retry-after"


class ReceiverResponse(NamedTuple):
    """Status, headers and body of an answer, the body cut at 64 KiB. Header names are looked up without case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def read(response: Response, *, whole: bool) -> ReceiverResponse:
    """The answer, once its head is there.

    `whole` is for callers that need every header and the body: raises PyreqwestError when that breaks off. For others
    the status is the answer, and `Retry-After` of one that is no success; of the body there is what came within a
    second. It is read at all so that the connection can be used again, and for people to look at.
    """
    length = _header(response, "content-length")
    most = min(int(length), _LARGEST_BODY) if length.isdecimal() else _LARGEST_BODY
    if response.status == _NO_CONTENT:
        most = 0
    body = bytearray()
    try:
        async with asyncio.timeout(None if whole else _BODY_WAIT):
            while len(body) < most and (chunk := await response.body_reader.read_chunk()) is not None:
                body += chunk
    except (PyreqwestError, TimeoutError):
        if whole:
            raise
    if whole:
        return ReceiverResponse(response.status, response.headers, bytes(body[:most]))
    retry_after = _header(response, _RETRY_AFTER) if response.status >= _MULTIPLE_CHOICES else ""
    return ReceiverResponse(response.status, {_RETRY_AFTER: retry_after} if retry_after else {}, bytes(body[:most]))


def _header(response: Response, name: str) -> str:
    try:
        return response.get_header(name) or ""
    except ValueError:  # bytes that are no text
        return ""
