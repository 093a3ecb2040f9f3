"""What a browser calls itself, in names that people know."""

import re
from typing import Final

_BROWSERS: Final = (
    ("Edge", r"Edg(?:e|A|iOS)?/"),
    ("Opera", r"OPR/|Opera"),
    ("Samsung Internet", r"SamsungBrowser/"),
    ("Firefox", r"Firefox/|FxiOS/"),
    ("Chrome", r"Chrome/|CriOS/"),
    ("Safari", r"Version/.*Safari/"),
)
_SYSTEMS: Final = (
    ("iOS", r"iPhone|iPad|iPod"),
    ("Android", r"Android"),
    ("Windows", r"Windows NT"),
    ("ChromeOS", r"CrOS"),
    ("macOS", r"Mac OS X|Macintosh"),
    ("Linux", r"Linux|X11"),
)


def browser_and_system(agent: str) -> tuple[str | None, str | None]:
    """The browser's and the system's name, where the User-Agent tells."""
    agent = agent[:500]
    return (
        next((name for name, sign in _BROWSERS if re.search(sign, agent)), None),
        next((name for name, sign in _SYSTEMS if re.search(sign, agent)), None),
    )


def browser_name(agent: str) -> str:
    """Such as `Chrome on Windows`; empty where the User-Agent tells nothing that is known."""
    return " on ".join(filter(None, browser_and_system(agent)))
