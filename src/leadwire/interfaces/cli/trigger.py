"""`leadwire trigger`: a sample event of one kind, to every endpoint that subscribes to it."""

import asyncio
from typing import Final

import click

from leadwire.domain.webhooks.samples import SAMPLES
from leadwire.domain.webhooks.schema import Attempt
from leadwire.infrastructure.errors import OperatorError
from leadwire.interfaces.cli.lazy import lazily
from leadwire.interfaces.cli.runtime import Result, command, the_workspace, workspace_option

with lazily():
    from leadwire.domain.webhooks import changes, reads

_POLL: Final = 0.05  # seconds
_LONGEST_WAIT: Final = 35.0  # seconds, more than a delivery may take


@command()
@click.argument("kind", type=click.Choice(list(SAMPLES)), metavar="KIND")
@workspace_option
async def trigger(kind: str, workspace: str | None) -> Result:
    """Send a signed sample event to every endpoint that subscribes to its kind, and show the responses.

    It is marked as a test, and nothing is changed. Disabled endpoints get it, too. Exit 1 if one did not answer 2xx.
    """
    found = [one for one in await reads.endpoints(await the_workspace(workspace, create=False)) if kind in one.events]
    if not found:
        raise OperatorError(f"no endpoint subscribes to {kind}")
    sent = {one.id: await changes.send_test(None, one.id, kind) for one in found}
    results = await asyncio.gather(*(result(event, endpoint) for endpoint, event in sent.items()))
    document = [one.document | {"endpoint_id": endpoint} for endpoint, one in zip(sent, results, strict=True)]
    text = "\n".join(f"{endpoint.url}  {one.text or one.note}" for endpoint, one in zip(found, results, strict=True))
    return Result(document, text, max(one.code for one in results))


async def result(event_id: str, endpoint_id: str) -> Result:
    """What came of a test event: its first attempt, waited for. The code is 1 if it was not answered with a 2xx."""
    attempt = await _first_attempt(event_id, endpoint_id)
    document = {"event_id": event_id, "attempt": attempt}
    if attempt is None:
        note = f"{event_id} is not sent yet. Are `leadwire relay` and `leadwire deliver` running?"
        return Result(document, "", 1, note)
    answer = attempt.http_status or attempt.error or "fetched"
    text = f"{event_id}: {attempt.outcome} ({answer}) in {attempt.duration_ms} ms"
    return Result(document, text, 0 if attempt.outcome == "delivered" else 1)


async def _first_attempt(event_id: str, endpoint_id: str) -> Attempt | None:
    """Wait for the first attempt of a delivery. Return None when there is none in time."""
    for _ in range(int(_LONGEST_WAIT / _POLL)):
        for delivery in await reads.deliveries_of(None, event_id, endpoint_id, awaited=True):
            if delivery.history:
                return delivery.history[0]
        await asyncio.sleep(_POLL)
    return None
