"""`uv run python -m ops.screens [NAME ...] [--out DIR] [--axe | --audit | --readme]`: takes the pictures.

--axe asks axe-core as well, --audit asks Lighthouse instead. Exit 1 if they find a fault. --readme takes those of the
README anew.
"""

import argparse
import asyncio
import importlib.resources
import shutil
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.async_api import Browser, Page, async_playwright

from leadwire.domain.webhooks.samples import SAMPLES
from leadwire.infrastructure.process import bind
from ops.screens import readme
from ops.screens.audit import audit
from ops.screens.instance import instance
from ops.screens.screens import SCREENS, Way

_SIZES = {
    "desk": {"width": 1440, "height": 900},
    "tablet": {"width": 768, "height": 1024},
    "phone": {"width": 390, "height": 844},
}
_EMAIL, _PASSWORD = "ada@example.org", "four quiet grey horses"
_RULES = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]


_LOOKS = [(theme, size) for theme in ("light", "dark") for size in _SIZES]


async def main(
    url: str, join: str, out: Path, names: list[str], *, axe: bool, looks: list[tuple[str, str]] = _LOOKS
) -> int:
    """Every picture; answers how many violations axe-core found."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    found = 0
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        state = await _prepare(browser, url, join)
        for theme, size in looks:
            context = await browser.new_context(
                base_url=url, color_scheme=theme, viewport=_SIZES[size], storage_state=state, bypass_csp=axe
            )
            page = await context.new_page()
            page.on("console", lambda said: print("  said:", said.text) if said.type == "error" else None)
            for name in names:
                await _go(page, SCREENS[name])
                await page.wait_for_timeout(400)
                wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
                if wide > 0:
                    print(f"  {name} {theme} {size}: {wide} px too wide")
                await page.screenshot(path=out / f"{name}-{theme}-{size}.png", full_page=True)
                found += await _violations(page, f"{name} {theme} {size}") if axe else 0
            await context.close()
        await browser.close()
    return found


async def audited(url: str, join: str, out: Path, names: list[str]) -> int:
    """Ask Lighthouse about every screen; answers how many are not good."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or ""
    found = 0
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        context = await browser.new_context(base_url=url, storage_state=await _prepare(browser, url, join))
        page = await context.new_page()
        for name in names:
            await _go(page, SCREENS[name])
            cookie = "; ".join(f"{one['name']}={one['value']}" for one in await context.cookies())
            found += not await asyncio.to_thread(audit, name, page.url, cookie, chromium, out)
        await browser.close()
    return found


async def _prepare(browser: Browser, url: str, join: str) -> Any:
    """The first admin, an endpoint that always fails, and time for its dead letters."""
    context = await browser.new_context(base_url=url)
    page = await context.new_page()
    await page.goto(join)
    await page.screenshot()
    await page.fill("[name=name]", "Ada Lovelace")
    await page.fill("[name=email]", _EMAIL)
    await page.fill("[name=password]", _PASSWORD)
    await page.get_by_role("button", name="Create my account").click()
    await page.wait_for_url(f"{url}/")
    await page.goto(f"/webhooks/new?url={quote(url + '/nobody-listens-here', safe='')}&next=1")
    for kind in SAMPLES:
        if kind not in ("message.sent", "lead.created"):
            await page.uncheck(f"[value='{kind}']")
    await page.get_by_role("button", name="Create").click()
    await page.wait_for_url("**/setup/secret")
    await page.goto(page.url.replace("/secret", "/enable"))
    await page.get_by_role("button", name="Enable").click()
    await page.wait_for_url(lambda at: "setup" not in at)
    await page.wait_for_timeout(15_000)
    state = await context.storage_state()
    await context.close()
    return state


async def _go(page: Page, way: Way) -> None:
    if isinstance(way, str):
        await page.goto(way)
    else:
        await way(page)


async def _violations(page: Page, where: str) -> int:
    script = (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text()
    await page.evaluate(script)
    told = await page.evaluate("rules => axe.run(document, {runOnly: rules}).then(said => said.violations)", _RULES)
    for violation in told:
        node = violation["nodes"][0]
        print(f"  {where}: {violation['impact']} {violation['id']} x{len(violation['nodes'])} {node['html'][:100]}")
    return len(told)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m ops.screens", description=__doc__)
    parser.add_argument("names", nargs="*", default=list(SCREENS), metavar="NAME")
    parser.add_argument("--out", type=Path, default=Path("dist/screens"))
    parser.add_argument("--axe", action="store_true")
    parser.add_argument("--audit", action="store_true")
    parser.add_argument("--readme", action="store_true")
    chosen = parser.parse_args()
    if chosen.readme:
        chosen.names = [screen for screen, _ in readme.PICTURES.values()]
    chosen.out.mkdir(parents=True, exist_ok=True)
    with bind("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
    with instance(port) as told:
        args = told["url"], told["join"], chosen.out, chosen.names
        looks = [("light", "desk")] if chosen.readme else _LOOKS
        faults = asyncio.run(audited(*args) if chosen.audit else main(*args, axe=chosen.axe, looks=looks))
    if chosen.readme:
        readme.keep(chosen.out)
    print(f"in {chosen.out}" + (f", {faults} faults" if chosen.axe or chosen.audit else ""))
    sys.exit(1 if faults else 0)
