"""The flows that Leadwire ships with: for new bots to start from, and for the demo."""

from pathlib import Path
from typing import Final

_DIRECTORY: Final = Path(__file__).with_name("flows")
NAMES: Final = ("lead-qualification", "demo-booking", "support-triage")


def text(name: str) -> str:
    """The TOML of a shipped flow."""
    return (_DIRECTORY / f"{name}.toml").read_text(encoding="utf-8")
