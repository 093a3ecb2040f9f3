"""What keeps the servers from running is reported in one line, and not by waiting for a limit."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import binaries, directories, ownership, services
from leadwire_development.embedded.server import reason
from tests.development.embedded.running import alone, processes
from tests.waiting import until

_GARBAGE = bytes(range(256)) * 32


def refused(data_dir: Path, settings: Settings | None = None) -> str:
    """Why `services` does not start, which must be one line, come before any limit, and leave nothing running."""
    chosen = settings or Settings(data_dir=data_dir)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ownership, "_START_LIMIT", 3600.0)
        with pytest.raises(OperatorError) as caught, services(chosen, durable=False):
            pass
    said = str(caught.value)
    assert "\n" not in said
    until(lambda: not processes(data_dir))
    return said


def _control(state: Path) -> None:
    (state / "postgres-18" / "global" / "pg_control").write_bytes(_GARBAGE)


def _no_control(state: Path) -> None:
    (state / "postgres-18" / "global" / "pg_control").unlink()


def _catalog(state: Path) -> None:
    for table in (state / "postgres-18" / "base").glob("*/1259"):  # pg_class
        table.write_bytes(table.read_bytes()[:100])


def _missing_database(state: Path) -> None:
    newest = max((state / "postgres-18" / "base").iterdir(), key=lambda path: int(path.name))
    shutil.rmtree(newest)


def _log_of_writes(state: Path) -> None:
    for name in ("incr.aof", "base.rdb"):
        for path in (state / "valkey-9" / "appendonlydir").glob(f"*{name}"):
            path.write_bytes(_GARBAGE)


def _manifest(state: Path) -> None:
    for path in (state / "valkey-9" / "appendonlydir").glob("*.manifest"):
        path.write_bytes(_GARBAGE)


@pytest.mark.parametrize(
    ("damage", "server"),
    [
        (_control, "PostgreSQL"),
        (_no_control, "PostgreSQL"),
        (_catalog, "PostgreSQL"),
        (_missing_database, "PostgreSQL"),
        (_log_of_writes, "Valkey"),
        (_manifest, "Valkey"),
    ],
)
def test_damaged_files_are_told_with_the_servers_own_words(
    used_dir: Path, damage: Callable[[Path], None], server: str
) -> None:
    state = used_dir / "servers"
    damage(state)
    said = refused(used_dir, None if server == "PostgreSQL" else alone(used_dir))
    log = state / ("postgres.log" if server == "PostgreSQL" else "valkey.log")
    assert said.startswith(f"{server} does not start: ")
    assert said.endswith(f" (log: {log})")
    why = said.removeprefix(f"{server} does not start: ").removesuffix(f" (log: {log})")
    assert len(why) > 15
    assert log.exists()


def test_a_cluster_of_another_version_is_not_touched(used_dir: Path) -> None:
    mark = used_dir / "servers" / "postgres-18" / "PG_VERSION"
    for text, told in ((b"", "is missing or empty"), (b"16\n", "says '16'"), (b"\xff\xfe\x00", "PG_VERSION says")):
        mark.write_bytes(text)
        assert told in refused(used_dir)
    mark.unlink()
    assert "is missing or empty" in refused(used_dir)


def test_a_data_directory_that_cannot_be_made_is_told(parent: Path) -> None:
    (parent / "file").touch()
    assert str(parent / "file") in refused(parent, Settings(data_dir=parent / "file" / "data"))
    assert str(parent / "file") in refused(parent, Settings(data_dir=parent / "file"))


def test_what_lies_in_the_way_is_told(parent: Path) -> None:
    (parent / "new").mkdir()
    (parent / "new" / "servers").touch()
    assert str(parent / "new" / "servers") in refused(parent, Settings(data_dir=parent / "new"))


def test_a_program_that_is_no_server_is_refused_by_its_variable(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADWIRE_EMBEDDED_POSTGRES", "/bin/true")
    assert "LEADWIRE_EMBEDDED_POSTGRES=/bin/true is not a PostgreSQL" in refused(parent)
    monkeypatch.setenv("LEADWIRE_EMBEDDED_REDIS", "/nowhere")
    assert "LEADWIRE_EMBEDDED_REDIS=/nowhere is not a Valkey or Redis" in refused(parent, alone(parent / "new"))


def test_a_machine_without_a_server_is_told_what_to_do(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "_WHEELS", dict.fromkeys(binaries._WHEELS, ("no_such_wheel", "*")))
    monkeypatch.setattr(binaries, "_DEBIAN", "/nowhere/*")
    monkeypatch.setenv("PATH", str(parent))
    said = refused(parent, Settings(data_dir=parent / "new", redis_url="redis://nowhere.invalid"))
    assert "install one, or set LEADWIRE_DATABASE_URL" in said


def test_a_server_that_dies_at_once_is_given_up_at_once(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = parent / "valkey-server"
    program.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "Server v=9.1.2" && exit\necho "fatal error: no luck"; exit 1\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("LEADWIRE_EMBEDDED_REDIS", str(program))
    assert "no luck" in refused(parent, alone(parent / "new"))


def test_what_a_server_told_those_who_came_too_early_is_no_reason(parent: Path) -> None:
    log = parent / "postgres.log"
    log.write_text("x [1] PANIC:  no checkpoint\nx [2] FATAL:  the database system is starting up\nx [1] LOG:  bye\n")
    assert reason(log) == f"no checkpoint (log: {log})"


def test_a_user_without_a_name_is_told(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(directories.pwd, "getpwuid", unknown)
    assert "has no name on this machine" in refused(parent, Settings(data_dir=parent / "new"))


def test_a_link_in_place_of_the_socket_directory_is_not_followed(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(parent))
    deep = parent / ("x" * 90)
    victim = parent / "victim"  # one of our own: where this fails, root changes what the link leads to
    victim.mkdir(mode=0o755)
    before = victim.stat()
    taken = parent / f"leadwire-{directories._digest(deep / 'servers')}"
    taken.symlink_to(victim)
    assert f"{taken} belongs to somebody else" in refused(parent, alone(deep))
    after = victim.stat()
    assert (after.st_uid, after.st_mode) == (before.st_uid, before.st_mode)
