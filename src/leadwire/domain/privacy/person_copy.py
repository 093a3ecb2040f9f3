"""All that is known of one person, for a copy that they ask for: the lead, consents, conversations, mails, events.

One conversation with its messages, or some events with their deliveries, is all that is in memory. Of each row there is
every column, without secrets (`listing.rows`); of an endpoint its host alone, because its URL may be a secret.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from piccolo.table import Table

from leadwire.delivery.outbox import RecordedEvent
from leadwire.domain.conversations.table import Conversation
from leadwire.domain.leads import history
from leadwire.domain.leads.table import Lead
from leadwire.domain.listing.rows import Part, parts, select, shown, with_parts
from leadwire.domain.privacy.person_rows import Person, lists
from leadwire.domain.webhooks import reads as webhooks
from leadwire.infrastructure import clock
from leadwire.infrastructure.db.declared import derived
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import NotFound

Row = dict[str, Any]
Section = Callable[[str, str], AsyncIterator[Row]]

_AT_ONCE: Final = 50  # events
_MINE: Final = "workspace_id = :workspace AND {} = :id"
_LEAD: Final = select(Lead, _MINE.format("id"), "id")
_CONVERSATION_IDS, _EVENT_IDS = named(__file__, "conversation_ids event_ids")
_CONVERSATION: Final = select(Conversation, _MINE.format("id"), "id", "lead_id")
_EVENTS: Final = select(RecordedEvent, "id = ANY(:ids::text[]) AND id BETWEEN :first AND :last", "id")


@derived
def _event_parts(tables: Sequence[type[Table]]) -> Sequence[Part]:
    return parts(tables, "event")


async def lead(workspace: str, lead_id: str) -> Row:
    """Return the lead. Raise NotFound."""
    return shown(await _LEAD.one(NotFound("There is no such lead."), workspace=workspace, id=lead_id))


async def conversations(workspace: str, lead_id: str) -> AsyncIterator[Row]:
    """Yield each conversation with its messages and all else that belongs to it."""
    for conversation_id in (await _person(workspace, lead_id)).conversations:
        row = await _CONVERSATION.row(workspace=workspace, id=conversation_id)
        if row is not None:  # else it has just been deleted
            person = Person(workspace, conversations=[conversation_id])
            rows = {part.name: await person.run(part.read) for part in lists() if part.of_conversation}
            yield shown(row) | {name: [shown(each) for each in values] for name, values in rows.items()}


async def events(workspace: str, lead_id: str) -> AsyncIterator[Row]:
    """Yield each event about them that is kept, with its deliveries, to which host, and their attempts."""
    hosts = {endpoint.id: urlsplit(endpoint.url).hostname for endpoint in await webhooks.endpoints(workspace)}
    person, kept = await _person(workspace, lead_id), _event_parts()
    ids = [row["id"] for row in await person.run(_EVENT_IDS)]
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        rows = await _EVENTS.rows(ids=some, first=some[0], last=some[-1])
        for event in await with_parts(rows, kept):
            for part in kept:
                event[part.name] = [
                    {"host": hosts.get(endpoint["endpoint_id"])} | endpoint for endpoint in event[part.name]
                ]
            yield event


def sections() -> dict[str, Section]:
    """What there is besides the lead, in this order."""
    listed: dict[str, Section] = {
        part.name: partial(_listed, part.name) for part in lists() if not part.of_conversation
    }
    first = {"consents": listed["consents"], "conversations": conversations, "mails": listed["mails"], "events": events}
    return first | listed


async def as_json(workspace: str, lead_id: str) -> AsyncIterator[bytes]:
    """One object, a row a line. Raise NotFound."""
    head = {"exported_at": clock.iso(clock.now()), "lead": await lead(workspace, lead_id)}
    yield msgspec.json.encode(head)[:-1]
    for name, section in sections().items():
        yield b',\n"%s":[' % name.encode()
        before = b"\n"
        async for row in section(workspace, lead_id):
            yield before + msgspec.json.encode(row)
            before = b",\n"
        yield b"\n]"
    yield b"}\n"


async def _listed(name: str, workspace: str, lead_id: str) -> AsyncIterator[Row]:
    """Yield the rows of a list that is no conversation's."""
    person = await _person(workspace, lead_id)
    for rows in [await person.run(part.read) for part in lists() if part.name == name]:
        for row in rows:
            yield shown(row)


async def _person(workspace: str, lead_id: str) -> Person:
    rows = await _CONVERSATION_IDS.rows(workspace=workspace, id=lead_id)
    emails = [(await lead(workspace, lead_id))["email"], *(row["email"] for row in rows)]
    emails += await history.ways(workspace, lead_id)
    return Person(workspace, lead_id, [row["id"] for row in rows], sorted({email.lower() for email in emails if email}))
