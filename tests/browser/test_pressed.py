"""What is under way looks so at once, on every screen: while no answer comes at all."""

from playwright.async_api import expect

from tests.browser import filled
from tests.browser.desk import signed_in
from tests.browser.test_screens import places  # noqa: F401 - a fixture

# Nothing that is asked is answered, nothing leaves the page, and what a press shows is there when its event has ended.
_PRESS = """() => {
    window.fetch = () => new Promise(() => {});
    for (const kind of ["click", "submit"]) addEventListener(kind, (event) => event.preventDefault());
    const root = document.documentElement, dull = [];
    const press = (element, deed, updates) => {
        deed();
        const chosen = element.ariaCurrent === "true";
        const seen = chosen || (element.ariaBusy === "true" && getComputedStyle(element).opacity < 1);
        if (!seen || (updates && !root.hasAttribute("data-loading"))) dull.push(element.outerHTML.slice(0, 120));
        element.removeAttribute("aria-busy");
        root.removeAttribute("data-loading");
        return 1;
    };
    let pressed = 0;
    for (const button of document.querySelectorAll("form:not([method=dialog]) button:not([type=button], :disabled)")) {
        button.form.noValidate = true;
        const updates = button.form.dataset.update && !button.hasAttribute("formaction");
        pressed += press(button, () => button.form.requestSubmit(button), updates);
    }
    for (const link of document.querySelectorAll("a[href]:not([target], .find, [href*='#'])")) {
        if (!link.isConnected) continue;
        const click = () => link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
        pressed += press(link, click, link.dataset.update);
    }
    return [pressed, dull];
}"""


async def test_what_is_pressed_looks_so_before_the_answer_comes(visit, door, workspace, places):  # noqa: F811
    page, dull = await signed_in(visit, door, workspace, filled.ME), {}
    for path in filled.screens(places):
        await page.goto(f"{door}{path}")
        await expect(page.locator("main")).to_be_visible()
        pressed, found = await page.evaluate(_PRESS)
        assert pressed or "/dev/mail/" in path, path
        if found:
            dull[path[:60]] = found
    assert dull == {}
