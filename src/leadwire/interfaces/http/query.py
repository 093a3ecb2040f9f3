"""Query strings, read strictly: a typo in a filter must not silently return everything.

Litestar ignores unknown names, takes the last of two values, reads `1.0` as a number and epoch seconds as a time.
"""

import functools
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar, get_args
from urllib.parse import parse_qsl

import msgspec

from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import FieldError, InvalidParameter
from leadwire.interfaces.http import messages

Q = TypeVar("Q", bound=msgspec.Struct)

_INTEGER = re.compile(r"-?[0-9]{1,19}")  # ASCII digits only; no sign, space, point or exponent otherwise
_MOST_PAIRS = 50


def pairs_of(query_string: bytes) -> list[tuple[str, str]]:
    """The names and values as sent. Raises InvalidParameter when they are not UTF-8 or far too many."""
    if not query_string:
        return []
    try:
        return parse_qsl(
            query_string.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_PAIRS
        )
    except ValueError as error:  # includes UnicodeDecodeError
        raise InvalidParameter("The query string cannot be read.") from error


def parse(pairs: list[tuple[str, str]], model: type[Q]) -> Q:
    """`pairs` as a `model`. Raises InvalidParameter with a fault for each one that is wrong."""
    if not pairs:
        return model()
    readers = _readers(model)
    values: dict[str, Any] = {}
    faults: list[FieldError] = []
    unknown = False
    for name, text in pairs:
        if name not in readers:
            unknown = True
            known = ", ".join(sorted(readers))
            faults.append(
                FieldError("unknown_parameter", f"No such parameter. There are: {known}.", parameter=name[:100])
            )
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
        raise InvalidParameter(
            f"Cannot use: {names}.", code="unknown_parameter" if unknown else None, faults=tuple(faults)
        )
    return model(**values)


@functools.cache
def _readers(model: type[msgspec.Struct]) -> dict[str, Callable[[str], Any]]:
    """For each field, the function that reads its text: by its type, then held to its constraints."""
    return {field.encode_name: _reader(field.type) for field in msgspec.structs.fields(model)}


def _reader(kind: Any) -> Callable[[str], Any]:
    inner = _plain_types(kind)

    def read(text: str) -> Any:
        if datetime in inner:
            return clock.parse(text)
        if int in inner and not _INTEGER.fullmatch(text):
            raise ValueError(messages.must_be("int"))
        if not text.isprintable():  # NUL would upset the database
            raise ValueError("Must not contain control characters.")
        try:
            return msgspec.convert(int(text) if int in inner else text, kind)
        except msgspec.ValidationError as error:
            raise ValueError(messages.plain(error, kind)[1]) from error

    return read


def _plain_types(kind: Any) -> set[Any]:
    """Every type inside unions and annotations."""
    return {kind}.union(*(_plain_types(inner) for inner in get_args(kind) if not isinstance(inner, str | msgspec.Meta)))
