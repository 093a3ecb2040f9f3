"""Forms: url-encoded bodies, read once and strictly."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final, TypeVar

from litestar import Request
from msgspec import Struct

from leadwire.infrastructure.errors import FieldError, Forbidden, Invalid, InvalidParameter, UnsupportedMediaType
from leadwire.infrastructure.unseen import is_name
from leadwire.interfaces.http import body, requests
from leadwire.interfaces.web import security

C = TypeVar("C", bound=str)

_MOST_FIELDS: Final = 200  # in a form of the usual size


class Form(Struct, frozen=True):
    """What was filled in. A field that was not sent is empty, as in a browser."""

    pairs: list[tuple[str, str]] = []

    def __bool__(self) -> bool:
        return bool(self.pairs)

    def text(self, name: str) -> str:
        """The field's last value, trimmed; line ends as \\n."""
        return self.raw(name).replace("\r\n", "\n").strip()

    def raw(self, name: str) -> str:
        """The field's last value as typed: for passwords."""
        values = self.all(name)
        return values[-1] if values else ""

    def all(self, name: str) -> list[str]:
        """Every value of a field that may be sent several times."""
        return [value for key, value in self.pairs if key == name]

    def has(self, name: str) -> bool:
        """Whether the form has the field: a page from before an upgrade lacks what has been added since. Boxes, which
        are sent when they are ticked, are listed in fields called `boxes`.
        """
        return name in self._boxes() or any(key == name for key, _ in self.pairs)

    def given(self, read: Callable[[str], Any], *names: str) -> dict[str, Any]:
        """What `read` says of the fields that the form has."""
        return {name: read(name) for name in names if self.has(name)}

    def chosen(self, name: str, before: Iterable[str]) -> list[str]:
        """The values of the ticked boxes that share a name, and those of `before` for which the form has no box. A page
        from before such boxes were listed, with their name first, had all that there were.
        """
        boxes = self._boxes()
        kept = [value for value in before if value not in boxes] if name in boxes else []
        return list(dict.fromkeys([*self.all(name), *kept]))

    def _boxes(self) -> list[str]:
        return " ".join(self.all("boxes")).split()

    def without(self, *names: str) -> "Form":
        """The other fields."""
        return Form([(key, value) for key, value in self.pairs if key not in names])

    def on(self, name: str) -> bool:
        """Whether a box is ticked."""
        return bool(self.text(name))

    def number(self, name: str) -> int | None:
        """A whole number, or None when left empty. Raises Invalid."""
        if not (text := self.text(name)):
            return None
        digits = text.removeprefix("-")
        if digits.isascii() and digits.isdigit() and len(text) <= 12:
            return int(text)
        raise wrong(name, "wrong_type", "A whole number, please.")

    def choice(self, name: str, choices: Collection[C], message: str) -> C:
        """The field's value, which must be one of `choices`. Raises Invalid with `message`."""
        for value in choices:
            if value == self.text(name):
                return value
        raise wrong(name, "unknown_value", "Choose one of these.", message)

    def required_name(self, message: str) -> str:
        """The field `name`, which must have 1 to 100 characters that can be seen. Raises Invalid with `message`."""
        if not is_name(self.text("name"), 100):
            raise wrong("name", "required", "1 to 100 characters, on one line.", message)
        return self.text("name")


def wrong(field: str, code: str, error: str, message: str = "") -> Invalid:
    """Return the error for a field; `message` is what the page says on top, `error` what it says beside the field."""
    return Invalid(message or error, errors=(FieldError(code, error, f"/{field}"),))


async def read(request: "Request[Any, Any, Any]", largest: int = body.LARGEST) -> Form:
    """The form in the body. Raises Forbidden, UnsupportedMediaType, BodyTooLarge, InvalidParameter."""
    if not security.same_origin(request.headers):
        raise Forbidden("This request came from another site.")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise UnsupportedMediaType("Send application/x-www-form-urlencoded.")
    return parsed(await body.read(request, largest), _MOST_FIELDS * max(1, largest // body.LARGEST))


def parsed(encoded: bytes, most: int = _MOST_FIELDS) -> Form:
    """Url-encoded pairs. Raises InvalidParameter for what is not UTF-8, holds NUL, or has too many fields."""
    pairs = requests.pairs_of(encoded, "form", most)
    if any("\0" in name + value for name, value in pairs):
        raise InvalidParameter("A NUL character is not text.")
    return Form(pairs)
