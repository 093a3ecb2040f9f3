"""Whether a page stands still while its scripts come.

What Chromium paints before a page is whole depends on the machine, so its own measure of shifts does too. Here the
place of every element, with all text and styles, is taken before the page's first script runs, and after the last.
"""

from playwright.async_api import Page

_BEFORE = """document.addEventListener("readystatechange", () => {
    window.before = [...document.querySelectorAll("main *")].map((one) => [one, one.offsetTop, one.offsetParent]);
}, { once: true });"""
_MOVED = """async () => {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))));
    const moved = [];
    for (const [one, top, within] of window.before) {
        const by = one.offsetTop - top, seen = within && one.offsetParent === within && one.offsetHeight > 1;
        if (by && seen) moved.push(`${by} ${one.outerHTML.slice(0, 80)}`);
    }
    return moved.slice(0, 3);
}"""


async def watch(page: Page) -> None:
    """Take the places of all that this tab opens from now on."""
    await page.add_init_script(_BEFORE)


async def moved(page: Page) -> list[str]:
    """Return the first three elements of `main` that the scripts have moved, by how many pixels."""
    found: list[str] = await page.evaluate(_MOVED)
    return found
