"""The ways out, for webhooks and mail; and what ends soon: certificates that are shown to receivers, API keys."""

import asyncio
import re
from typing import Final

import aiosmtplib

from leadwire.delivery.transport.tunnels import Proxy, ProxyFailed
from leadwire.domain.accounts import reads as accounts
from leadwire.domain.mail import transport as mail_transport
from leadwire.domain.webhooks import reads as webhooks
from leadwire.infrastructure import clock
from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.cli.checks.finding import Finding, unless

_NO_MAIL: Final = "none is sent: there is no LEADWIRE_SMTP_URL; links of invitations are shown to who invites"
_LIMIT: Final = 10.0  # seconds
_NAMED: Final = 5
_NOWHERE: Final = "192.0.2.1"  # reserved for documentation: nobody is there
_ANSWERED: Final = re.compile("refused: (?!407)|did not answer")  # as a proxy may do that cannot get there


async def proxy(settings: Settings) -> list[Finding]:
    """Whether the egress proxy opens a tunnel to our own public address: a customer's is none of doctor's business."""
    about = "egress proxy"
    if not settings.egress_proxy:
        return [Finding(about, "ok", "none: receivers are reached directly")]
    server = Proxy.read(settings.egress_proxy)
    name = f"{server.host}:{server.port}"
    if settings.public_url.startswith("https:"):
        from leadwire.delivery.transport.guarded import GuardedTransport
        from leadwire.infrastructure.http_client import httpx

        transport, outcome = GuardedTransport((), timeout=_LIMIT, proxy=settings.egress_proxy), ""
        try:
            async with httpx.AsyncClient(transport=transport, trust_env=False) as client:
                await client.get(f"{settings.public_url}/health/live")
        except httpx.TransportError as error:
            outcome = getattr(error, "outcome", "")
            if outcome == "proxy_error":
                return [unless(True, about, f"{name}: {error}, asked for our public address")]
        if outcome not in ("dns_error", "blocked_address"):
            return [Finding(about, "ok", f"{name} opens tunnels")]
    try:
        _, writer = await server.connect(_NOWHERE, 443, _LIMIT / 2)
        writer.close()
    except ProxyFailed as failure:
        if not _ANSWERED.search(str(failure)):
            return [unless(True, about, f"{name}: {failure}")]
    return [Finding(about, "ok", f"{name} answers; without a public address of ours no tunnel can be tried")]


async def mail(settings: Settings) -> Finding:
    """Whether the mail server answers, speaks TLS as it should and lets us in. Nothing is sent."""
    about, server = "mail server", settings.smtp_url
    if server is None or server.is_mailbox:
        where = "kept, and shown at the address that `leadwire up` prints" if server else _NO_MAIL
        open_to_all = server is not None and settings.public_url.startswith("https:")
        return unless(open_to_all, about, where)
    try:
        async with asyncio.timeout(mail_transport.TIMEOUT):
            smtp = await mail_transport.connect(server, mail_transport.context(server))
            smtp.close()
    except (aiosmtplib.SMTPException, OSError, ValueError) as error:
        return unless(True, about, f"{server}: {' '.join(str(error).split()) or type(error).__name__}")
    return Finding(about, "ok", f"{server} lets us in" if server.user else f"{server} answers")


async def ending() -> list[Finding]:
    """Certificates and keys that end within 30 days, or later than they may."""
    lines = [
        f"{subject} of {endpoint} ends {clock.iso(ends)}"
        for endpoint, subject, ends in await webhooks.certificates_ending()
    ]
    keys = [f"{key.name} ({key.id}) ends {key.expires_at or 'never'}" for key in await accounts.keys_ending()]
    return [
        unless(bool(items), about, _some(items) or "none ends within 30 days")
        for about, items in (("client certificates", lines), ("API keys", keys))
    ]


def _some(items: list[str]) -> str:
    more = f"; and {len(items) - _NAMED} more" if len(items) > _NAMED else ""
    return "; ".join(items[:_NAMED]) + more
