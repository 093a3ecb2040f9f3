"""All that is known of one person, for a copy that they ask for: the lead, consents, conversations, mails, events.

One conversation with its messages, or some events with their deliveries, is all that is in memory. Of each row there is
every column, without secrets (`listing.exported`); of an endpoint its host alone, because its URL may be a secret.
"""

from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from leadwire.delivery.outbox import RecordedEvent
from leadwire.delivery.table import Attempt, EveryDelivery
from leadwire.domain.bots.table import BlockedVisitor, Consent, ScoreEntry, Visit
from leadwire.domain.conversations.table import Conversation, ConversationNote, Message
from leadwire.domain.leads.table import Lead
from leadwire.domain.listing.exported import Part, select, shown, with_parts
from leadwire.domain.mail.table import Mail, MailSuppression
from leadwire.domain.webhooks import reads as webhooks
from leadwire.infrastructure import clock
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import NotFound

Row = dict[str, Any]

_AT_ONCE: Final = 50  # events


_MINE: Final = "workspace_id = :workspace AND {} = :id"
_LEAD: Final = select(Lead, _MINE.format("id"), "id")
_CONSENTS: Final = select(Consent, _MINE.format("lead_id"), "id", "lead_id")
# Also the conversation in which the lead was captured, if its visitor has become another lead since.
_CONVERSATION_IDS: Final = sql("""
SELECT id FROM conversation WHERE workspace_id = :workspace
  AND (lead_id = :id OR id = (SELECT conversation_id FROM lead WHERE id = :id)) ORDER BY created_at, id""")
_CONVERSATION: Final = select(Conversation, _MINE.format("id"), "id", "lead_id")
_IN_CONVERSATION: Final = {
    name: select(table, _MINE.format("conversation_id"), order, "conversation_id")
    for name, table, order in (
        ("messages", Message, "seq"), ("notes", ConversationNote, "created_at, id"),
        ("scores", ScoreEntry, "created_at, node, label"), ("visits", Visit, "started_at"),
        ("blocks", BlockedVisitor, "created_at"),
    )
}  # fmt: skip
# Materialized: else the planner may read every event there is, in the order of their ids.
_EVENT_IDS: Final = sql("""
WITH about AS MATERIALIZED (
    SELECT id FROM event WHERE workspace_id = :workspace AND (lead_id = :id OR conversation_id = ANY(:conversations))
) SELECT id FROM about ORDER BY id""")
_EVENTS: Final = select(RecordedEvent, "id = ANY(:ids::text[]) AND id BETWEEN :first AND :last", "id")
_OF_EVENTS: Final = (
    Part("deliveries", EveryDelivery, "event_id, endpoint_id"),
    Part("attempts", Attempt, "event_id, started_at, endpoint_id"),
)

# What was sent to them, or about their conversations; and why nothing is sent to them any more.
_TO_OR_ABOUT: Final = "(recipient = :address OR about = ANY(:conversations::text[]))"
_MAILS: Final = select(Mail, f"workspace_id = :workspace AND {_TO_OR_ABOUT}", "created_at, id")
_REFUSALS: Final = select(MailSuppression, "workspace_id = :workspace AND address = :address", "address")


async def lead(workspace: str, lead_id: str) -> Row:
    """Return the lead. Raise NotFound."""
    return shown(await _LEAD.one(NotFound("There is no such lead."), workspace=workspace, id=lead_id))


async def consents(workspace: str, lead_id: str) -> AsyncIterator[Row]:
    """Yield what the person has consented to, refused and withdrawn."""
    for row in await _CONSENTS.rows(workspace=workspace, id=lead_id):
        yield shown(row)


async def conversations(workspace: str, lead_id: str) -> AsyncIterator[Row]:
    """Yield each conversation with its messages and all else that belongs to it."""
    for conversation_id in await _ids_of_conversations(workspace, lead_id):
        place = {"workspace": workspace, "id": conversation_id}
        if (row := await _CONVERSATION.row(**place)) is not None:  # else it has just been deleted
            parts = {name: await part.rows(**place) for name, part in _IN_CONVERSATION.items()}
            yield shown(row) | {name: [shown(each) for each in rows] for name, rows in parts.items()}


async def mails(workspace: str, lead_id: str) -> AsyncIterator[Row]:
    """Yield each mail that is kept, and whether their address was refused."""
    address = ((await lead(workspace, lead_id))["email"] or "").lower()
    about = await _ids_of_conversations(workspace, lead_id)
    rows = await _MAILS.rows(workspace=workspace, address=address, conversations=about)
    for row in (*rows, *await _REFUSALS.rows(workspace=workspace, address=address)):
        yield shown(row)


async def events(workspace: str, lead_id: str) -> AsyncIterator[Row]:
    """Yield each event about them that is kept, with its deliveries, to which host, and their attempts."""
    hosts = {one.id: urlsplit(one.url).hostname for one in await webhooks.endpoints(workspace)}
    about = await _ids_of_conversations(workspace, lead_id)
    ids = [row["id"] for row in await _EVENT_IDS.rows(workspace=workspace, id=lead_id, conversations=about)]
    for place in range(0, len(ids), _AT_ONCE):
        some = ids[place : place + _AT_ONCE]
        rows = await _EVENTS.rows(ids=some, first=some[0], last=some[-1])
        for event in await with_parts(rows, _OF_EVENTS):
            for part in _OF_EVENTS:
                event[part.name] = [{"host": hosts.get(one["endpoint_id"])} | one for one in event[part.name]]
            yield event


SECTIONS: Final = {"consents": consents, "conversations": conversations, "mails": mails, "events": events}
"""What there is besides the lead, in this order."""


async def as_json(workspace: str, lead_id: str) -> AsyncIterator[bytes]:
    """One object, a row a line. Raise NotFound."""
    head = {"exported_at": clock.iso(clock.now()), "lead": await lead(workspace, lead_id)}
    yield msgspec.json.encode(head)[:-1]
    for name, section in SECTIONS.items():
        yield b',\n"%s":[' % name.encode()
        before = b"\n"
        async for row in section(workspace, lead_id):
            yield before + msgspec.json.encode(row)
            before = b",\n"
        yield b"\n]"
    yield b"}\n"


async def _ids_of_conversations(workspace: str, lead_id: str) -> list[str]:
    return [row["id"] for row in await _CONVERSATION_IDS.rows(workspace=workspace, id=lead_id)]
