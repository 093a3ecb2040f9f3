"""Read what a visitor typed: the answer to a question, or that they ask for a person. Pure."""

import math
import re
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec import toml

from leadwire.domain.bots.flow.expressions import normal
from leadwire.domain.bots.flow.nodes import Answer, Ask, Option, Scalar
from leadwire.domain.leads import identity
from leadwire.domain.leads.schema import LENGTHS
from leadwire.domain.search import documents
from leadwire.infrastructure.unseen import UNSEEN

_DONE: Final = frozenset({"no", "no thanks", "no, thanks", "nothing", "thanks", "thank you", "that is all", "bye"})
_SPACE: Final = re.compile(r"\s+")
_NUMBER: Final = re.compile(r"[-+]?(?:[0-9]{1,3}(?:[, '\u00a0\u202f][0-9]{3}){1,4}|[0-9]{1,15})(?:\.[0-9]{1,6})?")
_HOST: Final = re.compile(
    r"(?=.{4,253}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{1,62}", re.IGNORECASE
)
_LONGEST: Final = 1000  # characters of a custom field

# Where private people have their mail: an address elsewhere is most likely a company's.
_FREE_MAIL: Final = frozenset(Path(__file__).with_name("free_mail.txt").read_text(encoding="utf-8").split())
_LONGEST_REQUEST: Final = 200  # characters; who writes more wants more than that
# Latin, Arabic and Japanese punctuation that ends a clause.
_CLAUSES: Final = re.compile(
    r"[.,;!?\n\u00a1\u00bf\u2013\u2014\u2026\u060c\u061b\u061f\u3001\u3002\uff01\uff0c\uff1b\uff1f]| - "
)


# Language -> part of a sentence -> its phrases, as the file explains them.
_LANGUAGES: Final = toml.decode(
    Path(__file__).with_name("person_request.toml").read_bytes(), type=dict[str, dict[str, list[str]]]
)


def read(ask: Ask, text: str) -> Scalar:
    """What `text` says in answer to `ask`, in its normal form. Raise ValueError when it is no answer."""
    text = _SPACE.sub(" ", UNSEEN.sub(" ", text)).strip()
    longest = LENGTHS.get(ask.save_to or "", _LONGEST)
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
    """The option that is meant: by its label, which is what a button says, its value, or its number."""
    wanted = normal(text)
    for meaning in ("label", "value_or_label"):
        for choice in ask.options:
            if normal(getattr(choice, meaning)) == wanted:
                return choice
    number = int(wanted[:3]) if wanted.isascii() and wanted.isdigit() else 0
    return ask.options[number - 1] if 1 <= number <= len(ask.options) else None


def says_done(node: Answer, text: str) -> bool:
    """Whether the visitor says that there are no further questions, by one of the phrases."""
    said = _phrase(text)
    return said in _DONE or said in map(_phrase, node.done)


def _phrase(text: str) -> str:
    return normal(text).strip(".! ")


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

    A whole clause has to be such a request: "I am a human resources manager" is none.
    """
    if len(text) > _LONGEST_REQUEST:
        return False
    plain = _plain(text)
    clauses = [clause for part in _CLAUSES.split(text) if (clause := _plain(part))]
    after = [*clauses[1:], ""]
    return any(
        whole.fullmatch(plain)
        or any(
            talk.fullmatch(clause) or (need.fullmatch(clause) and not which.match(then))
            for clause, then in zip(clauses, after, strict=False)
        )
        for whole, talk, need, which in _REQUESTS
    )


def _plain(text: str) -> str:
    """Lower-case words with a blank between, without accents, vowel signs and punctuation."""
    bare = documents.plain(text).replace("\u0640", "")  # the Arabic letter stretcher
    return " ".join(re.findall(r"[^\W_]+", bare))


def _request(language: dict[str, list[str]]) -> list[re.Pattern[str]]:
    """How a language asks for a person: in a whole text, in a clause to talk, in a clause for somebody; and what begins
    a clause that says whom: after a clause for somebody, that may be anybody.
    """
    part = dict.fromkeys(("can", "talk", "need", "who", "end", "about", "which", "before"), "(?!)")  # matches nothing
    part |= {name: f"(?:{'|'.join(map(_plain, phrases))})" for name, phrases in language.items()}
    # Every repetition has an end and every word stands between blanks, so that no text takes long.
    polite = f"(?:{part['polite']} )"
    on = f"(?: {part['about']} .{{1,80}})?"
    last = f"{on} {polite}?{part['verb']}" if "verb" in part else ""
    end = f"(?: {polite}?{part['end']})?"
    talk = f"(?:{part['can']} {polite}?)?{part['talk']} {polite}?{part['who']}{last}{end}"
    need = f"{part['need']} {polite}?{part['who']}{end}"
    # Where there are no blanks, whole sentences, after what they are about.
    sentence = f"(?:.{{1,40}}{part['before']} ?)?{part['alone']}{part['after']}?" if "after" in part else "(?!)"
    first, polite_end = f"{polite}{{0,3}}", f"(?: {part['polite']}){{0,3}}"
    whole = f"(?:{talk}|{need}|{part['alone']})"
    talk = f"(?:{talk}{polite_end}(?: {part['which']} .{{1,80}})?{on}|{sentence})"
    need = f"{need}{polite_end}{on}"
    whole, talk, need = (f"{first}{wish}{polite_end}" for wish in (whole, talk, need))
    return [re.compile(pattern) for pattern in (whole, talk, need, rf"{part['which']}\b")]


_REQUESTS: Final = tuple(map(_request, _LANGUAGES.values()))
