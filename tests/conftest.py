"""Real servers for every test: PostgreSQL and Valkey as `leadwire up` starts them, thrown away afterwards.

Nothing is rolled back and nothing is mocked: what a test does is committed, because what happens at commit is what
Leadwire is about. Before each test the tables are emptied. The database's clock can be moved (`db_clock`): a schema on
the search path holds a `now()` of ours, so production code has no hook for it.
"""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

_DIRECTORY = Path(tempfile.mkdtemp(prefix="leadwire-test-"))
_DIRECTORY.chmod(0o711)  # as root the servers run as `nobody`
for _name in [
    name for name in os.environ if name.startswith("LEADWIRE_") and not name.startswith("LEADWIRE_EMBEDDED_")
]:
    del os.environ[_name]
os.environ |= {
    "LEADWIRE_DATA_DIR": str(_DIRECTORY),
    "LEADWIRE_ALLOWED_NETWORKS": "127.0.0.0/8,::1/128",
    "LEADWIRE_DNS_RESOLVER": "127.0.0.1:1",  # where nobody is
    "LEADWIRE_NEW_HOST_RATE": "0",  # hosts have answered before; tests/delivery/test_new_hosts.py is of others
    "LEADWIRE_SECRET_KEY": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
}

import asyncio  # noqa: E402 - the settings come first
import contextlib  # noqa: E402
import copy  # noqa: E402
import functools  # noqa: E402
import importlib  # noqa: E402
import itertools  # noqa: E402
import time  # noqa: E402

import argon2  # noqa: E402
import httpx  # noqa: E402
import hypothesis  # noqa: E402
import pytest  # noqa: E402
from redis.asyncio import Redis  # noqa: E402

from leadwire.delivery.worker import hourly_stats  # noqa: E402
from leadwire.domain.accounts import changes as accounts  # noqa: E402
from leadwire.domain.accounts import reads as accounts_reads  # noqa: E402
from leadwire.domain.accounts.sign_in import passwords  # noqa: E402
from leadwire.domain.bots import changes as bots  # noqa: E402
from leadwire.domain.bots.changes import counts  # noqa: E402
from leadwire.infrastructure import clock, db, redis_pool, settings, txt_records  # noqa: E402
from leadwire.infrastructure.db import declared, engine  # noqa: E402
from leadwire.infrastructure.db.migrations import migrate  # noqa: E402
from leadwire.infrastructure.jobs import runner  # noqa: E402
from leadwire.infrastructure.rate_limit import Bucket, RateLimit  # noqa: E402
from leadwire_development.embedded import Services, services  # noqa: E402
from tests import asgi, left, unordered  # noqa: E402
from tests.clock import DatabaseClock  # noqa: E402
from tests.delivery.wired import Wire  # noqa: E402
from tests.receiver import Receiver  # noqa: E402

pytest_plugins = ("tests.dns_server", "tests.mailing")

hypothesis.settings.register_profile("leadwire", deadline=None)  # how long an example takes depends on the machine
hypothesis.settings.load_profile("leadwire")
unordered.reverse()
COSTLY = passwords._hasher
"""What passwords are hashed with outside of tests, where a thousand people sign in."""
_COLLECTED = (counts._counted, hourly_stats._hours)
"""What is collected and written by a timer: here when a test asks for it, and not amid one of the next."""
for _collected in _COLLECTED:
    _collected._every = 86_400.0
passwords._hasher = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)  # type: ignore[misc]
passwords.outdated = passwords._hasher.check_needs_rehash  # type: ignore[misc]

# What is trusted is read once, not for each of some thousand clients: it takes them a tenth of a second.
httpx._transports.default.create_ssl_context = functools.cache(httpx.create_ssl_context)
txt_records._PATIENCE = 0.05  # type: ignore[misc]  # where nobody is; `resolver` has more


_LOOPS: list[asyncio.AbstractEventLoop] = []
"""That of all tests of this process, once it is there."""


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two more than there are cores, because much is waited for; each has servers of its own. One test needs none."""
    return 0 if any("::" in asked for asked in config.args) else min((os.cpu_count() or 1) + 2, 8)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Workers begin to import the tests at different places, so that what one has compiled is read by the others."""
    worker = getattr(session.config, "workerinput", None)
    if worker and session.config.args == session.config.getini("testpaths"):
        modules = sorted(Path(__file__).parent.rglob("test_*.py"))
        first = len(modules) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
        for module in modules[first:] + modules[:first]:
            name = module.relative_to(session.config.rootpath).with_suffix("")
            with contextlib.suppress(Exception):  # the collection says what is wrong with it
                importlib.import_module(".".join(name.parts))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Each worker begins with modules that start processes: nothing that takes long is begun when all else is done."""
    worker = getattr(config, "workerinput", None)
    long: list[list[pytest.Item]] = []
    others: list[list[pytest.Item]] = []
    for _, grouped in itertools.groupby(items, key=lambda item: item.path):
        module = list(grouped)
        (long if any(item.get_closest_marker("flow") for item in module) else others).append(module)
    if worker:
        rest, dealt, workers = itertools.chain(*others), list[pytest.Item](), worker["workercount"]
        for number in range(workers):
            size = (len(items) - len(dealt)) // (workers - number)  # so many xdist gives to this worker, in this order
            own = [*itertools.chain(*long[number::workers])]
            dealt += [*own, *itertools.islice(rest, max(0, size - len(own)))]
        items[:] = [*dealt, *rest]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Iterator[None]:
    """Say where everything waits when a test was stopped by its time limit."""
    report = yield
    if call.excinfo and "pytest-timeout" in str(call.excinfo.value) and _LOOPS:
        report.sections.append(("Where each task waits", left.waits(_LOOPS[0])))
    return report


@pytest.fixture(scope="session")
def servers() -> Iterator[Services]:
    """This test session's own servers."""
    try:
        with services(settings.get(), durable=False) as running:
            yield running
    finally:
        shutil.rmtree(_DIRECTORY, ignore_errors=True)


@pytest.fixture(scope="session")
async def connected(servers: Services) -> AsyncIterator[None]:
    """The pool and the Redis client, on migrated tables.

    Requests have the time that a wait of a test has: a busy machine may stop a statement for longer than a customer
    would wait. Tests of these limits set their own.
    """
    for role in ("api", "pages"):
        pytest.MonkeyPatch().setitem(engine.LIMITS, role, 240.0)
    await db.open_pool(f"{servers.database_url}&search_path=public,test_clock,pg_catalog", 10)
    await DatabaseClock.install()
    await migrate()
    # One trip instead of one for each table, before each of some thousand tests.
    deletes = "; ".join(f"DELETE FROM {declared.name(table)}" for table in declared.emptied())
    await db.rows(
        # A transaction that a failed test has left open fails the next one soon, instead of all that follow late.
        "CREATE FUNCTION test_clock.empty_tables() RETURNS void LANGUAGE plpgsql SET lock_timeout = '10s'"
        f" AS $$ BEGIN {deletes}; END $$"
    )
    redis_pool.connect(f"{servers.redis_url}&socket_connect_timeout=60")  # a busy machine may stop us for seconds
    _LOOPS.append(asyncio.get_running_loop())
    asgi.app()  # now, before a test can change the settings it is made from
    yield
    await redis_pool.close()
    await db.close_pool()


@pytest.fixture(autouse=True)
def _of_one_day() -> None:
    """A test that would begin just before midnight begins behind it: many ask what there was today."""
    left = -time.time() % 86_400
    if left < 20:
        time.sleep(left)


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    """What all tests share is as it was."""
    yield from left.unchanged()


@pytest.fixture
async def database(connected: None) -> AsyncIterator[None]:
    """Empty tables, an empty Redis, the true time, and nothing that a test before has left to be written later."""
    for collected in _COLLECTED:
        collected.clear()
        if collected._due:
            collected._due.cancel()
            collected._due = None
    await left.ended(db.DB)
    await db.rows("SELECT test_clock.empty_tables()")
    await DatabaseClock().reset()
    accounts_reads._known.clear()
    db.DB._refusals.clear()
    await redis_pool.require_client().flushall()
    before = left.loops()
    yield
    # One that a failed test has not stopped would take the deliveries of the next.
    await left.end(left.loops() - before)
    await left.written()


@pytest.fixture
async def db_clock(database: None, monkeypatch: pytest.MonkeyPatch) -> DatabaseClock:
    """The database's clock, which stands still, to be moved. So does the process's: times of both are compared."""
    database_clock = DatabaseClock()
    stopped = clock.from_unix((await database_clock.stop()).timestamp())
    monkeypatch.setattr(clock, "now", lambda: clock._set_to.get() or stopped)
    return database_clock


@pytest.fixture(autouse=True)
def _tries_do_not_come_back(request: pytest.FixtureRequest) -> Iterator[None]:
    """What Redis is asked for at once, as tries of a password, does not come back, however slow the machine is: but
    where a test is marked `refill`.
    """
    ask = RateLimit._ask_redis

    async def asked(limit: RateLimit, caller: str, spent: int, span: float, mode: str = "") -> float | None:
        still = copy.copy(limit)
        still._rate = 0.0 if mode else limit._rate
        return await ask(still, caller, spent, span, mode)

    with pytest.MonkeyPatch.context() as ours:  # a test may undo its own before it ends
        if "refill" not in request.keywords:
            ours.setattr(RateLimit, "_ask_redis", asked)
        yield


@pytest.fixture
def no_refill(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test uses up of a rate limit does not come back, however slow the machine is."""
    take = Bucket.take

    def taken(bucket: Bucket, now: float, rate: float, burst: float) -> bool:
        bucket.at = max(bucket.at, now)
        return take(bucket, now, rate, burst)

    monkeypatch.setattr(Bucket, "take", taken)


@pytest.fixture
def long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that fails is not tried again while the test lasts, however slow the machine is."""
    monkeypatch.setattr(runner, "_FIRST_PAUSE", 300.0)
    monkeypatch.setattr(runner, "_HELD_PAUSE", 300.0)


@pytest.fixture
def redis(database: None) -> Redis:
    return redis_pool.require_client()


@pytest.fixture
async def wire(redis: Redis) -> AsyncIterator[Wire]:
    """The hops of delivery, each run by hand."""
    async with Wire(redis) as wire:
        yield wire


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """A customer's server, which keeps what it receives."""
    async with Receiver() as receiver:
        yield receiver


@pytest.fixture
async def workspace(database: None) -> str:
    return await accounts.create_workspace("Test")


@pytest.fixture
async def bot(workspace: str) -> str:
    return await bots.create(workspace, "Bot")


@pytest.fixture
async def api_key(workspace: str) -> str:
    _, key = await accounts.create_key(workspace, "test")
    return key


@pytest.fixture
async def anonymous(database: None) -> AsyncIterator[httpx.AsyncClient]:
    """The API without a key."""
    async with httpx.AsyncClient(transport=asgi.transport(), base_url="http://test") as client:
        yield client


@pytest.fixture
async def client(anonymous: httpx.AsyncClient, api_key: str) -> httpx.AsyncClient:
    """The API with a key of `workspace` that may do everything."""
    anonymous.headers["Authorization"] = f"Bearer {api_key}"
    return anonymous
