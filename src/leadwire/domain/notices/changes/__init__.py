"""Every change of notices: what people choose, and telling them. Beside it, `transcript` mails a conversation, and
`addresses` are those at Slack and Teams.
"""

import contextlib
from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Final

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.conversations.changes import inbox
from leadwire.domain.mail import changes as mail
from leadwire.domain.notices import events, reads, texts
from leadwire.domain.notices.changes import addresses
from leadwire.domain.notices.schema import MENTIONS, OFFERS, Kind, by_default
from leadwire.infrastructure import db
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import Invalid
from leadwire.infrastructure.rate_limit import RateLimit

_MENTIONS_BY: Final = RateLimit("mentions", 30, window=3600, shared=True)
_CHOOSE, _DROP = named(__file__, "choose drop")


@query()
async def _begin(workspace: str, kind: Kind, pause: timedelta) -> bool:
    """Begin a mail, unless there was one a short while ago or the workspace is deleted. Of two who try at once, one
    can.
    """


@query()
async def _remember(workspace: str, kind: Kind, subjects: list[str], states: list[str]) -> None: ...


@query()
async def forget() -> None:
    """Delete what is kept of endpoints that were removed or disabled by a person, or work, and of visitors who no
    longer wait: nothing more will be told of them, or it will be told anew.
    """


async def choose(workspace: str, user_id: str, kinds: Collection[str]) -> None:
    """Let somebody get these kinds of notices and no others. Raise Invalid for an unknown one."""
    if unknown := set(kinds) - set(OFFERS):
        raise Invalid(f"No such kind of mail: {', '.join(sorted(unknown))}.")
    await _CHOOSE.rows(workspace_id=workspace, user_id=user_id, kinds=[kind for kind in OFFERS if kind in kinds])


async def unsubscribe(workspace: str, user_id: str, kind: Kind) -> None:
    """Let somebody no longer get a kind of notice. Nothing changes where there is no such person."""
    defaults = {role: by_default(role) for role in ("admin", "agent", "viewer")}
    async with db.transaction():
        email = await _DROP.value(workspace=workspace, user=user_id, kind=kind, **defaults)
        if email is not None:
            entry = audit.Entry("user.notices_changed", user_id, f"unsubscribed from {kind} by a link")
            await audit.record(workspace, email, entry)


async def tell(workspace: str, kind: Kind) -> int:
    """Write a mail to everybody who gets this kind, about all that is new, send it to addresses at Slack and Teams, and
    record its events. Return how many mails. Of visitors nobody is told while one has the inbox open.

    What they know is kept in the same transaction: whatever dies, and however many do this at once, they are told once.
    """
    offer = OFFERS[kind]
    if kind == "waiting" and await accounts.agent_online(workspace):
        return 0
    async with db.transaction():
        undo = await db.savepoint()
        if not await _begin(workspace, kind, offer.pause):
            return 0
        news = await reads.news(workspace, kind)
        if not news:
            await undo()  # no mail was written: the next need not wait
            return 0
        states = {row["id"]: row["state"] for row in news if row["state"]}
        if states:
            await _remember(workspace, kind, list(states), list(states.values()))
        await events.record(workspace, kind, news)
        people, values = await reads.recipients(workspace, offer), texts.VALUES[kind](news)
        await addresses.queue(workspace, kind, values)
        return await _write(workspace, kind, people, values)


async def note(workspace: str, conversation_id: str, user_id: str, content: str, by: str) -> int:
    """Add a note of the user whose address is `by` to a conversation, and tell the colleagues whom it mentions, if they
    have chosen so. One person causes few such mails an hour; beyond that, who is mentioned sees it in the inbox alone.
    Return how many mails were written. Raise as `inbox.note`.
    """
    async with db.transaction():
        mentioned = {colleague.id for colleague in await inbox.note(workspace, conversation_id, user_id, content)}
        told = await reads.recipients(workspace, MENTIONS) if mentioned else []
        people = [
            colleague for colleague in told if colleague["id"] in mentioned and await _MENTIONS_BY.take_at_once(user_id)
        ]
        return await _write(workspace, "mentions", people, {"by": by, "path": f"/inbox?c={conversation_id}"})


async def _write(workspace: str, kind: Kind, people: Iterable[db.Row], values: texts.Values) -> int:
    """Write a mail of this kind to each of them. Return how many."""
    sent = 0
    for user_id, email, name in people:
        told, stop = values | {"workspace": name}, reads.stop_path(workspace, user_id, kind)
        with contextlib.suppress(Invalid):  # an address from before they were checked: the others are told
            sent += await mail.queue(workspace, kind, email, told, user_id=user_id, unsubscribe=stop)
    return sent
