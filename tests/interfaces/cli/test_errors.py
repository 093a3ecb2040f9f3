"""What an operator gets wrong is one line that says so and a non-zero exit, never a traceback."""

import asyncio
import base64
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from leadwire import __main__ as main
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import OperatorError
from leadwire_development.embedded import Services
from tests.flows.commands import COMMAND, data_directory, environment, free_port, refused, run

NOWHERE = "postgresql://nobody@127.0.0.1:{port}/leadwire"
KEY = base64.b64encode(bytes(32)).decode()
COMMANDS: dict[str, tuple[str, ...]] = {
    "up": (), "doctor": (), "serve": (), "relay": (), "deliver": (), "background": (), "migrate": (), "listen": (),
    "status": (), "ledger": (),
    "endpoints": ("create", "list", "configure", "enable", "disable", "delete", "test"),
    "keys": ("create", "list", "revoke"),
    "dead-letters": ("list", "show"), "set-aside": ("list", "release"),
    "redrives": ("start", "list", "pause", "resume", "cancel"),
}  # fmt: skip


Commands = Sequence[tuple[tuple[str, ...], dict[str, str]]]
AllAtOnce = Callable[[Commands], Iterator[tuple[str, Any]]]


@pytest.fixture(scope="module")
def all_at_once() -> Iterator[AllAtOnce]:
    """Each command's text beside its result; the processes run side by side."""
    with ThreadPoolExecutor(4) as pool:

        def each(commands: Commands) -> Iterator[tuple[str, Any]]:
            results = pool.map(lambda one: run(*one[0], **one[1]), commands)
            yield from zip([" ".join(command) for command, _ in commands], results, strict=True)

        yield each


@pytest.fixture(scope="module")
def empty(servers: Services) -> dict[str, str]:
    """The settings of a database that has no tables, and of a Redis."""

    async def make() -> None:
        connection = await asyncpg.connect(servers.database_url)
        await connection.execute("DROP DATABASE IF EXISTS no_tables")
        await connection.execute("CREATE DATABASE no_tables")
        await connection.close()

    with ThreadPoolExecutor(1) as pool:  # the session's loop is running in this thread
        pool.submit(lambda: asyncio.run(make())).result()
    url = servers.database_url.replace("/leadwire?", "/no_tables?")
    return {"DATABASE_URL": url, "REDIS_URL": servers.redis_url, "SECRET_KEY": KEY}


def test_every_command_explains_itself(all_at_once: AllAtOnce) -> None:
    each = [(name,) for name in COMMANDS] + [(name, part) for name, parts in COMMANDS.items() for part in parts]
    for text, result in all_at_once([((*command, "--help"), {}) for command in [(), *each]]):
        assert (result.returncode, result.stderr) == (0, ""), text
        assert result.stdout.startswith("Usage: leadwire"), text
    listed = run("--help").stdout
    assert all(f"  {name} " in listed for name in COMMANDS)
    assert COMMAND[-1] in run("--version").stdout


def test_a_malformed_command_line_is_one_line_that_names_the_mistake(all_at_once: AllAtOnce) -> None:
    wrong: list[tuple[tuple[str, ...], str]] = [
        (("nonsense",), "nonsense"),
        (("--nonsense",), "--nonsense"),
        (("up", "--port", "many"), "--port"),
        (("up", "--port", "70000"), "--port"),
        (("up", "--port", str(free_port()), "--data-dir", os.devnull), os.devnull),
        (("serve", "--port", "-1"), "--port"),
        (("status", "extra"), "extra"),
        (("endpoints", "nonsense"), "nonsense"),
        (("endpoints", "create"), "--url"),
        (("endpoints", "create", "--url", "https://example.com/"), "--event"),
        (("endpoints", "test"), "ID"),
        (("keys", "create"), "--name"),
        (("keys", "revoke"), "ID"),
        (("listen", "--status", "99"), "--status"),
        (("listen", "--delay", "soon"), "--delay"),
        (("listen", "--secret", "not one"), "--secret"),
        (("dead-letters", "list", "--limit", "0"), "--limit"),
        (("dead-letters", "show"), "EVENT_ID"),
        (("endpoints", "configure", "we_1", "--rate", "fast"), "--rate"),
        (("redrives", "start", "--since", "soon"), "--since"),
        (("redrives", "start", "--sequence", "x"), "--sequence"),
        (("serve", "--host", "a..b", "--port", "0"), "a..b"),
    ]
    for (text, result), (_, named) in zip(all_at_once([(command, {}) for command, _ in wrong]), wrong, strict=True):
        assert named in refused(result), text


def test_a_setting_that_cannot_be_used_is_named(all_at_once: AllAtOnce) -> None:
    wrong = {
        "RETRY_SCHEDULE": "soon", "ALLOWED_NETWORKS": "home", "DELIVERY_TIMEOUT": "0", "LEASE": "1", "POOL_SIZE": "0",
        "RATE_LIMIT": "-1", "LOG_FORMAT": "xml", "STREAM_SHARDS": "many", "HEADER_PREFIX": "X Y",
    }  # fmt: skip
    for text, result in all_at_once([(("status",), {name: value}) for name, value in wrong.items()]):
        name = next(iter(wrong))
        wrong.pop(name)
        assert f"LEADWIRE_{name}" in refused(result), text
    commands = (("up", "--port", str(free_port())), ("serve", "--port", "0"), ("deliver",))
    for text, result in all_at_once([(command, {"RETRY_SCHEDULE": "x"}) for command in commands]):
        assert "LEADWIRE_RETRY_SCHEDULE" in refused(result), text


def test_an_unreachable_or_senseless_database_is_one_line(servers: Services, all_at_once: AllAtOnce) -> None:
    redis = {"REDIS_URL": servers.redis_url, "SECRET_KEY": KEY}
    closed = redis | {"DATABASE_URL": NOWHERE.format(port=free_port())}
    alone = [
        (name, "--port", "0") if name == "serve" else (name,)
        for name in ("serve", "relay", "deliver", "background", "migrate")
    ]
    commands = [*alone, ("status",), ("ledger",), ("keys", "list"), ("endpoints", "list"), ("dead-letters", "list")]
    for text, result in all_at_once([(command, closed) for command in commands]):
        assert "the database cannot be reached" in refused(result), text
    absent = servers.database_url.replace("/leadwire?", "/absent?")
    strange = ["nonsense", "mysql://localhost/x", "postgresql://[half", "postgresql://localhost:port/x", absent]
    for text, result in all_at_once([(("status",), redis | {"DATABASE_URL": url}) for url in strange]):
        assert "database" in refused(result).lower(), text


def test_up_on_an_unreachable_database_is_one_line(servers: Services) -> None:
    with data_directory() as directory:
        url = NOWHERE.format(port=free_port())
        result = run("up", "--port", str(free_port()), DATA_DIR=str(directory), DATABASE_URL=url)
        assert "the database cannot be reached" in refused(result)


def test_a_redis_address_that_cannot_be_one_is_one_line(empty: dict[str, str]) -> None:
    assert "REDIS" in refused(run("status", **empty | {"REDIS_URL": "nonsense"})).upper()


def test_a_database_without_tables_says_to_migrate(empty: dict[str, str], all_at_once: AllAtOnce) -> None:
    alone = [("serve", "--port", "0"), ("relay",), ("deliver",), ("background",)]
    commands = [*alone, ("status",), ("ledger",), ("keys", "list"), ("endpoints", "list"), ("dead-letters", "list")]
    for text, result in all_at_once([(command, empty) for command in commands]):
        assert "leadwire migrate" in refused(result), text


async def test_a_database_that_lacks_a_migration_says_to_migrate(
    servers: Services, all_at_once: AllAtOnce, connected: None
) -> None:
    """`ledger` and `endpoints list` ended in a traceback, `UndefinedColumnError`."""
    behind = servers.database_url.replace("/leadwire?", "/behind?")
    settings = {"DATABASE_URL": behind, "REDIS_URL": servers.redis_url, "SECRET_KEY": KEY}
    await db.rows("CREATE DATABASE behind")
    try:
        assert (await asyncio.to_thread(run, "migrate", **settings)).returncode == 0
        connection = await asyncpg.connect(behind)
        await connection.execute("ALTER TABLE webhook_endpoint DROP COLUMN new_host CASCADE")
        await connection.close()
        commands = [(command, settings) for command in (("ledger",), ("endpoints", "list"))]
        for text, result in await asyncio.to_thread(lambda: list(all_at_once(commands))):
            assert "leadwire migrate" in refused(result), text
    finally:
        await db.rows("DROP DATABASE behind WITH (FORCE)")


_HASTY = """
import sys
from leadwire.infrastructure.db import engine
engine.LIMITS = {**engine.LIMITS, "pages": 0.2}
from leadwire.__main__ import main
main(*sys.argv[1:])
"""


@pytest.mark.parametrize("typed", ["status", "endpoints list", "dead-letters list", "set-aside list"])
async def test_a_command_tells_of_a_lock_instead_of_waiting_for_it(
    servers: Services, database: None, access: dict[str, str], typed: str
) -> None:
    """`status` waited as long as the lock was held, in the hour in which it is asked for."""
    connection = await asyncpg.connect(servers.database_url)
    try:
        await connection.execute("BEGIN; LOCK TABLE webhook_endpoint, delivery, workspace IN ACCESS EXCLUSIVE MODE")
        command = [sys.executable, "-c", _HASTY, *typed.split()]
        result = await asyncio.to_thread(
            subprocess.run, command, env=environment(**access), capture_output=True, text=True
        )
    finally:
        await connection.close()
    assert "it ran for longer than 0.2 s" in refused(result)
    assert "`leadwire doctor`" in refused(result)


async def test_a_wrong_secret_key_and_unknown_things_are_one_line(
    servers: Services, all_at_once: AllAtOnce, tmp_path: Path
) -> None:
    no_text = tmp_path / "no_text"
    no_text.write_bytes(b"\xff")
    connection = await asyncpg.connect(servers.database_url)
    await connection.execute("DROP DATABASE IF EXISTS other_key")
    await connection.execute("CREATE DATABASE other_key")
    await connection.close()
    url = servers.database_url.replace("/leadwire?", "/other_key?")
    settings = {"DATABASE_URL": url, "REDIS_URL": servers.redis_url, "SECRET_KEY": KEY}
    assert run("migrate", **settings).returncode == 0
    assert run("migrate", **settings).stdout == "nothing to do\n"
    made = run("endpoints", "create", "--url", "https://example.com/", "--event", "lead.created", "--json", **settings)
    assert json.loads(made.stdout)["secret"].startswith("whsec_")
    other = settings | {"SECRET_KEY": base64.b64encode(bytes([7]) * 32).decode()}
    assert "LEADWIRE_SECRET_KEY" in refused(run("deliver", **other))
    for key, said in (("short", "LEADWIRE_SECRET_KEY"), (base64.b64encode(b"x").decode(), "32 bytes")):
        assert said in refused(run("deliver", **settings | {"SECRET_KEY": key}))
    unknown: list[tuple[tuple[str, ...], str]] = [
        (("endpoints", "create", "--url", "https://example.com/", "--event", "lead.eaten"), "lead.eaten"),
        (("endpoints", "create", "--url", "http://example.com/", "--event", "lead.created"), "http"),
        (("endpoints", "create", "--url", "https://127.0.0.1/", "--event", "lead.created"), "127.0.0.1"),
        (("endpoints", "create", "--url", "", "--event", "lead.created"), "URL"),
        (("endpoints", "list", "--workspace", "ws_unknown"), "ws_unknown"),
        (("endpoints", "delete", "we_unknown"), "we_unknown"),
        (("keys", "create", "--name", "x", "--scope", "everything"), "everything"),
        (("keys", "create", "--name", ""), "name"),
        (("keys", "create", "--name", "x", "--workspace", "ws_unknown"), "ws_unknown"),
        (("keys", "list", "--workspace", "ws_unknown"), "ws_unknown"),
        (("dead-letters", "show", "evt_unknown"), "evt_unknown"),
        (("redrives", "start", "--event-id", "evt_unknown"), "evt_unknown"),
        (("endpoints", "configure", "we_unknown"), "we_unknown"),
        (("redrives", "start", "--endpoint", "we_unknown"), "we_unknown"),
        (("redrives", "start", "--replay"), "one endpoint"),
        (("redrives", "start", "--sequence", "2"), "one endpoint"),
        (("redrives", "start", "--event", "lead.eaten"), "lead.eaten"),
        (("redrives", "start", "--outcome", "sadness"), "sadness"),
        (("redrives", "start", "--rate", "0"), "rate"),
        (("redrives", "pause", "job_unknown"), "job_unknown"),
        (("keys", "create", "--name", "\udcff"), "UTF-8"),
        (("dead-letters", "show", "\udcff"), "UTF-8"),
        (("workspaces", "move", "ws_unknown", "--from", str(no_text)), f"{no_text} cannot be read"),
    ]
    for (text, result), (_, named) in zip(all_at_once([(one, settings) for one, _ in unknown]), unknown, strict=True):
        assert named in refused(result), text
    lists = [(name, "list") for name in ("keys", "endpoints", "dead-letters", "redrives", "set-aside")]
    parsed: list[tuple[str, ...]] = [*lists, ("status",), ("ledger",)]
    for text, result in all_at_once([((*one, "--json"), settings) for one in parsed]):
        assert (result.returncode, result.stderr) == (0, ""), text
        json.loads(result.stdout)


@pytest.mark.parametrize(
    ("cause", "code", "line"),
    [
        (BrokenPipeError(), 0, ""),
        (OperatorError("it is so"), 1, "leadwire: it is so\n"),
        (OSError(28, "No space left on device"), 1, "leadwire: cannot write: No space left on device\n"),
        (PermissionError(13, "Permission denied", "a"), 1, "leadwire: a: Permission denied\n"),
    ],
)
def test_what_a_task_group_wraps_is_told_as_if_it_had_not(
    cause: Exception, code: int, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ExceptionGroup("of a task group", [ExceptionGroup("of another", [cause])])

    monkeypatch.setattr(main.cli, "main", fail)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert (ended.value.code, capsys.readouterr().err) == (code, line)


def test_a_taken_port_is_one_line(all_at_once: AllAtOnce) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, data_directory() as directory:
        port = str(taken.getsockname()[1])
        commands = [((name, "--port", port), {"DATA_DIR": str(directory)}) for name in ("up", "serve", "listen")]
        for text, result in all_at_once(commands):
            assert (result.returncode, port in refused(result)) == (1, True), text


def test_a_data_directory_that_cannot_be_one_is_one_line(all_at_once: AllAtOnce) -> None:
    with data_directory() as directory:
        file = directory / "file"
        file.write_text("")
        for path in (file, file / "below", Path("/proc/leadwire")):
            commands = [((name,), {"DATA_DIR": str(path)}) for name in ("status", "migrate")]
            port = str(free_port())
            for text, result in all_at_once([*commands, (("up", "--port", port), {"DATA_DIR": str(path)})]):
                assert str(path) in refused(result), text


@pytest.mark.flow
def test_a_corrupt_data_directory_is_one_line_and_leaves_nothing_running() -> None:
    with data_directory() as directory:
        settings = {"DATA_DIR": str(directory)}
        assert run("migrate", "--json", **settings).returncode == 0  # makes it
        (cluster,) = (directory / "servers").resolve().glob("postgres-*")
        up = ("up", "--port", str(free_port()))
        for name, command in (("PG_VERSION", up), ("global/pg_control", ("status",))):
            whole = directory / "whole"
            shutil.copy2(cluster / name, whole)
            (cluster / name).write_bytes(b"garbage" * 10)
            assert "PostgreSQL" in refused(run(*command, **settings))
            (cluster / name).write_bytes(whole.read_bytes())
        assert run("status", **settings).returncode == 0
