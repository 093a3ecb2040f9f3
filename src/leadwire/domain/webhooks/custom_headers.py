"""A customer's own request headers: which may be set, and how they are kept. Pure but for the sealing."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from leadwire.delivery.endpoints import table
from leadwire.delivery.endpoints.table import WebhookEndpoint
from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import FieldError, Invalid, invalid_field

_MOST: Final = 20
_LONGEST_NAME: Final = 100
_LONGEST_VALUE: Final = 1000
_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110 section 5.1
_VALUE: Final = re.compile(r"[\x20-\x7e]*")
# What we set ourselves, what belongs to the connection, and what would change how the request is read.
_OURS: Final = re.compile(
    "accept|accept-encoding|connection|content-(encoding|length|type)|cookie|expect|host|http2-settings|keep-alive"
    "|proxy-.*|range|sec-.*|te|trace(parent|state)|trailer|transfer-encoding|upgrade|user-agent|via"
    "|webhook-(id|signature|timestamp)"
)


def sealed(endpoint_id: str, headers: Mapping[str, str]) -> bytes | None:
    """`headers` as the endpoint's row keeps them; None for none. Raises Invalid with a fault for each bad one."""
    faults = [
        FieldError("invalid_header", problem, f"/headers/{name[:_LONGEST_NAME]}")
        for name, value in headers.items()
        if (problem := _problem(name, value))
    ]
    if len({name.lower() for name in headers}) < len(headers):
        faults.append(FieldError("invalid_header", "A name is given twice.", "/headers"))
    if len(headers) > _MOST:
        faults.append(FieldError("too_many", f"At most {_MOST} headers.", "/headers"))
    if faults:
        raise Invalid("These headers cannot be used.", errors=tuple(faults))
    text = msgspec.json.encode(dict(headers)).decode()
    return table.sealed(endpoint_id, WebhookEndpoint.headers, text) if headers else None


def parsed(text: str) -> dict[str, str]:
    """Lines of `Name: value`. Raises Invalid."""
    headers: dict[str, str] = {}
    for number, line in enumerate(filter(None, map(str.strip, text.splitlines())), 1):
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise invalid_field("/headers", "malformed", f"Line {number} is not `Name: value`.")
        if name.strip() in headers:
            raise invalid_field("/headers", "invalid_header", "A name is given twice.")
        headers[name.strip()] = value.strip()
    return headers


def opened(endpoint_id: str, kept: bytes | None) -> dict[str, str]:
    """The headers of an endpoint's row."""
    text = table.opened(endpoint_id, WebhookEndpoint.headers, kept)
    return msgspec.json.decode(text, type=dict[str, str]) if text else {}


def _problem(name: str, value: str) -> str | None:
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        return "This is no header name."
    lower = name.lower()
    if _OURS.fullmatch(lower) or lower.startswith(settings.get().header_prefix.lower()):
        return "This header is ours to set."
    if not _VALUE.fullmatch(value) or len(value) > _LONGEST_VALUE or value != value.strip():
        return f"A value is at most {_LONGEST_VALUE} printable ASCII characters, without spaces around it."
    return None
