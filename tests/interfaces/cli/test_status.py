"""`leadwire status --watch` follows deliveries: the tables, or a document a look."""

import asyncio
import json
from typing import Any

import pytest

from leadwire.delivery.monitoring.status import Overdue, OverdueEndpoint, Status, Stream, Unrelayed, Worker
from leadwire.infrastructure.jobs.reads import Summary
from leadwire.interfaces.cli import status
from leadwire_development.embedded import Services
from tests.flows.commands import Started
from tests.waiting import until


def seen(delivered: int = 0, **changed: Any) -> Status:
    counts = {"waiting": 0, "queued": 0, "delivered": delivered, "dead": 0, "cancelled": 0}
    whole: dict[str, Any] = {
        "unrelayed": Unrelayed(3, 0.5), "deliveries": counts, "overdue": Overdue(7, 90.0), "dead_letters": 2,
        "behind": [OverdueEndpoint("we_hanging", "https://example.com/hook", 7, 90.0, 1)],
        "set_aside": 0, "paused_endpoints": 1, "streams": [Stream("leadwire:{deliveries}:0", 5, 4, 1, 1.5)],
        "workers": [Worker("deliverer-1", 0.1)], "silent_workers": [],
        "jobs": [Summary("mail", 3, 95.0, "mail_1", 2, 1)],
        "background_seconds": 0.0,
    }  # fmt: skip
    return Status(**whole | changed)


async def shown(capsys: pytest.CaptureFixture[str], *looks: Status | Exception) -> str:
    """What a terminal has been sent after these looks."""
    left = list(looks)
    looked = asyncio.Event()

    async def look() -> Status:
        if not left:
            looked.set()
            await asyncio.Event().wait()
        if isinstance(found := left.pop(0), Exception):
            raise found
        return found

    following = asyncio.create_task(status.follow(look, 0.001))
    await asyncio.wait([following, asyncio.create_task(looked.wait())], return_when=asyncio.FIRST_COMPLETED)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    return "".join(capsys.readouterr())


async def test_the_picture_has_what_is_late_and_how_much_was_delivered(capsys: pytest.CaptureFixture[str]) -> None:
    told = await shown(capsys, seen(100), seen(100_000))
    for text in (
        "overdue",
        "90.0 s",
        "leadwire:{deliveries}:0",
        "we_hanging, window 1",
        "1 workers alive",
        "100000",
        "mail_1",
        "95.0 s",
    ):
        assert text in told, told


@pytest.mark.parametrize(("seconds", "runs"), [(None, False), (3.0, True), (90.0, False)])
def test_it_says_when_no_background_process_runs(seconds: float | None, runs: bool) -> None:
    assert ("no background process runs" not in status.text(seen(background_seconds=seconds))) == runs


def test_a_worker_that_is_silent_is_said() -> None:
    told = status.text(seen(silent_workers=[Worker("deliverer-2", 63.4)]))
    assert "deliverer-2 is silent for 63 s: frozen, cut off or killed" in told
    assert "silent" not in status.text(seen())


def test_without_watching_the_same_is_told_once_with_what_to_do() -> None:
    told = status.text(seen(100, set_aside=1, paused_endpoints=2))
    for text in ("unrelayed events", "https://example.com/hook", "Retry-After", "leadwire set-aside list", "length"):
        assert text in told, told
    assert "Redis cannot be reached" in status.text(seen(streams=None, workers=None))


async def test_the_picture_survives_servers_that_are_away(capsys: pytest.CaptureFixture[str]) -> None:
    told = await shown(capsys, ConnectionRefusedError("no"), seen(streams=None, workers=None))
    assert "the database cannot be reached: no" in told
    assert "Redis cannot be reached" in told


async def test_what_is_no_refusal_of_a_server_is_not_hidden() -> None:
    async def look() -> Status:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await status.follow(look, 0.001)


@pytest.mark.flow
@pytest.mark.usefixtures("database")
def test_without_a_terminal_the_tables_or_a_document_come_again_and_again(servers: Services) -> None:
    settings = {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url}
    for option in ((), ("--json",)):
        watching = Started("status", "--watch", "--every", "0.1", *option, **settings)
        until(lambda watching=watching: watching.out.count("\n") >= 3 or not watching.running())
        first = watching.out.splitlines()[0]
        watching.close()
        if option:
            assert json.loads(first)["overdue"]["deliveries"] == 0
        else:
            assert first.strip() == "Delivery"
