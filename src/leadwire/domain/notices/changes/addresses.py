"""Addresses at Slack and Teams: added, tried, removed; and what people are told is sent there as well.

A message waits in the row of its address, in the transaction that notes that people were told. A job sends what waits,
in order, by the rule of webhooks: tried again by the same schedule, then given up. When the first is due next, and how
often it has failed, stands in the row, too: the next message makes the job due at once, but no attempt. It may arrive
twice where a process dies between sending and noting it. An address that answers 404 or 410 is not there any more, and
gets nothing more.
"""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

import msgspec

from leadwire.delivery import retry
from leadwire.delivery.states import Outcome
from leadwire.delivery.transport import shared
from leadwire.delivery.transport.addresses import checked
from leadwire.delivery.transport.responses import ConnectFailed, ProtocolFailed, TimedOut
from leadwire.domain.accounts import quotas
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.mail import compose
from leadwire.domain.mail.schema import Contents
from leadwire.domain.notices import reads, texts
from leadwire.domain.notices.schema import SERVICES, TO_ADDRESSES, Kind, Service
from leadwire.domain.notices.table import NoticeAddress
from leadwire.infrastructure import clock, db, ids, jobs, secret_box, settings
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import columns, insert, named
from leadwire.infrastructure.errors import Conflict, Invalid, invalid_field
from leadwire.infrastructure.jobs import Again, Offer
from leadwire.infrastructure.rate_limit import RateLimit

JOB: Final = "notice_message"
_MOST: Final = 10  # addresses of a workspace
_MOST_PENDING: Final = 20  # messages of an address
_SAID: Final = 100  # signs of an answer
_GONE: Final = (404, 410)
_TRIES: Final = RateLimit("notice-tests", 10, window=300)
_HEADERS: Final = [("content-type", "application/json"), ("user-agent", "Leadwire")]
_ADD: Final = insert(*columns(NoticeAddress, "id workspace_id service host url kinds created_at"))
_COUNT, _QUEUE, _NOTE = named(__file__, "count queue note")


@query("There is no such address.")
async def _one(workspace: str, address_id: str) -> db.Row: ...


@query()
async def _next(address_id: str) -> db.Row | None: ...


async def add(workspace: str, service: Service, url: str, kinds: Sequence[str]) -> tuple[str, str]:
    """Add an address that is told of these kinds. Return its id and its host. Raise Invalid, Conflict."""
    url = checked(url.strip(), settings.get().allowed_networks)
    if unknown := set(kinds) - {offer.kind for offer in TO_ADDRESSES}:
        raise Invalid(f"No such kind of notice: {', '.join(sorted(unknown))}.")
    if not kinds:
        raise invalid_field("/kind", "required", "Choose at least one.")
    address_id, host = ids.new("nad"), urlsplit(url).netloc
    sealed = secret_box.get().seal(url, secret_box.place(NoticeAddress.url, address_id))
    values = {"id": address_id, "workspace_id": workspace, "service": service, "host": host, "kinds": list(kinds)}
    full = Conflict(f"A workspace has at most {_MOST} addresses.", code="too_many")
    async with db.transaction():
        await _ADD.rows(**values, url=sealed, created_at=clock.now())
        await quotas.at_most(workspace, _MOST, full, _COUNT)
    return address_id, host


@query("There is no such address.")
async def remove(workspace: str, address_id: str) -> tuple[str, str]:
    """Remove an address, with what waits for it. Return its service and host. Raise NotFound."""


async def test(workspace: str, address_id: str) -> str:
    """Send a message that says it is a test, and return what came back, in words. Waits for the other side, so not in a
    transaction. Raise NotFound, RateLimited; Conflict where it did not arrive.
    """
    row = await _one(workspace, address_id)
    await _TRIES.claim(workspace, "Too many tests. Wait five minutes.")
    status, said = await _send(row, f"A test from {await reads.name(workspace)}\n\nNotices will arrive here.")
    if not _arrived(status):
        raise Conflict(f"The test did not arrive. {said}", code="not_sent")
    return f"The test has arrived. {said}"


async def queue(workspace: str, kind: Kind, values: texts.Values) -> None:
    """Let the words of a mail wait at the workspace's addresses, in the open transaction."""
    contents = Contents(values | {"workspace": await reads.name(workspace)}, "")
    content = compose.content(kind, contents, settings.get().public_url)
    text = f"{content.subject}\n\n{content.text.strip()}"
    rows = await _QUEUE.rows(workspace=workspace, kind=kind, text=text, most=_MOST_PENDING)
    await jobs.add_all(JOB, [Offer(row["id"], workspace) for row in rows])


async def send_next(address_id: str) -> Again | None:
    """Send the first message that waits for an address, if it is due. Return None when none waits."""
    row = await _next(address_id)
    if row is None:
        return None
    if row["due_in"]:
        return Again(row["due_in"])
    status, said = await _send(row, row["text"])
    arrived, gone = _arrived(status), status in _GONE
    outcome: Outcome = "delivered" if arrived else "gone" if gone else "http_5xx"
    step = retry.after(outcome, row["failed"] + 1, settings.get().retry_schedule)
    values = {"error": None if arrived else said, "gone": gone, "ended": step.state != "waiting"}
    async with db.transaction():
        if await _NOTE.row(id=address_id, text=row["text"], delay=step.delay, **values) and gone:
            entry = audit.Entry("notice_address.stopped", address_id, said)
            await audit.record(row["workspace_id"], "notices", entry)
    return Again(step.delay)


async def _send(row: db.Row, text: str) -> tuple[int, str]:
    """Return the status of the answer, 0 without one, and what came back in words: never the URL, which is a secret."""
    service: Service = row["service"]
    url = secret_box.get().open_once(row["url"], secret_box.place(NoticeAddress.url, row["id"]))
    body = msgspec.json.encode(texts.body(service, text))
    try:
        answer = await shared.transport().post(url, _HEADERS, body)
    except (ConnectFailed, ProtocolFailed, TimedOut) as error:
        return 0, f"No answer from {SERVICES[service]}: {error.outcome.replace('_', ' ')}."
    came = "".join(sign if sign.isprintable() else " " for sign in answer.body.decode(errors="replace")[:_SAID]).strip()
    return answer.status, f"{SERVICES[service]} answered {answer.status}{f': {came}' if came else ''}."


def _arrived(status: int) -> bool:
    return 200 <= status < 300
