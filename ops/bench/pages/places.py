"""Where the screens are: every one that is declared, and some as people filter them."""

import re

from leadwire.interfaces.web import router

_ALSO = [
    "/?days=90",
    "/?days=90&bot_id={bot_id}",
    "/leads?q=example",
    "/leads?q=nobody-has-this",
    "/leads?sort=score",
    "/leads?field=status&test=contains&value=nobody-has-this",
    "/leads?field=status&test=contains&value=nobody-has-this&sort=score",
    "/leads?score_min=90&bot_id={bot_id}",
    "/conversations?q=person",
    "/conversations?status=handoff",
    "/conversations?bot_id={bot_id}&status=ended",
    "/inbox?c={conversation_id}",
    "/deliveries?outcome=http_5xx",
    "/deliveries?subject={lead_id}",
    "/deliveries?stage=unfinished",
    "/deliveries?endpoint_id={endpoint_id}&stage=dead",
    "/audit?actor=ada@example.org",
    "/privacy/retention?leads=365&conversations=30&lead_conversations=60&messages=90",
    "/webhooks/new/events?url=https://example.com",
]


def paths(known: dict[str, str]) -> tuple[list[str], list[str]]:
    """Return the addresses that can be asked for with what is `known` of parts of paths, and the paths that cannot."""
    found, unknown = [], []
    for path in [*router.PAGES, *_ALSO]:
        names = re.findall(r"\{(\w+)", path)
        if missing := [name for name in names if name not in known]:
            unknown.append(f"{path}: no {', '.join(missing)}")
        else:
            found.append(re.sub(r"\{(\w+)(:\w+)?\}", lambda part: known[part[1]], path))
    return found, unknown
