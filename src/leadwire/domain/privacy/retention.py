"""Retention: for how many days a workspace keeps what, what would go, and the sweep by which it goes.

Personal data goes the way that an erasure takes it. The sweep of a kind works in batches, each a transaction of its
own, and goes on where it was, whatever stops it.
"""

import contextlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, NamedTuple, get_args

from piccolo.table import Table

from leadwire.delivery import erase
from leadwire.delivery.envelope import KINDS as EVENTS
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.conversations.changes import erasing as conversations
from leadwire.domain.privacy import erasure, person_rows, reads
from leadwire.domain.privacy.person_rows import Person
from leadwire.domain.privacy.reads import Old
from leadwire.domain.privacy.table import Retention
from leadwire.infrastructure import clock, db, ids, jobs, preconditions, settings, telemetry
from leadwire.infrastructure.db import declared
from leadwire.infrastructure.db.declared import declaration
from leadwire.infrastructure.db.statements import named, sql
from leadwire.infrastructure.errors import FieldError, Invalid, NotFound, PreconditionFailed

Kind = Literal["conversations", "lead_conversations", "leads", "messages", "events"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
TITLES: Final[dict[Kind, tuple[str, str]]] = {
    "leads": ("Leads", "since their last event; erased as you would erase them by hand"),
    "lead_conversations": ("Conversations of leads", "since they ended"),
    "conversations": ("Other conversations", "since they ended"),
    "messages": (
        "Messages",
        "what was said, answered and noted, since the conversation ended; the conversation itself stays",
    ),
    "events": ("Contents of events", "what was sent to your endpoints and what they answered, once finished"),
}
"""What each kind is called, and from when on its days count."""
LONGEST: Final = 3650
"""Days."""
Days = Mapping[Kind, int | None]
"""The days that each kind is kept; None: until it is erased."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_BATCH: Final = 100  # conversations
_LEADS: Final = 500  # that are looked at in a batch, of which so many are erased
_ERASED: Final = 20
_TRIES: Final = 5  # of a batch of events, in half a minute
_SPAN: Final = timedelta(days=1)  # of the events among which some are blanked in a batch
_OF_CONVERSATIONS: Final = tuple(kind for kind in EVENTS if not kind.startswith("lead."))
_MESSAGES: Final = tuple(kind for kind in EVENTS if kind.startswith("message."))

_SET, _ALL_DUE, _ONE_DUE, _HOLDS, _MOVE, _END_ROUND = named(__file__, "set all_due one_due holds move end_round")


class _Due(NamedTuple):
    """A sweep by a setting. It fails where fewer than `least` events can be blanked."""

    workspace: str
    kind: Kind
    days: int
    now: datetime
    least: int

    @property
    def before(self) -> datetime:
        """What is older goes."""
        return self.now - timedelta(days=self.days)

    async def holds(self) -> bool:
        """Whether the setting is the same still. Then nobody changes it before the open transaction ends."""
        return bool(await _HOLDS.rows(workspace=self.workspace, kind=self.kind, days=self.days))


class _Batch(NamedTuple):
    """What a batch did: how many have gone, how far it came, and whether the round is over."""

    removed: int
    after: tuple[datetime, str]
    over: bool


async def kept(workspace: str) -> dict[Kind, int | None]:
    """Return how many days each kind is kept."""
    rows = await Retention.select(Retention.kind, Retention.days).where(Retention.workspace_id == workspace)
    stored = {row["kind"]: row["days"] for row in rows}
    return {kind: stored.get(kind) for kind in KINDS}


def emptied(amounts: Mapping[Kind, Old]) -> list[str]:
    """What the kinds are called of which nothing would stay."""
    return [TITLES[kind][0] for kind, old in amounts.items() if old.count and not old.some_stay]


async def preview(workspace: str, days: Days) -> dict[Kind, Old]:
    """Return what would go by kind, for those that are not kept. Raise Invalid."""
    _check(days)
    rows = await Retention.select(Retention.kind, Retention.after_time).where(Retention.workspace_id == workspace)
    places = {row["kind"]: row["after_time"] for row in rows}
    chosen = {kind: (clock.ago(days=number), places.get(kind, _EPOCH)) for kind, number in days.items() if number}
    return {kind: await _count(workspace, kind, *span) for kind, span in chosen.items()}


async def change(workspace: str, days: Days, saw: str = "") -> str:
    """Set how long each kind is kept. Return what is different now, in words. Raise Invalid; Conflict when it is kept
    otherwise than whoever changes it `saw` (`preconditions.digest`).
    """
    _check(days)
    async with db.transaction():
        before = await kept(workspace)
        preconditions.check(saw, before)
        different = [kind for kind in KINDS if days[kind] != before[kind]]
        for kind in different:
            if number := days[kind]:
                await _SET.rows(workspace=workspace, kind=kind, days=number)
                await jobs.add("retention", f"{workspace} {kind}", workspace)
            else:
                await Retention.delete().where(Retention.workspace_id == workspace, Retention.kind == kind)
    return "; ".join(f"{kind}: {before[kind] or 'kept'} -> {days[kind] or 'kept'}" for kind in different)


async def due() -> list[jobs.Offer]:
    """Return the sweeps that are due: one for each workspace and kind."""
    return [jobs.Offer(f"{workspace} {kind}", workspace) for workspace, kind in await _ALL_DUE.rows()]


async def delete_ended(table: type[Table]) -> None:
    """Delete the rows that a table declares to have ended. Its condition may name settings."""
    ended = sql(f"DELETE FROM {declared.name(table)} WHERE {declaration(table).ends}")
    await ended.rows(**{name: getattr(settings.get(), name) for name in ended.names})


async def sweep(workspace: str, kind: Kind, tries: int = 0) -> bool:
    """Do one batch, if it is due. Return whether there is more to do. A setting that is changed meanwhile ends it; its
    change has added the job again. Events that fail alone are left for the next round after some `tries`.
    """
    row = await _ONE_DUE.row(workspace=workspace, kind=kind, now=clock.now())
    if row is None:
        return False
    due = _Due(workspace, kind, row["days"], row["now"], least=int(tries < _TRIES))
    batch = await _batch(due, (row["after_time"], row["after_id"]))
    await _note(due, batch)
    return not batch.over


async def _note(due: _Due, batch: _Batch) -> None:
    keys, (time_, id_) = {"workspace": due.workspace, "kind": due.kind}, batch.after
    async with db.transaction():
        moved = await _MOVE.row(**keys, days=due.days, after_time=time_, after_id=id_, removed=batch.removed)
        if batch.over and moved and moved["same"]:
            await _END_ROUND.rows(**keys)
            if removed := moved["removed"]:
                entry = audit.Entry("retention.applied", due.kind, str(removed))
                await audit.record(due.workspace, "retention", entry)
                telemetry.log("retention.applied", workspace_id=due.workspace, kind=due.kind, removed=removed)


async def _batch(due: _Due, after: tuple[datetime, str]) -> _Batch:
    workspace, kind, before = due.workspace, due.kind, due.before
    if kind == "leads":
        return await _erase_leads(due, after)
    async with db.transaction():
        if not await due.holds():
            return _Batch(0, after, over=True)
        if kind == "events":
            days = settings.get().retention_days + 1
            oldest = due.now - timedelta(days=days)  # days before are dropped, if not today
            since = max(after[0], min(oldest, before))
            until = max(since, min(since + _SPAN, before))
            removed, more = await erase.blank_events(workspace, since, until, due.least)
            left = after[1]
            if not (left or more) and await erase.any_left(workspace, since, until):
                left = ids.floor("evt", since)
            if until >= before and not more:  # the next round begins where something was left
                return _Batch(removed, (ids.moment(left) if left else until, ""), over=True)
            return _Batch(removed, (since if more else until, left), over=False)
        if kind == "messages":
            some, last = await reads.ended(workspace, before, after[0], _BATCH)
            await conversations.blank(workspace, some)
            await erase.erase_events(None, some, _MESSAGES)
            await person_rows.erase(Person(workspace, conversations=some), said=True)
            return _Batch(len(some), (last, ""), len(some) < _BATCH)
        some = await reads.lock_ended(workspace, before, _BATCH, with_lead=kind == "lead_conversations")
        if some:
            await visitor_sessions.keep_consents(workspace, some)
            await erase.erase_events(None, some, _OF_CONVERSATIONS)
            await person_rows.erase(Person(workspace, conversations=some), said=True)
            await conversations.delete(workspace, some)
        return _Batch(len(some), after, len(some) < _BATCH)


async def _erase_leads(due: _Due, after: tuple[datetime, str]) -> _Batch:
    """Each in a transaction of its own, as visitors lock conversations before leads."""
    erased = 0
    leads = await reads.leads(due.workspace, due.before, after, _LEADS)
    for lead in leads:
        if lead["last_at"] < due.before:
            with contextlib.suppress(NotFound, PreconditionFailed):  # something has just happened to it
                async with db.transaction():
                    if not await due.holds():
                        return _Batch(erased, after, over=True)
                    await erasure.erase_lead(due.workspace, lead["id"], silent_since=due.before)
                erased += 1
        after = (lead["created_at"], lead["id"])
        if erased == _ERASED:
            return _Batch(erased, after, over=False)
    over = len(leads) < _LEADS
    return _Batch(erased, (_EPOCH, "") if over else after, over)


async def _count(workspace: str, kind: Kind, before: datetime, after: datetime) -> Old:
    if kind == "leads":
        return await reads.count_leads(workspace, before, _EPOCH)
    if kind == "events":
        count, oldest, others = await erase.count_events(workspace, after, before, reads.COUNTED)
        return Old(count, count >= reads.COUNTED, oldest, others)
    if kind == "messages":
        parts = [await reads.count_ended(workspace, before, after, with_lead=with_lead) for with_lead in (False, True)]
        oldest = min((part.oldest for part in parts if part.oldest), default=None)
        some = any(part.some_stay for part in parts)
        return Old(sum(part.count for part in parts), any(part.more for part in parts), oldest, some)
    return await reads.count_ended(workspace, before, _EPOCH, with_lead=kind == "lead_conversations")


def _check(days: Days) -> None:
    faults = []
    for kind in KINDS:
        most = settings.get().retention_days if kind == "events" else LONGEST
        if days[kind] is not None and not 1 <= (days[kind] or 0) <= most:
            faults.append(FieldError("out_of_range", f"1 to {most:,} days, or empty.", f"/{kind}"))
    if faults:
        raise Invalid("A number of days is not valid.", errors=tuple(faults))
