"""The catalog of events, for people who choose: what each means and when it is sent. Pure."""

import tomllib
from collections.abc import Collection
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


def briefly(kinds: Collection[str]) -> list[str]:
    """What an endpoint subscribes to, in few words: a group that is chosen whole by its name, the rest by its kinds."""
    whole = [name for name, group in GROUPS.items() if {event.kind for event in group} <= set(kinds)]
    if len(whole) == len(GROUPS):
        return ["all events"]
    named = {event.kind for name in whole for event in GROUPS[name]}
    return whole + [kind for kind in kinds if kind not in named]
