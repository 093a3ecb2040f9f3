"""A person in the web area, while relay and worker run."""

import asyncio
import contextlib
import re
import secrets
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from playwright.async_api import Page, expect

from leadwire.delivery.worker import hourly_stats
from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from tests.delivery.wired import Wire

if TYPE_CHECKING:  # its fixtures use this module
    from tests.browser.conftest import Visit

PASSWORD = "four quiet grey horses"
COMPOSE = """document.activeElement.dispatchEvent(
    new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true, cancelable: true }))"""
"""Enter that ends a word being composed, as in Japanese. True where nothing else is made of it."""


async def signed_in(visit: "Visit", address: str, workspace: str, email: str, role: str = "admin") -> Page:
    """The first page of a new user, who has joined without the form: `test_details.py` is of that."""
    link = await team.invite(workspace, email, role, operator=role == "admin")  # type: ignore[arg-type]
    page, mark = await visit.page(), secrets.token_urlsafe(16)
    comes_from = Browser("127.0.0.1", await page.evaluate("navigator.userAgent"), mark)
    session = await team.accept(link, email, PASSWORD, comes_from, email.partition("@")[0].title())
    cookies = {"leadwire": session, "leadwire-browser": mark}
    await visit.context.add_cookies(
        [
            {"name": name, "value": value, "url": address, "httpOnly": True, "sameSite": "Lax"}
            for name, value in cookies.items()
        ]
    )
    await page.goto(f"{address}/")
    await expect(page).to_have_title(re.compile(r"(Overview|Inbox) · Leadwire$"))
    return page


@contextlib.asynccontextmanager
async def turning(wire: Wire) -> AsyncIterator[None]:
    """Relay and deliver, again and again, inside the block, and write what the worker counts."""

    stop = asyncio.Event()

    async def turn() -> None:
        while not stop.is_set():
            await wire.turn()
            await hourly_stats.flush()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), 0.05)

    task = asyncio.create_task(turn())
    try:
        yield
    finally:
        stop.set()
        await task
