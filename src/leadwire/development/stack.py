"""What `up` runs: a migrated database, the demo, one process for each command; and what it says about them."""

import asyncio
import contextlib
import json
import os
import shlex
from pathlib import Path
from typing import Any, Final

import click
import httpx

from leadwire.delivery.envelope import KINDS
from leadwire.development.demo.seed import seed
from leadwire.development.embedded.directories import write_private
from leadwire.development.instance import publish
from leadwire.development.supervisor import Child
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts import keys, reads
from leadwire.domain.accounts.changes import team
from leadwire.domain.bots.reads import names
from leadwire.domain.leads import reads as leads
from leadwire.domain.webhooks import changes as webhooks
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import db
from leadwire.infrastructure.db.migrations import migrate
from leadwire.infrastructure.errors import NotFound, OperatorError
from leadwire.infrastructure.serving import bind, connections
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.smtp_url import MAILBOX

_START: Final = 30.0  # seconds for the API to answer


class Stack:
    """Everything that `up` runs, except the servers."""

    def __init__(self, settings: Settings, host: str, port: int, *, demo: bool) -> None:
        self._settings = settings
        self._directory = settings.data_dir
        self._address = (host, port)
        name = "127.0.0.1" if host in ("0.0.0.0", "::") else host
        self._local_url = f"http://{f'[{name}]' if ':' in name else name}:{port}"
        self._url = settings.public_url or self._local_url  # for people; a proxy in front may not be up yet
        self._demo = demo
        self._children: list[Child] = []
        self._key = self._workspace = self._join = self._bot = self._lead = ""

    async def run(self) -> None:
        """Run until canceled. Raises OperatorError when a part does not stay up."""
        receiver, secret = await self._prepare()
        environment = {
            "LEADWIRE_DATABASE_URL": self._settings.database_url,
            "LEADWIRE_REDIS_URL": self._settings.redis_url,
            "LEADWIRE_DATA_DIR": str(self._directory),
            "LEADWIRE_DEMO_BOT": self._bot,
            "LEADWIRE_ALLOWED_NETWORKS": ",".join(map(str, self._settings.allowed_networks)),
        }
        if not self._settings.smtp_url:
            environment["LEADWIRE_SMTP_URL"] = MAILBOX
        publish(self._directory, environment | {"LEADWIRE_PUBLIC_URL": self._url})
        host, port = self._address
        logs = self._directory / "logs"
        service = [
            Child("serve", ["serve", "--host", host, "--port", str(port)], environment, logs),
            Child("relay", ["relay"], environment, logs),
            Child("deliver", ["deliver"], environment, logs),
            Child("background", ["background"], environment, logs),
        ]
        demo = []
        if self._demo:
            listening = environment | {"LEADWIRE_LISTEN_SECRET": secret}  # not an argument: those show in `ps`
            demo.append(Child("receiver", ["listen", "--port", str(receiver)], listening, logs, shown=True))
            demo.append(Child("visitors", ["visitors", "--url", self._local_url], environment, logs))
        self._children = service + demo
        async with asyncio.TaskGroup() as group:
            for child in service:
                await child.start()
                group.create_task(child.keep_running(self._publish))
            await self._ready()
            self._introduce()
            for child in demo:
                await child.start()
                group.create_task(child.keep_running(self._publish))
            self._publish()

    async def stop(self) -> None:
        """Stop every process."""
        await asyncio.gather(*(child.stop() for child in self._children))
        (self._directory / "up.json").unlink(missing_ok=True)

    async def _prepare(self) -> tuple[int, str]:
        """Make tables, demo data, a working key and the demo's endpoint. Return the receiver's port and secret."""
        # As `engine`: plans are kept, which takes a third off the time that the demo's thousands of changes need.
        async with connections(self._settings.database_url, self._settings.redis_url, 4, role="engine"):
            with db.acting_as("maintenance"):
                await migrate()
            self._workspace = await self._some_workspace()
            self._join = await self._first_admin()
            self._bot = next(iter(await names(self._workspace)), "") if self._demo else ""
            kept = self._kept()
            self._key = await self._working_key(kept.get("api_key", ""))
            port, secret = _free_port(), ""
            if self._demo:
                endpoint_id, secret = await self._endpoint(kept, f"http://127.0.0.1:{port}/webhooks")
                kept |= {"endpoint_id": endpoint_id, "secret": secret}
            _write_json(self._directory / "demo.json", {**kept, "api_key": self._key})
            newest = (await leads.search(self._workspace, leads.LeadSearch(), 1)).items
            self._lead = newest[0].id if newest else "LEAD_ID"
            await asyncio.sleep(0.02)  # the last wake-up is sent before Redis is closed
        return port, secret

    async def _some_workspace(self) -> str:
        """Return the demo's; without a demo the first one, or a new one that is empty."""
        if self._demo:
            click.echo("Preparing the demo workspace ...")
            return await seed()
        known = await reads.workspaces()
        return known[0][0] if known else await accounts.create_workspace("Default")

    async def _first_admin(self) -> str:
        """Return a new one-time link to the first account, or "" when there is an account."""
        if await reads.users(self._workspace):
            return ""
        return f"{self._url}/join/{await team.invite(self._workspace, None, 'admin')}"

    async def _working_key(self, key: str) -> str:
        known = await reads.caller(key, asyncio.get_running_loop().time()) if key else None
        if known and known.scopes >= set(keys.SCOPES):  # a later version may have more of them
            return key
        _, key = await accounts.create_key(self._workspace, "leadwire up", keys.SCOPES)
        return key

    async def _endpoint(self, kept: dict[str, str], url: str) -> tuple[str, str]:
        """Let the demo's endpoint, which is made if need be, send to `url`. Return its id and secret."""
        with contextlib.suppress(NotFound):
            if kept.get("endpoint_id"):
                await webhooks.configure(self._workspace, kept["endpoint_id"], EndpointChange(url=url))
                return kept["endpoint_id"], kept["secret"]
        made = await webhooks.create(self._workspace, url, KINDS)
        await webhooks.enable(self._workspace, made.id)
        return made.id, made.secret

    async def _ready(self) -> None:
        async with httpx.AsyncClient(base_url=self._local_url, trust_env=False) as client:
            for _ in range(int(_START / 0.1)):
                with contextlib.suppress(httpx.HTTPError):
                    if (await client.get("/health/ready")).is_success:
                        return
                await asyncio.sleep(0.1)
        raise OperatorError(f"the API does not answer: {self._children[0].last_log_line()}")

    def _introduce(self) -> None:
        """Print where everything is and what to try."""
        curl = f"curl -s -H 'Authorization: Bearer {self._key}'"
        found_anyway = self._directory == Settings().data_dir.absolute()
        where = "" if found_anyway else f"LEADWIRE_DATA_DIR={shlex.quote(str(self._directory))} "
        area = f"The web area: {self._url}/"
        if self._join:
            area = f"Open the web area (works once, for three days):\n    {self._join}"
        click.echo(f"""
{click.style(f"  Leadwire is up at {self._url}", fg="green", bold=True)}
  data and logs in {self._directory}   documentation at {self._url}/docs
  webhooks may go to this machine (LEADWIRE_ALLOWED_NETWORKS=127.0.0.0/8,::1/128): never in production

  {area}
""")
        if not self._settings.smtp_url:
            click.echo(f"  Mail, which is sent nowhere: {self._local_url}/dev/mail")
        if self._bot:
            click.echo(f"  A website with the widget, to talk to a bot: {self._url}/demo\n")
        click.echo(f"""{click.style("  Try next", bold=True)}
    {curl} '{self._url}/v1/leads?limit=1'
    {curl} -X PATCH -H 'Content-Type: application/json' \\
      -d '{{"custom_fields": {{"stage": "won"}}}}' {self._url}/v1/leads/{self._lead}
    uv run leadwire listen --port 9000          # a receiver of your own, in another terminal
    {where}uv run leadwire endpoints create --url http://127.0.0.1:9000/ --event lead.updated --enable
    {where}uv run leadwire listen --forward http://localhost:3000/hooks   # to a program of yours
    {where}uv run leadwire status
""")
        if self._demo:
            click.echo("  Visitors are talking. What arrives, signed, at the demo's receiver:\n")

    def _publish(self) -> None:
        """Write `up.json`, which tells scripts where everything is."""
        document = {
            "url": self._url,
            "api_key": self._key,
            "join": self._join,
            "workspace_id": self._workspace,
            "pid": os.getpid(),
            "database_url": self._settings.database_url,
            "redis_url": self._settings.redis_url,
            "processes": [{"name": child.name, "pid": child.pid} for child in self._children],
        }
        _write_json(self._directory / "up.json", document)

    def _kept(self) -> dict[str, str]:
        """Return what `demo.json` kept of the last run, or nothing."""
        kept: dict[str, str] = {}
        with contextlib.suppress(OSError, ValueError):
            kept = json.loads((self._directory / "demo.json").read_text())
        return kept


def _write_json(path: Path, document: dict[str, Any]) -> None:
    write_private(path, json.dumps(document, indent=2) + "\n")


def _free_port() -> int:
    with bind("127.0.0.1", 0) as probe:
        return int(probe.getsockname()[1])
