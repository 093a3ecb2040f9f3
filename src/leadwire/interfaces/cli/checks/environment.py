"""Settings, and the machine."""

import re
import resource
import stat
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final
from urllib.parse import parse_qs

import msgspec

from leadwire.delivery.worker.slots import SLOW_FACTOR
from leadwire.infrastructure import server_urls
from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.cli.checks.finding import Finding, unless

_PREFIX: Final = "LEADWIRE_"
# Read elsewhere than in Settings: by tests and packagers, by `listen`, by the supervisor of `up`, by our client.
_OTHER: Final = (
    "LEADWIRE_EMBEDDED_POSTGRES",
    "LEADWIRE_EMBEDDED_REDIS",
    "LEADWIRE_LISTEN_SECRET",
    "LEADWIRE_LISTEN_TOKEN",
    "LEADWIRE_SUPERVISED",
    "LEADWIRE_TOKEN",
)
_MARGIN: Final = 5.0  # seconds of a lease for what is not the request: signing, recording, a pause of the machine
_BESIDE: Final = 64  # files that are open whatever the load
_A_PRIVATE_KEY: Final = 0o077
_NEAR: Final = re.compile(r"$|/|localhost(?::|$)|127\.|\[::1\]")


def check(settings: Settings, environ: Mapping[str, str]) -> list[Finding]:
    """Checks that need no server."""
    findings = [*_unknown(environ), _lease(settings), _key_file(settings), *_in_front(settings, environ)]
    ways = [_way("PostgreSQL", settings.database_url), _way("Redis", settings.redis_url)]
    return [*findings, *ways, _networks(settings), _files(settings)]


def _unknown(environ: Mapping[str, str]) -> list[Finding]:
    """A misspelled variable does nothing, silently."""
    names = [_PREFIX + field.name.upper() for field in msgspec.structs.fields(Settings)]
    strange = sorted(name for name in environ if name.startswith(_PREFIX) and name not in {*names, *_OTHER})
    unknown = []
    for name in strange:
        fix = f"did you mean {near[0]}?" if (near := get_close_matches(name, names, 1)) else "remove it"
        unknown.append(Finding("settings", "warning", f"{name} is no setting and does nothing", fix))
    return unknown or [Finding("settings", "ok", "every LEADWIRE_ variable is known")]


def _lease(settings: Settings) -> Finding:
    spare = settings.lease - settings.delivery_timeout
    says = f"{settings.lease:g} s, the delivery timeout is {settings.delivery_timeout:g} s"
    needed = f"{settings.delivery_timeout + 2 * _MARGIN:g}"
    return unless(spare < _MARGIN, "lease", says, level="error" if spare <= 0 else "warning", needed=needed)


def _key_file(settings: Settings) -> Finding:
    about, path = "secret key is kept", settings.data_dir / "secret.key"
    if settings.secret_key:
        return Finding(about, "ok", f"in LEADWIRE_SECRET_KEY, {len(settings.secret_key)} of them")
    if not path.exists():
        says = f"nowhere yet; {path} will be made at the first need, and other machines would make another"
        fix = "set LEADWIRE_SECRET_KEY to the same on every machine, made by: openssl rand -base64 32"
        return Finding(about, "warning", says, fix)
    if mode := stat.S_IMODE(path.stat().st_mode) & _A_PRIVATE_KEY:
        says = f"{path} can be read by others (mode {mode:04o} too wide)"
        return Finding(about, "warning", says, f"chmod 600 {path}")
    return Finding(about, "ok", f"in {path}: a backup of the database is of no use without this file")


def _in_front(settings: Settings, environ: Mapping[str, str]) -> list[Finding]:
    """`serve` speaks no TLS: in production there is a proxy in front of it; on embedded servers there is none."""
    plain = settings.public_url.startswith("http:")  # as that of a running `up`, whose settings a command takes over
    serves = settings.public_url.startswith("https:") or bool(environ.get("LEADWIRE_DATABASE_URL") and not plain)
    address, proxies = settings.public_url, ", ".join(map(str, settings.trusted_proxies))
    widest = {4: 24, 6: 64}
    wide = [
        network
        for network in settings.trusted_proxies
        if network.prefixlen < widest[network.version] and not network.is_loopback
    ]
    return [
        unless(serves and not address, "public address", address or "taken from each request"),
        unless(serves and not proxies, "trusted proxies", proxies or "none"),
        unless(bool(wide), "trusted networks", f"{', '.join(map(str, wide))} is wide" if wide else "narrow"),
    ]


def _way(server: str, url: str) -> Finding:
    """Whether who stands between could read and answer: TLS with a verified certificate, or no network between."""
    parts, hosts = server_urls.split(url)
    if not any(hosts):
        hosts = "".join(parse_qs(parts.query).get("host", [])).split(",")
    away = [host for host in hosts if not _NEAR.match(host)] if parts.scheme != "unix" else []
    safe = parts.scheme.startswith("rediss") or parse_qs(parts.query).get("sslmode") == ["verify-full"]
    says = "nobody is between" if not away else "TLS, verified" if safe else f"{', '.join(away)} in plain text"
    return unless(bool(away) and not safe, f"way to {server}", says)


def _networks(settings: Settings) -> Finding:
    """Networks that everybody who may create an endpoint can reach."""
    listed = ", ".join(map(str, settings.allowed_networks))
    says = f"public ones and {listed}" if listed else "public ones only"
    return unless(any(not network.is_loopback for network in settings.allowed_networks), "networks for webhooks", says)


def _files(settings: Settings) -> Finding:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)  # processes raise their own to it
    each = 3 if settings.egress_proxy else 1  # a POST through a proxy has a tunnel with two ends of our own
    wanted = each * (2 + SLOW_FACTOR) * settings.delivery_concurrency + settings.pool_size + _BESIDE
    few = hard != resource.RLIM_INFINITY and hard < wanted
    says = f"{hard} allowed, a delivery worker may need {wanted}"
    return unless(few, "open files", says, limit=max(65_536, wanted))
