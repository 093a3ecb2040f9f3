"""What is under way looks so at once, on every screen, and is not sent a second time: while no answer comes at all."""

from playwright.async_api import expect

from tests.browser import filled
from tests.browser.desk import signed_in
from tests.browser.test_screens import places  # noqa: F401 - a fixture

# Nothing that is asked is answered, nothing leaves the page, and what a press shows is there when its event has ended.
# A form is pressed twice, as by somebody who hits Enter again.
_PRESS = """() => {
    let sent = 0;
    window.fetch = () => new Promise(() => {});
    addEventListener("click", (event) => event.preventDefault());
    addEventListener("submit", (event) => { if (!event.defaultPrevented) sent++; event.preventDefault(); });
    const root = document.documentElement, dull = [], doubled = [];
    root.toggleAttribute = (...asked) => { sent++; return Element.prototype.toggleAttribute.apply(root, asked); };
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
        sent = 0;
        pressed += press(button, () => [1, 2].forEach(() => button.form.requestSubmit(button)), updates);
        if (sent !== 1) doubled.push(`${sent} times: ${button.outerHTML.slice(0, 120)}`);
    }
    for (const link of document.querySelectorAll("a[href]:not([target], .find, [href*='#'])")) {
        if (!link.isConnected) continue;
        const click = () => link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
        pressed += press(link, click, link.dataset.update);
    }
    return [pressed, [...dull, ...doubled]];
}"""


async def test_what_is_pressed_looks_so_before_the_answer_comes_and_is_sent_once(visit, door, workspace, places):  # noqa: F811
    page, dull = await signed_in(visit, door, workspace, filled.ME), {}
    for path in filled.screens(places):
        await page.goto(f"{door}{path}")
        await expect(page.locator("main")).to_be_visible()
        pressed, found = await page.evaluate(_PRESS)
        assert pressed or "/dev/mail/" in path, path
        if found:
            dull[path[:60]] = found
    assert dull == {}
