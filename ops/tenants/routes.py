"""What the application serves, as it says itself: a new route is in the matrix on the day it is made."""

import re
from typing import Any, Final, NamedTuple

from leadwire.interfaces.v1.operations import Operation
from leadwire.interfaces.web import router
from leadwire.interfaces.web.routes import Needed

OPEN: Final = {
    "/sign-in": "who has no session yet",
    "/sign-in/code": "who has given the password, with a ticket",
    "/sign-in/passkey": "who has no session yet",
    "/sign-in/sso": "who has no session yet",
    "/sso/{provider_id}": "who has no session yet",
    "/sso/{provider_id}/callback": "who comes back from the provider, with a sealed cookie",
    "/sso/{provider_id}/logout": "the provider, with a signed token",
    "/forgot-password": "who has no session",
    "/reset-password/{token}": "who has the link",
    "/join/{token}": "who has the link",
    "/unsubscribe/{token}": "who has the link, and mail programs",
    "/transcript/{token}": "who has the link, which was mailed",
    "/assets/{name}": "files of ours, the same for everybody",
    "/health/live": "whoever watches the process",
    "/health/ready": "whoever watches the process",
    "/schema": "the OpenAPI document",
    "/docs": "documentation",
    "/llms.txt": "documentation",
    "/docs/{name}": "documentation",
    "/clients/{name}": "the packages of the clients",
    "/webhooks/addresses": "the networks that webhooks come from",
    "/webhooks/addresses.json": "the networks that webhooks come from",
    "/.well-known/leadwire/{endpoint_id}/jwks.json": "the public keys that deliveries are signed with",
    "/widget/v1.js": "the script that websites embed",
    "/widget/v1/bots/{bot_id}": "visitors: the id of a published bot is on its website",
    "/widget/v1/bots/{bot_id}/counts": "visitors",
    "/widget/v1/bots/{bot_id}/conversations": "visitors",
}
"""What anybody may ask for, and why. Whatever else is served has to refuse who does not say who they are."""
ANY_KEY: Final = {"/v1/me": "tells what the key itself may do"}
"""Operations that no scope is needed for."""
FROM_ELSEWHERE: Final = {
    "/sso/{provider_id}/logout": "a provider posts it, and signs it",
    "/unsubscribe/{token}": "mail programs post it (RFC 8058)",
}
"""Forms that another site may post."""


class Route(NamedTuple):
    """One method of one path."""

    method: str
    path: str
    """With names of parameters in braces."""
    guard: str
    """Who may: `session`, `key`, `receiver`, `visitor`, or `open`."""
    role: Needed
    scope: str
    query: tuple[str, ...]
    """The ids that its query may hold."""

    @property
    def names(self) -> list[str]:
        """Of the parameters of its path."""
        return re.findall(r"{(\w+)}", self.path)

    @property
    def is_form(self) -> bool:
        """Whether a browser posts it."""
        return self.method == "POST" and not self.path.startswith(("/v1/", "/receiver/", "/widget/"))

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def routes(app: Any) -> list[Route]:
    """Those of a Litestar application. Routes that nobody declared need a session, as far as the matrix knows."""
    declared = {(one.path, method): one.role for one in router.DECLARED for method in one.handler.http_methods}
    found = []
    for route in app.routes:
        path = re.sub(r":\w+}", "}", route.path)
        for method, (handler, _) in sorted(route.route_handler_map.items()):
            if method == "OPTIONS" or (method == "HEAD" and "GET" in route.route_handler_map):
                continue
            operation = handler.opt.get("operation")
            query = _ids(operation) if operation else ()
            role = declared.get((route.path, method), "viewer")
            found.append(Route(method, path, _guard(path), role, handler.opt.get("scope", ""), query))
    return sorted(found)


def _guard(path: str) -> str:
    if path in OPEN:
        return "open"
    starts = {"/v1/": "key", "/receiver/": "receiver", "/widget/": "visitor"}
    return next((guard for start, guard in starts.items() if path.startswith(start)), "session")


def _ids(operation: Operation) -> tuple[str, ...]:
    models = [given.query for given in operation.inputs.values() if given.query]
    return tuple(name for model in models for name in model.__struct_fields__ if name.endswith("_id"))
