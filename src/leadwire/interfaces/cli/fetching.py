"""What `leadwire listen --pull` does: fetch deliveries, hand them to the receiver, acknowledge those that it takes."""

import asyncio
from typing import Any, Final

import click
import httpx

from leadwire.infrastructure.backoff import Backoff, either
from leadwire.infrastructure.errors import OperatorError
from leadwire.interfaces.cli.receiver import Receiver, plain

_TIMEOUT: Final = 40.0  # seconds, more than a fetch may wait
_PATH: Final = "/receiver/v1"
_NEEDS: Final = "--pull needs an address such as http://127.0.0.1:8000"


async def fetch_all(receiver: Receiver, url: str, token: str) -> None:
    """Fetch until the receiver stops. While Leadwire is away, try again. Raise OperatorError where that is no use."""
    try:
        client = httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=_TIMEOUT)
    except (httpx.InvalidURL, UnicodeEncodeError) as error:
        raise OperatorError(f"{_NEEDS}, and --token a token: {error}") from error
    stopped = asyncio.create_task(receiver.stop.wait())
    pause = Backoff()
    async with client:
        while not receiver.stop.is_set():
            fetching = asyncio.create_task(_ask(client, "fetch", None))
            await asyncio.wait([fetching, stopped], return_when=asyncio.FIRST_COMPLETED)
            if not fetching.done():
                fetching.cancel()
                break
            try:
                batch = fetching.result()
                await _take(client, receiver, batch)
                pause.reset()
            except httpx.TransportError as error:
                click.echo(f"{url}: {error or type(error).__name__}; trying again", err=True)
                await either(receiver.stop, receiver.stop, pause.next())
    stopped.cancel()


async def _take(client: httpx.AsyncClient, receiver: Receiver, batch: dict[str, Any]) -> None:
    for one in batch["deliveries"]:
        headers = {name.lower(): value for name, value in one["headers"].items()}
        status = await receiver.take(one["body"].encode(), headers)
        if 200 <= status < 300:
            said = await _ask(client, "acknowledge", {"lease": batch["lease"], "ids": [headers["webhook-id"]]})
            if said["late"]:
                click.echo(f"{plain(headers['webhook-id'])} was acknowledged too late", err=True)


async def _ask(client: httpx.AsyncClient, what: str, body: dict[str, Any] | None) -> dict[str, Any]:
    """Return the answer's data. Raise TransportError where trying again may help, OperatorError where not."""
    try:
        answer = await client.post(f"{_PATH}/{what}", json=body)
    except (httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
        raise OperatorError(f"{_NEEDS}: {error}") from error
    if answer.status_code in (429, 502, 503, 504):
        raise httpx.ReadError(f"it answered {answer.status_code}")
    try:
        found: dict[str, Any] = answer.json()
        if answer.is_success:
            return dict(found["data"])
    except (ValueError, KeyError, TypeError) as error:
        raise OperatorError(f"{client.base_url} does not answer as Leadwire does ({answer.status_code}).") from error
    raise OperatorError(f"{client.base_url} refuses: {plain(str(found.get('detail', answer.status_code)), 300)}")
