"""Visitors who answer what the shipped qualifying flow asks, each from an address of their own."""

import asyncio
import secrets
import time
from typing import Any

import httpx

_ANSWERS = ("I am ready to start", "51-200", "guest{}@example.com", "Guest {}")


def address(number: int) -> dict[str, str]:
    """What the proxy in front, which the server trusts, says of a visitor."""
    return {"X-Forwarded-For": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"}


async def talk(client: httpx.AsyncClient, bot: str, number: int, took: list[float]) -> tuple[str, dict[str, str]]:
    """A conversation of four turns; appends what each took in milliseconds. Answers its id and its headers."""
    headers = address(number)
    told = await _timed(client, f"/bots/{bot}/conversations", _ANSWERS[0], headers, took)
    headers |= {"Authorization": f"Bearer {told['token']}"}
    path = f"/conversations/{told['conversation_id']}"
    for answer in _ANSWERS[1:]:
        await _timed(client, f"{path}/messages", answer.format(number), headers, took)
    return told["conversation_id"], headers


async def wait(client: httpx.AsyncClient, talks: list[tuple[str, dict[str, str]]], seconds: float) -> int:
    """Ask for a person in every conversation and hold its stream open. Answers how many streams were open."""
    open_ = 0

    async def hold(conversation: str, headers: dict[str, str]) -> None:
        nonlocal open_
        asked = await client.post(f"/widget/v1/conversations/{conversation}/handoff", json={}, headers=headers)
        asked.raise_for_status()
        async with client.stream("GET", f"/widget/v1/conversations/{conversation}/events", headers=headers) as stream:
            stream.raise_for_status()
            open_ += 1
            await asyncio.sleep(seconds)

    await asyncio.gather(*(hold(*talk) for talk in talks))
    return open_


async def _timed(
    client: httpx.AsyncClient, path: str, text: str, headers: dict[str, str], took: list[float]
) -> dict[str, Any]:
    start = time.perf_counter()
    body = {"content": text, "client_message_id": secrets.token_urlsafe(16)}
    answer = await client.post(f"/widget/v1{path}", json=body, headers=headers)
    answer.raise_for_status()
    took.append((time.perf_counter() - start) * 1e3)
    found: dict[str, Any] = answer.json()
    return found
