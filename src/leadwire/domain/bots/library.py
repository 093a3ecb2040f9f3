"""The flows that Leadwire ships with: for new bots to start from, and for the demo."""

import functools
from pathlib import Path
from typing import Final

from leadwire.domain.bots.flow import Flow
from leadwire.domain.bots.parse import parse

_DIRECTORY: Final = Path(__file__).with_name("flows")
NAMES: Final = ("lead-qualification", "demo-booking", "support-triage")


def text(name: str) -> str:
    """The TOML of a shipped flow."""
    return (_DIRECTORY / f"{name}.toml").read_text(encoding="utf-8")


@functools.cache
def flow(name: str) -> Flow:
    """A shipped flow."""
    return parse(text(name))
