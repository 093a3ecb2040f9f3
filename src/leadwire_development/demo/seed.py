"""The demo workspace with sixty days of history, made once: all of it or nothing, in one transaction; and the figures
of its endpoint.
"""

import random
from datetime import datetime, timedelta
from typing import Final

from msgspec import structs

from leadwire.delivery.relay.fan_out import fan_out
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts import reads
from leadwire.domain.bots import changes as bots
from leadwire.domain.bots.changes import counts, drafts
from leadwire.domain.bots.flow import library
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.schema import NewMessage
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.statements import sql
from leadwire_development.demo.script import BOTS, Visit, visit

WORKSPACE: Final = "Demo"
_CONVERSATIONS: Final = 620  # over 400 of them with a lead
_DAYS: Final = 60
_OPEN: Final = timedelta(hours=6)  # after that every conversation of the past has ended
_STEP: Final = timedelta(seconds=17)  # between two turns
_WAITING: Final = 7  # visitors who wait for a person when somebody opens the inbox first
# What the workers would have counted: an hour in which the receiver was slow, and failures on one of the days.
_ATTEMPTS: Final = sql("""
INSERT INTO endpoint_hour (endpoint_id, hour, delivered, failed, first_delivered, first_failed, took, last_at,
    last_outcome)
SELECT :endpoint, hour, n, bad, n - bad, bad,
    ARRAY[n / 9, n / 3, n - n / 9 - n / 3 - n / 40, n / 40, 0, 0, bad, 0, 0, 0, 0, 0, 0], last_at, 'delivered'
FROM (SELECT date_trunc('hour', occurred_at) AS hour, count(*)::int AS n, max(occurred_at) AS last_at,
        (count(*) * CASE WHEN occurred_at::date = :bad_day THEN 0.1 ELSE 0.004 END)::int AS bad
    FROM event WHERE workspace_id = :workspace AND occurred_at < :until GROUP BY 1, occurred_at::date) AS hours
""")


async def seed() -> str:
    """Return the id of the demo workspace, which is made where it is missing."""
    for customer in await reads.workspace_list():
        if customer.name == WORKSPACE:
            return customer.id
    start = clock.now() - timedelta(days=_DAYS)
    async with db.transaction():
        with clock.at(start):
            workspace = await accounts.create_workspace(WORKSPACE)
            bot_ids = [await _bot(workspace, name) for name in BOTS]
        chance = random.Random(20)  # noqa: S311 - the same visits for everybody
        visits = [visit(chance) for _ in range(_CONVERSATIONS)]
        for moment, planned in zip(moments(start, chance), visits, strict=True):
            await _past_visit(workspace, bot_ids, moment, planned)
        for number in range(_WAITING):
            planned = structs.replace(visit(chance), ending="handoff")
            await _past_visit(workspace, bot_ids, clock.now() - timedelta(minutes=3 + 4 * number**2), planned)
    await counts.write()
    # The history is relayed like everything else; there is no endpoint yet, so it reaches nobody.
    while (await fan_out()).events:
        pass
    return workspace


async def past_attempts(workspace: str, endpoint_id: str) -> None:
    """Give the demo's endpoint the figures that it would have if it had been there from the start."""
    until, bad_day = clock.now().replace(minute=0, second=0, microsecond=0), (clock.now() - timedelta(days=9)).date()
    await _ATTEMPTS.rows(workspace=workspace, endpoint=endpoint_id, until=until, bad_day=bad_day)


def moments(start: datetime, chance: random.Random) -> list[datetime]:
    """When conversations began: mostly on working days, by day, and more of them as time went on."""
    found: list[datetime] = []
    while len(found) < _CONVERSATIONS:
        moment = start + timedelta(days=_DAYS) * (share := chance.random())
        busy = (0.4 if moment.weekday() > 4 else 1) * (1 if 7 <= moment.hour < 19 else 0.3)
        if chance.random() < busy * (0.5 + share / 2):
            found.append(moment)
    return sorted(found)


async def _bot(workspace: str, name: str) -> str:
    """A bot that runs the shipped flow of its name, on any website."""
    bot_id = await bots.create(workspace, name)
    text = library.text(name.lower().replace(" ", "-"), "https://www.leadwire.example/privacy")
    await drafts.keep(workspace, bot_id, text)
    await bots.publish(workspace, bot_id, text)
    await bots.set_origins(workspace, bot_id, ["*"])
    return bot_id


async def _past_visit(workspace: str, bot_ids: list[str], moment: datetime, visit: Visit) -> None:
    """Record a past visit through the operations that bots use, each turn 17 s after the one before."""
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    with clock.at(moment) as set_clock:
        bot_id = bot_ids[visit.bot % len(bot_ids)]
        conversation = await conversations.start(workspace, bot_id, visit.origin)
        _count(bot_id, visit)
        for turn in _turns(visit):
            await conversations.add_messages(workspace, conversation, turn)
            set_clock(clock.now() + _STEP)
        if visit.lead:
            lead = await conversations.capture_lead(workspace, conversation, visit.lead)
            counts.captured(bot_id, lead, conversation)
            if visit.later_score:
                set_clock(clock.now() + _STEP)
                await leads.update(workspace, lead.id, LeadPatch(score=visit.later_score), unchanged={})
        if visit.ending == "handoff":
            await conversations.hand_off(workspace, conversation, "asked for a person")
            counts.count(bot_id, "handoff")
        elif visit.ending == "ended":
            await conversations.end(workspace, conversation, "visitor", "closed")
    if moment < clock.now() - _OPEN:
        with clock.at(moment + _OPEN):
            await conversations.end(workspace, conversation, "agent", "answered")


def _turns(visit: Visit) -> list[list[NewMessage]]:
    """What a visitor said each time, and what the bot answered at once: a change of its own in the product, too."""
    turns: list[list[NewMessage]] = []
    for line in visit.lines:
        if line.role == "user":
            turns.append([])
        turns[-1].append(NewMessage(role=line.role, content=line.text, answers=line.answers))
    return turns


def _count(bot_id: str, visit: Visit) -> None:
    """Count what the widget and the bot would have counted."""
    for _ in range(9):
        counts.count(bot_id, "shown")
    for _ in range(2):
        counts.count(bot_id, "opened")
    counts.began(bot_id, visit.origin.source)
