"""HAProxy in front of several installations: a key's requests go where the map leads that a command writes."""

import asyncio
import contextlib
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from ops.chaos.journal import free_port

_DECISION: Final = Path(__file__).parents[1] / "decisions" / "15-cells.md"


class CellProxy:
    """The proxy: its address, and its map of keys."""

    def __init__(self, directory: Path) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self._keys, self._socket = directory / "keys.map", directory / "haproxy.sock"
        self.file = directory / "haproxy.cfg"

    def configure(self, cells: Mapping[str, Sequence[int]], keys: str) -> None:
        """Write the configuration, with the lines of the decision; `cells` have ports."""
        self._keys.write_text(keys)
        (self._keys.parent / "hosts.map").write_text("")
        text = _DECISION.read_text().replace("/etc/haproxy", str(self._keys.parent))
        lines = re.findall(r"^    ((?:http-request|use_backend) .+)$", text, re.MULTILINE)
        backends = [
            f"backend {cell}\nretry-on conn-failure empty-response\n"
            + "\n".join(f"server {cell}-{port} 127.0.0.1:{port}" for port in ports)
            for cell, ports in cells.items()
        ]
        self.file.write_text("\n".join([
            f"global\nstats socket {self._socket} level admin",
            "defaults\nmode http\ntimeout connect 5s\ntimeout client 60s\ntimeout server 60s",
            f"frontend all\nbind {self.url.removeprefix('http://')}", *lines, *backends, "",
        ]))  # fmt: skip

    async def lead(self, keys: Mapping[str, str]) -> None:
        """Let keys lead to these cells, without a restart."""
        for line in map(" ".join, keys.items()):
            if await self._say(f"set map {self._keys} {line}"):  # it is not there yet
                await self._say(f"add map {self._keys} {line}")

    async def _say(self, command: str) -> str:
        reader, writer = await asyncio.open_unix_connection(str(self._socket))
        with contextlib.closing(writer):
            writer.write(f"{command}\n".encode())
            return (await reader.read()).decode().strip()


@contextlib.contextmanager
def cell_proxy(directory: Path, cells: Mapping[str, Sequence[int]], keys: str) -> Iterator[CellProxy]:
    """Start it. Raise RuntimeError where there is no HAProxy."""
    if not shutil.which("haproxy"):
        raise RuntimeError("haproxy cannot be found (Debian: haproxy)")
    proxy = CellProxy(directory)
    proxy.configure(cells, keys)
    process = subprocess.Popen(["haproxy", "-db", "-f", str(proxy.file)], stderr=subprocess.DEVNULL)
    try:
        yield proxy
    finally:
        process.kill()
        process.wait()
