"""Erase what the wire remembers about a person: event bodies, unfinished deliveries, receivers' answers."""

from leadwire.infrastructure import db

_CANCEL = """
UPDATE delivery d SET state = 'cancelled', finished_at = now(), queued_at = NULL
FROM outbox_event v
WHERE v.id = d.event_id AND d.state IN ('waiting', 'queued', 'dead')
  AND (v.lead_id = $1 OR v.conversation_id = ANY($2))
"""
_BLANK_ANSWERS = """
UPDATE attempt a SET response_body = NULL, error = NULL
FROM outbox_event v
WHERE v.id = a.event_id AND (v.lead_id = $1 OR v.conversation_id = ANY($2))
"""
_BLANK_BODIES = """
UPDATE outbox_event SET body = '', relayed_at = coalesce(relayed_at, now())
WHERE lead_id = $1 OR conversation_id = ANY($2)
"""


async def erase_events(lead_id: str, conversation_ids: list[str]) -> None:
    """Blank every stored body about the lead and its conversations and cancel what was still to be sent.

    Runs in the transaction of the erasure. A POST already under way cannot be called back.
    """
    # Bodies first: that waits for a relay which is fanning these events out, so that its deliveries are seen next.
    for statement in (_BLANK_BODIES, _CANCEL, _BLANK_ANSWERS):
        await db.rows(statement, lead_id, conversation_ids)
