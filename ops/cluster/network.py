"""Hosts as network namespaces: each has an address of its own on one bridge, and its cable can be pulled.

Everything is made inside namespaces of the run itself (`isolated`): it is seen by nobody else, and when the run ends,
however it ends, the kernel ends its processes and removes its network.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

BRIDGE: Final = "bridge"
SUBNET: Final = "10.77.0.0/24"
HARNESS: Final = "10.77.0.1"
"""Our own address: the load and the receiver are here."""
_UNSHARE: Final = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


def missing() -> str:
    """Return why there can be no such hosts here; '' if there can be."""
    if sys.platform != "linux":
        return "network namespaces are Linux's"
    if os.geteuid() != 0:
        return "network namespaces need root: sudo uv run python -m ops.cluster"
    if absent := [name for name in ("ip", "tc", "unshare", "setpriv", "haproxy") if not shutil.which(name)]:
        return f"{', '.join(absent)} cannot be found (Debian: iproute2, util-linux, haproxy)"
    tried = subprocess.run([*_UNSHARE, "ip", "link", "add", BRIDGE, "type", "bridge"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else f"no namespaces here: {tried.stderr.decode().strip()}"


def isolated(*command: str) -> int:
    """Run a command in namespaces of its own; return its exit code. They end with it, and with us."""
    return subprocess.run([*_UNSHARE, *command], check=False).returncode


class Host:
    """A network namespace with one interface. What runs in it shares the files of this machine, and nothing else."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.address = f"10.77.0.{number}"
        self.exec = ("ip", "netns", "exec", name)
        """The beginning of a command that runs there."""
        self._port = f"port-{number}"  # of the bridge; an interface's name has 15 letters at most
        _ip("netns", "add", name)
        _ip("link", "add", self._port, "type", "veth", "peer", "name", "eth0", "netns", name)
        for one in ("lo", "eth0"):
            _ip("-n", name, "link", "set", one, "up")
        _ip("-n", name, "address", "add", f"{self.address}/24", "dev", "eth0")
        _ip("link", "set", self._port, "up")
        self.join()

    def cut(self) -> None:
        """Pull the cable at the other end: nobody is told, packets simply do not arrive."""
        _ip("link", "set", self._port, "nomaster")

    def join(self) -> None:
        """Put the cable back."""
        _ip("link", "set", self._port, "master", BRIDGE)

    def slow(self, rate: str) -> None:
        """Let no more than `rate` (`64kbit`) through, either way. What comes faster waits, for up to two seconds."""
        bucket = ("root", "tbf", "rate", rate, "burst", "16kb", "latency", "2s")
        _run("tc", "qdisc", "replace", "dev", self._port, *bucket)
        _run(*self.exec, "tc", "qdisc", "replace", "dev", "eth0", *bucket)

    def hasten(self) -> None:
        """Let everything through again."""
        _run("tc", "qdisc", "delete", "dev", self._port, "root")
        _run(*self.exec, "tc", "qdisc", "delete", "dev", "eth0", "root")

    def ignore(self, other: "Host") -> None:
        """Send nothing more to another host."""
        _ip("-n", self.name, "route", "add", "blackhole", f"{other.address}/32")

    def pids(self) -> list[int]:
        """Every process there."""
        return [int(pid) for pid in _run("ip", "netns", "pids", self.name).split()]

    def power_off(self) -> None:
        """End every process there at once."""
        self.cut()
        self.signal(signal.SIGKILL)

    def signal(self, number: signal.Signals) -> None:
        """Send every process there a signal: SIGSTOP freezes them all, SIGCONT lets them go on."""
        for pid in self.pids():
            os.kill(pid, number)


class Network:
    """The bridge that the hosts are on."""

    def __init__(self) -> None:
        self.hosts: dict[str, Host] = {}
        Path("/run/netns").mkdir(exist_ok=True)
        _run("mount", "-t", "tmpfs", "none", "/run/netns")  # names that only we see
        _ip("link", "set", "lo", "up")
        _ip("link", "add", BRIDGE, "type", "bridge")
        _ip("address", "add", f"{HARNESS}/24", "dev", BRIDGE)
        _ip("link", "set", BRIDGE, "up")

    def host(self, name: str) -> Host:
        """Add a host."""
        self.hosts[name] = Host(name, len(self.hosts) + 11)
        return self.hosts[name]


def _ip(*arguments: str) -> None:
    _run("ip", *arguments)


def _run(*command: str) -> str:
    """Return the output. Raise RuntimeError with what was said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
