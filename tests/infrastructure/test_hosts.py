"""Several hosts in the database's address: the primary is found among them, and found again when it is another one."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import asyncpg
import pytest

from leadwire.infrastructure import db, settings
from leadwire.infrastructure.db import hosts as hosts_module
from leadwire.infrastructure.db import pool
from leadwire.infrastructure.db.hosts import Hosts, host_urls
from leadwire_development.embedded import Services
from tests.delivery.elsewhere import moved_to, standby

CHANGE = "INSERT INTO epoch (server, first_position, started_at) VALUES ('another', 0, now())"
READ_ONLY = "SELECT set_config('default_transaction_read_only', 'on', false), pg_sleep(0.2)"  # a connection each
READ_WRITE = "target_session_attrs=read-write"


@pytest.mark.parametrize(
    ("url", "urls"),
    [
        ("postgresql://u:p@a/leadwire", {"a": "postgresql://u:p@a/leadwire"}),
        (
            f"postgresql://u:p%2C@a:1,b/leadwire?{READ_WRITE}",
            {
                "a:1": f"postgresql://u:p%2C@a:1/leadwire?{READ_WRITE}",
                "b": f"postgresql://u:p%2C@b/leadwire?{READ_WRITE}",
            },
        ),
        ("postgresql://[::1]:1,b/x", {"[::1]:1": "postgresql://[::1]:1/x", "b": "postgresql://b/x"}),
        ("postgresql://u@b,[::1]:1/x", {"b": "postgresql://u@b/x", "[::1]:1": "postgresql://u@[::1]:1/x"}),
        (
            "postgresql://u@/x?host=/a,/b&port=1,2",
            {"/a:1": "postgresql://u@/x?host=%2Fa&port=1", "/b:2": "postgresql://u@/x?host=%2Fb&port=2"},
        ),
        (
            "postgresql:///x?host=a,b&port=1",
            {"a:1": "postgresql:///x?host=a&port=1", "b:1": "postgresql:///x?host=b&port=1"},
        ),
        ("postgresql:///x?host=a,b&port=1,2,3", {"": "postgresql:///x?host=a,b&port=1,2,3"}),
    ],
)
def test_each_host_has_an_address_of_its_own(url: str, urls: dict[str, str]) -> None:
    assert host_urls(url) == urls


@pytest.fixture
def silent() -> Iterator[str]:
    """A host that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield str(listening.getsockname()[1])


async def test_a_host_that_does_not_answer_is_passed_over_and_then_tried_last(
    servers: Services, silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = servers.database_url.partition("host=")[2].partition("&")[0]
    url = f"postgresql://postgres@/leadwire?host=127.0.0.1,{place}&port={silent},5432&{READ_WRITE}"
    monkeypatch.setattr(hosts_module, "_HOST_TIMEOUT", 3.0)
    hosts = Hosts(url)
    for first in (f"127.0.0.1:{silent}", f"{place}:5432"):
        assert next(iter(hosts._urls)) == first
        connection = await hosts.connect(url)
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()


async def test_where_none_takes_changes_each_host_says_why(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"postgresql://nobody@127.0.0.1:{silent},127.0.0.1:1/none"
    monkeypatch.setattr(hosts_module, "_AGAIN_TIMEOUT", 0.1)
    hosts = Hosts(url)
    hosts._silent.add(f"127.0.0.1:{silent}")  # the other one is given as long as it needs
    with pytest.raises(ConnectionError, match=rf":{silent}: no answer within 0.1 s; 127.0.0.1:1: .*[Cc]onnect"):
        await hosts.connect(url)


async def directory() -> str:
    """Of the server that answers."""
    return str(await db.value("SELECT setting FROM pg_settings WHERE name = 'data_directory'"))


@pytest.fixture
async def demoted(database: None, servers: Services) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    """Let new connections to the test's server only read. Those that are open stay as they are."""
    alter = "ALTER DATABASE leadwire {} default_transaction_read_only".format
    admin = await asyncpg.connect(servers.database_url)
    yield lambda: admin.execute(f"{alter('SET')} = on")
    await admin.execute(alter("RESET"))
    await admin.close()


async def test_a_primary_that_refuses_changes_is_left_by_every_connection(
    demoted: Callable[[], Awaitable[object]], servers: Services
) -> None:
    before = await directory()
    held, go = asyncio.Event(), asyncio.Event()

    async def hold() -> str:
        async with db.transaction():
            await directory()
            held.set()
            await go.wait()
            return await directory()

    async with standby(servers, settings.get().data_dir) as pair:
        hosts = f"host={pair.standby_run},{pair.run}&port=5432"
        async with moved_to(f"postgresql://postgres@/leadwire?{hosts}"), asyncio.TaskGroup() as tasks:
            assert await directory() == before  # not the standby, which is named first
            holding = tasks.create_task(hold())
            await held.wait()
            await asyncio.gather(*(db.rows(READ_ONLY) for _ in range(3)))
            await pair.cut_off()
            await pair.promote()
            await demoted()
            assert await directory() == before
            with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
                await db.rows(CHANGE)
            assert before not in await asyncio.gather(*(directory() for _ in range(3)))
            await db.rows(CHANGE)
            go.set()
            assert await holding == before  # what was under way ends where it began
            assert before not in await asyncio.gather(*(directory() for _ in range(4)))


async def test_the_only_host_is_left_once_a_second_while_it_refuses_changes(
    database: None, servers: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with moved_to(f"{servers.database_url}&default_transaction_read_only=on"):
        monkeypatch.setattr(pool, "_LEAVE_EVERY", 3600.0)
        used: set[int] = set()
        for _ in range(5):
            with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
                await db.rows(CHANGE)
            used.add(await db.value("SELECT pg_backend_pid()"))
        assert len(used) == 1
        monkeypatch.setattr(pool, "_LEAVE_EVERY", 0.0)
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            await db.rows(CHANGE)
        assert await db.value("SELECT pg_backend_pid()") not in used
