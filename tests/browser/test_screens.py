"""Every screen, with the longest things there may be: no wider than the window, still while it loads, small, and axe
finds nothing. A new screen is among them by being declared.
"""

import gzip
import importlib.resources
import itertools
from ipaddress import ip_network
from pathlib import Path

import pytest
from playwright.async_api import expect

from leadwire.interfaces import web
from tests.browser import filled, still
from tests.browser.conftest import visiting
from tests.browser.desk import signed_in

WIDTHS = (390, 768, 1440)
NARROWEST = 320  # WCAG 2.2, 1.4.10: nothing scrolls to the side, as on a small phone, or on a desk at 400 %
MOST_SCRIPT = 30_000  # bytes, as they are sent
_FOLDER = Path(web.__file__).with_name("static")
_MEASURE = """() => {
    const paths = performance.getEntriesByType("resource").map((one) => new URL(one.name).pathname);
    return {
        wide: document.documentElement.scrollWidth - innerWidth,
        scripts: paths.filter((path) => path.startsWith("/assets/") && path.endsWith(".js")),
    };
}"""
_PARTS = 3  # in which axe is asked: of all screens at once a busy machine takes too long for one test
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_ASKED = (("light", _RULES), ("dark", ["color-contrast"]))
_ASK = "asked => axe.run(document, asked).then(told => told.violations.map(one => [one.id, one.nodes[0].html]))"


@pytest.fixture
async def places(workspace, redis, set_mail):
    set_mail("mailbox:", public_url="", egress_addresses=(ip_network("192.0.2.0/24"),))
    return await filled.fill(workspace, redis)


def weight(path: str) -> int:
    """Bytes of a script, compressed."""
    return len(gzip.compress((_FOLDER / Path(path).name).read_bytes()))


async def opened(page, address):
    await page.goto(address)
    await expect(page.locator("main")).to_be_visible()


async def test_every_screen_fits_holds_still_and_is_small(visit, door, workspace, places):
    door = door.replace("127.0.0.1", "localhost")  # with what passkeys add
    page = await signed_in(visit, door, workspace, filled.ME)
    await still.watch(page)
    faults = []
    for path in filled.screens(places):
        for width in (NARROWEST, *WIDTHS):
            await page.set_viewport_size({"width": width, "height": 844})
            await opened(page, f"{door}{path}")
            moved = await still.moved(page)
            found = await page.evaluate(_MEASURE)
            script = sum(weight(one) for one in found["scripts"])
            if moved or found["wide"] > 0 or script > MOST_SCRIPT:
                faults.append((path[:60], width, moved, found["wide"], script))
    assert faults == [], "\n".join(map(str, faults))


@pytest.mark.parametrize("part", range(_PARTS))
async def test_axe_finds_nothing_on_any_screen(browser, door, workspace, places, part):
    """The policy is off for axe-core, which needs eval. What depends on colors is asked once more in the dark."""
    axe = (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text()
    found = []
    async with visiting(browser, bypass_csp=True) as visit:
        page = await signed_in(visit, door, workspace, filled.ME)
        for path in filled.screens(places)[part::_PARTS]:
            await opened(page, f"{door}{path}")
            await page.evaluate(axe)
            for width, (scheme, only) in itertools.product(WIDTHS, _ASKED):
                await page.set_viewport_size({"width": width, "height": 844})
                await page.emulate_media(color_scheme=scheme)
                asked = {"runOnly": only, "resultTypes": ["violations"]}
                found += [(path[:60], width, scheme, *one) for one in await page.evaluate(_ASK, asked)]
    assert found == [], "\n".join(map(str, found))
