"""Ids in the forms and links of a page, to be replaced by another workspace's."""

from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit


class Sent(NamedTuple):
    """What a form of a page sends, or a link asks for."""

    method: str
    path: str
    pairs: list[tuple[str, str]]

    def replaced(self, kinds: Mapping[str, str]) -> Iterator[tuple[int, str]]:
        """The places of fields that hold an id of `kinds`, and of which kind it is."""
        for place, (_, value) in enumerate(self.pairs):
            if value in kinds:
                yield place, kinds[value]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Sent] = []
        self._form = Sent("GET", "", [])
        self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name, value = given.get("name", ""), given.get("value", "")
        if tag == "form":
            parts = urlsplit(given.get("action", ""))
            self._form = Sent(given.get("method", "get").upper(), parts.path, parse_qsl(parts.query))
            self.sent.append(self._form)
        elif tag in ("a", "button") and (target := given.get("href") or given.get("formaction")):
            parts = urlsplit(target)
            self.sent.append(Sent("GET" if tag == "a" else self._form.method, parts.path, parse_qsl(parts.query)))
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select:
            self._form.pairs.append((self._select, value))
        if tag in ("input", "button", "textarea") and name:
            self._form.pairs.append((name, value))

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._select = ""


def sent_by(text: str) -> list[Sent]:
    """What the forms and links of a page send. Each option of a choice is a field."""
    reader = _Reader()
    reader.feed(text)
    return reader.sent
