"""What a receiver of webhooks asks Leadwire for, with the token of its endpoint.

async with AsyncReceiver("lwr_...", "https://leads.example.com", "whsec_...") as receiver:
    async for delivery in receiver.deliveries():
        print(delivery.event.kind)
        await delivery.acknowledge()
"""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct

from leadwire_client.call import Call, params, single
from leadwire_client.checkpoint import Checkpoint
from leadwire_client.client import headers
from leadwire_client.connection import AsyncClosing, AsyncConnection, C, Closing, Connection, Resource, method
from leadwire_client.errors import RateLimited, Unavailable, Unreachable, Unreadable
from leadwire_client.events import Event
from leadwire_client.http_client import httpx
from leadwire_client.retry import POLL, Retry
from leadwire_client.verify import authentic, own_header, verify

_JSON: Final = {"Content-Type": "application/json"}


class _Enveloped(Struct):
    checkpoint: Checkpoint


class _Replayed(Struct):
    replayed: int


class Fetched(Struct, frozen=True):
    """A delivery as it was handed out: the request that would have been sent. Check it with `verify`."""

    headers: dict[str, str]
    body: str


class Batch(Struct, frozen=True):
    """What was handed out at once; `lease` is for `acknowledge`, within so many seconds."""

    lease: str
    seconds: float
    deliveries: list[Fetched]


class Acknowledged(Struct, frozen=True):
    """Which events count as delivered. Those in `late` do not: they come again, or are dead letters."""

    acknowledged: list[str]
    late: list[str]


class Redrive(Struct, frozen=True):
    """Deliveries that are sent again: how many (`total`), and how many of them are queued by now (`done`)."""

    id: str
    state: str
    total: int
    done: int


_CHECKPOINT: Final = msgspec.json.Decoder(_Enveloped)
_REPLAYED: Final = single(_Replayed)
_REDRIVE: Final = single(Redrive)
_BATCH: Final = single(Batch)
_ACKNOWLEDGED: Final = single(Acknowledged)


class Requests(Resource[C]):
    """The methods of both receivers."""

    secret: str | Sequence[str]

    @method
    def checkpoint(self, after: int = 0) -> Call[Checkpoint]:
        """The checkpoint of the numbers above `after`, for `compare`. It covers up to 1,000 deliveries.

        Raises InvalidSignature when no holder of the secret signed it.
        """
        query = params(after=after)
        return Call(method="GET", path="/receiver/v1/checkpoint", params=query, read=self._checkpoint_after(after))

    @method
    def replay(self, first: int, last: int) -> Call[int]:
        """Have the deliveries with these numbers sent again, at most 1,000. Returns how many are. Raises Invalid.

        It is asked for once: after Unreachable or Unavailable they may be on their way.
        """
        content, path = msgspec.json.encode({"first": first, "last": last}), "/receiver/v1/replay"
        return Call(method="POST", path=path, headers=_JSON, content=content, read=_read_replayed, once=True)

    @method
    def redrive(self, event_id: str | None = None, *, since: datetime | None = None) -> Call[Redrive]:
        """Have one event sent again, or all that the endpoint could have had since a time; without either its dead
        letters. Raises Conflict for an event that is on its way already, NotFound; ValueError for a time without a
        zone. It is asked for once, as `replay`.
        """
        replay = event_id is not None or since is not None
        asked = {**params(event_id=event_id, since=since), "replay": replay}
        content, path = msgspec.json.encode(asked), "/receiver/v1/redrives"
        return Call(method="POST", path=path, headers=_JSON, content=content, read=_REDRIVE, once=True)

    @method
    def fetch(self, limit: int = 10, wait: int = 20) -> Call[Batch]:
        """Up to `limit` deliveries, at most 100, of an endpoint whose receiver fetches.

        While there are none, the response waits for one, up to `wait` seconds (at most 30). Raises ApiError with the
        code `not_fetched` for an endpoint that Leadwire sends to.
        """
        return _fetch(limit, wait)

    @method
    def acknowledge(self, lease: str, ids: Sequence[str]) -> Call[Acknowledged]:
        """Say that the events with these ids, of a batch, are dealt with. To say it again does no harm."""
        content = msgspec.json.encode({"lease": lease, "ids": list(ids)})
        path = "/receiver/v1/acknowledge"
        return Call(method="POST", path=path, headers=_JSON, content=content, read=_ACKNOWLEDGED)

    def _checkpoint_after(self, after: int) -> Callable[[httpx.Response], Checkpoint]:
        def read(answer: httpx.Response) -> Checkpoint:
            authentic(answer.content, answer.headers, self.secret)
            found = _CHECKPOINT.decode(answer.content).checkpoint
            if found.after != after:
                raise Unreadable(f"this is the checkpoint after {found.after}, not after {after}")
            return found

        return read


class Receiver(Requests[Connection], Closing):
    """A receiver's side. Safe to share between threads; close it, or use it as a context manager.

    `token` and `secret` are the endpoint's, `base_url` is the address before `/receiver`. The rest is as in `Leadwire`.
    """

    def __init__(
        self,
        token: str,
        base_url: str,
        secret: str | Sequence[str],
        *,
        timeout: float = 30.0,
        retry: Retry = Retry(),  # noqa: B008 - frozen
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = httpx.Client(base_url=base_url, headers=headers(token), transport=transport)
        super().__init__(Connection(self._http, timeout, retry))
        self.secret = secret


class Delivery(Struct, frozen=True, kw_only=True):
    """One that was fetched, and that a holder of the secret signed. `headers` are in lower case."""

    event: Event
    headers: Mapping[str, str]
    body: bytes
    lease: str
    receiver: "AsyncReceiver"

    @property
    def number(self) -> str | None:
        """Its number, for `once`, where the endpoint has numbers."""
        return own_header(self.headers, "sequence")

    async def acknowledge(self) -> bool:
        """Say that the event is dealt with. Returns whether it counts: False when that took too long, also because
        Leadwire was away.
        """
        try:
            return not (await self.receiver.acknowledge(self.lease, [self.event.id])).late
        except (RateLimited, Unavailable, Unreachable):
            return False


class AsyncReceiver(Requests[AsyncConnection], AsyncClosing):
    """`Receiver` with `await`, and the deliveries of an endpoint whose receiver fetches."""

    def __init__(
        self,
        token: str,
        base_url: str,
        secret: str | Sequence[str],
        *,
        timeout: float = 30.0,
        retry: Retry = Retry(),  # noqa: B008 - frozen
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._http = httpx.AsyncClient(base_url=base_url, headers=headers(token), transport=transport)
        super().__init__(AsyncConnection(self._http, timeout, retry))
        self.secret = secret

    async def deliveries(self, limit: int = 1) -> AsyncIterator[Delivery]:
        """Deliveries as they come, without end. Acknowledge each one when it is dealt with.

        One that is not acknowledged within 30 seconds of its fetch counts as a failed attempt, and comes again after
        1, 5 and 30 minutes. `limit` are fetched at once: more than one only where dealing with all of them takes less.
        Those whose time is over are skipped. While Leadwire is away, it waits and goes on (see `Retry`). Raises any
        other ApiError, and InvalidSignature.
        """
        call = _fetch(limit, POLL)
        while True:
            batch = await self.connection.run(call, endless=True)
            over = time.monotonic() + batch.seconds
            for one in batch.deliveries:
                if time.monotonic() < over:
                    yield self._verified(one, batch.lease)

    def _verified(self, fetched: Fetched, lease: str) -> Delivery:
        body = fetched.body.encode()
        headers = {name.lower(): value for name, value in fetched.headers.items()}
        event = verify(body, headers, self.secret)
        return Delivery(event=event, headers=headers, body=body, lease=lease, receiver=self)


def _fetch(limit: int, wait: int) -> Call[Batch]:
    return Call(method="POST", path="/receiver/v1/fetch", params=params(limit=limit, wait=wait), read=_BATCH)


def _read_replayed(answer: httpx.Response) -> int:
    return _REPLAYED(answer).replayed
