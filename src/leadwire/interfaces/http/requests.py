"""What a request carries besides its body: headers and the query string, read strictly.

Litestar ignores unknown query parameters, takes the last of two values, reads `1.0` as a number and epoch seconds as a
time: a typo in a filter must not silently return everything.
"""

import functools
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar, get_args
from urllib.parse import parse_qsl

import msgspec
from litestar import Request
from litestar.types import HTTPScope, Scope

from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import FieldError, InvalidParameter, UnknownParameter
from leadwire.infrastructure.unseen import UNSEEN
from leadwire.interfaces.http import validation

Q = TypeVar("Q", bound=msgspec.Struct)

_INTEGER = re.compile(r"-?[0-9]+")  # ASCII digits only; no sign, space, point or exponent otherwise
_TAG = r'(?:W/)?"[!#-~\x80-\xff]*"'  # RFC 9110 section 8.8.3
_TAGS = re.compile(rf"[ \t,]*(?:{_TAG}(?:[ \t]*,[ \t,]*{_TAG})*[ \t,]*)?")
_OURS = re.compile('"[0-9]{1,9}"')
_LONGEST = 19  # digits of a number: 64 bits


def header(scope: Scope | HTTPScope, name: bytes) -> str | None:
    """Return the value of a header, several lines of it as one list (RFC 9110 section 5.3); None when it is absent.

    `name` is in lower case. Litestar's mapping of the headers takes six times as long to make.
    """
    values = [value for key, value in scope["headers"] if key == name]
    return b", ".join(values).decode("latin-1") if values else None


def expected_versions(request: "Request[Any, Any, Any]") -> frozenset[int] | None:
    """Return the versions that `If-Match` accepts; None when it is absent or `*` (RFC 9110 section 13.1.1).

    A weak tag, or one that is none of ours, matches no version (strong comparison). Raise InvalidParameter.
    """
    tags = header(request.scope, b"if-match")
    if tags is None or tags.strip() == "*":
        return None
    if not _TAGS.fullmatch(tags):
        raise InvalidParameter('If-Match must be `*`, or entity tags such as "1" with commas between them.')
    return frozenset(int(tag[1:-1]) for tag in re.findall(_TAG, tags) if _OURS.fullmatch(tag))


def takes_gzip(scope: Scope) -> bool:
    """Whether the caller accepts this content coding (RFC 9110 section 12.5.3). A weight of 0 refuses it."""
    for part in (header(scope, b"accept-encoding") or "").split(","):
        name, _, weight = part.replace(" ", "").lower().partition(";q=")
        if name == "gzip":
            return weight.partition(";")[0].rstrip("0.") != "" if weight else True
    return False


async def disconnected(request: "Request[Any, Any, Any]") -> None:
    """Return when the caller has gone away. A body is read and ignored."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def pairs_of(encoded: bytes, what: str = "query string", most: int = 50) -> list[tuple[str, str]]:
    """Return the decoded names and values. Raise InvalidParameter when they are not UTF-8 or more than `most`."""
    if not encoded:
        return []
    try:
        return parse_qsl(encoded.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=most)
    except ValueError as error:  # includes UnicodeDecodeError
        raise InvalidParameter(f"The {what} cannot be read.") from error


def parse(pairs: list[tuple[str, str]], model: type[Q]) -> Q:
    """Return `pairs` as a `model`. Raise InvalidParameter or UnknownParameter with an entry for each wrong one."""
    if not pairs:
        return model()
    readers = _readers(model)
    values: dict[str, Any] = {}
    faults: list[FieldError] = []
    kind = InvalidParameter
    for name, text in pairs:
        if name not in readers:
            kind = UnknownParameter
            message = f"No such parameter. There are: {', '.join(sorted(readers)) or 'none'}."
            faults.append(FieldError("unknown_parameter", message, parameter=name[:100]))
        elif name in values:
            faults.append(FieldError("repeated_parameter", "Given more than once.", parameter=name))
        else:
            try:
                values[name] = readers[name](text)
            except ValueError as error:
                values[name] = None
                faults.append(FieldError("invalid_parameter", str(error), parameter=name))
    if faults:
        names = ", ".join(dict.fromkeys(fault.parameter or "" for fault in faults))
        raise kind(f"Cannot use: {names}.", errors=tuple(faults))
    return model(**values)


@functools.cache
def _readers(model: type[msgspec.Struct]) -> dict[str, Callable[[str], Any]]:
    """Return, for each field, the function that parses its text by its type and checks its constraints."""
    return {field.encode_name: _reader(field.type) for field in msgspec.structs.fields(model)}


def _reader(kind: Any) -> Callable[[str], Any]:
    inner = _plain_types(kind)

    def read(text: str) -> Any:
        if datetime in inner:
            return clock.parse(text)
        if int in inner and not _INTEGER.fullmatch(text):
            raise ValueError(validation.must_be("int"))
        if int in inner and len(text.removeprefix("-")) > _LONGEST:
            raise ValueError("The number is too large.")
        if UNSEEN.search(text):  # PostgreSQL takes no NUL
            raise ValueError("Must not contain control characters.")
        try:
            return msgspec.convert(int(text) if int in inner else text, kind)
        except msgspec.ValidationError as error:
            raise ValueError(validation.plain(error, kind)[1]) from error

    return read


def _plain_types(kind: Any) -> set[Any]:
    """Return every type inside unions and annotations."""
    return {kind}.union(*(_plain_types(inner) for inner in get_args(kind) if not isinstance(inner, str | msgspec.Meta)))
