"""The SQL that the API sends for each kind of request, as scripts for pgbench.

Recorded from the product's own functions while they run, so that it is what a server sends; then the values that differ
from request to request are put back in. pgbench draws numbers only, so the statements make the ids from one.
"""

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from leadwire.domain.conversations import reads as conversations
from leadwire.domain.leads import changes
from leadwire.domain.leads import reads as leads
from leadwire.domain.leads.reads import LeadQuery
from leadwire.domain.leads.schema import TEXTS, LeadPatch
from leadwire.infrastructure import db, telemetry
from ops.bench.api.data import ASKED_FOR, Data, id_of

Sent = list[tuple[str, tuple[Any, ...]]]

_EVENT = "(:moment || lpad(to_hex(:n::int), 8, '0') || lpad(to_hex(:client_id::int), 8, '0'))"
# The values of a PATCH's second statement that its first one reads, by place; a score; an id for the event.
_PLACES = {name: place for place, name in enumerate(changes.UPDATE.names, 1)}
_WRITTEN = {
    _PLACES["event"]: _EVENT,
    _PLACES["version"]: ":version",
    **{_PLACES[column]: f":{column}" for column in TEXTS},
    _PLACES["score"]: ":new_score",
    len(_PLACES) + 1: _EVENT,
}
_DRAWN_TO_WRITE = ("\\set new_score random(0, 100)", "\\set n :n + 1")


class Script(NamedTuple):
    """What pgbench runs, the variables it is given, and the settings of a session of ours."""

    text: str
    variables: dict[str, str]
    settings: dict[str, str]


async def script(kind: str, data: Data) -> Script:
    """The script of one kind of request, recorded over the open pool."""
    workspace, lead, conversation = data.workspace, data.leads[0], data.conversations[0]
    telemetry.begin("benchmark", None)
    if kind == "list":
        await leads.page(workspace, LeadQuery(limit=20))  # this one counts, the next one knows
        return _script(await _sent(lambda: leads.page(workspace, LeadQuery(limit=20))), [], {})
    count = data.counts[1] if kind == "conversation" else data.counts[0]
    asked_for = min(ASKED_FOR, count)
    drawn = [f"\\set i random(1, {asked_for}) * {count // asked_for}"]
    if kind == "conversation":
        sent = await _sent(lambda: conversations.detail(workspace, conversation))
        return _script(sent, drawn, {conversation: f"({id_of('conv', ':i::int')})"})
    made = {lead: f"({id_of('lead', ':i::int')})"}
    if kind == "lead":
        return _script(await _sent(lambda: leads.stored(workspace, lead)), drawn, made)
    now = time.time_ns()
    patch = LeadPatch(score=now % 101, custom_fields={"note": str(now)})
    sent = await _sent(lambda: changes.update(workspace, lead, patch, unchanged={}))
    return _script(sent, [*drawn, *_DRAWN_TO_WRITE], made, _WRITTEN)


async def _sent(call: Callable[[], Awaitable[object]]) -> Sent:
    """The statements that `call` sends, each with its values."""
    sent: Sent = []
    fetch = db.DB.fetch

    async def record(sql: str, args: Any) -> Any:
        sent.append((sql, tuple(args)))
        return await fetch(sql, args)

    db.DB.fetch = record
    try:
        await call()
    finally:
        del db.DB.fetch
    return sent


def _script(sent: Sent, drawn: list[str], made: Mapping[str, str], written: Mapping[int, str] | None = None) -> Script:
    """`made` is SQL for values wherever they stand, `written` for places of the second statement."""
    lines = [*drawn]
    variables: dict[str, str] = {}
    for number, (sql, values) in enumerate(sent):
        places = written if written and number else {}

        def put(found: re.Match[str], values=values, places=places, number=number) -> str:
            place = int(found[1])
            value = values[place - 1]
            alone = isinstance(value, list) and len(value) == 1
            text = _text(value[0] if alone else value)
            if text is None:
                here = "NULL"
            elif not (here := places.get(place) or made.get(text) or ""):
                variables[f"value_{number}_{place}"] = text
                here = f":value_{number}_{place}"
            return f"ARRAY[{here}]" if alone else here

        end = "\\gset" if number < len(sent) - 1 else ";"
        lines.append(re.sub(r"\$(\d+)", put, sql.strip()) + end)
    if written:
        variables |= {"n": "0", "moment": sent[1][1][0][0][:14]}  # of the event's id: its prefix and its time
    return Script("\n".join(lines) + "\n", variables, dict(db.DB.config.get("server_settings", {})))


def _text(value: Any) -> str | None:
    """A value as PostgreSQL reads it."""
    if value is None:
        return None
    if isinstance(value, list):
        return "{" + ",".join(value) + "}"
    return value.isoformat() if isinstance(value, datetime) else str(value)
