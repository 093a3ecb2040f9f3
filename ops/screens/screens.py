"""What there is to see: a name for each picture, and how to get there."""

import re
from collections.abc import Awaitable, Callable

from playwright.async_api import Page

Way = str | Callable[[Page], Awaitable[None]]


async def _first(page: Page, path: str) -> None:
    """What the first row of the table there leads to."""
    await page.goto(path)
    if link := await page.locator("table.rows a.cover").first.get_attribute("href", timeout=3000):
        await page.goto(link)


async def _endpoint(page: Page) -> None:
    await _first(page, "/webhooks")


async def _delivery(page: Page) -> None:
    await _first(page, "/deliveries?stage=delivered")


async def _dead(page: Page) -> None:
    await _first(page, "/deliveries?stage=dead")


async def _endpoint_settings(page: Page) -> None:
    await _endpoint(page)
    await page.goto(page.url.split("?")[0] + "/settings")


async def _secret(page: Page) -> None:
    await _endpoint(page)
    await page.goto(page.url.split("?")[0] + "/secret")


async def _certificate(page: Page) -> None:
    await _endpoint(page)
    await page.goto(page.url.split("?")[0] + "/certificate")


async def _events(page: Page) -> None:
    await page.goto("/webhooks/new?url=https%3A%2F%2Fexample.com%2Fhooks&next=1")


async def _enable(page: Page) -> None:
    await _endpoint(page)
    await page.goto(re.sub(r"[?#].*", "", page.url) + "/setup/enable")


async def _test(page: Page) -> None:
    await _endpoint(page)
    await page.goto(re.sub(r"[?#].*", "", page.url) + "/setup/test")
    await page.get_by_role("button", name="Send test").click()
    await page.get_by_text("It works").wait_for()


async def _lead(page: Page) -> None:
    await _first(page, "/leads")


async def _conversation(page: Page) -> None:
    await _first(page, "/conversations")


async def _bot(page: Page) -> None:
    await _first(page, "/bots")


def _bot_part(rest: str) -> Way:
    async def way(page: Page) -> None:
        await _bot(page)
        await page.goto(page.url + rest)

    return way


async def _thread(page: Page) -> None:
    await page.goto("/inbox")
    if await page.locator("a.thread").count():
        await page.goto(await page.locator("a.thread").first.get_attribute("href") or "/inbox")


async def _alerts(page: Page) -> None:
    await page.goto("/inbox")
    await page.locator("[data-alerts]").click()


async def _panel(page: Page) -> None:
    await _thread(page)
    await page.goto(f"{page.url}&panel=1")


async def _demo(page: Page) -> None:
    await page.goto("/demo")
    await page.locator("leadwire-chat .launcher").click()
    await page.locator("leadwire-chat .line").first.wait_for()


SCREENS: dict[str, Way] = {
    "demo": _demo,
    "overview": "/",
    "reports": "/reports",
    "inbox": "/inbox",
    "inbox-thread": _thread,
    "inbox-panel": _panel,
    "inbox-alerts": _alerts,
    "leads": "/leads",
    "lead": _lead,
    "conversations": "/conversations",
    "conversation": _conversation,
    "search": "/search?q=team",
    "leads-filtered": "/leads?field=team_size&test=set",
    "webhooks": "/webhooks",
    "endpoint": _endpoint,
    "endpoint-settings": _endpoint_settings,
    "setup-address": "/webhooks/new",
    "setup-events": _events,
    "setup-enable": _enable,
    "setup-test": _test,
    "secret": _secret,
    "certificate": _certificate,
    "deliveries": "/deliveries",
    "delivery": _delivery,
    "dead-letters": "/deliveries?stage=dead",
    "dead-letter": _dead,
    "bots": "/bots",
    "bot": _bot,
    "bot-question": _bot_part("?step=goal"),
    "bot-trial": _bot_part("?try=1"),
    "bot-decision": _bot_part("?step=route"),
    **{f"bot-{part}": _bot_part(f"/{part}") for part in ("text", "look", "knowledge", "versions", "install")},
    "keys": "/keys",
    "team": "/team",
    "single-sign-on": "/single-sign-on",
    "sign-in-sso": "/sign-in/sso",
    "networks": "/team/networks",
    "notices": "/notices",
    "privacy": "/privacy",
    "retention": "/privacy/retention?leads=365&conversations=30&messages=90",
    "audit": "/audit",
    "system": "/system",
    "ledger": "/system/ledger",
    "workspaces": "/system/workspaces",
    "saved-replies": "/inbox/replies",
    "account": "/account",
    "second-factor": "/account/second-factor",
    "passkeys": "/account/passkeys",
}
