"""Of each kind of job an item of a workspace, as customers make it, and how it is seen to be done."""

from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from leadwire.delivery.endpoints import discard
from leadwire.delivery.relay import fan_out
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.audit import jobs as audit_jobs
from leadwire.domain.accounts.domains import changes as domains
from leadwire.domain.bots import changes as bots
from leadwire.domain.bulk_changes import changes as bulk_changes
from leadwire.domain.conversations.changes import end_and_snooze
from leadwire.domain.mail import changes as mail
from leadwire.domain.notices.changes import addresses
from leadwire.domain.privacy import retention
from leadwire.domain.search.changes import LOCK
from leadwire.domain.webhooks import changes, redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import clock, db, ids, jobs
from tests import make
from tests.delivery.wired import endpoint
from tests.domain.bots.conftest import Visitor, published

_BEGIN: Final = "INSERT INTO notice (kind, workspace_id, subject, at) VALUES ('{}', $1, '', now())"


class Item(NamedTuple):
    """`make` gives a workspace one. The job changes a row of `table` by `event`, which the test refuses; `done` is true
    of a workspace ($1) whose job has done its work.
    """

    make: Callable[[str], Awaitable[object]]
    table: str
    event: str
    done: str
    hold: str = ""


async def _talk(workspace: str) -> str:
    return await make.conversation(workspace, await bots.create(workspace, "Bot"))


async def _mail(workspace: str, kind: str) -> None:
    async with db.transaction():
        await mail.queue(workspace, kind, "ada@example.org", {"path": "/x", "at": "today", "workspace": "Test"})


async def _silence(workspace: str) -> None:
    visitor = Visitor(await published(workspace))
    await visitor.says("ada@example.com")
    await db.rows("UPDATE conversation SET updated_at = now() - interval '2 days' WHERE workspace_id = $1", workspace)


async def _put_off(workspace: str) -> None:
    user, conversation = await make.user(workspace), await _talk(workspace)
    with clock.at(clock.ago(days=1)):
        await end_and_snooze.end(workspace, conversation, user)


async def _bulk_change(workspace: str) -> None:
    lead = await make.lead(workspace, await bots.create(workspace, "Bot"))
    await bulk_changes.begin(workspace, await make.user(workspace, "admin"), "erase", [lead.id], clock.iso(clock.now()))


async def _retention(workspace: str) -> None:
    await retention.change(workspace, dict.fromkeys(retention.KINDS) | {"leads": 30})


async def _entry(workspace: str) -> None:
    async with db.transaction():
        await audit.record(workspace, "ada@example.org", audit.Entry("thing.done", "bot_1", "x"), "192.0.2.0/24")


async def _chained(workspace: str) -> None:
    await _entry(workspace)
    await audit_jobs.chain(jobs.Claimed(workspace, ""))


async def _old_entry(workspace: str) -> None:
    await _entry(workspace)
    old = ids.floor("aud", clock.ago(days=5000))[:-6] + workspace[-6:]
    await db.rows("UPDATE audit_entry SET id = $2 WHERE workspace_id = $1", workspace, old)
    await audit_jobs.chain(jobs.Claimed(workspace, ""))


async def _delivery(workspace: str) -> str:
    made = await endpoint(workspace, "http://127.0.0.1/")
    await make.somebody(workspace, await bots.create(workspace, "Bot"))
    await fan_out.fan_out()
    return made.id


async def _redrive(workspace: str) -> None:
    endpoint_id = await _delivery(workspace)
    await make.ended(str(await db.value(_EVENT, endpoint_id)), endpoint_id, "dead")
    await redrives.start(workspace, Selection(endpoint_id=endpoint_id), 1000)


async def _auto_redrive(workspace: str) -> None:
    endpoint_id = await _delivery(workspace)
    await changes.configure(workspace, endpoint_id, EndpointChange(auto_redrive=True))
    await make.ended(str(await db.value(_EVENT, endpoint_id)), endpoint_id, "dead")


async def _domain(workspace: str) -> None:
    await domains.add(workspace, f"{workspace.replace('_', '-')}.example")
    await db.rows("UPDATE email_domain SET check_at = now() - interval '1 s'")  # it is stored rounded: not due yet


async def _discard(workspace: str) -> None:
    await discard.start(await _delivery(workspace), workspace)


async def _dead_letter(workspace: str) -> None:
    endpoint_id = await _delivery(workspace)
    await make.ended(str(await db.value(_EVENT, endpoint_id)), endpoint_id, "dead")
    await db.rows("UPDATE delivery_result SET finished_at = now() - interval '1 h' WHERE endpoint_id = $1", endpoint_id)


async def _failing(workspace: str) -> None:
    failing = "UPDATE webhook_endpoint SET failing_since = now() - interval '1 h', failures = 3 WHERE id = $1"
    await db.rows(failing, (await endpoint(workspace, "http://127.0.0.1/")).id)


async def _waiting(workspace: str) -> None:
    waits = "UPDATE conversation SET status = 'handoff', handoff_requested_at = now() - interval '1 h' WHERE id = $1"
    await db.rows(waits, await _talk(workspace))


def _notice(kind: str, news: Callable[[str], Awaitable[object]]) -> Item:
    async def made(workspace: str) -> None:
        await news(workspace)
        await jobs.add(f"notice_{kind}", workspace, workspace)

    done = f"SELECT count(*) > 0 FROM notice WHERE kind = '{kind}' AND workspace_id = $1"
    return Item(made, "notice", "INSERT", done, _BEGIN.format(kind))


async def _message(workspace: str) -> None:
    await addresses.add(workspace, "slack", "http://127.0.0.1:9001/secret", ["dead_letters"])
    async with db.transaction():
        await addresses.queue(workspace, "dead_letters", {"count": "1", "listed": [], "more": 0})


def _mails(kind: str) -> Item:
    done = "SELECT state = 'sent' FROM mail WHERE workspace_id = $1"
    return Item(lambda workspace: _mail(workspace, kind), "mail", "UPDATE", done)


_EVENT: Final = "SELECT event_id FROM delivery WHERE endpoint_id = $1"
_ENDED: Final = "SELECT status = 'ended' FROM conversation WHERE workspace_id = $1"
_STATE: Final = "SELECT state = '{}' FROM every_delivery WHERE workspace_id = $1"
ITEMS: Final = {
    "account_mail": _mails("password_reset"),
    "audit.chain": Item(
        _entry, "audit_entry", "UPDATE", "SELECT bool_and(number > 0) FROM audit_entry WHERE workspace_id = $1"
    ),
    "audit.head": Item(
        _chained, "audit_chain", "UPDATE", "SELECT NOT head_due FROM audit_chain WHERE workspace_id = $1"
    ),
    "audit.drop": Item(
        _old_entry,
        "audit_entry",
        "DELETE",
        "SELECT count(*) = 0 FROM audit_entry WHERE workspace_id = $1 AND action = 'thing.done'",
    ),
    "auto_redrive": Item(_auto_redrive, "delivery", "INSERT", _STATE.format("waiting")),
    "bulk_change": Item(
        _bulk_change, "bulk_change", "UPDATE", "SELECT state = 'finished' FROM bulk_change WHERE workspace_id = $1"
    ),
    "conversation_due": Item(_put_off, "conversation", "UPDATE", _ENDED),
    "domain.check": Item(
        _domain,
        "email_domain",
        "UPDATE",
        "SELECT checked_at IS NOT NULL FROM email_domain WHERE workspace_id = $1",
    ),
    "discard": Item(_discard, "delivery", "DELETE", _STATE.format("cancelled")),
    "mail": _mails("endpoints"),
    "notice_dead_letters": _notice("dead_letters", _dead_letter),
    "notice_endpoints": _notice("endpoints", _failing),
    "notice_message": Item(
        _message, "notice_address", "UPDATE", "SELECT error <> '' FROM notice_address WHERE workspace_id = $1"
    ),
    "notice_waiting": _notice("waiting", _waiting),
    "redrive": Item(_redrive, "redrive_job", "UPDATE", _STATE.format("waiting")),
    "retention": Item(
        _retention, "retention", "UPDATE", "SELECT swept_at IS NOT NULL FROM retention WHERE workspace_id = $1"
    ),
    "search": Item(
        _talk,
        "search_document",
        "INSERT",
        "SELECT count(*) > 0 FROM search_document WHERE workspace_id = $1",
        f"SELECT pg_advisory_xact_lock({LOCK})".replace(":workspace", "$1"),
    ),
    "silence": Item(_silence, "conversation", "UPDATE", _ENDED),
}
