"""The ways out for webhooks and mail, on which nothing is requested, and what ends soon: certificates that are shown to
receivers, API keys.
"""

import asyncio
import re
import ssl
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

import aiosmtplib

from leadwire.delivery.transport.addresses import checked, inside, literal, refusal
from leadwire.delivery.transport.tunnels import Proxy, ProxyFailed, Streams
from leadwire.domain.accounts import reads as accounts
from leadwire.domain.mail import transport as mail_transport
from leadwire.domain.webhooks import reads as webhooks
from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import Invalid
from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.cli.checks.finding import Finding, unless

_STEP_LIMIT: Final = 5.0  # seconds for each step of a way to a receiver
_MOST: Final = 10  # receivers
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

        transport = GuardedTransport((), timeout=_LIMIT, proxy=settings.egress_proxy)
        try:
            async with httpx.AsyncClient(transport=transport, trust_env=False) as client:
                await client.get(f"{settings.public_url}/health/live")
        except httpx.TransportError as error:
            outcome = getattr(error, "outcome", "")
            if outcome == "proxy_error":
                return [unless(True, about, f"{name}: {error}, asked for our public address")]
            if outcome not in ("dns_error", "blocked_address"):
                return [Finding(about, "ok", f"{name} opens tunnels")]
        else:
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


class _Failed(Exception):
    """A step has failed: which, and why."""

    def __init__(self, step: str, reason: str) -> None:
        self.step, self.reason = step, reason


async def egress(settings: Settings, urls: Sequence[str]) -> list[Finding]:
    """Whether the hosts of these URLs can be reached, step by step: the name, the proxy, the connection, TLS. Side by
    side; of many hosts the first ten.
    """
    places = list(dict.fromkeys(_place(url) for url in urls))[:_MOST]
    if not places:
        return [Finding("egress", "warning", "nothing was tried lately", "name a host: leadwire doctor --egress HOST")]
    return list(await asyncio.gather(*(_reached(settings, *address) for address in places)))


def _place(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of a URL, or of `host` and `host:port` as a person types them."""
    parts = urlsplit(url if "://" in url else f"https://{url}")
    return parts.scheme, parts.hostname or "", parts.port or {"http": 80}.get(parts.scheme, 443)


async def _reached(settings: Settings, scheme: str, host: str, port: int) -> Finding:
    target = f"{host}:{port}"
    try:
        address = await _address(settings, scheme, host, port)
        through = settings.egress_proxy and not inside(address, settings.allowed_networks)
        await _connect(settings.egress_proxy if through else "", address, port, host if scheme == "https" else "")
    except _Failed as failed:
        return unless(True, f"egress: {failed.step}", f"{target}: {failed.reason}", host=host, place=target)
    return Finding("egress", "ok", f"{target} is reached at {address}{', through the proxy' if through else ''}")


async def _address(settings: Settings, scheme: str, host: str, port: int) -> str:
    try:
        checked(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/", settings.allowed_networks)
        async with asyncio.timeout(_STEP_LIMIT):
            infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
    except (Invalid, ValueError) as error:
        raise _Failed("address", getattr(error, "detail", str(error))) from error
    except (OSError, TimeoutError) as error:
        raise _Failed("name", str(error) or f"no answer within {_STEP_LIMIT:g} s") from error
    for *_, told in infos:
        address = literal(str(told[0]))
        if address and (reason := refusal(address, settings.allowed_networks)):
            raise _Failed("address", reason)
    return str(infos[0][4][0])


async def _connect(proxy: str, address: str, port: int, name: str) -> None:
    """Connect, and speak TLS where there is a `name` for the certificate."""
    step = "connection"
    try:
        async with asyncio.timeout(_STEP_LIMIT):
            _, writer = await _open(proxy, address, port)
            try:
                if name:
                    step = "TLS"
                    await writer.start_tls(ssl.create_default_context(), server_hostname=name)
            finally:
                writer.close()
    except ProxyFailed as failure:
        raise _Failed("proxy", str(failure)) from failure
    except (OSError, TimeoutError) as error:
        raise _Failed(step, str(error) or f"no answer within {_STEP_LIMIT:g} s") from error


async def _open(proxy: str, address: str, port: int) -> Streams:
    if proxy:
        return await Proxy.read(proxy).connect(address, port, _STEP_LIMIT - 0.5)
    return await asyncio.open_connection(address, port)
