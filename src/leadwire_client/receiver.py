"""What a receiver of webhooks asks Leadwire for, with the token of its endpoint.

with Receiver("lwr_...", "https://leads.example.com", "whsec_...") as receiver:
    checkpoint = receiver.checkpoint()
"""

from collections.abc import Callable, Sequence
from typing import Final, Self

import httpx
import msgspec
from msgspec import Struct

from leadwire_client.call import Call, params, single
from leadwire_client.checkpoint import Checkpoint
from leadwire_client.client import headers
from leadwire_client.connection import AsyncConnection, C, Connection, Resource, method
from leadwire_client.errors import Unreadable
from leadwire_client.retry import Retry
from leadwire_client.verify import authentic

_JSON: Final = {"Content-Type": "application/json"}


class _Enveloped(Struct):
    checkpoint: Checkpoint


class _Replayed(Struct):
    replayed: int


_CHECKPOINT: Final = msgspec.json.Decoder(_Enveloped)
_REPLAYED: Final = single(_Replayed)


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
        """Have the deliveries with these numbers sent again, at most 1,000. Returns how many are. Raises NotFound."""
        content = msgspec.json.encode({"first": first, "last": last})
        return Call(method="POST", path="/receiver/v1/replay", headers=_JSON, content=content, read=_read_replayed)

    def _checkpoint_after(self, after: int) -> Callable[[httpx.Response], Checkpoint]:
        def read(answer: httpx.Response) -> Checkpoint:
            authentic(answer.content, answer.headers, self.secret)
            found = _CHECKPOINT.decode(answer.content).checkpoint
            if found.after != after:
                raise Unreadable(f"this is the checkpoint after {found.after}, not after {after}")
            return found

        return read


class Receiver(Requests[Connection]):
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


class AsyncReceiver(Requests[AsyncConnection]):
    """`Receiver` with `await`."""

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

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


def _read_replayed(answer: httpx.Response) -> int:
    return _REPLAYED(answer).replayed
