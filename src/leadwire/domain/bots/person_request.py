"""Whether a visitor asks for a person, in English, German, French, Spanish or Arabic. Pure.

Only a text that is such a request from its first to its last word counts: "I am a human resources manager" is none.
"""

import re
import unicodedata
from pathlib import Path
from typing import Final

from msgspec import toml

_LONGEST: Final = 120  # characters; who writes more wants more than that


# Language -> part of a sentence -> its phrases, as the file explains them.
_LANGUAGES: Final = toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=dict[str, dict[str, list[str]]])


def asks_for_person(text: str) -> bool:
    """Whether the visitor wants to talk to a person."""
    return len(text) <= _LONGEST and any(pattern.fullmatch(_plain(text)) for pattern in _PATTERNS)


def _plain(text: str) -> str:
    """Lower-case words with a blank between, without accents, vowel signs and punctuation."""
    bare = "".join(one for one in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(one))
    return " ".join(re.findall(r"[^\W_]+", bare.replace("\u0640", "")))  # the Arabic letter stretcher


def _pattern(language: dict[str, list[str]]) -> re.Pattern[str]:
    part = {name: f"(?:{'|'.join(map(_plain, phrases))})" for name, phrases in language.items()}
    # Every repetition has an end and every word stands between blanks, so that no text takes long.
    polite = f"(?:{part['polite']} )"
    last = f" {polite}?{part['verb']}" if "verb" in part else ""
    talks = f"(?:{part['can']} {polite}?)?{part['talk']} {polite}?{part['who']}{last}"
    asks = f"(?:{talks}|{part['need']} {polite}?{part['who']})(?: {polite}?{part['end']})?"
    return re.compile(f"{polite}{{0,3}}(?:{asks}|{part['alone']})(?: {part['polite']}){{0,3}}")


_PATTERNS: Final = tuple(map(_pattern, _LANGUAGES.values()))
