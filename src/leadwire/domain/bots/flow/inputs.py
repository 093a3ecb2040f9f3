"""Read what a visitor typed: the answer to a question, or that they ask for a person. Pure."""

import math
import re
import unicodedata
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec import toml

from leadwire.domain.bots.flow.nodes import Ask, Option, Scalar
from leadwire.domain.leads import identity

_SPACE: Final = re.compile(r"\s+")
_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_NUMBER: Final = re.compile(r"[-+]?(?:[0-9]{1,3}(?:[, '\u00a0\u202f][0-9]{3})+|[0-9]{1,15})(?:\.[0-9]{1,6})?")
_HOST: Final = re.compile(
    r"(?=.{4,253}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{1,62}", re.IGNORECASE
)
_LENGTHS: Final = {"email": 254, "name": 200, "company": 200, "phone": 32}
_LONGEST: Final = 1000  # characters of a custom field

# Where private people have their mail: an address elsewhere is most likely a company's.
_FREE_MAIL: Final = frozenset(Path(__file__).with_name("free_mail.txt").read_text(encoding="utf-8").split())
_LONGEST_REQUEST: Final = 120  # characters; who writes more wants more than that


# Language -> part of a sentence -> its phrases, as the file explains them.
_LANGUAGES: Final = toml.decode(
    Path(__file__).with_name("person_request.toml").read_bytes(), type=dict[str, dict[str, list[str]]]
)


def read(ask: Ask, text: str) -> Scalar:
    """What `text` says in answer to `ask`, in its normal form. Raise ValueError when it is no answer."""
    text = _SPACE.sub(" ", _UNSEEN.sub(" ", text)).strip()
    longest = _LENGTHS.get(ask.save_to or "", _LONGEST)
    if not text or len(text) > longest:
        raise ValueError("nothing to store, or too much")
    if ask.input == "number":
        return _number(ask, text)
    if ask.input == "choice":
        if (chosen := option(ask, text)) is None:
            raise ValueError("none of the options")
        return chosen.value_or_label
    return {"email": identity.email, "phone": identity.phone, "url": _url}.get(ask.input, str)(text)


def option(ask: Ask, text: str) -> Option | None:
    """The option that is meant: by its value, its label, or its number."""
    wanted = text.strip().casefold()
    for meaning in ("value_or_label", "label"):
        for one in ask.options:
            if getattr(one, meaning).casefold() == wanted:
                return one
    number = int(wanted[:3]) if wanted.isascii() and wanted.isdigit() else 0
    return ask.options[number - 1] if 1 <= number <= len(ask.options) else None


def about_email(address: str) -> dict[str, Scalar]:
    """What an e-mail address tells besides itself."""
    domain = address.rpartition("@")[2].lower()
    return {"email_domain": domain, "email_is_business": domain not in _FREE_MAIL}


def _number(ask: Ask, text: str) -> Scalar:
    if not _NUMBER.fullmatch(text):
        raise ValueError("not a number")
    value = float(re.sub(r"[, '\u00a0\u202f]", "", text))
    if value < (-math.inf if ask.min is None else ask.min) or value > (math.inf if ask.max is None else ask.max):
        raise ValueError("out of range")
    return int(value) if value.is_integer() else value


def _url(text: str) -> str:
    address = text if "://" in text else f"https://{text}"
    parts = urlsplit(address)
    if parts.scheme.lower() not in ("http", "https") or not _HOST.fullmatch(parts.hostname or "") or " " in address:
        raise ValueError("not a web address")
    return address


def asks_for_person(text: str) -> bool:
    """Whether the visitor asks for a person, in one of the languages of the widget.

    Only a text that is such a request from its first to its last word counts: "I am a human resources manager" is none.
    """
    if len(text) > _LONGEST_REQUEST:
        return False
    plain = _plain(text)
    return any(pattern.fullmatch(plain) for pattern in _PATTERNS)


def _plain(text: str) -> str:
    """Lower-case words with a blank between, without accents, vowel signs and punctuation."""
    bare = "".join(one for one in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(one))
    return " ".join(re.findall(r"[^\W_]+", bare.replace("\u0640", "")))  # the Arabic letter stretcher


def _pattern(language: dict[str, list[str]]) -> re.Pattern[str]:
    part = dict.fromkeys(("can", "talk", "need", "who", "end"), "(?!)")  # matches nothing
    part |= {name: f"(?:{'|'.join(map(_plain, phrases))})" for name, phrases in language.items()}
    # Every repetition has an end and every word stands between blanks, so that no text takes long.
    polite = f"(?:{part['polite']} )"
    last = f" {polite}?{part['verb']}" if "verb" in part else ""
    talks = f"(?:{part['can']} {polite}?)?{part['talk']} {polite}?{part['who']}{last}"
    asks = f"(?:{talks}|{part['need']} {polite}?{part['who']})(?: {polite}?{part['end']})?"
    return re.compile(f"{polite}{{0,3}}(?:{asks}|{part['alone']})(?: {part['polite']}){{0,3}}")


_PATTERNS: Final = tuple(map(_pattern, _LANGUAGES.values()))
