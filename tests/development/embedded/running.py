"""What the tests look at: the contents of the servers, the processes of a directory, an owner in another process."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import asyncpg
from redis import Redis

from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import Server, Services
from tests.waiting import until

NO_POSTGRES = "postgresql://nowhere.invalid/"
"""As `database_url`: starts Valkey alone, which takes a tenth of the time."""

_OWNER = """
import json, sys
from pathlib import Path
from leadwire_development.embedded import services
from leadwire.infrastructure.settings import Settings
with services(Settings(data_dir=Path(sys.argv[1]), database_url=sys.argv[2]), durable=False) as found:
    told = {name: [server.pid(), server.watchdog_pid()] for name, server in found.servers.items()}
    print(json.dumps([found.owner, found.database_url, found.redis_url, told]), flush=True)
    sys.stdin.read()
"""


def alone(data_dir: Path) -> Settings:
    """Valkey alone."""
    return Settings(data_dir=data_dir, database_url=NO_POSTGRES)


async def sql(services: Services, text: str) -> Any:
    """The first value that `text` answers."""
    connection = await asyncpg.connect(services.database_url)
    try:
        return await connection.fetchval(text)
    finally:
        await connection.close()


def redis(services: Services, *command: str) -> Any:
    """The answer to `command`."""
    with Redis.from_url(services.redis_url, decode_responses=True) as client:
        return client.execute_command(*command)


def restarted(server: Server, old: int) -> None:
    """Return once `server` serves as another process than `old`."""
    until(lambda: server.pid() not in {0, old})
    server.wait_ready()


def processes(directory: Path) -> list[str]:
    """The servers and watchdogs of `directory`: by their arguments, and on Linux by where they are."""
    if sys.platform != "linux":
        listed = subprocess.run(["ps", "-A", "-o", "command="], capture_output=True, text=True, check=True).stdout
        return [line for line in listed.splitlines() if f"{directory}/" in line]
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (process / "cmdline").read_bytes().decode(errors="replace")
            if f"{directory}/" in command or str((process / "cwd").readlink()).startswith(f"{directory}/"):
                found.append(f"{process.name} {command}")
    return found


class Elsewhere:
    """Another process with `services` on a data directory."""

    def __init__(self, data_dir: Path, database_url: str = "", **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _OWNER, str(data_dir), database_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )
        self.services = Services("", "")
        self.pids: dict[str, tuple[int, int]] = {}

    def ready(self) -> Self:
        """Wait for its servers; `pids` has the server and the watchdog of each."""
        assert self.process.stdout
        owner, database_url, redis_url, pids = json.loads(self.process.stdout.readline())
        self.services = Services(database_url, redis_url, {}, owner)
        self.pids = {name: (server, watchdog) for name, (server, watchdog) in pids.items()}
        return self

    def kill(self) -> None:
        """Give it no chance."""
        self.process.kill()
        self.process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.communicate(timeout=240)  # the end of its input ends it
