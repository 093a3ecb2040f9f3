"""What visitors consent to: recorded in their turn, withdrawn by whoever they told."""

from collections.abc import Sequence
from typing import Final

from leadwire.domain.bots.engine import Consented
from leadwire.domain.bots.schema import VisitorSession
from leadwire.infrastructure import clock, ids
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import NotFound

# A row for each answer, about the lead that the visitor has become, if any.
_ADD: Final = sql("""
INSERT INTO consent (id, node, text, answer, given, workspace_id, conversation_id, lead_id, bot_id, flow_version,
    created_at)
SELECT new.*, c.workspace_id, c.id, c.lead_id, c.bot_id, c.flow_version, :now
FROM unnest(:id::text[], :node::text[], :text::text[], :answer::text[], :given::bool[]) AS new, conversation c
WHERE c.workspace_id = :workspace AND c.id = :conversation""")
# What the visitor has consented to before they became a lead.
_SET_LEAD: Final = sql("""
UPDATE consent SET lead_id = c.lead_id FROM conversation c
WHERE c.workspace_id = :workspace AND c.id = :conversation AND c.lead_id IS NOT NULL
  AND consent.conversation_id = c.id AND consent.lead_id IS NULL""")
# Conversations that are no longer kept: what a lead has consented to in them is.
_KEEP: Final = sql("""
UPDATE consent SET conversation_id = NULL
WHERE workspace_id = :workspace AND conversation_id = ANY(:conversation_ids) AND lead_id IS NOT NULL""")
# Adds that a consent is withdrawn, unless something later was recorded about the same question.
_WITHDRAW: Final = sql("""
INSERT INTO consent (id, workspace_id, conversation_id, lead_id, bot_id, flow_version, node, text, answer, given,
    user_id, created_at)
SELECT :new, workspace_id, conversation_id, lead_id, bot_id, flow_version, node, text, '', false, :user, :now
FROM consent given WHERE workspace_id = :workspace AND lead_id = :lead AND id = :id AND given.given
  AND NOT EXISTS (SELECT 1 FROM consent later WHERE later.lead_id = given.lead_id AND later.bot_id = given.bot_id
    AND later.node = given.node AND later.id > given.id)
RETURNING id""")


async def record(session: VisitorSession, answers: Sequence[Consented]) -> None:
    """Record the consents of a turn, in its transaction, once its lead is stored."""
    place = {"workspace": session.workspace, "conversation": session.conversation_id}
    if answers:
        arrays = {name: [getattr(one, name) for one in answers] for name in Consented.__struct_fields__}
        await _ADD.rows(id=[ids.new("cons") for _ in answers], **arrays, **place, now=clock.now())
    if session.lead_id is None and session.flow.asks_consent:
        await _SET_LEAD.rows(**place)


async def keep(workspace: str, conversation_ids: Sequence[str]) -> None:
    """Let the consents of leads outlive the conversations that they were given in, which are about to be deleted."""
    await _KEEP.rows(workspace=workspace, conversation_ids=conversation_ids)


async def withdraw(workspace: str, lead_id: str, consent_id: str, user_id: str) -> None:
    """Record that a lead has withdrawn a consent. Raise NotFound, also when it is withdrawn already."""
    missing = NotFound("There is no such consent of this person, or it is withdrawn.")
    values = {"new": ids.new("cons"), "user": user_id, "now": clock.now()}
    await _WITHDRAW.one(missing, workspace=workspace, lead=lead_id, id=consent_id, **values)
