"""Let a visit happen, through the operations that bots use."""

from collections.abc import Awaitable, Callable

from leadwire.development.demo.script import Visit
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch

Pace = Callable[[], Awaitable[None]]


async def play(workspace: str, bots: list[str], visit: Visit, pace: Pace) -> str:
    """Act `visit` out, awaiting `pace` between the steps. Answers the conversation's id."""
    conversation = await conversations.start(workspace, bots[visit.bot % len(bots)], visit.origin)
    for line in visit.lines:
        await conversations.add_message(workspace, conversation, line.role, line.text, answers=line.answers)
        await pace()
    if visit.lead:
        lead = await conversations.capture_lead(workspace, conversation, visit.lead)
        if visit.later_score:
            await pace()
            await leads.update(workspace, lead.id, LeadPatch(score=visit.later_score), unchanged={})
    if visit.ending == "handoff":
        await conversations.hand_off(workspace, conversation, "asked for a person")
    elif visit.ending == "ended":
        await conversations.end(workspace, conversation, "visitor", "closed")
    return conversation
