"""The demo workspace with sixty days of history, made once: all of it or nothing, in one transaction."""

import random
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

from leadwire.delivery.relay.fan_out import fan_out
from leadwire.development.demo.script import BOTS, Visit, visit
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts import reads
from leadwire.domain.bots import changes as bots
from leadwire.domain.bots import library
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.infrastructure import clock, db

WORKSPACE: Final = "Demo"
_CONVERSATIONS: Final = 850
_DAYS: Final = 60
_OPEN: Final = timedelta(hours=6)  # after that every conversation of the past has ended
_STEP: Final = timedelta(seconds=17)  # between two messages

Wait = Callable[[], Awaitable[None]]
"""Awaited between two steps of a visit."""


async def seed() -> tuple[str, bool]:
    """Make the demo workspace where it is missing. Answers its id, and whether it was made now."""
    for workspace, name in await reads.workspaces():
        if name == WORKSPACE:
            return workspace, False
    start = clock.now() - timedelta(days=_DAYS)
    async with db.transaction():
        with clock.at(start):
            workspace = await accounts.create_workspace(WORKSPACE)
            bot_ids = [await _bot(workspace, name) for name in BOTS]
        chance = random.Random(20)  # noqa: S311 - the same history for everybody
        moments = sorted(start + timedelta(days=_DAYS) * chance.random() for _ in range(_CONVERSATIONS))
        for number, moment in enumerate(moments):
            await _past_visit(workspace, bot_ids, moment, chance, number)
    # The history is relayed like everything else; there is no endpoint yet, so it reaches nobody.
    while (await fan_out()).events:
        pass
    return workspace, True


async def _bot(workspace: str, name: str) -> str:
    """A bot that runs the shipped flow of its name, on any website."""
    bot_id = await bots.create(workspace, name)
    await bots.save_draft(workspace, bot_id, library.text(name.lower().replace(" ", "-")))
    await bots.publish(workspace, bot_id)
    await bots.set_appearance(workspace, bot_id, ["*"], "#4f46e5")
    return bot_id


async def _past_visit(workspace: str, bot_ids: list[str], moment: datetime, chance: random.Random, number: int) -> None:
    """Record a past visit, each step 17 s after the one before."""
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)

    async def wait() -> None:
        clock.set_to(clock.now() + _STEP)

    with clock.at(moment):
        conversation = await _run(workspace, bot_ids, visit(chance, number), wait)
    if moment < clock.now() - _OPEN:
        with clock.at(moment + _OPEN):
            await conversations.end(workspace, conversation, "agent", "answered")


async def _run(workspace: str, bots: list[str], visit: Visit, wait: Wait) -> str:
    """Make everything of `visit` happen, through the operations that bots use. Return the conversation's id."""
    conversation = await conversations.start(workspace, bots[visit.bot % len(bots)], visit.origin)
    for line in visit.lines:
        await conversations.add_message(workspace, conversation, line.role, line.text, answers=line.answers)
        await wait()
    if visit.lead:
        lead = await conversations.capture_lead(workspace, conversation, visit.lead)
        if visit.later_score:
            await wait()
            await leads.update(workspace, lead.id, LeadPatch(score=visit.later_score), unchanged={})
    if visit.ending == "handoff":
        await conversations.hand_off(workspace, conversation, "asked for a person")
    elif visit.ending == "ended":
        await conversations.end(workspace, conversation, "visitor", "closed")
    return conversation
