"""The load: changes made through the API, each with an Idempotency-Key and retried until it is answered.

So the harness knows exactly which changes were accepted, and in which order those of one lead were.
"""

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import httpx
import msgspec

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.schema import Origin
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.webhooks import changes as webhooks
from leadwire.domain.webhooks.schema import EndpointChange, NewEndpoint
from ops.chaos import payload
from ops.chaos.records import NUMBERED, ORDERED, Accepted

KINDS: Final = ("lead.updated", "conversation.ended")
_WRITERS: Final = 24  # each changes leads of its own, one change at a time, so that their order is known
_ONE_END_IN: Final = 10
PATIENCE: Final = 5.0  # seconds; then the same request is sent again


class Workload(NamedTuple):
    """The rows to change, and the secret and the id of each endpoint by its name."""

    workspace: str
    key: str
    leads: Sequence[str]
    conversations: Sequence[str]
    secrets: dict[str, str]
    endpoints: Mapping[str, str] = {}  # the upgrade drill reads what an earlier version has made: it has none
    mortals: Sequence[str] = ()  # leads that only those change who erase them


class Change(NamedTuple):
    """A change to request."""

    number: int
    kind: str
    subject: str


async def create_data(urls: Mapping[str, str], events: int, name: str = "Chaos", mortals: int = 0) -> Workload:
    """Create a workspace with an endpoint per name and URL, leads, and open conversations. The pool must be open.

    `mortals`: how many leads are there to be erased.
    """
    workspace = await accounts.create_workspace(name)
    _, key = await accounts.create_key(workspace, "chaos")
    bot = await bots.create(workspace, name)
    secrets, endpoints = {}, {}
    for label, url in urls.items():
        endpoint = await create_endpoint(workspace, label, url)
        secrets[label], endpoints[label] = endpoint.secret, endpoint.id
    leads = []
    for number in range(2 * _WRITERS + mortals):
        talk = await conversations.start(workspace, bot, Origin())
        lead = await conversations.capture_lead(workspace, talk, LeadPatch(email=f"lead{number}@example.com"))
        leads.append(lead.id)
    ends = len([number for number in range(events) if number % _ONE_END_IN == 0])
    talks = [await conversations.start(workspace, bot, Origin()) for _ in range(ends)]
    people = 2 * _WRITERS
    return Workload(workspace, key, leads[:people], talks, secrets, endpoints, leads[people:])


async def create_endpoint(workspace: str, name: str, url: str) -> NewEndpoint:
    """Create an endpoint that is enabled, with an order or numbers where its name stands for that."""
    endpoint = await webhooks.create(workspace, url, KINDS)
    change = EndpointChange(ordered=name in ORDERED, numbered=name in NUMBERED)
    await webhooks.configure(workspace, endpoint.id, change)
    await webhooks.enable(workspace, endpoint.id)
    return endpoint


def changes(workload: Workload, events: int, seed: int) -> list[list[Change]]:
    """Return the changes of each writer, in order. Each lead belongs to one writer. Pure."""
    draw = random.Random(seed)
    talks = iter(workload.conversations)
    share: list[list[Change]] = [[] for _ in range(_WRITERS)]
    for number in range(events):
        writer = number % _WRITERS
        if number % _ONE_END_IN == 0:
            share[writer].append(Change(number, "conversation.ended", next(talks)))
        else:
            share[writer].append(Change(number, "lead.updated", draw.choice(workload.leads[writer::_WRITERS])))
    return share


async def send_changes(
    workload: Workload,
    url: str,
    share: Sequence[Sequence[Change]],
    rate: float,
    first: int = 0,
    patience: float = PATIENCE,
) -> list[Accepted]:
    """Request every change, at most `rate` a second; half of them in bursts. Return what was accepted.

    `first` is the number of the change to request first; `patience` in seconds is for each request. Raise RuntimeError
    when one is refused permanently, which should not happen.
    """
    start = time.time()
    limits = httpx.Limits(max_connections=2 * _WRITERS, max_keepalive_connections=2 * _WRITERS)
    headers = {"Authorization": f"Bearer {workload.key}"}
    async with httpx.AsyncClient(
        base_url=url, headers=headers, timeout=patience, limits=limits, trust_env=False
    ) as client:

        async def write(mine: Sequence[Change]) -> list[Accepted]:
            done = []
            for change in mine:
                due = start + (_due(change.number) - first) / rate
                await asyncio.sleep(max(0.0, due - time.time()))
                done.append(await _send_until_accepted(client, change))
            return done

        written = await asyncio.gather(*(write(mine) for mine in share))
    return sorted((one for mine in written for one in mine), key=lambda one: one.accepted)


async def change_until(workload: Workload, url: str, stop: asyncio.Event, every: float) -> list[Accepted]:
    """Change one lead after the other, one each `every` seconds, until `stop` is set. Return what was accepted."""
    done: list[Accepted] = []
    headers = {"Authorization": f"Bearer {workload.key}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=PATIENCE, trust_env=False) as client:
        while not stop.is_set():
            lead = workload.leads[len(done) % len(workload.leads)]
            done.append(await _send_until_accepted(client, Change(len(done), "lead.updated", lead)))
            await asyncio.sleep(every)
    return done


def _due(number: int) -> int:
    """Return when a change is due. Even numbers of a round are due at once, so that relays and workers get batches."""
    return number if number % 2 else number - number % _WRITERS


async def _send_until_accepted(client: httpx.AsyncClient, change: Change) -> Accepted:
    asked = time.time()
    refusals: list[str] = []
    while True:
        try:
            answer = await _ask(client, change)
        except httpx.HTTPError as error:
            refusals.append(repr(error))
            await asyncio.sleep(0.1)
            continue
        if answer.is_success:
            return Accepted(change.number, change.kind, change.subject, asked, time.time(), refusals)
        running = answer.status_code == 409 and answer.json().get("code") == "idempotency_in_progress"
        if not running and answer.status_code < 500:
            raise RuntimeError(f"{change} was refused: {answer.status_code} {answer.text}")
        refusals.append(f"{answer.status_code} {answer.text}")
        await asyncio.sleep(0.1)


async def _ask(client: httpx.AsyncClient, change: Change) -> httpx.Response:
    key = {"Idempotency-Key": f"change-{change.number}"}
    if change.kind == "conversation.ended":
        return await client.post(f"/v1/conversations/{change.subject}/end", headers=key)
    body = msgspec.json.encode({"custom_fields": {payload.FIELD: change.number}})
    headers = {**key, "Content-Type": "application/json"}
    return await client.patch(f"/v1/leads/{change.subject}", headers=headers, content=body)
