"""What visitors may type, and no page may run: cross-site scripting, template syntax, and spreadsheets' formulas."""

import html
import re

SCRIPTS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "</textarea><script>alert(1)</script>",
    "javascript:alert(1)",
    "{{ 7 * 191 * 7919 }}{% raw %}",
    "<!--<blink>",
    "&lt;b&gt;",
    "]]><blink>",
)
FORMULAS = ("=1+1", "+1+1", "-1+1", "@SUM(1)", "＝1+1", '=HYPERLINK("http://evil.example")')


def harmless(page: str) -> None:
    """Raises AssertionError if something of the corpus is markup on this page."""
    body = page[page.index("<body") :].lower()
    for tag in ("<script", "<img src=x", "<svg onload", "onmouseover='alert", "<!--", "10587703", "<blink"):
        assert tag not in body, body[body.index(tag) - 200 : body.index(tag) + 200]
    assert 'href="javascript:' not in body


def seen(page: str) -> str:
    """What the lead's form on this page carries of what it shows."""
    return html.unescape(re.search(r'name="seen" value="([^"]+)"', page)[1])
