"""Every change of conversations but those of operators: one function for each, one transaction, with its events.

/v1 can only end a conversation; bots, operators and the demo's visitors do the rest. `erasing` removes.
"""

from collections.abc import Sequence

from leadwire.domain.conversations import plan as planning
from leadwire.domain.conversations import reads, schema
from leadwire.domain.conversations.schema import ConversationNotFound, NewMessage, StoredMessage, Told
from leadwire.domain.conversations.store import repeated, store
from leadwire.domain.leads import holders
from leadwire.domain.leads.schema import Lead, LeadPatch
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.errors import Conflict


class LeadKnown(Conflict, code="lead_known", detail="This visitor is a lead already."):
    """Somebody, or the visitor, was faster."""


async def start(workspace: str, bot_id: str, origin: schema.Origin, flow_version: int | None = None) -> str:
    """Open a conversation with a visitor who sends the first message. Return its id."""
    plan = planning.begin(workspace, bot_id, origin, flow_version)
    await store(plan)
    return plan.id


async def add_message(
    workspace: str, conversation_id: str, role: schema.Role, content: str, *, answers: str | None = None
) -> StoredMessage:
    """Add one message. Raise as `add_messages`."""
    new = NewMessage(role=role, content=content, answers=answers)
    return (await add_messages(workspace, conversation_id, [new]))[0]


async def add_messages(
    workspace: str, conversation_id: str, messages: Sequence[NewMessage], told: Told | None = None
) -> list[StoredMessage]:
    """Add messages in their order, and what the visitor has `told`. Raise ConversationNotFound, and as `plan.say`."""
    async with db.transaction():
        stored = await reads.lock(workspace, conversation_id)
        plan = planning.say(planning.change(stored), messages, told)
        await store(plan)
    return list(plan.messages)


async def capture_lead(workspace: str, conversation_id: str, contact: LeadPatch) -> Lead:
    """Store the visitor as a lead. Raise ConversationNotFound, Invalid; LeadKnown when they are one by now; Unavailable
    when others change it meanwhile.
    """
    bot_id = (await reads.detail(workspace, conversation_id)).bot_id

    async def capture(_: int) -> Lead:
        async with db.transaction():
            await holders.wait_for(bot_id, contact)  # before the conversation is locked, as a visitor's turn does
            stored = await reads.lock(workspace, conversation_id)
            if stored.row["lead_id"]:
                raise LeadKnown
            holder = await holders.holder(workspace, bot_id, contact)
            plan = planning.capture(planning.change(stored), contact, holder)
            await store(plan)
        assert plan.lead  # noqa: S101 - it was captured
        return plan.lead.lead

    return await repeated(capture)


async def hand_off(workspace: str, conversation_id: str, reason: str) -> None:
    """Ask for a person; a second time changes nothing. Raise ConversationNotFound, AlreadyEnded."""
    async with db.transaction():
        stored = await reads.lock(workspace, conversation_id, lead=True)
        plan = planning.hand_off(planning.change(stored), reason)
        if plan.events:
            await store(plan)


async def end(
    workspace: str, conversation_id: str, by: schema.EndedBy, reason: str | None = None
) -> schema.ConversationEnd:
    """End a conversation. Return its first end also when it has ended before. Raise ConversationNotFound."""
    if not ids.is_id("conv", conversation_id):
        raise ConversationNotFound
    async with db.transaction():
        stored = await reads.lock(workspace, conversation_id, lead=True)
        plan = planning.end(planning.change(stored), by, reason)
        if plan.events:
            await store(plan)
    return schema.ConversationEnd(conversation_id, "ended", clock.iso(plan.row["ended_at"]))
