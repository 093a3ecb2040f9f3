"""What is typed into the search box: words, "phrases" and filters such as `bot:`; and where it is in a text. Pure."""

import re
from collections.abc import Mapping
from datetime import MAXYEAR, UTC, datetime, timedelta
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from leadwire.domain.search import documents

Kind = Literal["lead", "conversation", "note"]
FILTERS: Final = {
    "bot": "the name of a bot",
    "status": "active, handoff or ended",
    "tag": "a tag of conversations",
    "after": "a day, such as 2026-11-22",
    "before": "a day, such as 2026-11-22",
}
MOST: Final = 12
"""Words and phrases of one search."""
_STATUSES: Final = ("active", "handoff", "ended")
_EXCERPT: Final = 180
_WORD: Final = re.compile(r"\w+")
_TERM: Final = re.compile(r'"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+)')
_PART: Final = re.compile(r'(?:(?P<name>[^\W\d_]+):(?!//))?(?:"(?P<phrase>[^"]*)"?|(?P<word>\S+))?', re.UNICODE)


class Piece(NamedTuple):
    """A part of a text that is shown; `hit`: it is what was searched for."""

    text: str
    hit: bool


class Term(NamedTuple):
    """A word, or a phrase that is to be found as it is."""

    text: str
    exact: bool


class Asked(Struct):
    """What was asked for. `only`: the kinds that its filters are about; `faults`: what could not be understood."""

    terms: list[Term] = []
    marks: list[str] = []
    since: datetime | None = None
    until: datetime | None = None
    only: tuple[Kind, ...] = ("lead", "conversation", "note")
    faults: list[str] = []

    def __bool__(self) -> bool:
        return bool(self.terms or self.marks or self.since or self.until)

    def parts(self, workspace: str, kind: Kind) -> list[str]:
        """Return tsqueries, as texts, that all have to be true of documents of a kind. The last word may be the
        beginning of a longer one, in leads any part of a name or address.
        """
        queries = [documents.all_of([mark]) for mark in (documents.of_kind(kind, workspace), *self.marks)]
        for number, (text, exact) in enumerate(self.terms, 1):
            part = documents.contained(text) if kind == "lead" and not exact else None
            beginning = not (exact or part) and number == len(self.terms)
            ways = (documents.row_of(text, beginning=beginning), part)
            queries.append(f"({' | '.join(filter(None, ways))})")
        return queries

    def lexemes(self, workspace: str, kind: Kind) -> str:
        """Return the tsquery, as text, for documents of a kind."""
        return " & ".join(self.parts(workspace, kind))

    @property
    def pattern(self) -> str:
        """A regular expression, of PostgreSQL and Python alike, for any of the words. Empty without words."""
        words = {word for term in self.terms for word in _WORD.findall(term.text)}
        return "|".join(sorted(words, key=len, reverse=True))

    def shown(self, text: str | None) -> list[Piece]:
        """Return the part of a text around its first hit, with every hit in it."""
        text = text or ""
        part = re.compile(self.pattern or "(?!)", re.IGNORECASE)
        first = part.search(text)
        start = max(0, first.start() - _EXCERPT // 3) if first and len(text) > _EXCERPT else 0
        end = min(len(text), start + _EXCERPT)
        pieces, at = [Piece("…", hit=False)] if start else [], start
        for hit in part.finditer(text, start, end):
            pieces += [Piece(text[at : hit.start()], hit=False), Piece(hit[0], hit=True)]
            at = hit.end()
        return [*pieces, Piece(text[at:end] + ("…" if end < len(text) else ""), hit=False)]


def terms(text: str) -> list[Term]:
    """Read words and phrases, without filters."""
    pairs = ((part["phrase"], part["word"]) for part in _TERM.finditer(text))
    return [Term(phrase or word, phrase is not None) for phrase, word in pairs if documents.words(phrase or word or "")]


def parse(text: str, bots: Mapping[str, str]) -> Asked:
    """Read what was typed; `bots` has the names of the workspace's bots by id."""
    search = Asked()
    for part in _PART.finditer(text):
        name, phrase = (part["name"] or "").lower(), part["phrase"]
        value = (phrase if phrase is not None else part["word"] or "").strip()
        if name:
            search.faults += _filter(search, name, value, bots)
        elif documents.words(value):
            search.terms.append(Term(value, phrase is not None))
    if len(search.terms) > MOST:
        search.faults.append(f"Only the first {MOST} words are searched for.")
        search.terms = search.terms[:MOST]
    return search


def _filter(search: Asked, name: str, value: str, bots: Mapping[str, str]) -> list[str]:
    """Add a filter. Return what is wrong with it."""
    if name not in FILTERS:
        return [f"{name}: is not a filter. There are {', '.join(f'{filter_name}:' for filter_name in FILTERS)}."]
    needs, day = f"{name}: needs {FILTERS[name]}.", _day(value)
    if not value or (name in ("after", "before") and not day) or (name == "status" and value not in _STATUSES):
        return [needs]
    if name == "bot":
        if not (bot := _bot(value, bots)):
            return [f"No bot is called {value}."]
        search.marks.append(f"bot:{bot}")
    elif day and name == "before":
        search.until = day
    elif day and name == "after":
        search.since = day + timedelta(days=1)
    else:
        search.marks.append(f"{name}:{documents.plain(value)}")
        search.only = ("conversation",)
    return []


def _day(text: str) -> datetime | None:
    try:
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None
    return day if day.year < MAXYEAR else None  # the day after has to be one, too


def _bot(wanted: str, bots: Mapping[str, str]) -> str | None:
    """The bot with this id or name, or else the first whose name begins so."""
    wanted = wanted.lower()
    whole = (bot_id for bot_id, name in bots.items() if wanted in (bot_id, name.lower()))
    return next(whole, None) or next((bot_id for bot_id, name in bots.items() if name.lower().startswith(wanted)), None)
