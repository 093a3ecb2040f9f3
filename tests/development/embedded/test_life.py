"""The servers from start to stop, and back from the dead."""

import os
import shutil
import signal
import stat
from pathlib import Path

import pytest

from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import services
from leadwire_development.embedded.server import launch, stop_stale
from tests.development.embedded.running import NO_POSTGRES, alone, processes, redis, restarted, sql
from tests.waiting import until


async def test_what_was_written_is_there_after_the_next_start(data_dir: Path) -> None:
    with services(Settings(data_dir=data_dir)) as first:
        assert first.owner
        await sql(first, "CREATE TABLE kept AS SELECT 7 AS value")
        redis(first, "XADD", "kept", "*", "value", "7")
        assert await sql(first, "SHOW fsync") == "on"
        assert redis(first, "CONFIG", "GET", "appendfsync")["appendfsync"] == "everysec"
    assert processes(data_dir) == []
    assert not (data_dir / "servers" / "urls.json").exists()
    with services(Settings(data_dir=data_dir)) as second:
        assert await sql(second, "SELECT value FROM kept") == 7
        assert redis(second, "XLEN", "kept") == 1
    assert processes(data_dir) == []


async def test_the_servers_are_set_as_the_service_needs_them(used_dir: Path) -> None:
    with services(Settings(data_dir=used_dir), durable=False) as running:
        wanted = {"timezone": "UTC", "jit": "off", "max_connections": "200", "listen_addresses": "", "fsync": "off"}
        assert {name: await sql(running, f"SHOW {name}") for name in wanted} == wanted
        assert await sql(running, "SELECT current_database()") == "leadwire"
        told = {name: redis(running, "CONFIG", "GET", name)[name] for name in ("maxmemory-policy", "save", "port")}
        assert told == {"maxmemory-policy": "noeviction", "save": "", "port": "0"}


def test_only_we_can_read_what_lies_around(data_dir: Path) -> None:
    with services(alone(data_dir), durable=False):
        state = data_dir / "servers"
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in state.iterdir()}
        assert modes == {"urls.json": 0o600, "lock": 0o600, "valkey.log": 0o600, "run": 0o700, "valkey-9": 0o700}
        assert stat.S_IMODE(data_dir.stat().st_mode) == (0o711 if os.geteuid() == 0 else 0o700)


@pytest.mark.parametrize(("mode", "holds"), [(0o755, "letter.txt"), (0o1777, "up.lock"), (0o775, "logs")])
def test_a_directory_that_others_use_keeps_its_mode(data_dir: Path, mode: int, holds: str) -> None:
    data_dir.mkdir()
    data_dir.chmod(mode)
    (data_dir / holds).touch()
    with services(alone(data_dir), durable=False):
        assert stat.S_IMODE(data_dir.stat().st_mode) == mode


async def test_a_killed_server_comes_back_with_its_data_however_often(used_dir: Path) -> None:
    with services(Settings(data_dir=used_dir), durable=False) as running:
        postgres, valkey = running.servers["PostgreSQL"], running.servers["Valkey"]
        await sql(running, "CREATE TABLE kept AS SELECT 7 AS value")
        redis(running, "SET", "kept", "7")
        for _ in range(3):
            old = valkey.pid()
            valkey.kill()
            restarted(valkey, old)
        old = postgres.pid()
        postgres.kill()
        restarted(postgres, old)
        assert await sql(running, "SELECT value FROM kept") == 7
        assert redis(running, "GET", "kept") == "7"


def test_a_server_whose_watchdog_was_killed_is_replaced(data_dir: Path) -> None:
    with services(alone(data_dir), durable=False) as running:
        valkey = running.servers["Valkey"]
        old = valkey.pid()
        redis(running, "SET", "kept", "7")
        os.kill(valkey.watchdog_pid(), signal.SIGKILL)
        restarted(valkey, old)
        assert redis(running, "GET", "kept") == "7"
        assert redis(running, "CLIENT", "LIST").count("\n") == 1, "somebody still talks to the old one"
    until(lambda: not processes(data_dir))


def test_a_watchdog_listens_to_nothing_but_its_pipe(parent: Path) -> None:
    log = parent / "log"
    watchdog = launch(["sh", "-c", "echo up; exec sleep 900"], signal.SIGTERM, log)
    until(lambda: "up" in log.read_text())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        watchdog.send_signal(number)
    assert watchdog.stdin
    watchdog.stdin.close()
    assert watchdog.wait(240) == -signal.SIGTERM & 255, "the watchdog died of it itself, not the command by its hand"


def test_killing_what_does_not_run_hits_nobody(data_dir: Path) -> None:
    with services(alone(data_dir), durable=False) as running:
        valkey = running.servers["Valkey"]
    assert valkey.pid() == 0
    with pytest.raises(ProcessLookupError):
        valkey.kill()


async def test_a_long_path_with_spaces_is_no_obstacle(parent: Path, used_dir: Path) -> None:
    deep = parent / "Dokumente und Entwürfe, neu" / ("x" * 90)
    deep.parent.mkdir(mode=0o755)
    shutil.move(used_dir, deep)
    with services(Settings(data_dir=deep), durable=False) as running:
        assert await sql(running, "SELECT 1") == 1
        sockets = Path(running.redis_url.removeprefix("unix://").partition("?")[0]).parent
        assert deep not in sockets.parents
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    assert not sockets.exists()


async def test_a_pid_file_that_names_a_stranger_is_no_obstacle(used_dir: Path) -> None:
    state = used_dir / "servers"
    files = [state / "postgres-18" / "postmaster.pid", state / "valkey-9" / "server.pid"]
    with services(Settings(data_dir=used_dir), durable=False) as running:
        left = [(path, path.read_text(), server.pid()) for path, server in _by_file(files, running.servers)]
    for path, text, old in left:
        path.write_text(text.replace(str(old), str(os.getpid()), 1))  # the pid came again, and it is ours
    with services(Settings(data_dir=used_dir), durable=False) as running:
        assert await sql(running, "SELECT 1") == 1
        assert redis(running, "PING")


@pytest.mark.parametrize("text", ["", "-1\n", "0\n", "1\n", "no number", "99999999\n"])
def test_a_pid_file_with_nonsense_stops_nobody(parent: Path, text: str) -> None:
    (parent / "server.pid").write_text(text)
    stop_stale(parent / "server.pid", parent, signal.SIGKILL)
    assert (parent / "server.pid").read_text() == text


def test_an_address_that_is_set_starts_nothing(data_dir: Path) -> None:
    redis_url = "redis://nowhere.invalid"
    with services(Settings(data_dir=data_dir, database_url=NO_POSTGRES, redis_url=redis_url)) as running:
        assert (running.database_url, running.redis_url, running.owner) == (NO_POSTGRES, redis_url, False)
    assert not data_dir.exists()
    with services(alone(data_dir)) as running:
        assert (running.database_url, list(running.servers)) == (NO_POSTGRES, ["Valkey"])


def _by_file(files, servers):
    return zip(files, (servers["PostgreSQL"], servers["Valkey"]), strict=True)
