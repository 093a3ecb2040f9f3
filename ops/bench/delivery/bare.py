"""The same signed POSTs by an HTTP client alone: the lower bound for the cost of a delivery."""

import asyncio
import importlib.util
from collections.abc import Awaitable, Callable

import httpx
from pyreqwest.client import ClientBuilder

from leadwire.delivery import signing
from ops.bench.delivery.speed import own_cpu

Post = Callable[[list[tuple[str, str]], bytes], Awaitable[object]]


async def bare_httpx(url: str, count: int) -> float:
    """Microseconds of CPU per signed POST by httpx.AsyncClient with its own transport."""
    limits = httpx.Limits(max_connections=64, max_keepalive_connections=64)
    async with httpx.AsyncClient(limits=limits, trust_env=False) as client:
        return await _loop(count, lambda headers, body: client.post(url, headers=headers, content=body))


async def bare_pyreqwest(url: str, count: int) -> float:
    """The same by pyreqwest alone."""
    client = ClientBuilder().no_proxy().http1_only().build()
    return await _loop(count, lambda headers, body: client.post(url).headers(headers).body_bytes(body).build().send())


async def bare_aiohttp(url: str, count: int) -> float | None:
    """The same by aiohttp, the second best; None where it is not installed."""
    if importlib.util.find_spec("aiohttp") is None:
        return None
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=64)) as client:

        async def post(headers: list[tuple[str, str]], body: bytes) -> None:
            async with client.post(url, data=body, headers=headers) as response:
                await response.read()

        return await _loop(count, post)


async def _loop(count: int, post: Post) -> float:
    secret, body, left = signing.new_secret(), b"x" * 900, [count]

    async def work() -> None:
        while left[0] > 0:
            left[0] -= 1
            await post(
                signing.headers(
                    event_id="evt_1", body=body, secret=secret, staged=None, at=1, attempt=1, prefix="X-Service-"
                ),
                body,
            )

    before = own_cpu()
    await asyncio.gather(*(work() for _ in range(64)))
    return (own_cpu() - before) / count * 1e6
