"""What is wrong with a value, in plain words: one table for bodies and queries. msgspec's own texts name Python's types
and print patterns.
"""

import codecs
import json
import re
from typing import Any, Final, Literal, get_args, get_origin

_KINDS: Final = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "a boolean",
    "object": "an object",
    "array": "a list",
    "null": "null",
}
_CONTROL: Final = r"Expected `str` matching regex '\^\[\^\\"  # the patterns that begin with what is excluded
# The message of msgspec, our code and our message.
_TABLE: Final = tuple(
    (re.compile(pattern), code, message)
    for pattern, code, message in (
        (r"Expected `(?:int|float)` <= (\S+)", "out_of_range", "Must be at most {}."),
        (r"Expected `(?:int|float)` >= (\S+)", "out_of_range", "Must be at least {}."),
        (r"Expected `str` of length <= (\d+)", "too_long", "Must have at most {} characters."),
        (r"Expected `str` of length >= 1\b", "wrong_value", "Must not be empty."),
        (r"Expected `str` of length >= (\d+)", "wrong_value", "Must have at least {} characters."),
        (r"Expected `\w+` of length <= (\d+)", "too_long", "Must have at most {} entries."),
        (r"Expected `str` matching regex '\^(\w+_)\[0-7\]", "wrong_value", "Must be an id, which starts with `{}`."),
        (_CONTROL, "forbidden_characters", "Must not contain control characters."),
        (r"Expected `str` matching regex", "wrong_value", "Does not have the form that is asked for here."),
        (r"Integer value out of range|Number out of range", "out_of_range", "The number is too large."),
    )
)


def plain(error: Exception, kind: Any) -> tuple[str, str]:
    """Return our code and message for the error of msgspec when a value is no `kind`."""
    text = str(error)
    if text.startswith("Invalid enum value"):
        return "wrong_value", f"Must be one of {', '.join(f'`{choice}`' for choice in _choices(kind) if choice)}."
    for pattern, code, message in _TABLE:
        if match := pattern.match(text):
            return code, message.format(*match.groups())
    if match := re.match(r"Expected `([\w |]+)`", text):
        return "wrong_type", must_be(*match[1].split(" | "))
    return "wrong_value", "Is not valid."


def must_be(*kinds: str) -> str:
    """Return `Must be a string or null.`; `kinds` are msgspec's names. Beside a number, an integer is not named."""
    names = [name for kind, name in _KINDS.items() if kind in kinds and not (kind == "int" and "float" in kinds)]
    *most, last = names or ["something else"]
    return f"Must be {', '.join(most)}{' or ' * bool(most)}{last}."


def malformed(error: Exception, body: bytes) -> str:
    """Return why `body` is not JSON, as one sentence."""
    text = str(error)
    whys = {
        "is not UTF-8": isinstance(error, UnicodeDecodeError),
        "is nested too deeply": isinstance(error, RecursionError),
        "has a number that is too large": "out of range" in text,
        "begins with a byte order mark: send it without one": body.startswith(codecs.BOM_UTF8),
        r"has a `\u` escape that is half of a surrogate pair": "surrogate" in text
        or ("truncated" in text and _whole(body)),
        "is empty": not body.strip(),
        "ends too early": "truncated" in text,
    }
    why = text.removeprefix("JSON is malformed: ").partition(" - at ")[0]
    other = f"is not JSON: {why[:1].lower()}{why[1:]}"
    return f"The body {next((told for told, true in whys.items() if true), other)}."


def _whole(body: bytes) -> bool:
    """Whether Python's decoder, which takes half a surrogate pair, can read `body`."""
    try:
        json.loads(body)
    except ValueError:
        return False
    return True


def _choices(kind: Any) -> list[Any]:
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    return [choice for inner in get_args(kind) for choice in _choices(inner)]
