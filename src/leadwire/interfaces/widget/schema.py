"""What the widget sends."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from leadwire.domain.bots.visitors.identities import Vouched
from leadwire.domain.bots.visitors.variables import MAX_ATTRIBUTES
from leadwire.domain.conversations.schema import MAX_MESSAGES, MAX_TEXT
from leadwire.infrastructure.errors import InvalidParameter

_PLAIN: Final = r"^[^\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*$(?!\n)"
_DIGITS: Final = 9  # of a position in a conversation

Content = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT, pattern=r"^[^\x00]*(?![\s\S])")]
ClientId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{16,64}\Z")]
Url = Annotated[str, Meta(max_length=2048, pattern=_PLAIN)]
Attribute = Annotated[str, Meta(min_length=1, max_length=500, pattern=_PLAIN)]
AttributeName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,63}\Z")]
Short = Annotated[str, Meta(max_length=64, pattern=_PLAIN)]


class Identity(Vouched, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Who the visitor is, signed by the website's server."""

    email: Annotated[str, Meta(max_length=254, pattern=_PLAIN)] = ""
    user_id: Annotated[str, Meta(max_length=200, pattern=_PLAIN)] = ""
    name: Annotated[str, Meta(max_length=200, pattern=_PLAIN)] = ""
    expires: Annotated[int, Meta(ge=0, lt=2**40)]
    signature: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


class NewVisitorMessage(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A message, or the option that the visitor chose."""

    content: Content
    client_message_id: ClientId
    attributes: Annotated[dict[AttributeName, Attribute], Meta(max_length=MAX_ATTRIBUTES)] = {}
    """What the page tells of the visitor."""
    identity: Identity | None = None


class NewConversation(NewVisitorMessage, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The first message. `client_message_id` is random, and the same when it is sent again."""

    page_url: Url | None = None
    referrer: Url | None = None
    locale: Short | None = None
    timezone: Short | None = None
    greeting: Short | None = None
    """Of the bot, as it was read."""


class NewRating(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What the visitor thinks of a conversation that has ended."""

    rating: Annotated[int, Meta(ge=1, le=5)]
    comment: Annotated[str, Meta(max_length=1000, pattern=r"^[^\x00]*(?![\s\S])")] = ""


class Activity(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What the visitor does while a person answers."""

    typing: bool = False
    seen: Annotated[int, Meta(ge=0, le=MAX_MESSAGES)] = 0
    """How far they have read."""


def position(text: str) -> int:
    """Return a position in a conversation. Raise InvalidParameter."""
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise InvalidParameter("A position in a conversation is a whole number.")
    return int(text)
