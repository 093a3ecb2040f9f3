"""As root: the servers are `nobody`'s, wherever the data directory is."""

import os
import pwd
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import Server, binaries, directories, services
from tests.development.embedded.running import alone, redis, sql

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="for root")


def nobody() -> int:
    return pwd.getpwnam("nobody").pw_uid


@pytest.fixture
def closed(parent: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that `nobody` cannot enter, and a place for what has to be elsewhere."""
    monkeypatch.setattr(directories, "ELSEWHERE", parent / "var" / "leadwire")
    (parent / "var").mkdir(mode=0o755)
    (parent / "closed").mkdir(mode=0o700)
    return parent / "closed"


async def test_the_servers_run_as_nobody_on_files_of_nobody(used_dir: Path) -> None:
    with services(Settings(data_dir=used_dir), durable=False) as running:
        assert {_who(Path(f"/proc/{server.pid()}"))[0] for server in running.servers.values()} == {nobody()}
        state = used_dir / "servers"
        assert {name: _who(state / name) for name in ("postgres-18", "valkey-9", "run", "lock", "postgres.log")} == {
            "postgres-18": (nobody(), 0o700),
            "valkey-9": (nobody(), 0o700),
            "run": (nobody(), 0o700),
            "lock": (0, 0o600),
            "postgres.log": (0, 0o600),
        }
        assert _who(state) == _who(used_dir) == (0, 0o711)


async def test_a_closed_directory_gets_a_link_to_where_its_servers_are(closed: Path) -> None:
    old = os.umask(0o077)  # as careful roots have it
    try:
        with services(Settings(data_dir=closed / "data"), durable=False) as running:
            assert await sql(running, "SELECT 1") == 1
            assert redis(running, "PING")
    finally:
        os.umask(old)
    link = closed / "data" / "servers"
    assert link.is_symlink()
    assert link.resolve().parent == directories.ELSEWHERE
    assert _who(closed) == (0, 0o700), "nothing was opened"
    with services(alone(closed / "data"), durable=False) as running:
        assert running.owner


def test_a_moved_directory_keeps_its_servers_and_a_copied_one_gets_its_own(closed: Path) -> None:
    with services(alone(closed / "data"), durable=False) as running:
        redis(running, "SET", "kept", "7")
    shutil.copytree(closed / "data", closed / "copy", symlinks=True)
    with services(alone(closed / "copy"), durable=False) as running:
        assert redis(running, "GET", "kept") is None
    (closed / "data").rename(closed / "moved")
    with services(alone(closed / "moved"), durable=False) as running:
        assert redis(running, "GET", "kept") == "7"


def test_a_link_to_what_was_removed_is_made_anew(closed: Path) -> None:
    with services(alone(closed / "data"), durable=False):
        pass
    shutil.rmtree(directories.ELSEWHERE)
    with services(alone(closed / "data"), durable=False) as running:
        assert redis(running, "PING")


def test_a_link_to_anywhere_else_is_not_followed(closed: Path) -> None:
    (closed / "data").mkdir()
    (closed / "victim").mkdir(mode=0o700)
    (closed / "data" / "servers").symlink_to(closed / "victim")
    with services(alone(closed / "data"), durable=False):
        assert _who(closed / "victim") == (0, 0o700)
        assert list((closed / "victim").iterdir()) == []


def test_servers_that_ended_up_where_nobody_can_go_are_told(closed: Path) -> None:
    (closed / "data" / "servers").mkdir(parents=True)
    with pytest.raises(OperatorError, match="where `nobody` cannot go"), services(alone(closed / "data")):
        pass


async def test_programs_that_nobody_cannot_reach_are_copied_once(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binaries, "open_to_all", lambda path: False)
    old = os.umask(0o077)
    try:
        with services(Settings(data_dir=data_dir), durable=False) as running:
            assert await sql(running, "SELECT 1") == 1
            programs = [_program(server) for server in running.servers.values()]
    finally:
        os.umask(old)
    assert all(data_dir / "servers" / "bin" in program.parents for program in programs)
    assert list((data_dir / "servers" / "bin").glob("*.tmp")) == []
    made = {path: path.stat().st_mtime_ns for path in programs}
    with services(alone(data_dir), durable=False):
        assert {path: path.stat().st_mtime_ns for path in programs} == made


def test_a_state_directory_of_another_user_is_refused(data_dir: Path) -> None:
    (data_dir / "servers").mkdir(parents=True)
    subprocess.run(["chown", "12345", str(data_dir / "servers")], check=True)
    with pytest.raises(OperatorError, match="belongs to somebody else: run as its owner"), services(alone(data_dir)):
        pass


def _program(server: Server) -> Path:
    return Path(f"/proc/{server.pid()}/exe").readlink()


def _who(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_uid, stat.S_IMODE(found.st_mode)
