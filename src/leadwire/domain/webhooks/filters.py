"""Filters of endpoints: which events, of the kinds that an endpoint subscribes to, it is sent.

PostgreSQL asks it of an event's body where deliveries are made, as a jsonpath.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from leadwire.infrastructure import ids
from leadwire.infrastructure.errors import Invalid, invalid_field
from leadwire.infrastructure.unseen import UNSEEN

MOST: Final = {"bots": 50, "changed": 20, "conditions": 20}
"""Entries of each."""
LONGEST: Final = 200
"""Characters of an entry."""
_DEEPEST: Final = 6  # names of a path
_LINE: Final = re.compile(r"(\S+)\s+([a-z_]+)(?:\s+(.+))?")
_PLAIN: Final = re.compile(r"[^A-Za-z0-9\u0080-\uffff]")  # else it means something in a regular expression

_Scalar = str | bool | int | float


class Filter(Struct, frozen=True, forbid_unknown_fields=True):
    """What an endpoint wants: events of these bots, and those that have none; `lead.updated` where one of these fields
    has changed; and what every condition holds of, each a text `path op value`. Empty does not restrict.
    """

    bots: list[str] = []
    changed: list[str] = []
    conditions: list[str] = []

    def __str__(self) -> str:
        parts = [f"bot in {', '.join(self.bots)}"] if self.bots else []
        parts += [f"changed {', '.join(self.changed)}"] if self.changed else []
        return "; ".join([*parts, *self.conditions])


def path_of(wanted: Filter) -> str:
    """Return the jsonpath, empty where nothing is restricted. Raise Invalid, which names the entry."""
    for name, most in MOST.items():
        if len(getattr(wanted, name)) > most:
            raise invalid_field(f"/{name}", "too_many", f"At most {most}.")
        if any(len(entry) > LONGEST for entry in getattr(wanted, name)):
            raise invalid_field(f"/{name}", "too_long", f"At most {LONGEST} characters.")
    parts = []
    if wanted.bots:
        if unknown := [bot for bot in wanted.bots if not ids.is_id("bot", bot)]:
            raise invalid_field("/bots", "invalid_value", f"No id of a bot: {unknown[0][:LONGEST]}.")
        wants = _some("$.data.bot_id", _either([f"@ == {_text(bot)}" for bot in wanted.bots]))
        parts.append(f"(!exists($.data.bot_id) || {wants})")
    if wanted.changed:
        names = [f"exists({_path('/changed', f'previous_attributes.{name}')})" for name in wanted.changed]
        parts.append(f'($.event != "lead.updated" || ({_either(names)}))')
    parts += [_asked(number, line) for number, line in enumerate(wanted.conditions, 1)]
    return " && ".join(parts)


def _asked(number: int, line: str) -> str:
    try:
        return _read(line)
    except Invalid as error:
        raise invalid_field("/conditions", "malformed", f"Condition {number}: {error.detail}") from error


def _read(line: str) -> str:
    match = _LINE.fullmatch(line.strip())
    if not match or UNSEEN.search(line):
        raise Invalid("Write `path op value`, such as `score gte 50`.")
    path, op, text = match.groups()
    if op not in _OPS:
        raise Invalid(f"No such operator: {op}. There are: {', '.join(_OPS)}.")
    if (text is None) != (op in ("is_set", "not_set")):
        raise Invalid(f"`{op}` takes {'a value' if text is None else 'no value'}.")
    value = None if text is None else _list(text) if op == "in" else _value(text)
    return _OPS[op](_path("/conditions", path), value)


def _value(text: str) -> _Scalar:
    """A number, `true` or `false`, a text in quotation marks, or else the text itself."""
    try:
        value = msgspec.json.decode(text, type=_Scalar)
    except msgspec.DecodeError:
        return text
    if isinstance(value, str) and "\0" in value:
        raise Invalid("No text holds a NUL character.")  # PostgreSQL takes none
    return text if isinstance(value, float) and abs(value) == float("inf") else value


def _list(text: str) -> list[_Scalar]:
    values = [_value(part.strip()) for part in text.split(",") if part.strip()]
    if not values:
        raise Invalid("`in` takes values with commas between them.")
    return values


def _path(pointer: str, path: str) -> str:
    names = path.split(".")
    if len(names) > _DEEPEST or not all(names):
        message = f"A path is at most {_DEEPEST} names with dots between them, such as custom_fields.stage."
        raise invalid_field(pointer, "malformed", message)
    return ".".join(["$.data", *map(_text, names)])


def _text(value: str) -> str:
    """A string of jsonpath, which is one of JSON."""
    return msgspec.json.encode(value).decode()


def _either(conditions: Sequence[str]) -> str:
    return " || ".join(conditions)


# Each within `exists`, which makes of what cannot be compared a no.
def _some(path: str, condition: str) -> str:
    return f"exists({path} ? ({condition}))"


def _like(pattern: str, values: Sequence[object]) -> str:
    """A text that is like one of the values. One expression, however many they are: each costs more than all else."""
    texts = [value if isinstance(value, str) else _literal(value) for value in values]
    written = [_PLAIN.sub(lambda match: "\\" + match[0], text) for text in texts]
    return f'@ like_regex {_text(pattern.format("|".join(written)))} flag "i"'


def _same(path: str, values: Sequence[Any]) -> str:
    """One of these. Texts without regard to case; a number also where it is written as a text."""
    equal = [f"@ == {_literal(value)}" for value in values if not isinstance(value, str)]
    texts = [value for value in values if not isinstance(value, bool)]
    return _some(path, _either([*equal, _like("^({})$", texts)] if texts else equal))


def _ordered(sign: str) -> Callable[[str, Any], str]:
    def asked(path: str, value: Any) -> str:
        if isinstance(value, bool | str):
            raise Invalid("This operator compares with a number.")
        return _some(path, f"@.double() {sign} {_literal(value)}")

    return asked


def _literal(value: object) -> str:
    return "true" if value is True else "false" if value is False else str(value)


_OPS: Final[dict[str, Callable[[str, Any], str]]] = {
    "eq": lambda path, value: _same(path, [value]),
    "ne": lambda path, value: f"!({_same(path, [value])})",
    "in": _same,
    "is_set": lambda path, _: _some(path, "@ != null"),
    "not_set": lambda path, _: f"!({_some(path, '@ != null')})",
    "contains": lambda path, value: _some(path, _like("{}", [value])),
    "ends_with": lambda path, value: _some(path, _like("{}$", [value])),
    "gt": _ordered(">"),
    "gte": _ordered(">="),
    "lt": _ordered("<"),
    "lte": _ordered("<="),
}
