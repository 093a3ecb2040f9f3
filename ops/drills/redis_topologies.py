"""A Sentinel group and a cluster of real servers, each a process of the machine's Valkey (or Redis)."""

import contextlib
import functools
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from redis import Redis
from redis.crc import key_slot
from redis.exceptions import RedisError

from leadwire.infrastructure.redis_pool import PRIMARY_KEY
from leadwire_development.embedded.binaries import find
from ops.chaos.journal import free_port

_PATIENCE = 240.0  # seconds
SLOTS = 16384
SLOT = key_slot(PRIMARY_KEY.encode())
"""That of the streams."""


def until(condition: Callable[[], object]) -> None:
    """Wait until it holds. Raise TimeoutError after two minutes."""
    end = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.02)


@functools.cache
def program(*, tls: bool = False) -> Path | None:
    """The machine's Valkey or Redis; with `tls` one that was built with it, if there is one."""
    if not tls:
        return find("redis").path
    for path in (find("redis").path, shutil.which("redis-server"), shutil.which("valkey-server")):
        if path:
            asked = [path, "--port", "0", "--tls-port", "1"]
            said = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
            if "tls-cert-file" in said.stdout + said.stderr:  # what it lacks to start
                return Path(path)
    return None


class Node:
    """One server. With `tls`, a directory that has `ca.pem` and `server.pem`, others reach it by TLS; we do without."""

    def __init__(
        self, directory: Path, *arguments: str, config: str = "", tls: Path | None = None, **options: str
    ) -> None:
        self.port = self.public_port = free_port()
        if tls:
            self.public_port = free_port()
            options |= {
                "tls-port": str(self.public_port), "tls-replication": "yes", "tls-auth-clients": "no",
                "tls-ca-cert-file": str(tls / "ca.pem"),
                "tls-cert-file": str(tls / "server.pem"), "tls-key-file": str(tls / "server.pem"),
            }  # fmt: skip
        self.directory = directory / str(self.port)
        self.directory.mkdir()
        file = self.directory / "server.conf"
        file.write_text(config)
        chosen = {
            "port": str(self.port), "bind": "127.0.0.1", "dir": str(self.directory), "save": "", "appendonly": "yes",
            "repl-diskless-sync-delay": "0", **options,
        }  # fmt: skip
        flags = [part for name, value in chosen.items() for part in (f"--{name}", value)]
        self._command = [str(program(tls=tls is not None)), str(file), *arguments, *flags]
        self.start()

    def start(self) -> None:
        """Start it (again), and wait until it answers."""
        log = (self.directory / "log").open("ab")
        self.process = subprocess.Popen(self._command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        log.close()
        until(self._answers)

    def _answers(self) -> bool:
        with contextlib.suppress(RedisError):
            return bool(self("PING"))
        return False

    def __call__(self, *command: Any) -> Any:
        with Redis(port=self.port, decode_responses=True, socket_timeout=5) as client:
            return client.execute_command(*command)

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait()

    @contextlib.contextmanager
    def cut_off(self) -> Iterator[None]:
        """It answers nobody, and closes nothing, as a host that nobody reaches; after the block it goes on."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.public_port}"

    @property
    def role(self) -> str:
        return str(self("ROLE")[0])


class Topology:
    """Servers that belong together, on files that go with them."""

    def __init__(self, tls: Path | None = None) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="lw-redis-"))
        self._tls = tls
        self.nodes: list[Node] = []

    def node(self, *arguments: str, config: str = "", **options: str) -> Node:
        self.nodes.append(Node(self._directory, *arguments, config=config, tls=self._tls, **options))
        return self.nodes[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes:
            node.kill()
        shutil.rmtree(self._directory)


class Single(Topology):
    """One server."""

    def build(self) -> None:
        self.url = f"redis://{self.node().address}"


class SentinelGroup(Topology):
    """A primary, its replica, and three sentinels, whose quorum is two."""

    def build(self) -> None:
        self.first = self.node()
        self.second = self.node(replicaof=self.first.address.replace(":", " "))
        watch = f"""sentinel monitor streams 127.0.0.1 {self.first.public_port} 2
            sentinel down-after-milliseconds streams 1000
            sentinel failover-timeout streams 3000
            """
        self.sentinels = [self.node("--sentinel", config=watch, appendonly="no") for _ in range(3)]
        self.url = f"redis+sentinel://{','.join(one.address for one in self.sentinels)}/streams"
        until(lambda: all(self._knows_all(one) for one in self.sentinels))

    def _knows_all(self, sentinel: Node) -> bool:
        told = sentinel("SENTINEL MASTER", "streams")
        return (int(told["num-slaves"]), int(told["num-other-sentinels"])) == (1, 2)

    def switch_over(self) -> None:
        """The replica becomes the primary and the reverse; both keep running."""
        self.sentinels[0]("SENTINEL", "FAILOVER", "streams")
        until(lambda: (self.first.role, self.second.role) == ("slave", "master"))

    def take_away(self) -> None:
        """The primary is killed, and its replica promoted."""
        self.first.kill()
        until(lambda: self.second.role == "master")

    def cut_off(self) -> None:
        """The primary is cut off, its replica promoted, and the primary comes back as a replica."""
        with self.first.cut_off():
            until(lambda: self.second.role == "master")
        until(lambda: self.first.role == "slave")


class Cluster(Topology):
    """Three primaries with a third of the slots each, and a replica of the one that holds the streams."""

    def build(self) -> None:
        made = [self._clustered() for _ in range(4)]
        self.primaries, self.replica = made[:3], made[3]
        for number, one in enumerate(self.primaries):
            one("CLUSTER", "ADDSLOTSRANGE", number * SLOTS // 3, (number + 1) * SLOTS // 3 - 1)
            one("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        self.holder = self.primaries[SLOT * 3 // SLOTS]
        for one in made[1:]:
            bus = self._bus(one)
            made[0]("CLUSTER", "MEET", "127.0.0.1", one.public_port, bus)
        until(lambda: all(one("CLUSTER INFO")["cluster_known_nodes"] == "4" for one in made))
        self.replica("CLUSTER", "REPLICATE", self.holder("CLUSTER", "MYID"))
        until(lambda: all(one("CLUSTER INFO")["cluster_state"] == "ok" for one in made))
        until(lambda: self.replica("ROLE")[3] == "connected")
        self.url = f"redis+cluster://{','.join(one.address for one in self.primaries[:2])}"

    @staticmethod
    def _bus(node: Node) -> str:
        return str(node("CONFIG GET", "cluster-port")["cluster-port"])

    def switch_over(self) -> None:
        """The replica becomes the primary and the reverse; both keep running."""
        self.replica("CLUSTER", "FAILOVER")
        until(lambda: (self.holder.role, self.replica.role) == ("slave", "master"))

    def take_away(self) -> None:
        """The primary that holds the streams is killed, and its replica promoted."""
        self.holder.kill()
        until(lambda: self.replica.role == "master")

    def cut_off(self) -> None:
        """The primary that holds the streams is cut off, its replica promoted, and it comes back as a replica."""
        with self.holder.cut_off():
            until(lambda: self.replica.role == "master")
        until(lambda: self.holder.role == "slave")

    def take_another_away(self) -> None:
        """A primary that does not hold the streams is killed. It has no replica."""
        away = next(one for one in self.primaries if one is not self.holder)
        away.kill()
        until(lambda: "fail" in self.holder("CLUSTER NODES")[away.address]["flags"].split(","))

    def join(self) -> Node:
        """A brand-new server, which becomes a primary without slots."""
        new = self._clustered()
        self.primaries.append(new)
        new("CLUSTER", "MEET", "127.0.0.1", self.holder.public_port, self._bus(self.holder))
        known = str(len(self.nodes))
        until(lambda: all(one("CLUSTER INFO")["cluster_known_nodes"] == known for one in self.nodes))
        until(lambda: new("CLUSTER INFO")["cluster_state"] == "ok")
        return new

    def _clustered(self) -> Node:
        options = {"cluster-enabled": "yes", "cluster-node-timeout": "1500", "cluster-replica-validity-factor": "0"}
        tls = {"tls-cluster": "yes"} if self._tls else {}
        return self.node(**options, **tls, **{"cluster-port": str(free_port())})

    def move_slot(self, source: Node, target: Node) -> None:
        """Move the streams to another primary, one key after the other, as `valkey-cli --cluster reshard` does."""
        ours, theirs = source("CLUSTER", "MYID"), target("CLUSTER", "MYID")
        target("CLUSTER", "SETSLOT", SLOT, "IMPORTING", ours)
        source("CLUSTER", "SETSLOT", SLOT, "MIGRATING", theirs)
        while keys := source("CLUSTER", "GETKEYSINSLOT", SLOT, 1):
            source("MIGRATE", "127.0.0.1", target.public_port, keys[0], 0, 5000)
        for one in (target, source, *(one for one in self.primaries if one not in {source, target})):
            one("CLUSTER", "SETSLOT", SLOT, "NODE", theirs)


@contextlib.contextmanager
def topology(kind: str, tls: Path | None = None) -> Iterator[Any]:
    """One of the three, started and thrown away."""
    with {"single": Single, "sentinel": SentinelGroup, "cluster": Cluster}[kind](tls) as made:
        made.build()
        yield made
