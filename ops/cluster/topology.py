"""Leadwire on its hosts: two `serve` behind HAProxy, two `relay` and `background`, three `deliver`, and the servers."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import asyncpg

from ops.chaos.cluster import Deployment, ManagedProcess, sender
from ops.cluster import servers
from ops.cluster.network import Host, Network

ROOT: Final = Path(__file__).parents[2]


class Topology(NamedTuple):
    """A way to run it. `patroni`: how many hosts of PostgreSQL there are under Patroni; 0 is one on its own."""

    patroni: int = 0
    synchronous: bool = False


TOPOLOGIES: Final = {
    "plain": Topology(),
    "patroni-sync": Topology(patroni=2, synchronous=True),
    "patroni-async": Topology(patroni=2),
}
_COUNTS: Final = {"serve": 2, "relay": 2, "deliver": 3, "background": 2}


class HostedCluster(Deployment):
    """`async with HostedCluster(...) as cluster`, once it is prepared. `hosts` are all, by name; `pg` PostgreSQL's."""

    def __init__(self, topology: Topology, directory: Path, settings: Mapping[str, str]) -> None:
        super().__init__("", {**settings, "LEADWIRE_DATA_DIR": str(directory)})
        self.topology, self.directory = topology, directory
        self._network = Network()
        self.hosts = self._network.hosts
        self.pg: list[Host] = []
        self._logs = directory / "logs"
        self._logs.mkdir()

    async def prepare(self, checkout: Path | None = None) -> str:
        """Start the servers and put the processes on their hosts. Return the address of the database, which is empty.

        `checkout` holds the code that the processes run, unless it is this one.
        """
        names = [f"{role}-{n}" for role, count in _COUNTS.items() for n in range(1, count + 1)]
        hosts = {name: self._network.host(name) for name in names}
        self.url = servers.web_proxy(
            self._network.host("proxy"), self._logs, [hosts[name] for name in names if name.startswith("serve")]
        )
        self.environment["LEADWIRE_TRUSTED_PROXIES"] = self.hosts["proxy"].address
        self.environment["LEADWIRE_REDIS_URL"] = servers.valkey(self._network.host("redis"), self._logs)
        url = self.environment["LEADWIRE_DATABASE_URL"] = await asyncio.to_thread(self._start_postgres)
        await self._create_database(url)
        code = {"PYTHONPATH": str(checkout / "src")} if checkout else {}
        groups = {
            "serve": self.serves, "relay": self.relays, "deliver": self.workers, "background": self.backgrounds,
        }  # fmt: skip
        for name in names:
            role, _, number = name.partition("-")
            own = self.environment | code | (sender(int(number)) if role == "deliver" else {})
            arguments = [role, "--host", "0.0.0.0"] if role == "serve" else [role]
            process = ManagedProcess(name, arguments, own, self._logs, hosts[name].exec)
            groups[role].append(process)
        for process in self.backgrounds:
            process.environment.pop("PYTHONPATH", None)  # an earlier commit may have no such command
        return url

    def _start_postgres(self) -> str:
        if not self.topology.patroni:
            self.pg = [self._network.host("pg-1")]
            return servers.postgres(self.pg[0], self._logs)
        store = self._network.host("etcd")
        servers.etcd(store, self._logs)
        self.pg = [self._network.host(f"pg-{n}") for n in range(1, self.topology.patroni + 1)]
        # First, so that it finds them down: it takes a new server for a primary until a check has said otherwise.
        url = servers.primary_proxy(self._network.host("pooler"), self._logs, self.pg)
        for host in self.pg:
            servers.patroni(host, self._logs, store, synchronous=self.topology.synchronous)
        wanted = "/sync" if self.topology.synchronous else "/replica"
        servers.until(lambda: any(servers.ask(host, 8008, wanted) for host in self.pg), "a standby")
        return url

    def primary(self) -> Host | None:
        """Return the host of PostgreSQL that takes changes, or None while none does."""
        if not self.topology.patroni:
            return self.pg[0]
        return next((host for host in self.pg if servers.ask(host, 8008, "/primary")), None)

    async def _create_database(self, url: str) -> None:
        end = time.monotonic() + 60
        while True:
            try:
                connection = await asyncpg.connect(url.replace("/leadwire", "/postgres"), statement_cache_size=0)
                break
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                if time.monotonic() > end:
                    raise
                await asyncio.sleep(0.1)
        await connection.execute("CREATE DATABASE leadwire")
        await connection.close()

    async def migrate_with(self, checkout: Path) -> None:
        """Run the migrations of another version's code. Raise RuntimeError when they fail."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "leadwire", "migrate"),
            cwd=checkout,
            env=self.environment | {"PYTHONPATH": str(checkout / "src")},
        )
        if await process.wait():
            raise RuntimeError(f"`leadwire migrate` of {checkout} failed")

    def fake_clocks(self) -> None:
        """Let one worker and one `serve` read a clock that `shift_clock` sets."""
        self._clock = self.directory / "clock"
        self._clock.write_text("+0")
        faked = {
            "LD_PRELOAD": str(servers.faketime()),
            "FAKETIME_TIMESTAMP_FILE": str(self._clock),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        for process in (self.serves[0], self.workers[0]):
            process.environment.update(faked)

    def shift_clock(self, hours: int) -> None:
        """Set it. It holds a second later."""
        self._clock.write_text(f"{hours:+}h" if hours else "+0")


def previous(revision: str, directory: Path) -> Path:
    """Return a directory with the code of an earlier commit. Raise RuntimeError where there is no such commit."""
    made = directory / "previous"
    made.mkdir()
    found = subprocess.run(
        ["git", "-c", "safe.directory=*", "archive", revision, "src", "migrations", "piccolo_conf.py"],
        cwd=ROOT, capture_output=True, check=False,
    )  # fmt: skip
    if found.returncode:
        raise RuntimeError(f"the code of {revision} cannot be had: {found.stderr.decode().strip()}")
    subprocess.run(["tar", "-x", "-C", str(made)], input=found.stdout, check=True)
    return made
