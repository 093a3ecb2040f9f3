"""A person in the web area, while relay and worker run."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from playwright.async_api import Page, expect

from leadwire.domain.accounts.changes import team
from tests.delivery.wired import Wire

if TYPE_CHECKING:  # its fixtures use this module
    from tests.browser.conftest import Visit

PASSWORD = "four quiet grey horses"


async def signed_in(visit: "Visit", address: str, workspace: str, email: str, role: str = "admin") -> Page:
    """A new user's first page."""
    link = await team.invite(workspace, email, role, operator=role == "admin")  # type: ignore[arg-type]
    page = await visit.page()
    await page.goto(f"{address}/join/{link}")
    await page.get_by_label("Your name").fill(email.partition("@")[0].title())
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Create my account").click()
    await expect(page).to_have_title(re.compile(r"(Overview|Inbox) · Leadwire$"))
    return page


@contextlib.asynccontextmanager
async def turning(wire: Wire) -> AsyncIterator[None]:
    """Relay and deliver, again and again, inside the block."""

    stop = asyncio.Event()

    async def turn() -> None:
        while not stop.is_set():
            await wire.turn()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), 0.05)

    task = asyncio.create_task(turn())
    try:
        yield
    finally:
        stop.set()
        await task
