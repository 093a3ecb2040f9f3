"""What `up` sets up: a database brought up to date, the demo, one process per part, and what to try next."""

import asyncio
import contextlib
import json
import os
import socket
from pathlib import Path
from typing import Any, Final

import click
import httpx
import msgspec

from leadwire.delivery.envelope import KINDS
from leadwire.development.demo.seed import bots_of, seed
from leadwire.development.instance import publish
from leadwire.development.supervisor import Child, Say
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts import keys, reads
from leadwire.domain.accounts.changes import invitations
from leadwire.domain.webhooks import changes as webhooks
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure.db.migrations import migrate
from leadwire.infrastructure.errors import NotFound, OperatorError
from leadwire.infrastructure.serving import connections
from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.cli.receiver import plain

_START: Final = 30.0  # seconds for the API to answer


class Stack:
    """Everything `up` runs, but the servers."""

    def __init__(self, settings: Settings, host: str, port: int, *, demo: bool) -> None:
        self._settings = settings
        self._directory = settings.data_dir
        self._address = (host, port)
        shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
        self._here = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"
        self._url = settings.public_url or self._here  # for people; what is in front of us may not be up yet
        self._demo = demo
        self._children: list[Child] = []
        self._key = self._workspace = self._join = self._bot = ""

    async def play(self) -> None:
        """Run until canceled. Raises OperatorError when a part does not stay up."""
        receiver, secret = await self._prepare()
        publish(self._directory, self._environment() | {"LEADWIRE_PUBLIC_URL": self._url})
        parts, company = self._parts(), self._company(receiver, secret)
        self._children = parts + company
        async with asyncio.TaskGroup() as group:
            for child in parts:
                await child.start()
                group.create_task(child.keep(self._publish))
            await self._ready()
            self._introduce(receiver, await self._some_lead())
            for child in company:
                await child.start()
                group.create_task(child.keep(self._publish))
            self._publish()

    async def clear(self) -> None:
        """Stop every part."""
        await asyncio.gather(*(child.stop() for child in self._children))
        (self._directory / "up.json").unlink(missing_ok=True)

    async def _prepare(self) -> tuple[int, str]:
        """Tables, demo data, a key that works, the demo's endpoint. Answers the receiver's port and secret."""
        async with connections(self._settings.database_url, self._settings.redis_url, 4):
            await migrate()
            self._workspace = await self._some_workspace()
            self._join = await self._first_admin()
            self._bot = next(iter(await bots_of(self._workspace)), "") if self._demo else ""
            kept = self._kept()
            self._key = await self._working_key(kept.get("api_key", ""))
            port, secret = _free_port(), ""
            if self._demo:
                endpoint_id, secret = await self._endpoint(kept, f"http://127.0.0.1:{port}/webhooks")
                kept |= {"endpoint_id": endpoint_id, "secret": secret}
            _write(self._directory / "demo.json", {**kept, "api_key": self._key})
            await asyncio.sleep(0.02)  # the last nudge goes out before Redis is closed
        return port, secret

    async def _some_workspace(self) -> str:
        """The demo's; without a demo the first there is, or a new one that is empty."""
        if self._demo:
            click.echo("Preparing the demo workspace ...")
            return (await seed())[0]
        known = await reads.workspaces()
        return known[0][0] if known else await accounts.create_workspace("Default")

    async def _first_admin(self) -> str:
        """The one-time link to the first account, as long as nobody has one; a new one at each start."""
        if await reads.users(self._workspace):
            return ""
        return f"{self._url}/join/{await invitations.invite(self._workspace, None, 'admin')}"

    async def _working_key(self, key: str) -> str:
        if key and await reads.caller(key, asyncio.get_running_loop().time()):
            return key
        _, key = await accounts.create_key(self._workspace, "leadwire up", keys.SCOPES)
        return key

    async def _endpoint(self, kept: dict[str, str], url: str) -> tuple[str, str]:
        """The demo's endpoint, pointed at today's receiver."""
        with contextlib.suppress(NotFound):
            if kept.get("endpoint_id"):
                await webhooks.configure(self._workspace, kept["endpoint_id"], EndpointChange(url=url))
                return kept["endpoint_id"], kept["secret"]
        made = await webhooks.create(self._workspace, url, KINDS)
        await webhooks.enable(self._workspace, made.id)
        return made.id, made.secret

    def _environment(self) -> dict[str, str]:
        """The settings every part runs under."""
        return {
            "LEADWIRE_DATABASE_URL": self._settings.database_url,
            "LEADWIRE_REDIS_URL": self._settings.redis_url,
            "LEADWIRE_DATA_DIR": str(self._directory),
            "LEADWIRE_DEMO_BOT": self._bot,
            "LEADWIRE_ALLOWED_NETWORKS": ",".join(map(str, self._settings.allowed_networks)),
        }

    def _parts(self) -> list[Child]:
        host, port = self._address
        return [
            self._child("serve", ["serve", "--host", host, "--port", str(port)]),
            self._child("relay", ["relay"]),
            self._child("deliver", ["deliver"]),
        ]

    def _company(self, receiver: int, secret: str) -> list[Child]:
        if not self._demo:
            return []
        listen = ["listen", "--port", str(receiver), "--json"]
        secret_only = {"LEADWIRE_LISTEN_SECRET": secret}  # not an argument: those show in `ps`
        return [
            self._child("receiver", listen, on_line=_show_delivery, environment=secret_only),
            self._child("visitors", ["visitors", "--url", self._here]),
        ]

    def _child(
        self, name: str, arguments: list[str], on_line: Say | None = None, environment: dict[str, str] | None = None
    ) -> Child:
        return Child(
            name, arguments, self._environment() | (environment or {}), self._directory / "logs", _say, on_line
        )

    async def _ready(self) -> None:
        async with httpx.AsyncClient(base_url=self._here, trust_env=False) as client:
            for _ in range(int(_START / 0.1)):
                with contextlib.suppress(httpx.HTTPError):
                    if (await client.get("/health/ready")).is_success:
                        return
                await asyncio.sleep(0.1)
        raise OperatorError(f"the API does not answer: {self._children[0].last_words()}")

    def _publish(self) -> None:
        """`up.json`, for scripts: where everything is."""
        _write(
            self._directory / "up.json",
            {
                "url": self._url,
                "api_key": self._key,
                "join": self._join,
                "workspace_id": self._workspace,
                "pid": os.getpid(),
                "database_url": self._settings.database_url,
                "redis_url": self._settings.redis_url,
                "processes": [{"name": child.name, "pid": child.pid} for child in self._children],
            },
        )

    async def _some_lead(self) -> str:
        """A lead to try things on."""
        headers = {"Authorization": f"Bearer {self._key}"}
        async with httpx.AsyncClient(base_url=self._here, headers=headers, trust_env=False) as client:
            found = (await client.get("/v1/leads", params={"limit": 1})).json()
        return str(found["data"][0]["id"]) if found.get("data") else "LEAD_ID"

    def _introduce(self, receiver: int, lead: str) -> None:
        curl = f"curl -s -H 'Authorization: Bearer {self._key}'"
        bold = {"bold": True}
        click.echo()
        click.secho(f"  Leadwire is up at {self._url}", fg="green", **bold)  # type: ignore[arg-type]
        click.echo(f"  data and logs in {self._directory}   API reference at {self._url}/docs")
        click.echo(
            "  webhooks may go to this machine (LEADWIRE_ALLOWED_NETWORKS=127.0.0.0/8,::1/128): never in production"
        )
        click.echo()
        if self._join:
            click.echo(f"  Open the web area (works once, for three days):\n    {self._join}\n")
        else:
            click.echo(f"  The web area: {self._url}/\n")
        if self._bot:
            click.echo(f"  A website with the widget on it, to talk to a bot: {self._url}/demo\n")
        click.secho("  Try next", **bold)  # type: ignore[arg-type]
        click.echo(f"    {curl} '{self._url}/v1/leads?limit=1'")
        click.echo(f"    {curl} -X PATCH -H 'Content-Type: application/json' \\")
        click.echo(f"""      -d '{{"custom_fields": {{"stage": "won"}}}}' {self._url}/v1/leads/{lead}""")
        click.echo("    uv run leadwire listen --port 9000          # a receiver of your own, in another terminal")
        click.echo("    uv run leadwire endpoints create --url http://127.0.0.1:9000/ --event lead.updated --enable")
        click.echo("    uv run leadwire status")
        click.echo()
        if self._demo:
            click.echo(f"  Visitors are talking. What arrives, signed, at the demo's receiver on port {receiver}:\n")

    def _kept(self) -> dict[str, str]:
        try:
            kept: dict[str, str] = json.loads((self._directory / "demo.json").read_text())
        except (OSError, ValueError):
            return {}
        return kept


def _say(line: str) -> None:
    click.secho(f"  {line}", fg="yellow")


class _Delivery(msgspec.Struct):
    """What is shown of a line that `leadwire listen --json` prints."""

    received_at: str
    verified: bool | None
    event: str
    subject: str
    webhook_id: str
    attempt: str


_read_delivery: Final = msgspec.json.Decoder(_Delivery).decode


def _show_delivery(line: str) -> None:
    """One delivery as the bundled receiver reported it. What is no such line is left out."""
    try:
        seen = _read_delivery(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return
    mark = click.style("verified", fg="green") if seen.verified else click.style("REFUSED ", fg="red")
    attempt = "" if seen.attempt == "1" else f"  attempt {plain(seen.attempt)}"
    event, subject, webhook_id = plain(seen.event), plain(seen.subject), plain(seen.webhook_id)
    click.echo(f"  {plain(seen.received_at[11:23])}  {mark}  {event:<21} {subject}  {webhook_id}{attempt}")


def _write(path: Path, document: dict[str, Any]) -> None:
    """Whole or not at all, and for our eyes only."""
    draft = path.with_suffix(".tmp")
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(document, indent=2) + "\n")
    draft.replace(path)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
