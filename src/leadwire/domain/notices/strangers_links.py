"""Links that a visitor has given, and names that mail programs turn into links, taken out of a mail. Pure.

A bot repeats what visitors say, by variables in its lines, and so does a person with a saved reply. So a visitor's own
lines lose every such word, but for the address that the mail goes to; the lines of others lose those that name a host
which the visitor has named. Links of the customer's own stay.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

_LEFT_OUT: Final = "[link]"
_DOT: Final = "[.\N{IDEOGRAPHIC FULL STOP}]"  # the other dots of names become the first one by NFKC
_LINK: Final = re.compile(rf"://|www\.|[^\W_]{_DOT}[^\W\d_]{{2,}}|\d{{1,3}}(?:\.\d{{1,3}}){{3}}", re.IGNORECASE)
_HOST: Final = re.compile(rf"[^\W_][\w-]*+(?:{_DOT}[\w-]++)+|(?<=://)[^\s/?#]++")
_UNSEEN: Final = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_AROUND: Final = ".,;:!?()<>\"'"
_MOST: Final = 100  # hosts of one visitor that are told from a customer's


class Links:
    """The links of a visitor who has an `address`, and who has given these `texts`."""

    def __init__(self, address: str, texts: Iterable[str]) -> None:
        self._address = address.casefold()
        links = (word for text in texts for word in _words(text) if self._is_link(word))
        self._hosts = {host for word in links for host in _HOST.findall(word.casefold())}

    def out_of(self, text: str, *, own: bool) -> str:
        """The words of a text without their links; of their own lines, without any."""
        return " ".join(_LEFT_OUT if self._is_out(word, own=own) else word for word in _words(text))

    def _is_out(self, word: str, *, own: bool) -> bool:
        if not self._is_link(word):
            return False
        return own or len(self._hosts) > _MOST or any(host in word.casefold() for host in self._hosts)

    def _is_link(self, word: str) -> bool:
        return bool(_LINK.search(word)) and word.strip(_AROUND).casefold() != self._address


def _words(text: str) -> list[str]:
    """As a mail program reads them: without what nobody sees."""
    return _UNSEEN.sub("", unicodedata.normalize("NFKC", text)).split()
