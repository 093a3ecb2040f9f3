"""Request bodies: JSON, read strictly; one error names every field that is wrong.

Litestar would parse `text/plain` as JSON, turn "7" into 7 and respond with 500 to invalid UTF-8.
"""

import itertools
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar, get_args, get_origin

import msgspec
from litestar import Request
from litestar.types import HTTPScope, Receive, Scope

from leadwire.infrastructure import errors
from leadwire.infrastructure.errors import FieldError, Invalid, UnknownField
from leadwire.interfaces.http import validation
from leadwire.interfaces.http.requests import header

S = TypeVar("S", bound=msgspec.Struct)

LARGEST: Final = 64 * 1024  # bytes
_MOST_FAULTS: Final = 50  # in one response, which must not be many times its request
_LOOK: Final = "leadwire.look_again"
_JSON: Final = ("application/json",)
_PATCH: Final = (*_JSON, "application/merge-patch+json")  # RFC 7396

_decode = msgspec.json.Decoder().decode
_decode_pairs = json.JSONDecoder(object_pairs_hook=tuple, parse_int=str).decode


def media_types(method: str) -> tuple[str, ...]:
    """Return the types that the body of a request with this method may have."""
    return _PATCH if method.upper() == "PATCH" else _JSON


def is_json(scope: Scope | HTTPScope) -> bool:
    """Whether the Content-Type of a request is one that its body may have, in UTF-8."""
    kind, _, parameters = (header(scope, b"content-type") or "").partition(";")
    charset = parameters.strip().lower().replace('"', "")
    taken = media_types(scope["method"])  # type: ignore[typeddict-item]
    return kind.strip().lower() in taken and charset in ("", "charset=utf-8")


async def json_object(request: "Request[Any, Any, Any]") -> dict[str, Any]:
    """Return the body, which must be a JSON object with no name twice.

    Raise UnsupportedMediaType, BodyTooLarge, MalformedJson or Invalid.
    """
    if not is_json(request.scope):
        taken = media_types(request.method)
        accepted = {"Accept" if taken is _JSON else "Accept-Patch": ", ".join(taken)}
        raise errors.UnsupportedMediaType(f"Send {' or '.join(taken)}, in UTF-8.", headers=accepted)
    if (header(request.scope, b"content-encoding") or "identity").lower() != "identity":
        accepted = {"Accept-Encoding": "identity"}
        raise errors.UnsupportedMediaType("Compressed bodies are not accepted.", headers=accepted)
    body = await read(request)
    try:
        decoded = _decode(body)
        repeated = _repeated(body, decoded)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise errors.MalformedJson(validation.malformed(error, body)) from error
    if not isinstance(decoded, dict):
        wrong = FieldError("not_an_object", validation.must_be("object"), "")
        raise Invalid("The body must be a JSON object.", errors=(wrong,))
    if repeated:
        raise _invalid(repeated)
    return decoded


def look_again(scope: Scope, seconds: float, look: Callable[[], Awaitable[object]]) -> None:
    """Have `look` called before a body is returned that comes `seconds` from now, or later.

    For who lets a request in by its head: the right to it may have ended since. `look` raises what then holds.
    """
    scope["state"][_LOOK] = time.monotonic() + seconds, look


async def read(request: "Request[Any, Any, Any]", largest: int = LARGEST) -> bytes:
    """Return the body's bytes.

    Raise BodyTooLarge as soon as there are more than `largest`, whatever `Content-Length` says; MalformedJson when the
    caller closes the connection before the end.
    """
    declared = header(request.scope, b"content-length") or ""
    size = int(declared[:18]) if declared.isascii() and declared.isdigit() else 0
    body = await received(request.scope, request.receive, largest) if size <= largest else b""
    if body is None:
        raise errors.MalformedJson("The body broke off.")  # for the log: nobody is there to read it
    if max(size, len(body)) > largest:
        raise errors.BodyTooLarge(f"At most {largest} bytes.", headers={"Connection": "close"})
    return body


async def received(scope: Scope | HTTPScope, receive: Receive, largest: int) -> bytes | None:
    """Return the body, of one that is too large the first byte too many as the last; None where it broke off.

    Raise what `look_again` was told to look for.
    """
    body, more = b"", True
    while more and len(body) <= largest:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        more = message.get("more_body", False)
    late, look = scope["state"].get(_LOOK, (0.0, None))
    if look and time.monotonic() >= late:
        await look()
    return body[: largest + 1]


def fields(members: dict[str, Any], model: type[S], also: frozenset[str] = frozenset()) -> S:
    """Return `members` as a `model`. Raise Invalid or UnknownField with an entry for each wrong one.

    Members in `also` are known but not part of this model: they are left to the caller.
    """
    mine = {name: raw for name, raw in members.items() if name not in also}
    try:
        return msgspec.convert(mine, model)
    except msgspec.ValidationError as error:  # it names the first fault; now find them all
        raise _invalid(_faults(mine, model)) from error


def _invalid(faults: list[FieldError]) -> Invalid:
    """Return one error for all of `faults`: UnknownField when they are nothing else."""
    kind = UnknownField if {fault.code for fault in faults} == {UnknownField.code} else Invalid
    count = f"{len(faults)} fields are" if len(faults) > 1 else "1 field is"
    return kind(f"{count} not valid.", errors=tuple(faults[:_MOST_FAULTS]))


def pointer(*path: str) -> str:
    return "".join("/" + step[:100].replace("~", "~0").replace("/", "~1") for step in path)


def _repeated(body: bytes, decoded: Any) -> list[FieldError]:
    """Return an error for each name that an object has twice: parsers disagree on which counts (RFC 8259 section 4).

    Every name is followed by a colon, so a body with as many colons as names cannot hide one. Only where text or deeper
    objects add some is it read again, by a decoder that keeps pairs as they come: tuples, while lists stay lists.
    """
    if not isinstance(decoded, dict):
        return []
    names = len(decoded) + sum([len(value) for value in decoded.values() if type(value) is dict])
    if body.count(b":") == names:
        return []
    pairs = _decode_pairs(body.decode())
    faults = _repeated_in(pairs)
    for name, value in pairs:  # no model of ours goes deeper: what does is refused for that
        if isinstance(value, tuple):
            faults += _repeated_in(value, name)
    return faults


def _repeated_in(pairs: tuple[tuple[str, Any], ...], *path: str) -> list[FieldError]:
    seen: set[str] = set()
    twice: dict[str, None] = {}
    for name, _ in pairs:
        if name in seen:
            twice[name] = None
        seen.add(name)
    return [FieldError("repeated_field", "Given more than once.", pointer(*path, name)) for name in twice]


def _faults(members: dict[str, Any], model: type[msgspec.Struct]) -> list[FieldError]:
    fields = msgspec.structs.fields(model)
    types = {field.encode_name: field.type for field in fields}
    faults: list[FieldError] = []
    for name, raw in members.items():
        if name not in types:
            faults.append(FieldError("unknown_field", f"No such field. There are: {', '.join(types)}.", pointer(name)))
            continue
        whole = _wrong(raw, types[name], name)
        faults += whole and (_wrong_entries(raw, types[name], name) or whole)
    missing = [field.encode_name for field in fields if field.required and field.encode_name not in members]
    return faults + [FieldError("missing_field", "Must be given.", pointer(name)) for name in missing]


def _wrong_entries(raw: Any, kind: Any, name: str) -> list[FieldError]:
    """Return an error for each wrong entry of an object with free keys; none where more than entries is wrong."""
    entries = next((get_args(choice) for choice in (kind, *get_args(kind)) if get_origin(choice) is dict), None)
    if entries is None or not isinstance(raw, dict):
        return []
    key_kind, value_kind = entries
    wrong = (
        fault
        for key, value in raw.items()
        for fault in _wrong(key, key_kind, name, key, what="The key: ") or _wrong(value, value_kind, name, key)
    )
    return list(itertools.islice(wrong, _MOST_FAULTS))


def _wrong(raw: Any, kind: Any, *path: str, what: str = "") -> list[FieldError]:
    try:
        msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        code, message = validation.plain(error, kind)
        return [FieldError(code, f"{what}{message}", pointer(*path))]
    return []
