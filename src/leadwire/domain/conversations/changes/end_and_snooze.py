"""What happens to a conversation a while after an operator has asked for it: it ends, or comes back to them.

An end is done after ten seconds, in which it can be undone: until then nothing has been said of it, neither to the
visitor nor in an event. A job (`..jobs`) does it.
"""

from datetime import datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from leadwire.domain.conversations.changes.inbox import claim, locked
from leadwire.infrastructure import clock, db, jobs
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import Invalid, invalid_field

JOB: Final = "conversation_due"
UNDO: Final = timedelta(seconds=10)
_LONGEST: Final = timedelta(days=90)
_MORNING: Final = time(9)

_END_AT, _SNOOZE, _WAKE = named(__file__, "end_at snooze wake")


async def end(workspace: str, conversation_id: str, user_id: str) -> None:
    """End the conversation in ten seconds, unless another operator has it. Raise as `inbox.claim`."""
    async with locked(workspace, conversation_id, None, user_id):
        at = clock.now() + UNDO
        await _END_AT.rows(workspace=workspace, id=conversation_id, at=at)
        await jobs.add(JOB, conversation_id, workspace, at)


async def undo_end(workspace: str, conversation_id: str, user_id: str) -> None:
    """Let a conversation go on that was to end. Raise as `inbox.claim`."""
    async with locked(workspace, conversation_id, None, user_id):
        await _END_AT.rows(workspace=workspace, id=conversation_id, at=None)


async def snooze(workspace: str, conversation_id: str, user_id: str, until: datetime) -> None:
    """Take a conversation and put it away until a time or until the visitor writes. Raise as `inbox.claim`; Invalid."""
    if not clock.now() < until <= clock.now() + _LONGEST:
        raise Invalid(f"Choose a time within the next {_LONGEST.days} days.")
    async with db.transaction():
        await claim(workspace, conversation_id, user_id)
        await _SNOOZE.rows(workspace=workspace, id=conversation_id, at=until)
        await jobs.add(JOB, conversation_id, workspace, until)


async def wake(workspace: str, conversation_id: str, user_id: str) -> None:
    """Bring a snoozed conversation back at once. Raise as `inbox.claim`."""
    async with locked(workspace, conversation_id, user_id):
        await _WAKE.rows(workspace=workspace, id=conversation_id, now=clock.now())


def snoozed_until(choice: str, at: str = "", zone: str = "") -> datetime:
    """Return until when a person snoozes by a `choice`: `hour`, `tomorrow`, or else `at`, such as 2026-03-30T08:15 in
    their `zone`. Without a known zone it is UTC.

    Raise Invalid.
    """
    if choice == "hour":
        return clock.now() + timedelta(hours=1)
    there = _zone(zone)
    if choice == "tomorrow":
        tomorrow = clock.now().astimezone(there).date() + timedelta(days=1)
        return datetime.combine(tomorrow, _MORNING, there)
    try:
        moment = datetime.strptime(at, "%Y-%m-%dT%H:%M").replace(tzinfo=there)
        return moment.astimezone(clock.now().tzinfo)
    except (ValueError, OverflowError):
        raise invalid_field("/at", "required", "Choose a date and a time.") from None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # what no zone is called; also a path, or the name of a folder
        return ZoneInfo("UTC")
