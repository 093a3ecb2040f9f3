"""What a message can have besides its text: an image, and buttons that open a page. Pure.

Both are also lines of the message's text: it reads well wherever only text is shown, and nothing else is stored.
"""

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct, structs

from leadwire.domain.bots.flow.nodes import Image, Link
from leadwire.domain.conversations.schema import MAX_TEXT, StoredMessage

_BREAKING: Final = frozenset('<>"\\^`{|}')  # a link made from a text would end at these


class Shown(Struct, frozen=True, omit_defaults=True):
    """What the widget shows of a message: its text without the lines for its image and links, and these."""

    text: str
    image: Image | None = None
    links: tuple[Link, ...] = ()


class ShownMessage(StoredMessage, frozen=True, omit_defaults=True):
    """A message that has an image or links, as the widget gets it."""

    parts: Shown | None = None


def content(text: str, node: object) -> str:
    """The text of a node's message, with a line for its image and one for each of its links."""
    end = _lines(node)
    return f"{text[: MAX_TEXT - len(end) - 1]}\n{end}" if end else text


def shown(message: str, nodes: Iterable[object]) -> Shown | None:
    """What the widget shows of a message that `content` has made for one of the nodes; None of any other."""
    return _shown(message, _ends(nodes))


def for_widget(messages: list[StoredMessage], nodes: Iterable[object]) -> list[StoredMessage]:
    """The messages, each with its image and links if one of the bot's `nodes` has sent it with some."""
    ends = _ends(nodes)
    pairs = ((message, _shown(message.content, ends) if message.role == "bot" else None) for message in messages)
    return [ShownMessage(**structs.asdict(message), parts=parts) if parts else message for message, parts in pairs]


def _shown(message: str, ends: list[tuple[str, object]]) -> Shown | None:
    if not (fitting := [(len(end), node) for end, node in ends if message.endswith(end)]):
        return None
    size, node = max(fitting, key=lambda fit: fit[0])  # the lines of one node may end with those of another
    return Shown(message[:-size], getattr(node, "image", None), getattr(node, "links", ()))


def _ends(nodes: Iterable[object]) -> list[tuple[str, object]]:
    return [(f"\n{end}", node) for node in nodes if (end := _lines(node))]


def _lines(node: object) -> str:
    image: Image | None = getattr(node, "image", None)
    links: tuple[Link, ...] = getattr(node, "links", ())
    return "\n".join(
        [f"{picture.alt}: {picture.url}" for picture in (image,) if picture]
        + [f"{link.label}: {link.url}" for link in links]
    )


def is_placeholder(address: str) -> bool:
    """Whether it is on a domain for examples (RFC 2606), and so nobody's."""
    host = urlsplit(address).hostname or ""
    return host.removeprefix("www.") in ("example.com", "example.net", "example.org")


def fault(address: str) -> str:
    """Why a page cannot be opened by this address; empty when it can."""
    try:
        parts = urlsplit(address)
        host, plain = parts.hostname or "", parts.port != 0 and parts.username is None
    except ValueError:
        host, plain = "", False
    if any(not "!" <= character <= "~" or character in _BREAKING for character in address):
        plain = False
    if plain and address.startswith("https://") and "." in host.strip("."):
        return ""
    return f"'{address[:60]}' is no address of the form https://www.example.com/page."
