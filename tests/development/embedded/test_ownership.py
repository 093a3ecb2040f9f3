"""Several processes on one data directory, and what is left when one of them is killed."""

import fcntl
import os
import signal
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import ownership, services
from leadwire_development.embedded.ownership import Published
from tests.development.embedded.running import NO_POSTGRES, Elsewhere, alone, processes, redis, sql
from tests.waiting import until


async def test_the_second_process_uses_the_servers_of_the_first(used_dir: Path) -> None:
    with Elsewhere(used_dir) as first, services(first.ready() and Settings(data_dir=used_dir)) as second:
        assert (first.services.owner, second.owner, second.servers) == (True, False, {})
        assert (second.database_url, second.redis_url) == (first.services.database_url, first.services.redis_url)
        await sql(first.services, "CREATE TABLE shared AS SELECT 7 AS value")
        assert await sql(second, "SELECT value FROM shared") == 7
        redis(first.services, "SET", "shared", "7")
        assert redis(second, "GET", "shared") == "7"


def test_of_several_that_start_at_once_one_is_the_owner(data_dir: Path) -> None:
    with ExitStack() as stack:
        started = [stack.enter_context(Elsewhere(data_dir, NO_POSTGRES)) for _ in range(3)]
        found = [one.ready().services for one in started]
        assert sorted(one.owner for one in found) == [False, False, True]
        assert {redis(one, "INCR", "seen") for one in found} == {1, 2, 3}


def test_who_comes_after_the_owner_has_ended_is_the_owner(data_dir: Path) -> None:
    with Elsewhere(data_dir, NO_POSTGRES) as first:
        redis(first.ready().services, "SET", "kept", "7")
    with services(alone(data_dir)) as second:
        assert second.owner
        assert redis(second, "GET", "kept") == "7"


async def test_nothing_runs_on_when_the_owner_is_killed(used_dir: Path) -> None:
    first = Elsewhere(used_dir).ready()
    assert processes(used_dir)
    await sql(first.services, "CREATE TABLE kept AS SELECT 7 AS value")
    first.kill()
    assert (used_dir / "servers" / "urls.json").exists(), "it had no time to withdraw it"
    until(lambda: not processes(used_dir))
    with services(Settings(data_dir=used_dir), durable=False) as second:
        assert second.owner
        assert await sql(second, "SELECT value FROM kept") == 7


def test_nothing_runs_on_when_the_owner_is_killed_while_it_makes_a_cluster(parent: Path, data_dir: Path) -> None:
    binaries = parent / "bin"  # of an initdb that does not end by itself, however late we look
    binaries.mkdir()
    for name, does in (
        ("postgres", "echo 'postgres (PostgreSQL) 18.0'"),
        ("initdb", 'touch "$2/begun"; exec sleep 900'),
    ):
        (binaries / name).write_text(f"#!/bin/sh\n{does}\n")
        (binaries / name).chmod(0o755)
    first = Elsewhere(data_dir, LEADWIRE_EMBEDDED_POSTGRES=str(binaries / "postgres"))
    until(lambda: list(data_dir.glob("servers/*.init-*/begun")))
    first.kill()
    until(lambda: not processes(data_dir))
    assert not (data_dir / "servers" / "postgres-18").exists()
    with services(Settings(data_dir=data_dir), durable=False) as second:
        assert second.owner
    assert list((data_dir / "servers").glob("*.init-*")) == []


async def test_servers_whose_owner_and_watchdogs_were_killed_are_replaced(used_dir: Path) -> None:
    first = Elsewhere(used_dir).ready()
    await sql(first.services, "CREATE TABLE kept AS SELECT 7 AS value")
    redis(first.services, "SET", "kept", "7")
    _kill_with_watchdogs(first)
    assert processes(used_dir), "the servers were to outlive their watchdogs"
    with services(Settings(data_dir=used_dir), durable=False) as second:
        assert {server.pid() for server in second.servers.values()}.isdisjoint(pid for pid, _ in first.pids.values())
        assert await sql(second, "SELECT value FROM kept") == 7
        assert redis(second, "GET", "kept") == "7"
    assert processes(used_dir) == []


def test_a_stale_server_is_known_although_the_sockets_have_moved(
    parent: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = data_dir / ("x" * 90)
    for name in "ab":
        (parent / name).mkdir(mode=0o755)
    first = Elsewhere(deep, NO_POSTGRES, TMPDIR=str(parent / "a")).ready()
    _kill_with_watchdogs(first)
    monkeypatch.setattr("tempfile.tempdir", str(parent / "b"))
    with services(alone(deep), durable=False) as second:
        assert second.redis_url != first.services.redis_url
        assert len([line for line in processes(deep) if "watchdog.py" not in line]) == 1, "two servers on one directory"


def test_what_a_dead_owner_published_is_not_believed(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with services(alone(data_dir), durable=False) as before:
        state = data_dir / "servers"
    stale = Published(str(state / "run"), "", before.redis_url)
    (state / "urls.json").write_bytes(msgspec.json.encode(stale))
    monkeypatch.setattr(ownership, "_PATIENCE", 0.3)
    with (state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(OperatorError, match="do not come up"), services(alone(data_dir)):
            pass


@pytest.mark.parametrize("text", ["", "{", "[]", "\0\0"])
def test_a_damaged_publication_is_no_obstacle(data_dir: Path, text: str) -> None:
    state = data_dir / "servers"
    state.mkdir(parents=True)
    (state / "urls.json").write_text(text)
    with services(alone(data_dir), durable=False) as running:
        assert redis(running, "PING")


def test_a_server_that_the_owner_does_not_run_is_said_to_be_missing(data_dir: Path) -> None:
    with services(alone(data_dir), durable=False), pytest.raises(OperatorError, match="runs no PostgreSQL"):  # noqa: SIM117
        with services(Settings(data_dir=data_dir)):
            pass


def _kill_with_watchdogs(owner: Elsewhere) -> None:
    """The watchdogs cannot see the owner's end: they are stopped before, and killed after it."""
    for _, watchdog in owner.pids.values():
        os.kill(watchdog, signal.SIGSTOP)
    owner.kill()
    for _, watchdog in owner.pids.values():
        os.kill(watchdog, signal.SIGKILL)
