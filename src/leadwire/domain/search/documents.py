"""What is found by what: the lexemes of documents, and those that a search asks for. Pure.

A document is a tsvector made here, so that the same words are found whatever the locale of the database: words without
case and accents, in the order of the text. Besides, it has marks, which are no words: `lead ws_...` is its kind and
workspace; then `bot:`, `status:`, `tag:`; every three characters of names and addresses, `=ada`; of custom fields a
digest of the name, and one of name and value.
"""

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

import msgspec

LONGEST: Final = 100_000
"""Characters of a conversation that are indexed, as far as their words fit into a tsvector."""
_BYTES: Final = 1_000_000  # of lexemes and positions; a tsvector has at most 1,048,575
_LONGEST_WORD: Final = 60
_LONGEST_MARK: Final = 500  # characters: a lexeme has at most 2,046 bytes
_POSITIONS: Final = 16_383  # that a tsvector tells apart
_PREFIX: Final = 3  # characters from which on a word also finds longer ones
# Scripts that do not separate words: each character is a word, and what is asked for a phrase.
_WORD: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|"
    r"[^\W_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)


def plain(text: str) -> str:
    """A text without case and accents."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold()).casefold()  # twice: styled capitals become plain ones
    return "".join(part for part in parts if not unicodedata.combining(part))


def words(text: str) -> list[str]:
    """The words of a text, plain and in their order."""
    return [word[:_LONGEST_WORD] for word in _WORD.findall(plain(text))]


def vector(text: str, marks: Iterable[str]) -> str:
    """A document as the text of a tsvector: the marks, and as many words as fit. Words may be much longer than what
    they were written as: some single characters are plain words of 18.
    """
    lexemes = sorted(set(map(_quoted, marks)))
    left = _BYTES - sum(len(lexeme.encode()) for lexeme in lexemes)
    positions: dict[str, list[str]] = defaultdict(list)
    for at, word in enumerate(words(text[:LONGEST]), 1):
        left -= 2 if word in positions else len(word.encode()) + 5
        if left < 0:
            break
        positions[word].append(str(min(at, _POSITIONS)))
    return " ".join([*(f"'{word}':{','.join(at[:255])}" for word, at in positions.items()), *lexemes])


def of_kind(kind: str, workspace: str) -> str:
    """The mark of all documents of a kind in a workspace."""
    return f"{kind} {workspace}"


def parts(*names: str | None) -> set[str]:
    """Marks by which names and addresses are found by any three characters in a row."""
    texts = (" ".join(words(name)) for name in names if name)
    return {f"={name[at : at + 3]}" for name in texts for at in range(len(name) - 2)}


def field(workspace: str, name: str, value: Any = None) -> str:
    """The mark of a workspace's leads that have a custom field; with a value, of those where it is this one, in any
    case. The workspace is part of it, so that one mark is enough to find them.
    """
    told = f"{workspace}\0{name}" if value is None else f"{workspace}\0{name}\0{plain(text_of(value))}"
    return f".{hashlib.sha256(told.encode()).hexdigest()[:16]}"


def text_of(value: Any) -> str:
    """A custom field's value as the table has it, and people see it: Python writes some numbers otherwise, as 1e+16."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def all_of(marks: Iterable[str]) -> str:
    """A tsquery, as text, for documents with all of these marks."""
    return " & ".join(map(_quoted, marks))


def row_of(term: str, *, beginning: bool = False) -> str | None:
    """A tsquery, as text, for the words of a term in a row; `beginning`: also for longer words than its last. None for
    a term without words.
    """
    lexemes = words(term)
    quoted = [_quoted(word) for word in lexemes]
    if beginning and lexemes and len(lexemes[-1]) >= _PREFIX:
        quoted[-1] += ":*"
    return f"({' <-> '.join(quoted)})" if quoted else None


def contained(term: str) -> str | None:
    """A tsquery, as text, for names and addresses that contain a term. None for a term that is too short."""
    return f"({all_of(sorted(pieces))})" if (pieces := parts(term)) else None


def _quoted(lexeme: str) -> str:
    return "'" + lexeme[:_LONGEST_MARK].replace("\\", "\\\\").replace("'", "''") + "'"
