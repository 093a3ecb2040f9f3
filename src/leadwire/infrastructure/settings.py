"""Every setting, read once from the environment: field `retry_schedule` is `LEADWIRE_RETRY_SCHEDULE`, and so on.

Lists are comma-separated. A value that cannot be read is an `OperatorError` that names the variable.
"""

import contextlib
import functools
import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from email.utils import formataddr, parseaddr
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from leadwire.infrastructure import smtp_url
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.smtp_url import SmtpServer

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Schedule = tuple[Annotated[int, Meta(ge=1, le=604_800)], ...]
Most = Annotated[int, Meta(ge=1, le=2**31 - 1)]
"""How many there may be, as `leadwire workspaces quota` takes it."""

LARGEST_WEBHOOK: Final = 65_536
"""Bytes of the largest body of a webhook, not a setting: the limits of the fields keep it."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator can set; `docs/settings.md` says what each means. Durations are in seconds."""

    database_url: str = ""
    redis_url: str = ""
    data_dir: Path = Path(".leadwire")
    secret_key: tuple[str, ...] = ()
    public_url: str = ""

    retry_schedule: Schedule = (60, 300, 1800)
    delivery_timeout: Annotated[float, Meta(gt=0, le=200)] = 30.0  # alerts take 240 s without any for a standstill
    delivery_concurrency: Annotated[int, Meta(ge=1, le=4096)] = 512
    lease: Annotated[float, Meta(gt=0, le=86_400)] = 60.0
    reconcile_after: Annotated[float, Meta(ge=1, le=86_400)] = 30.0
    stream_shards: Annotated[int, Meta(ge=1, le=256)] = 4
    allowed_networks: tuple[Network, ...] = ()
    egress_proxy: str = ""
    egress_addresses: tuple[Network, ...] = ()
    dns_resolver: tuple[str, int] | None = None
    header_prefix: Annotated[str, Meta(pattern="^[A-Za-z][A-Za-z0-9-]*$")] = "X-Service-"

    operators: tuple[str, ...] = ()
    session_idle: Annotated[int, Meta(ge=60, le=315_360_000)] = 43_200
    session_life: Annotated[int, Meta(ge=60, le=315_360_000)] = 1_209_600
    second_factor: Annotated[str, Meta(pattern="^(optional|admins|everybody)$")] = "optional"
    trusted_proxies: tuple[Network, ...] = ()
    smtp_url: SmtpServer | None = None
    mail_from: str = ""
    model_url: str = ""
    model_key: str = ""
    model_name: str = ""
    model_timeout: Annotated[float, Meta(gt=0, le=60)] = 20.0
    model_turns: Annotated[int, Meta(ge=0, le=1000)] = 20

    telemetry_host: str = "127.0.0.1"
    telemetry_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    telemetry_names: tuple[str, ...] = ()

    rate_limit: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 6000
    max_endpoints: Most = 100
    max_host_endpoints: Most = 16
    max_bots: Most = 100
    max_bot_versions: Most = 1000
    max_faq_entries: Most = 1000
    max_flow_bytes: Most = 67_108_864
    max_users: Most = 200
    key_life_days: Annotated[int, Meta(ge=0, le=3650)] = 0
    max_api_keys: Most = 100
    test_event_rate: Most = 30
    new_host_rate: Annotated[int, Meta(ge=0, le=60_000)] = 60
    max_connections: Annotated[int, Meta(ge=1, le=1_000_000)] = 4096
    max_connections_per_address: Annotated[int, Meta(ge=1, le=1_000_000)] = 256
    request_timeout: Annotated[float, Meta(gt=0, le=3600)] = 20.0
    pool_size: Annotated[int, Meta(ge=1, le=500)] = 10
    retention_days: Annotated[int, Meta(ge=1, le=3650)] = 30
    service_role: Annotated[str, Meta(pattern="^([a-z_][a-z0-9_]{0,62})?$")] = ""
    audit_head_url: str = ""
    audit_retention_days: Annotated[int, Meta(ge=1, le=36_500)] = 3650
    trace_share: Annotated[float, Meta(ge=0, le=1)] = 0.0
    log_level: Annotated[str, Meta(pattern="^(debug|info|warning)$")] = "info"
    log_format: Annotated[str, Meta(pattern="^(json|text)$")] = "json"


def read(environ: Mapping[str, str]) -> Settings:
    """Settings from `environ`; raises OperatorError naming the first variable that cannot be read."""
    values: dict[str, object] = {}
    for field in msgspec.structs.fields(Settings):
        name = f"LEADWIRE_{field.name.upper()}"
        if (text := environ.get(name, "").strip()) == "":
            continue
        reader = _READERS.get(field.name)
        try:
            values[field.name] = reader(text) if reader else msgspec.convert(text, field.type, strict=False)
        except (ValueError, RuntimeError) as error:  # the second: nobody has the home directory that it names
            raise OperatorError(f"{name}={text!r} cannot be used: {error}") from error
    settings = Settings(**values)  # type: ignore[arg-type]  # each value was converted to its field's type above
    if settings.lease <= settings.delivery_timeout:
        raise OperatorError("LEADWIRE_LEASE must exceed LEADWIRE_DELIVERY_TIMEOUT, or deliveries are sent twice")
    if settings.smtp_url and not settings.smtp_url.is_mailbox and not (settings.mail_from and settings.public_url):
        raise OperatorError("LEADWIRE_SMTP_URL needs LEADWIRE_MAIL_FROM, and LEADWIRE_PUBLIC_URL for links in mails")
    return settings


def read_file(path: Path) -> Settings:
    """Settings from a file with a line NAME=VALUE for each; raises OperatorError."""
    try:
        lines = (line.partition("=") for line in path.read_text().splitlines())
    except (OSError, UnicodeError) as error:
        raise OperatorError(f"{path} cannot be read: {getattr(error, 'strerror', 'it is no text in UTF-8')}") from error
    return read({name.strip(): value.strip().strip("'\"") for name, _, value in lines})


@functools.cache
def get() -> Settings:
    return read(os.environ)


def _parts(text: str) -> tuple[str, ...]:
    """What stands between commas. Raise ValueError for commas alone, which would count as not given."""
    if not (parts := tuple(part.strip() for part in text.split(",") if part.strip())):
        raise ValueError("there is nothing between the commas")
    return parts


def _networks(text: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(part, strict=False) for part in _parts(text))


def _sender(text: str) -> str:
    """An address, with or without a name: `Leadwire <noreply@example.com>`. Raise ValueError."""
    name, address = parseaddr(text)
    if not text.isprintable() or not re.fullmatch(r"[!-~]+@[\w-]+(\.[\w-]+)*", address, re.ASCII):
        raise ValueError("it is no e-mail address of ASCII characters (a domain of others begins with xn--)")
    return formataddr((name, address))


def _web_address(text: str) -> str:
    """`https://host[:port][/path]`. Raise ValueError."""
    url, strange = urlsplit(text), re.search(r"[^!-~]|[\"#'<>\\]", text)
    if url.scheme not in ("http", "https") or not url.hostname or url.port == 0 or strange:
        raise ValueError("an address of the web is https://host, perhaps with :port and /path, in ASCII")
    return text


def _public_url(text: str) -> str:
    """The same as browsers write it, without a slash at its end: paths are put behind it. Raise ValueError."""
    url = urlsplit(_web_address(text))
    if "?" in text or "@" in url.netloc:
        raise ValueError("paths are put behind it, so it has no query, and no user")
    host = url.netloc.lower().removesuffix(":443" if url.scheme == "https" else ":80")
    return url._replace(netloc=host).geturl().rstrip("/")


def _proxy(text: str) -> str:
    """`http://[user:password@]host:port`. Raise OperatorError, whose text does not have the password."""
    with contextlib.suppress(ValueError):
        url = urlsplit(text)
        if url.scheme == "http" and url.hostname and url.port and url.path in ("", "/") and not url.query:
            return text
    form = "http://host:port, with user:password@ before the host where it asks for them"
    raise OperatorError(f"LEADWIRE_EGRESS_PROXY cannot be used: a proxy is {form}")


def _resolver(text: str) -> tuple[str, int]:
    """`address[:port]`, an IPv6 address in brackets. Raise ValueError."""
    url = urlsplit(f"//{text}")
    if url.netloc != text or url.port == 0:
        raise ValueError("a resolver is address:port, as 10.0.0.2:53")
    return str(ipaddress.ip_address(url.hostname or "")), url.port or 53


_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    "data_dir": lambda text: Path(text).expanduser(),
    "secret_key": _parts,
    "retry_schedule": lambda text: msgspec.convert(_parts(text), Schedule, strict=False),
    "allowed_networks": _networks,
    "public_url": _public_url,
    "model_url": _web_address,
    "audit_head_url": _web_address,
    "egress_proxy": _proxy,
    "egress_addresses": _networks,
    "dns_resolver": _resolver,
    "operators": lambda text: _parts(text.lower()),
    "telemetry_names": lambda text: _parts(text.lower()),
    "smtp_url": smtp_url.parse,
    "mail_from": _sender,
    "trusted_proxies": _networks,
}
