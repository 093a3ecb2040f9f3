"""The flows that Leadwire ships with: for new bots to start from, and for the demo."""

from pathlib import Path
from typing import Final

_DIRECTORY: Final = Path(__file__).with_name("flows")
NAMES: Final = ("lead-qualification", "demo-booking", "support-triage")
BLANK: Final = """\
format = 1
start = "welcome"

[[nodes]]
type = "say"
id = "welcome"
text = "Hello! How can we help you?"
"""
"""What a bot without a shipped flow begins with: a greeting that leads nowhere yet."""


def text(name: str, privacy: str = "") -> str:
    """The TOML of a shipped flow, with the address of the privacy page, which one that asks for consent needs."""
    return (_DIRECTORY / f"{name}.toml").read_text(encoding="utf-8").replace('url = ""', f'url = "{privacy}"')
