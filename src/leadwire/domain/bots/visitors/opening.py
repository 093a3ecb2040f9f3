"""What a widget needs to open: the bot's first words, its look, and what the widget itself says. Pure."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from leadwire.domain.bots.flow import attachments, engine
from leadwire.domain.bots.flow.nodes import Flow
from leadwire.domain.bots.look import LANGUAGES, Look
from leadwire.infrastructure.preconditions import digest

WORDS: Final = msgspec.json.decode(Path(__file__).with_name("words.json").read_bytes(), type=dict[str, dict[str, str]])
"""What the widget itself says, by language; English is in its script."""
_PLAIN: Final = Look()
_UNNAMED: Final = "Chat"  # the title of a flow that says none
_HEADINGS: Final = {"ar": "دردشة", "ja": "チャット", "pl": "Czat"}
"""The same in the languages that do not say Chat."""


class Greeting(Struct, frozen=True, omit_defaults=True):
    """A message of the bot before the visitor's first."""

    content: str
    parts: attachments.Shown | None = None


class BotConfig(Struct, frozen=True, omit_defaults=True):
    """All that a widget needs to open. Nothing is stored until the visitor sends a message."""

    id: str
    title: str
    locale: str
    color: str
    messages: list[Greeting]
    input: engine.Prompt | None
    greeting: str
    """`greeting_digest`, to be sent with the first message."""
    look: Look | None = None
    """None: as a new bot's."""
    language: str | None = None
    """Of the widget's own words, where it is not the flow's."""
    words: dict[str, str] | None = None
    """What the widget itself says, where that is not English."""


def opening(bot_id: str, flow: Flow, color: str, look: Look, accepted: str = "") -> BotConfig:
    """All that a widget needs; `accepted` is the browser's Accept-Language."""
    state, effects = engine.begin(flow)
    greeting = [Greeting(text, attachments.shown(text, flow.nodes)) for text in _texts(effects)]
    spoken = language(look, flow.locale, accepted)
    said = WORDS.get(_primary(spoken), {})
    said = said | {"field": look.placeholder} if look.placeholder else said
    heading = _HEADINGS.get(_primary(spoken), flow.title) if flow.title == _UNNAMED else flow.title
    return BotConfig(
        bot_id,
        look.title or heading,
        flow.locale,
        color,
        greeting,
        engine.prompt(flow, state),
        greeting_digest(flow, state, effects),
        None if look == _PLAIN else look,
        None if spoken == flow.locale else spoken,
        said or None,
    )


def greeting_digest(flow: Flow, state: engine.State, effects: Sequence[engine.Effect]) -> str:
    """A digest of what a visitor answers with their first message: what the bot has said, and what it asks for.
    `state` and `effects` are what `engine.begin` returns.
    """
    return digest((_texts(effects), engine.prompt(flow, state)))


def language(look: Look, locale: str, accepted: str) -> str:
    """The language of the widget's own words, for a flow in `locale`."""
    if look.language != "browser":
        return locale if look.language == "flow" else look.language
    wanted = (_primary(part.strip().partition(";")[0]) for part in accepted[:500].split(","))
    return next((language for language in wanted if language in LANGUAGES), locale)


def _texts(effects: Sequence[engine.Effect]) -> list[str]:
    return [effect.text for effect in effects if isinstance(effect, engine.Reply)]


def _primary(locale: str) -> str:
    return locale.lower().partition("-")[0]
