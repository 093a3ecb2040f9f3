"""The catalog of events, for people who choose: what each means and when it is sent. Pure."""

import tomllib
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct


class EventInfo(Struct, frozen=True):
    """One kind of event."""

    kind: str
    title: str
    about: str
    """When it is sent."""
    data: str
    """What it carries."""


GROUPS: Final = msgspec.convert(
    tomllib.loads(Path(__file__).with_suffix(".toml").read_text()), dict[str, tuple[EventInfo, ...]]
)
"""Every kind that an endpoint can subscribe to, in groups."""
