"""Erase what delivery keeps about a person: event bodies, unfinished deliveries, receivers' answers."""

from typing import Final

from leadwire.infrastructure.db.statements import sql

_ABOUT: Final = "(v.lead_id = :lead_id OR v.conversation_id = ANY(:conversation_ids))"
# Blank the bodies; what was not relayed yet is not to be relayed any more.
_BLANK_BODIES: Final = sql(f"""
UPDATE outbox_event v SET body = '', relayed_at = coalesce(relayed_at, now()) WHERE {_ABOUT}""")
# Cancel what is still to be sent, and what could be sent again.
_CANCEL: Final = sql(f"""
UPDATE delivery d SET state = 'cancelled', finished_at = now(), queued_at = NULL FROM outbox_event v
WHERE v.id = d.event_id AND d.state IN ('waiting', 'queued', 'dead') AND {_ABOUT}""")
# Blank what receivers answered: it may repeat what was sent.
_BLANK_ANSWERS: Final = sql(f"""
UPDATE attempt a SET response_body = NULL, error = NULL FROM outbox_event v WHERE v.id = a.event_id AND {_ABOUT}""")


async def erase_events(lead_id: str, conversation_ids: list[str]) -> None:
    """Blank every stored body about the lead and its conversations, and cancel what is still to be sent.

    Runs in the transaction of the erasure. A POST that is under way cannot be called back.
    """
    # Bodies first: that waits for a relay which is fanning these events out, so that its deliveries are seen next.
    for statement in (_BLANK_BODIES, _CANCEL, _BLANK_ANSWERS):
        await statement.rows(lead_id=lead_id, conversation_ids=conversation_ids)
