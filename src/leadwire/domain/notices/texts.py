"""What mails and messages say: the values of templates, and bodies for Slack and Teams. Pure. Nothing of visitors or
leads is among them.
"""

import html
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from leadwire.domain.notices.schema import MOST_DEAD, Kind, Service
from leadwire.infrastructure import db

_LISTED: Final = 20
_STATES: Final = {
    "ending": "disabled tomorrow", "failing": "failing", "disabled": "disabled", "working": "in service again",
}  # fmt: skip
_REASONS: Final = {"gone": "its server answered 410 Gone", "failing": "nothing had arrived for days"}

Values = dict[str, Any]


def _endpoints(rows: Sequence[db.Row]) -> Values:
    counts = {state: [row for row in rows if row["state"] == state] for state in _STATES}
    parts = {state: [_endpoint(row) for row in some[:_LISTED]] for state, some in counts.items()}
    more = {state: max(0, len(some) - _LISTED) for state, some in counts.items()}
    summary = ", ".join(f"{len(some):,} {_STATES[state]}" for state, some in counts.items() if some)
    return {"summary": summary, "parts": parts, "more": more}


def _endpoint(row: db.Row) -> Values:
    times = {name: _time(row[name]) if row[name] else "" for name in ("since", "until")}
    return {"host": host(row["url"]), "reason": _REASONS.get(row["reason"] or "", ""), **times}


def _dead_letters(rows: Sequence[db.Row]) -> Values:
    count = sum(row["count"] for row in rows)
    listed = [{"host": host(row["url"]), "count": f"{row['count']:,}"} for row in rows[:_LISTED]]
    least = "at least " if count >= MOST_DEAD else ""
    return {"count": f"{least}{count:,}", "listed": listed, "more": max(0, len(rows) - _LISTED)}


def _waiting(rows: Sequence[db.Row]) -> Values:
    listed = [{"bot": row["bot"], "since": _time(row["since"])} for row in rows[:_LISTED]]
    path = f"/inbox?c={rows[0]['id']}" if len(rows) == 1 else "/inbox"
    return {"count": len(rows), "listed": listed, "more": max(0, len(rows) - _LISTED), "path": path}


def host(url: str) -> str:
    """An endpoint as people know it, without what may be a secret: the path and the query."""
    return urlsplit(url).netloc or url


def _time(at: datetime) -> str:
    return f"{at:%d %b %H:%M} UTC"


def body(service: Service, text: str) -> Values:
    """A message as a service takes it: Slack a text, Teams a card. No word of it is more than text at Slack."""
    if service == "slack":
        return {"text": html.escape(text, quote=False)}
    blocks = [{"type": "TextBlock", "text": part, "wrap": True} for part in text.split("\n\n")]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
        "body": blocks,
    }  # fmt: skip
    kind = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": kind, "contentUrl": None, "content": card}]}


VALUES: Final[dict[Kind, Callable[[Sequence[db.Row]], Values]]] = {
    "endpoints": _endpoints,
    "dead_letters": _dead_letters,
    "waiting": _waiting,
}
"""By kind, from the rows of `reads.news`."""
