"""Requests and responses of /widget/v1, which has a version of its own."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from leadwire.domain.bots.engine import Prompt
from leadwire.domain.conversations.schema import MAX_TEXT

_NO_NUL: Final = r"^[^\x00]*(?![\s\S])"
_PLAIN: Final = r"^[^\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*$(?!\n)"

Content = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT, pattern=_NO_NUL)]
ClientId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{16,64}\Z")]
Url = Annotated[str, Meta(max_length=2048, pattern=_PLAIN)]
Short = Annotated[str, Meta(max_length=64, pattern=_PLAIN)]


class Greeting(Struct, frozen=True):
    """A message of the bot before the visitor's first."""

    content: str


class BotConfig(Struct, frozen=True):
    """All that a widget needs to open. Nothing is stored until the visitor sends a message."""

    id: str
    title: str
    locale: str
    color: str
    messages: list[Greeting]
    input: Prompt | None


class NewVisitorMessage(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A message, or the option that the visitor chose."""

    content: Content
    client_message_id: ClientId


class NewConversation(NewVisitorMessage, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The first message. `client_message_id` is random, and the same when it is sent again."""

    page_url: Url | None = None
    referrer: Url | None = None
    locale: Short | None = None
    timezone: Short | None = None
