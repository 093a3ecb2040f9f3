"""Our own way out to receivers, step by step: the name, the proxy, the connection, TLS. Nothing is requested there."""

import asyncio
import ssl
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from leadwire.delivery.transport.addresses import checked, inside, literal, refusal
from leadwire.delivery.transport.tunnels import Proxy, ProxyFailed
from leadwire.infrastructure.errors import Invalid
from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.cli.checks.finding import Finding, unless

_LIMIT: Final = 5.0  # seconds for each step
_MOST: Final = 10  # hosts


class _Failed(Exception):
    """A step has failed: which, and why."""

    def __init__(self, step: str, reason: str) -> None:
        self.step, self.reason = step, reason


async def check(settings: Settings, urls: Sequence[str]) -> list[Finding]:
    """Whether the hosts of these URLs can be reached, side by side; of many hosts the first ten."""
    try:
        places = list(dict.fromkeys(_place(url) for url in urls))[:_MOST]
    except ValueError as error:  # as a person types it
        return [unless(True, "egress: address", f"{urls[0]}: {error}", host=urls[0], place=urls[0])]
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
        async with asyncio.timeout(_LIMIT):
            infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
    except (Invalid, ValueError) as error:
        raise _Failed("address", getattr(error, "detail", str(error))) from error
    except (OSError, TimeoutError) as error:
        raise _Failed("name", str(error) or f"no answer within {_LIMIT:g} s") from error
    for *_, told in infos:
        address = literal(str(told[0]))
        if address and (reason := refusal(address, settings.allowed_networks)):
            raise _Failed("address", reason)
    return str(infos[0][4][0])


async def _connect(proxy: str, address: str, port: int, name: str) -> None:
    """Connect, and speak TLS where there is a `name` for the certificate."""
    step = "connection"
    try:
        async with asyncio.timeout(_LIMIT):
            if proxy:
                _, writer = await Proxy.read(proxy).connect(address, port, _LIMIT - 0.5)
            else:
                _, writer = await asyncio.open_connection(address, port)
            try:
                if name:
                    step = "TLS"
                    await writer.start_tls(ssl.create_default_context(), server_hostname=name)
            finally:
                writer.close()
    except ProxyFailed as failure:
        raise _Failed("proxy", str(failure)) from failure
    except (OSError, TimeoutError) as error:
        raise _Failed(step, str(error) or f"no answer within {_LIMIT:g} s") from error
