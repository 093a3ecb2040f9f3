"""What is wrong with a value, in plain words: one table for bodies and queries. msgspec's own texts name Python's types
and print patterns.
"""

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
        (r"Expected `str` matching regex", "forbidden_characters", "Must not contain control characters."),
        (r"Integer value out of range|Number out of range", "out_of_range", "The number is too large."),
    )
)


def plain(error: Exception, kind: Any) -> tuple[str, str]:
    """Return our code and message for the error of msgspec when a value is no `kind`."""
    text = str(error)
    if text.startswith("Invalid enum value"):
        return "wrong_value", f"Must be one of {', '.join(f'`{choice}`' for choice in _choices(kind))}."
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
    if isinstance(error, UnicodeDecodeError):
        return "The body is not UTF-8."
    if isinstance(error, RecursionError):
        return "The body is nested too deeply."
    if "surrogate" in text or ("truncated" in text and _whole(body)):
        return r"The body has a `\u` escape that is half of a surrogate pair."
    if "truncated" in text:
        return "The body is empty." if not body.strip() else "The body ends too early."
    why = text.removeprefix("JSON is malformed: ").partition(" - at ")[0]
    return f"The body is not JSON: {why[:1].lower()}{why[1:]}."


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
