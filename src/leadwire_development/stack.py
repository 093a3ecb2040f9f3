"""What `up` runs: a migrated database, the demo, one process for each command; and what it says about them."""

import asyncio
import contextlib
import http.client
import json
import os
import shlex
import socket
import sys
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final

import click
import msgspec

from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.process import bind
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.smtp_url import MAILBOX
from leadwire_development.embedded.directories import write_private
from leadwire_development.instance import publish
from leadwire_development.supervisor import Child, plain

_SAID_EVERY: Final = 10.0  # seconds
_ANSWER: Final = 5.0  # seconds for one answer


class Prepared(msgspec.Struct):
    """What `leadwire prepare` has made or found: ids, a working key, the token of a one-time link to the first account
    ("" when there is an account), the secret of the demo's endpoint, the path of the mailbox.
    """

    workspace: str = ""
    key: str = ""
    join: str = ""
    bot: str = ""
    lead: str = ""
    secret: str = ""
    mailbox: str = ""


class Stack:
    """Everything that `up` runs, except the servers. This process stays small: it imports no database."""

    def __init__(self, settings: Settings, host: str, port: int, *, demo: bool) -> None:
        self._settings = settings
        self._directory = settings.data_dir
        self._address = (host, port)
        name = "127.0.0.1" if host in ("0.0.0.0", "::") else host
        self._local_address = (name, port)
        self._local_url = f"http://{f'[{name}]' if ':' in name else name}:{port}"
        self._near_url = self._local_url.replace("127.0.0.1", "localhost")  # for people: passkeys belong to a name
        self._url = settings.public_url or self._near_url  # a proxy in front may not be up yet
        self._demo = demo
        self._children: list[Child] = []
        self._prepared = Prepared()
        self._receiver = 0  # the port of the demo's receiver

    async def run(self) -> None:
        """Run until canceled. Raises OperatorError when a part does not stay up."""
        environment = {
            "LEADWIRE_DATABASE_URL": self._settings.database_url,
            "LEADWIRE_REDIS_URL": self._settings.redis_url,
            "LEADWIRE_DATA_DIR": str(self._directory),
            "LEADWIRE_ALLOWED_NETWORKS": ",".join(map(str, self._settings.allowed_networks)),
        }
        self._receiver = _free_port() if self._demo else 0
        self._prepared = await self._prepare(environment)
        if not self._settings.smtp_url:
            environment["LEADWIRE_SMTP_URL"] = MAILBOX
        publish(self._directory, environment | {"LEADWIRE_PUBLIC_URL": self._url})
        host, port = self._address
        logs = self._directory / "logs"
        service = [
            Child(
                "serve",
                ["serve", "--host", host, "--port", str(port), "--demo-bot", self._prepared.bot],
                environment,
                logs,
                module="leadwire_development",
            ),
            Child("relay", ["relay"], environment, logs),
            Child("deliver", ["deliver"], environment, logs),
            Child("background", ["background"], environment, logs),
        ]
        receivers, visitors = [], []
        if self._demo:
            secret = {"LEADWIRE_LISTEN_SECRET": self._prepared.secret}  # not an argument: those show in `ps`
            listen = ["listen", "--port", str(self._receiver)]
            receivers.append(Child("receiver", listen, environment | secret, logs, shown=True))
            visitors.append(Child("visitors", ["visitors", "--url", self._local_url], environment, logs))
        self._children = service + receivers + visitors
        for child in receivers + service:  # the receiver first: what is due at once would be refused, and sent later
            await child.start()
        await self._ready(receivers + service)
        self._introduce()
        for child in visitors:
            await child.start()
        self._publish()
        async with asyncio.TaskGroup() as group:
            for child in self._children:
                group.create_task(child.keep_running(self._publish))

    async def stop(self) -> None:
        """Stop every process."""
        await asyncio.gather(*(child.stop() for child in self._children))
        (self._directory / "up.json").unlink(missing_ok=True)

    async def _prepare(self, environment: Mapping[str, str]) -> Prepared:
        """Let `leadwire prepare` make what is missing. Raise OperatorError with what it says when it fails."""
        arguments = ["prepare"]
        if self._demo:
            click.echo("Preparing the demo workspace ...")
            arguments += ["--receiver", str(self._receiver)]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "leadwire", *arguments, env={**os.environ, **environment}, start_new_session=True,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            document, said = await process.communicate()
        except asyncio.CancelledError:
            process.kill()  # its transactions are undone
            await process.wait()
            raise
        if process.returncode:
            last = (said.decode(errors="replace").strip().splitlines() or ["the preparation ended"])[-1]
            raise OperatorError(plain(last.removeprefix("leadwire: "), 300))
        return msgspec.json.decode(document, type=Prepared)

    async def _ready(self, children: Sequence[Child]) -> None:
        """Wait for the API and the demo's receiver while every process lives: a machine may be slow.

        Raise OperatorError when one has died.
        """
        loop = asyncio.get_running_loop()
        said = loop.time()
        while (reason := await asyncio.to_thread(self._refusal)) is not None:
            for child in children:
                if child.has_died():
                    raise OperatorError(f"{child.name} died: {child.last_log_line()}")
            if loop.time() - said >= _SAID_EVERY:
                said = loop.time()
                click.echo(f"Waiting for the API at {self._local_url}: {reason}")
            await asyncio.sleep(0.1)

    def _refusal(self) -> str | None:
        """Why the API or the receiver is not ready, or None when both are."""
        with contextlib.closing(http.client.HTTPConnection(*self._local_address, timeout=_ANSWER)) as connection:
            try:
                if self._receiver:
                    socket.create_connection(("127.0.0.1", self._receiver), _ANSWER).close()
                connection.request("GET", "/health/ready")
                answer = connection.getresponse()
                return None if answer.status == HTTPStatus.OK else plain(answer.read().decode(errors="replace"), 300)
            except ConnectionRefusedError:
                return "it is still starting"
            except (OSError, http.client.HTTPException) as error:
                return plain(str(error) or type(error).__name__, 300)

    def _introduce(self) -> None:
        """Print where everything is and what to try."""
        curl = f"curl -s -H 'Authorization: Bearer {self._prepared.key}'"
        found_anyway = self._directory == Settings().data_dir.absolute()
        where = "" if found_anyway else f"LEADWIRE_DATA_DIR={shlex.quote(str(self._directory))} "
        area = f"The web area: {self._url}/"
        if self._prepared.join:
            area = f"Open the web area (works once, for three days):\n    {self._join_link}"
        click.echo(f"""
{click.style(f"  Leadwire is up at {self._url}", fg="green", bold=True)}
  data and logs in {self._directory}   documentation at {self._url}/docs
  webhooks may go to this machine (LEADWIRE_ALLOWED_NETWORKS=127.0.0.0/8,::1/128): never in production

  {area}
""")
        if self._mailbox:
            click.echo(f"  Mail, which is sent nowhere: {self._mailbox}")
        if self._prepared.bot:
            click.echo(f"  A website with the widget, to talk to a bot: {self._url}/demo\n")
        click.echo(f"""{click.style("  Try next", bold=True)}
    {curl} '{self._url}/v1/leads?limit=1'
    {curl} -X PATCH -H 'Content-Type: application/json' \\
      -d '{{"custom_fields": {{"stage": "won"}}}}' {self._url}/v1/leads/{self._prepared.lead}
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
            "api_key": self._prepared.key,
            "join": self._join_link,
            "mailbox": self._mailbox,
            "workspace_id": self._prepared.workspace,
            "pid": os.getpid(),
            "database_url": self._settings.database_url,
            "redis_url": self._settings.redis_url,
            "processes": [{"name": child.name, "pid": child.pid} for child in self._children],
        }
        write_private(self._directory / "up.json", json.dumps(document, indent=2) + "\n")

    @property
    def _mailbox(self) -> str:
        """Where mail is shown, if it is sent nowhere."""
        return "" if self._settings.smtp_url else f"{self._near_url}{self._prepared.mailbox}"

    @property
    def _join_link(self) -> str:
        return self._prepared.join and f"{self._url}/join/{self._prepared.join}"


def _free_port() -> int:
    with bind("127.0.0.1", 0) as probe:
        return int(probe.getsockname()[1])
