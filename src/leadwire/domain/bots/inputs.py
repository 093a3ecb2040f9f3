"""Read what a visitor typed as the answer to a question. Pure."""

import math
import re
from typing import Final
from urllib.parse import urlsplit

from leadwire.domain.bots.flow import Ask, Option, Scalar
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
_FREE_MAIL: Final = frozenset(
    """
    gmail.com googlemail.com outlook.com hotmail.com live.com msn.com yahoo.com ymail.com icloud.com me.com mac.com
    aol.com proton.me protonmail.com pm.me gmx.com gmx.net gmx.de web.de t-online.de mail.com mail.ru yandex.com
    yandex.ru zoho.com fastmail.com hey.com orange.fr free.fr laposte.net wanadoo.fr libero.it virgilio.it qq.com
    163.com 126.com naver.com hotmail.co.uk yahoo.co.uk btinternet.com comcast.net verizon.net att.net
    """.split()  # noqa: SIM905 - a list of words reads better as words
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
