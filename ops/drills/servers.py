"""Operations on PostgreSQL and Redis: stop, start empty, add a standby, promote, dump, restore."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Final

import asyncpg

from leadwire_development.embedded import Server, Services, valkey
from leadwire_development.embedded.binaries import runnable
from leadwire_development.embedded.directories import private, server_user, socket_directory, state_directory
from leadwire_development.embedded.postgres import SOCKET, is_ready
from leadwire_development.embedded.server import Plan

_PATIENCE: Final = 240.0


class Servers:
    """Those of one data directory."""

    def __init__(self, running: Services, data_dir: Path) -> None:
        self._running = running
        self.state = state_directory(data_dir)
        self.run = socket_directory(self.state)
        self.standby_run = private(self.state / "standby")
        self._standby_data = self.state / "standby-data"
        self._standby: Server | None = None
        self._frozen: list[int] = []

    async def redis_down(self) -> None:
        """Stop Redis and delete its data."""
        server = self._running.servers["Valkey"]
        server.ask_to_stop()
        await asyncio.to_thread(server.join, _PATIENCE)
        for place in self.state.glob("valkey-*"):
            if (place / "appendonlydir").exists():
                shutil.rmtree(place)

    async def redis_up(self) -> None:
        """Start an empty Redis at the same address."""
        _, server = valkey.start(self.state, self.run, durable=True)
        self._running.servers["Valkey"] = server
        await asyncio.to_thread(server.wait_ready)

    def connect(self, run: Path | None = None, database: str = "leadwire") -> "asyncio.Future[asyncpg.Connection]":
        """A connection of our own to the primary, or to the server whose socket is in `run`."""
        return asyncpg.connect(host=str(run or self.run), port=5432, user="postgres", database=database)

    async def add_standby(self, *, synchronous: bool = True) -> None:
        """A copy that follows the primary. `synchronous`: from then on a commit is answered when both have it."""
        binary = runnable("postgres", self.state)
        data = private(self._standby_data)
        copy = ("pg_basebackup", "-h", str(self.run), "-U", "postgres", "-D", str(data), "-R", "-c", "fast")
        await self._tool(*copy)
        if user := server_user():
            for path in (data, *data.rglob("*")):
                shutil.chown(path, user.pw_uid, user.pw_gid)
        chosen = {
            "listen_addresses": "",
            "port": "5432",
            "max_connections": "200",
            "unix_socket_directories": str(self.standby_run),
        }
        plan = Plan(
            name="PostgreSQL standby",
            argv=[str(binary.path), "-D", str(data), *(f"--{name}={value}" for name, value in chosen.items())],
            data=data,
            stop_signal=signal.SIGINT,
            pid_file=data / "postmaster.pid",
            socket=self.standby_run / SOCKET,
            log=self.state / "standby.log",
            is_ready=is_ready,
        )
        self._standby = Server(plan)
        await asyncio.to_thread(self._standby.wait_ready)
        primary = await self.connect()
        if synchronous:
            await primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            await primary.execute("SELECT pg_reload_conf()")
        wanted = "sync" if synchronous else "async"
        while not await primary.fetchval("SELECT count(*) FROM pg_stat_replication WHERE sync_state = $1", wanted):
            await asyncio.sleep(0.05)
        await primary.close()

    async def cut_off(self) -> None:
        """The standby has all that was committed so far, and receives nothing from now on."""
        primary = await self.connect()
        end = await primary.fetchval("SELECT pg_current_wal_flush_lsn()::text")
        await primary.close()
        standby = await self.connect(self.standby_run)
        while not await standby.fetchval(f"SELECT pg_last_wal_replay_lsn() >= '{end}'::pg_lsn"):
            await asyncio.sleep(0.02)
        await standby.execute("ALTER SYSTEM SET primary_conninfo = ''")
        await standby.execute("SELECT pg_reload_conf()")
        while await standby.fetchval("SELECT count(*) FROM pg_stat_wal_receiver"):
            await asyncio.sleep(0.02)
        await standby.close()

    async def lose_primary(self) -> None:
        """Kill the primary and do not restart it."""
        server = self._running.servers["PostgreSQL"]
        pid = server.pid()
        server.ask_to_stop()
        with contextlib.suppress(ProcessLookupError):
            server.kill()
        await asyncio.to_thread(server.join, _PATIENCE)
        assert server.pid() in {0, pid}

    def freeze_primary(self) -> None:
        """The primary does nothing any more: its sockets stay open. It goes on at `close`."""
        postmaster = self._running.servers["PostgreSQL"].pid()
        os.kill(postmaster, signal.SIGSTOP)  # first: then it has no further children
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        self._frozen = [*map(int, children), postmaster]
        for process in self._frozen:
            os.kill(process, signal.SIGSTOP)

    def thaw_primary(self) -> None:
        """It goes on where it was."""
        for process in self._frozen:
            os.kill(process, signal.SIGCONT)
        self._frozen = []

    async def promote(self) -> None:
        """Promote the standby to primary."""
        connection = await self.connect(self.standby_run)
        await connection.execute("SELECT pg_promote()")
        await connection.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
        await connection.execute("SELECT pg_reload_conf()")
        await connection.close()

    async def dump(self, file: Path) -> None:
        """A backup, consistent in itself, while everything runs."""
        await self._tool("pg_dump", *self._where(), "--format=custom", "--file", str(file), "leadwire")

    async def lose_database(self) -> None:
        """Dropped, by whatever accident."""
        connection = await self.connect(database="postgres")
        await connection.execute("DROP DATABASE leadwire WITH (FORCE)")
        await connection.close()

    async def restore(self, file: Path) -> None:
        """Restore the backup into a new, empty database."""
        connection = await self.connect(database="postgres")
        await connection.execute("CREATE DATABASE leadwire")
        await connection.close()
        await self._tool("pg_restore", *self._where(), "--dbname=leadwire", "--exit-on-error", str(file))

    async def close(self) -> None:
        """End what was started here; the others end with their owner."""
        for process in self._frozen:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)
        if self._standby:
            self._standby.ask_to_stop()
            await asyncio.to_thread(self._standby.join, _PATIENCE)
            shutil.rmtree(self._standby_data)

    def _where(self) -> tuple[str, ...]:
        return ("--host", str(self.run), "--username", "postgres")

    async def _tool(self, name: str, *arguments: str) -> None:
        """One of PostgreSQL's own programs. Raises RuntimeError with its words."""
        program = runnable("postgres", self.state).path.with_name(name)
        command = [str(program), *arguments]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr}")
