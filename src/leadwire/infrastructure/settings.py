"""Every setting, read once from the environment: field `retry_schedule` is `LEADWIRE_RETRY_SCHEDULE`, and so on.

Lists are comma-separated. A value that cannot be read is an `OperatorError` that names the variable.
"""

import functools
import ipaddress
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from leadwire.infrastructure.errors import OperatorError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Schedule = tuple[Annotated[int, Meta(ge=1, le=604_800)], ...]

LARGEST_WEBHOOK: Final = 65_536
"""Bytes of the largest body of a webhook, not a setting: the limits of the fields keep it."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator can set. The meaning of each is its docstring here and its line in `docs/settings.md`."""

    database_url: str = ""
    """PostgreSQL >= 15. Empty: the embedded server in `data_dir`."""
    redis_url: str = ""
    """Redis >= 7 or Valkey >= 8. Empty: the embedded server in `data_dir`."""
    data_dir: Path = Path(".leadwire")
    """Where the embedded servers, the generated secret key and `up.json` live."""
    secret_key: tuple[str, ...] = ()
    """Keys that seal endpoint secrets at rest, 32 bytes base64 each: the first seals, any opens.
    Empty: one is generated in `data_dir`."""
    public_url: str = ""
    """The address customers see, without a trailing slash. Empty: taken from the request."""

    retry_schedule: Schedule = (60, 300, 1800)
    """Seconds from a failed attempt to the next; after the last one fails the delivery is a dead letter."""
    delivery_timeout: Annotated[float, Meta(gt=0, le=300)] = 30.0
    """Seconds for a whole attempt: name lookup, connect, TLS, request, response."""
    delivery_concurrency: Annotated[int, Meta(ge=1, le=4096)] = 512
    """Requests that one worker process has under way at the most: more for receivers that are slow to answer."""
    lease: Annotated[float, Meta(gt=0)] = 60.0
    """Seconds an unacknowledged stream entry stays with its worker; must exceed `delivery_timeout`."""
    reconcile_after: Annotated[float, Meta(ge=1)] = 30.0
    """Seconds after which a queued delivery that no stream holds is taken for lost, and queued again."""
    stream_shards: Annotated[int, Meta(ge=1, le=256)] = 4
    """How many delivery streams; the same on every process."""
    allowed_networks: tuple[Network, ...] = ()
    """Networks that webhooks may reach although they are not public; such endpoints may use plain http."""
    header_prefix: Annotated[str, Meta(pattern="^[A-Za-z][A-Za-z0-9-]*$")] = "X-Service-"
    """Prefix of our own request headers."""

    operators: tuple[str, ...] = ()
    """E-mail addresses of the admins who see the whole instance in the web area. Empty: whoever is an admin of the
    only workspace."""
    session_idle: Annotated[int, Meta(ge=60)] = 43_200
    """Seconds without a click after which a person has to sign in again."""
    session_life: Annotated[int, Meta(ge=60)] = 1_209_600
    """Seconds after which they have to in any case."""
    second_factor: Annotated[str, Meta(pattern="^(optional|admins|everybody)$")] = "optional"
    """Who has to set up a second factor before they can do anything else in the web area."""
    trusted_proxies: tuple[Network, ...] = ()
    """Networks of the proxies in front of us: only from these is `X-Forwarded-For` believed."""
    model_url: str = ""
    """An OpenAI-compatible address (`https://host/v1`) that answers visitors' free questions from the bot's FAQ.
    Empty: the FAQ alone, by full text."""
    model_key: str = ""
    """Bearer token for it."""
    model_name: str = ""
    """The model to ask for."""
    model_timeout: Annotated[float, Meta(gt=0, le=60)] = 20.0
    """Seconds until a question counts as not answered."""
    model_turns: Annotated[int, Meta(ge=0, le=1000)] = 20
    """Questions it is asked in one conversation."""

    telemetry_host: str = "127.0.0.1"
    """Where `/metrics`, `/health/live` and `/health/ready` of a process listen: never a public address."""
    telemetry_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    """The port for these; 0: any that is free, told in the line `process.started`."""

    rate_limit: Annotated[int, Meta(ge=0)] = 6000
    """Requests a minute per API key; 0 = off."""
    max_endpoints: Annotated[int, Meta(ge=1)] = 100
    """Webhook endpoints of a workspace."""
    max_bots: Annotated[int, Meta(ge=1)] = 100
    """Bots of a workspace."""
    max_bot_versions: Annotated[int, Meta(ge=1)] = 1000
    """Published versions of a bot. They are kept for the conversations that began with them."""
    max_faq_entries: Annotated[int, Meta(ge=1)] = 1000
    """Questions that a bot is taught."""
    max_flow_bytes: Annotated[int, Meta(ge=1)] = 67_108_864
    """Bytes of all flows of a workspace, drafts and versions together."""
    max_users: Annotated[int, Meta(ge=1)] = 200
    """People of a workspace, and links for those who come."""
    max_api_keys: Annotated[int, Meta(ge=1)] = 100
    """API keys of a workspace that are in use."""
    test_event_rate: Annotated[int, Meta(ge=1)] = 30
    """Test events that a workspace sends to one host in five minutes."""
    max_connections: Annotated[int, Meta(ge=1, le=1_000_000)] = 4096
    """Connections that one API process holds open at the most; what is beyond is answered 503."""
    max_connections_per_address: Annotated[int, Meta(ge=1, le=1_000_000)] = 256
    """The same for one caller's network; `trusted_proxies` are exempt."""
    request_timeout: Annotated[float, Meta(gt=0, le=3600)] = 20.0
    """Seconds that a caller may take to send a request, head and body, and to read what is ready of the answer."""
    pool_size: Annotated[int, Meta(ge=1, le=500)] = 10
    """Database connections per process."""
    retention_days: Annotated[int, Meta(ge=1, le=3650)] = 30
    """Days that events, deliveries and attempts are kept once finished."""
    trace_share: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """Share of the requests of which OpenTelemetry gets spans, whatever their callers say; needs the extra `otel`.
    Where they go: `OTEL_EXPORTER_OTLP_ENDPOINT`."""
    log_level: Annotated[str, Meta(pattern="^(debug|info|warning)$")] = "info"
    """`debug` adds a line for every request that changes nothing and for every delivery that succeeds."""
    demo_bot: str = ""
    """The bot on the website at `/demo`; set by `leadwire up`. Empty: there is no such page."""
    log_format: Annotated[str, Meta(pattern="^(json|text)$")] = "json"
    """`json`: one object a line, for machines. `text`: for a terminal."""


def read(environ: Mapping[str, str]) -> Settings:
    """Settings from `environ`; raises OperatorError naming the first variable that cannot be read."""
    found: dict[str, object] = {}
    for field in msgspec.structs.fields(Settings):
        name = f"LEADWIRE_{field.name.upper()}"
        if (text := environ.get(name, "").strip()) == "":
            continue
        reader = _READERS.get(field.name)
        try:
            found[field.name] = reader(text) if reader else msgspec.convert(text, field.type, strict=False)
        except (msgspec.ValidationError, ValueError) as error:
            raise OperatorError(f"{name}={text!r} cannot be used: {error}") from error
    settings = Settings(**found)  # type: ignore[arg-type]  # each value was converted to its field's type above
    if settings.lease <= settings.delivery_timeout:
        raise OperatorError("LEADWIRE_LEASE must exceed LEADWIRE_DELIVERY_TIMEOUT, or deliveries are sent twice")
    return settings


@functools.cache
def get() -> Settings:
    """The settings of this process."""
    return read(os.environ)


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _networks(text: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(part, strict=False) for part in _parts(text))


_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    "data_dir": lambda text: Path(text).expanduser(),
    "secret_key": _parts,
    "retry_schedule": lambda text: msgspec.convert(_parts(text), Schedule, strict=False),
    "allowed_networks": _networks,
    "operators": lambda text: tuple(part.lower() for part in _parts(text)),
    "trusted_proxies": _networks,
}
