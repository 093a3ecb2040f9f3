"""A website that makes it hard: the strictest policy a page can have, and styles that reach for everything."""

import contextlib

from tests.serving import on_socket

_HOSTILE = """
* { letter-spacing: 3px !important; text-transform: uppercase !important; direction: rtl; }
div, p, button, input, textarea { display: none !important; color: red !important; font: 40px cursive !important; }
leadwire-chat { position: static !important; opacity: 0.1; zoom: 3; all: unset; }
"""
_PAGE = """<!doctype html><html lang="en"><title>Shop</title><link rel="stylesheet" href="/site.css">
<h1>Shop</h1><a href="#leadwire">Talk to us</a>
{own}<script async src="{door}/widget/v1.js" data-bot="{bot}"></script></html>"""


@contextlib.asynccontextmanager
async def website(door, bot, policy=None, script=""):
    """Its address, inside the block. It embeds the bot with the one line of the snippet, behind a script of its own."""
    ours = "'self'" if script else ""
    policy = policy or (
        f"default-src 'none'; script-src {door} {ours}; connect-src {door}; style-src 'self'; base-uri 'none';"
        " require-trusted-types-for 'script'; trusted-types 'none'; img-src 'self'"
    )
    kinds = {
        "/": ("text/html", _PAGE.format(door=door, bot=bot, own=script and '<script src="/page.js"></script>')),
        "/page.js": ("text/javascript", script),
        "/site.css": ("text/css", _HOSTILE),
        "/favicon.ico": ("image/x-icon", ""),
    }

    async def app(scope, receive, send):
        kind, body = kinds.get(scope["path"], kinds["/"])
        headers = [(b"content-type", kind.encode()), (b"content-security-policy", policy.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body.encode()})

    async with on_socket(app) as address:
        yield address.replace("127.0.0.1", "localhost")
