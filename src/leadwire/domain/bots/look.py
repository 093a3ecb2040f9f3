"""How a bot's chat looks on websites, and when it shows itself. One JSON column; the color is a column of its own.

A pattern is a path in which `*` stands for anything, such as `/pricing*`: never a regular expression.
"""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

_PLAIN: Final = r"^[^\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*\Z"
_LATEST: Final = 3600  # seconds

Pattern = Annotated[str, Meta(max_length=200, pattern=r"^[/*][^\s\x00-\x1f]*\Z")]
Patterns = Annotated[tuple[Pattern, ...], Meta(max_length=20)]
Distance = Annotated[int, Meta(ge=0, le=200)]
Seconds = Annotated[int, Meta(ge=0, le=_LATEST)]
Language = Literal["flow", "browser", "en", "de", "fr", "es", "it", "pt", "nl", "pl", "ar", "ja"]


class Look(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The settings of the screen "Look". What is as in a new bot is not stored."""

    theme: Literal["auto", "light", "dark"] = "auto"
    side: Literal["right", "left"] = "right"
    x: Distance = 20
    """Pixels from that side of the window."""
    y: Distance = 20
    """Pixels from its bottom."""
    avatar: Annotated[str, Meta(max_length=500, pattern=r"^(?:[^\s:/]{0,4}|https://[^\s\"'()<>\\]{3,})\Z")] = ""
    """The https address of an image, which the visitor's browser loads; or up to four characters."""
    icon: Literal["chat", "question", "calendar"] = "chat"
    launcher: Annotated[str, Meta(max_length=30, pattern=_PLAIN)] = ""
    """The text on the button beside its icon."""
    title: Annotated[str, Meta(max_length=60, pattern=_PLAIN)] = ""
    """Instead of the flow's."""
    placeholder: Annotated[str, Meta(max_length=60, pattern=_PLAIN)] = ""
    """In the field, where the flow says nothing else."""
    language: Language = "flow"
    """Of the chat's own words: the flow's, that of the visitor's browser, or always this one."""
    greeting: Annotated[str, Meta(max_length=200, pattern=_PLAIN)] = ""
    """Shown beside the button while the chat is closed."""
    greeting_after: Seconds = 5
    greeting_pages: Patterns = ()
    """None: on every page."""
    opens: bool = False
    """Whether the chat opens by itself, once for each visitor."""
    open_after: Seconds = 10
    open_pages: Patterns = ()
    """None: on every page."""
    open_on_phones: bool = False
    hide_pages: Patterns = ()
    rating: bool = True
    """Whether visitors are asked, at the end, how it was."""


LANGUAGES: Final = {
    "en": "English", "de": "Deutsch", "fr": "Français", "es": "Español", "it": "Italiano", "pt": "Português",
    "nl": "Nederlands", "pl": "Polski", "ar": "العربية", "ja": "日本語",
}  # fmt: skip
"""What the chat speaks, by its own names."""

_decoder: Final = msgspec.json.Decoder(Look)


def stored(text: str) -> Look:
    """The look in the column's text; a new bot's where a later version has written what this one does not know."""
    try:
        return _decoder.decode(text)
    except msgspec.ValidationError:
        return Look()
