"""Whether a visitor asks for a person, in English, German, French, Spanish or Arabic. Pure.

Only a text that is such a request from its first to its last word counts: "I am a human resources manager" is none.
"""

import re
import unicodedata
from pathlib import Path
from typing import Final

from msgspec import Struct, structs, toml

_LONGEST: Final = 120  # characters; who writes more wants more than that


class _Phrases(Struct, frozen=True):
    """The phrases of one language, as `person_request.toml` explains them."""

    polite: list[str]
    can: list[str]
    talk: list[str]
    need: list[str]
    who: list[str]
    end: list[str]
    alone: list[str]
    verb: list[str] = []


_LANGUAGES: Final = toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=dict[str, _Phrases])


def asks_for_person(text: str) -> bool:
    """Whether the visitor wants to talk to a person."""
    return len(text) <= _LONGEST and any(pattern.fullmatch(_plain(text)) for pattern in _PATTERNS)


def _plain(text: str) -> str:
    """Lower-case words with a blank between, without accents, vowel signs and punctuation."""
    bare = "".join(one for one in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(one))
    return " ".join(re.findall(r"[^\W_]+", bare.replace("\u0640", "")))  # the Arabic letter stretcher


def _pattern(phrases: _Phrases) -> re.Pattern[str]:
    polite, can, talk, need, who, end, alone, verb = (
        "(?:" + "|".join(map(_plain, some)) + ")" for some in structs.astuple(phrases)
    )
    # Every repetition has an end and every word stands between blanks, so that no text takes long.
    last = f" (?:{polite} )?{verb}" if phrases.verb else ""
    talks = f"(?:{can} (?:{polite} )?)?{talk} (?:{polite} )?{who}{last}"
    asks = f"(?:{talks}|{need} (?:{polite} )?{who})(?: (?:{polite} )?{end})?"
    return re.compile(f"(?:{polite} ){{0,3}}(?:{asks}|{alone})(?: {polite}){{0,3}}")


_PATTERNS: Final = tuple(map(_pattern, _LANGUAGES.values()))
