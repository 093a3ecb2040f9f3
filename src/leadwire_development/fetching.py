"""What `leadwire listen` does with --pull or --forward: fetch deliveries, hand them to the receiver, and acknowledge
those that it takes; send them on. They come over HTTP with an endpoint's token, or from this installation's servers.
"""

import asyncio
import contextlib
import hashlib
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import click
import msgspec

from leadwire.infrastructure.backoff import Backoff, rest
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.http_client import httpx
from leadwire_development.receiver import Forward, Receiver
from leadwire_development.supervisor import plain

if TYPE_CHECKING:
    from leadwire.domain.webhooks.receivers import Batch
    from leadwire.domain.webhooks.schema import NewEndpoint

_TIMEOUT: Final = 40.0  # seconds, more than a fetch may wait
_WAIT: Final = 20.0  # seconds
_AT_ONCE: Final = 1  # delivery: the time of all that are handed out runs while the receiver has the first
_PATH: Final = "/receiver/v1"
_NEEDS: Final = "--pull needs an address such as http://127.0.0.1:8000"
_ANSWER_WITHIN: Final = 29.0  # seconds, less than a delivery may take
_OF_THE_CONNECTION: Final = frozenset({
    "host", "content-length", "connection", "transfer-encoding", "accept-encoding", "keep-alive", "upgrade",
})  # fmt: skip


class Source(Protocol):
    """Where deliveries come from. Both functions raise TransportError where trying again may help, OperatorError where
    not.
    """

    async def fetch(self) -> "Batch":
        """Return a batch of deliveries; an empty one after some seconds without any."""

    async def acknowledge(self, lease: str, webhook_id: str) -> bool:
        """Acknowledge a delivery. Return whether that was in time."""


async def fetch_all(receiver: Receiver, source: Source) -> None:
    """Fetch until the receiver stops. While Leadwire is away, try again. Raise OperatorError where that is no use."""
    stopped = asyncio.create_task(receiver.stop.wait())
    pause = Backoff()
    while not receiver.stop.is_set():
        fetching = asyncio.ensure_future(source.fetch())
        await asyncio.wait([fetching, stopped], return_when=asyncio.FIRST_COMPLETED)
        if not fetching.done():
            fetching.cancel()
            break
        try:
            batch = fetching.result()
            for one in batch.deliveries:
                headers = {name.lower(): value for name, value in one.headers.items()}
                taken = 200 <= await receiver.take(one.body.encode(), headers) < 300
                if taken and not await source.acknowledge(batch.lease, headers["webhook-id"]):
                    click.echo(f"{plain(headers['webhook-id'])} was acknowledged too late", err=True)
            pause.reset()
        except httpx.TransportError as error:
            click.echo(f"{error}; trying again", err=True)
            await rest(pause.next(), receiver.stop)
    stopped.cancel()


class Remote:
    """The endpoint `pull:NAME` whose token it is, of the Leadwire at an address."""

    def __init__(self, url: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        try:
            self._client = httpx.AsyncClient(base_url=url, headers=headers, timeout=_TIMEOUT)
        except (httpx.InvalidURL, UnicodeEncodeError) as error:
            raise OperatorError(f"{_NEEDS}, and --token a token: {error}") from error

    async def fetch(self) -> "Batch":
        from leadwire.domain.webhooks.receivers import Batch

        return msgspec.convert(await self._ask(f"fetch?limit={_AT_ONCE}", None), Batch)

    async def acknowledge(self, lease: str, webhook_id: str) -> bool:
        return not (await self._ask("acknowledge", {"lease": lease, "ids": [webhook_id]}))["late"]

    async def _ask(self, what: str, body: dict[str, Any] | None) -> dict[str, Any]:
        at = self._client.base_url
        try:
            answer = await self._client.post(f"{_PATH}/{what}", json=body)
        except (httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
            raise OperatorError(f"{_NEEDS}: {error}") from error
        except httpx.TransportError as error:
            raise httpx.ReadError(f"{at}: {error or type(error).__name__}") from error
        if answer.status_code in (429, 502, 503, 504):
            raise httpx.ReadError(f"{at}: it answered {answer.status_code}")
        try:
            found: dict[str, Any] = answer.json()
            if answer.is_success:
                return dict(found["data"])
        except (ValueError, KeyError, TypeError) as error:
            raise OperatorError(f"{at} does not answer as Leadwire does ({answer.status_code}).") from error
        raise OperatorError(f"{at} refuses: {plain(str(found.get('detail', answer.status_code)), 300)}")


class Local:
    """An endpoint of this installation, on its database."""

    def __init__(self, workspace: str, endpoint_id: str) -> None:
        from leadwire.domain.webhooks.receivers import Receiver as Asking

        self._asking = Asking(endpoint_id, workspace, fetches=True)

    async def fetch(self) -> "Batch":
        from leadwire.domain.webhooks import receivers

        with _away():
            await receivers.wait(self._asking, _WAIT, asyncio.Future(), lambda: False)
            return await receivers.fetch(self._asking, _AT_ONCE)

    async def acknowledge(self, lease: str, webhook_id: str) -> bool:
        from leadwire.domain.webhooks import receivers

        with _away():
            return not (await receivers.acknowledge(self._asking, lease, [webhook_id])).late


@contextlib.contextmanager
def _away() -> Iterator[None]:
    """Raise TransportError for a database that is away."""
    from leadwire.interfaces.cli.runtime import explain

    try:
        yield
    except Exception as error:
        if (words := explain(error)) is None:
            raise
        raise httpx.ReadError(words) from error


@contextlib.asynccontextmanager
async def own_endpoint(workspace: str, kinds: Sequence[str], target: str) -> "AsyncIterator[NewEndpoint]":
    """An endpoint for as long as the block runs. One that a killed listener of the same target has left is replaced."""
    from leadwire.domain.webhooks import changes, reads, receivers
    from leadwire.interfaces.cli.runtime import audited

    url = f"{changes.PULL}listen-{hashlib.sha256(f'{socket.gethostname()} {target}'.encode()).hexdigest()[:12]}"

    async def remove() -> None:
        for one in await reads.endpoints(workspace):
            if one.url == url:
                async with audited("endpoint.deleted", one.id, workspace) as entry:
                    entry.detail = url
                    await changes.delete(workspace, one.id)

    async with audited("endpoint.created", workspace=workspace) as entry:
        await remove()
        made = await changes.create(workspace, url, kinds)
        entry.subject, entry.detail = made.id, f"url: {url}; events: {' '.join(made.events)}"
        await receivers.make_token(workspace, made.id)  # for nobody: without one, no lease ends (`pull.sql`)
        await changes.enable(workspace, made.id)
    try:
        yield made
    finally:
        await remove()


def forwarding(url: str) -> Forward:
    """Return what sends deliveries on to `url`. Raise OperatorError for what is no http address."""
    try:
        target = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise OperatorError(f"--forward needs an address such as http://localhost:3000/hooks: {error}") from error
    if target.scheme not in ("http", "https") or not target.host:
        raise OperatorError("--forward needs an address such as http://localhost:3000/hooks")
    client = httpx.AsyncClient(timeout=_ANSWER_WITHIN, trust_env=False)

    async def forward(body: bytes, headers: dict[str, str]) -> tuple[int, str | None]:
        passed = {name: value for name, value in headers.items() if name not in _OF_THE_CONNECTION}
        try:
            answer = await client.post(target, content=body, headers=passed)
        except httpx.TransportError as error:
            return 502, f"{url} does not answer: {error or type(error).__name__}"
        return answer.status_code, None

    return forward
