"""What people choose and build by: the catalog of events, a sample of each, which test events carry, and code that
checks a delivery, in eight languages.
"""

import functools
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from leadwire.delivery import envelope
from leadwire.infrastructure import clock

LANGUAGES: Final = {
    "python": "Python", "node": "Node", "go": "Go", "php": "PHP", "ruby": "Ruby", "java": "Java", "csharp": "C#",
    "shell": "Shell",
}  # fmt: skip
_FOLDER: Final = Path(__file__).with_name("verifiers")

_AT: Final = "2026-01-02T03:04:05.678Z"

SAMPLES: Final = msgspec.json.decode(
    Path(__file__).with_name("samples.json").read_bytes(), type=dict[str, dict[str, Any]]
)
"""The data of an event of each kind, with ids that are plainly not real. The lead in them is the same one."""
_LEAD: Final = SAMPLES["lead.created"]
SAMPLES["lead.updated"] = _LEAD | SAMPLES["lead.updated"]
for _kind in ("conversation.handoff", "conversation.ended"):
    SAMPLES[_kind]["lead"] = _LEAD
NAMED_SAMPLES: Final[dict[str, dict[str, Any]]] = {kind: SAMPLES.pop(kind) for kind in envelope.NAMED}
"""The same of the kinds that only those get who name them."""


class EventInfo(Struct, frozen=True):
    """One kind of event."""

    kind: str
    title: str
    about: str
    """When it is sent."""
    data: str
    """What it carries."""


GROUPS: Final = msgspec.toml.decode(
    Path(__file__).with_name("catalog.toml").read_bytes(), type=dict[str, tuple[EventInfo, ...]]
)
"""Every kind that an endpoint can subscribe to, in groups."""


def briefly(kinds: Collection[str]) -> list[str]:
    """What an endpoint subscribes to, in few words: a group that is chosen whole by its name, the rest by its kinds."""
    whole = [name for name, group in GROUPS.items() if {event.kind for event in group} <= set(kinds)]
    if len(whole) == len(GROUPS):
        return ["all events"]
    named = {event.kind for name in whole for event in GROUPS[name]}
    return whole + [kind for kind in kinds if kind not in named]


@functools.cache
def verifiers() -> dict[str, str]:
    """Return code for each language. The documentation shows the same, and `ops/receivers` runs it."""
    return {language: (_FOLDER / f"{name}.txt").read_text() for name, language in LANGUAGES.items()}


@functools.cache
def key_verifiers() -> dict[str, str]:
    """The same for what is signed with a key, in the languages that have a good Ed25519."""
    files = {language: _FOLDER / f"{name}-key.txt" for name, language in LANGUAGES.items()}
    return {language: path.read_text() for language, path in files.items() if path.exists()}


@functools.cache
def bodies() -> dict[str, str]:
    """Return the body that a delivery of each event kind would have."""
    samples = SAMPLES | NAMED_SAMPLES
    return {kind: envelope.encode(kind, clock.parse(_AT), data) for kind, data in samples.items()}  # type: ignore[arg-type]
