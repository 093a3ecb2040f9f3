"""What customers and operators do meanwhile: each act is a small function; a seeded schedule says when it is done.

A `Planned` is scheduled for each. `draw` (0 to 1) selects its endpoint, `force` how much.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from leadwire.domain.webhooks import changes, redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import clock, db
from ops.chaos import payload
from ops.chaos.customer import Customer
from ops.chaos.plan import Planned

_REPLAYED: Final = timedelta(seconds=4)
_SETTLED: Final = timedelta(seconds=1)
_AGAIN: Final = ("healthy", "flaky", "ordered", "failing", "slow")
_CHANGES: Final = 6  # of a person who is then erased
_RATE: Final = 6000  # deliveries a minute
_SOME: Final = 5  # deliveries
_LOOKS: Final = 180.0  # seconds
_LOOK_EVERY: Final = 0.2

_Work = Callable[[Customer, Planned], Awaitable[None]]


async def replay(customer: Customer, planned: Planned) -> None:
    """Every event of the last seconds, up to what happens at this moment."""
    await start_replay(customer, _pick(_AGAIN, planned), Selection(since=clock.now() - _REPLAYED))


async def replay_until(customer: Customer, planned: Planned) -> None:
    """Every event of some seconds that are over."""
    span = Selection(since=clock.now() - _REPLAYED - _SETTLED, until=clock.now() - _SETTLED)
    await start_replay(customer, _pick(_AGAIN, planned), span, "replay-until")


async def redrive(customer: Customer, _: Planned) -> None:
    """Every dead letter there is."""
    await customer.done("redrive", "", partial(redrives.start, customer.workspace, Selection(), redrives.FASTEST))


async def resend(customer: Customer, planned: Planned) -> None:
    """Some of the latest deliveries of an endpoint that have ended."""
    name = _pick(_AGAIN, planned)
    for event_id in await _events(customer, name, "SELECT event_id FROM delivery_result WHERE endpoint_id = $1 AND"):
        chosen = Selection(endpoint_id=customer.endpoints[name], event_id=event_id, replay=True)
        await customer.done("resend", name, partial(redrives.start, customer.workspace, chosen), event_id)


async def retry_now(customer: Customer, planned: Planned) -> None:
    """Some of the retries that wait, for their time or for a worker."""
    name = _pick(("flaky", "failing"), planned)
    waiting = "SELECT event_id FROM delivery WHERE endpoint_id = $1 AND state = 'waiting' AND"
    for event_id in await _events(customer, name, waiting):
        work = partial(redrives.retry_now, customer.workspace, event_id, customer.endpoints[name])
        await customer.done("retry-now", name, work, event_id)


async def renumber(customer: Customer, planned: Planned) -> None:
    """A receiver asks for numbers that it lacks, with its own token."""
    last = await customer.answered(
        partial(db.value, "SELECT last FROM endpoint_sequence WHERE endpoint_id = $1", customer.endpoints["flaky"])
    )
    first = int((last or 0) * planned.force)
    numbers = {"first": first, "last": first + _SOME}
    work = partial(customer.ask, "POST", "/receiver/v1/replay", customer.tokens["flaky"], json=numbers)
    await customer.done("renumber", "flaky", work)


async def erase(customer: Customer, planned: Planned) -> None:
    """A person is changed again and again, and erased while that is being sent."""
    lead = customer.mortals.pop()
    for number in range(_CHANGES):
        change = {"custom_fields": {payload.FIELD: number}}
        await customer.ask("PATCH", f"/v1/leads/{lead}", json=change)
    await asyncio.sleep(2 * planned.force)
    await customer.done("erase", lead, partial(customer.ask, "DELETE", f"/v1/leads/{lead}"))


async def discard(customer: Customer, planned: Planned) -> None:
    """An endpoint's queue is emptied, its retries included."""
    async with customer.changing_busy:
        name = _pick(("failing", customer.changing), planned)
        await customer.done("discard", name, partial(changes.discard, customer.workspace, customer.endpoints[name]))


async def disable(customer: Customer, planned: Planned) -> None:
    """An endpoint is disabled, and enabled again a while later."""
    async with customer.changing_busy:
        place = customer.workspace, customer.endpoints[customer.changing]
        await customer.done("disable", customer.changing, partial(changes.disable, *place))
        await asyncio.sleep(3 * planned.force)
        await customer.done("enable", customer.changing, partial(changes.enable, *place))


async def configure(customer: Customer, planned: Planned) -> None:
    """An endpoint gets an order, a rate or numbers, or loses them."""
    order, rate = planned.draw < 0.5, planned.force < 0.5
    change = EndpointChange(ordered=order, rate_limit=_RATE if rate else None, numbered=order != rate)
    async with customer.changing_busy:
        place = customer.workspace, customer.endpoints[customer.changing]
        await customer.done("configure", customer.changing, partial(changes.configure, *place, change))


async def remake(customer: Customer, _: Planned) -> None:
    """An endpoint is deleted with what waits for it, and another one made."""
    async with customer.changing_busy:
        work = partial(changes.delete, customer.workspace, customer.endpoints[customer.changing])
        await customer.done("remake", customer.changing, work)
        customer.changing = f"changing-{int(customer.changing.rpartition('-')[2]) + 1}"
        await customer.add_endpoint(customer.changing)


ACTS: Final[dict[str, _Work]] = {
    work.__name__.replace("_", "-"): work
    for work in (
        *(replay, replay_until, redrive, resend, retry_now, renumber),
        *(erase, discard, disable, configure, remake),
    )
}


async def perform(customer: Customer, plan: Sequence[Planned]) -> None:
    """Do everything at its time."""

    async def one(planned: Planned) -> None:
        await asyncio.sleep(planned.at)
        await ACTS[planned.kind](customer, planned)

    await asyncio.gather(*map(one, plan))


async def start_replay(customer: Customer, name: str, span: Selection, kind: str = "replay") -> None:
    """Replay a span of time to an endpoint, as fast as may be."""
    chosen = Selection(endpoint_id=customer.endpoints[name], replay=True, since=span.since, until=span.until)
    await customer.done(kind, name, partial(redrives.start, customer.workspace, chosen, redrives.FASTEST))


async def _events(customer: Customer, name: str, where: str) -> list[str]:
    """Some of the newest deliveries of an endpoint, as soon as there are any: a machine may be busy."""
    sql = f"{where} workspace_id = $2 ORDER BY event_id DESC LIMIT {_SOME}"
    look = partial(db.rows, sql, customer.endpoints[name], customer.workspace)
    end = time.monotonic() + _LOOKS
    while not (rows := await customer.answered(look)) and time.monotonic() < end:
        await asyncio.sleep(_LOOK_EVERY)
    return [row["event_id"] for row in rows]


def _pick(names: Sequence[str], planned: Planned) -> str:
    return names[int(planned.draw * len(names))]
