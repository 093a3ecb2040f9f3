"""`leadwire status`: how delivery stands, as tables or as a document."""

import json
from typing import Any

import pytest

from leadwire.delivery.monitoring.status import Overdue, OverdueEndpoint, Status, Stream, Unrelayed, Worker
from leadwire.infrastructure.jobs.reads import Summary
from leadwire.interfaces.cli import status
from leadwire_development.embedded import Services
from tests.flows.commands import run


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


def test_what_is_late_and_how_much_was_delivered_is_told() -> None:
    told = status.text(seen(100_000))
    for text in (
        "overdue",
        "90.0 s",
        "leadwire:{deliveries}:0",
        "we_hanging, window 1",
        "1 worker alive",
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


def test_what_to_do_is_told_with_it() -> None:
    told = status.text(seen(100, set_aside=1, paused_endpoints=2))
    for text in ("unrelayed events", "https://example.com/hook", "Retry-After", "leadwire set-aside list", "length"):
        assert text in told, told
    assert "Redis cannot be reached" in status.text(seen(streams=None, workers=None))


@pytest.mark.usefixtures("database")
def test_it_is_told_as_tables_or_as_a_document(servers: Services) -> None:
    settings = {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url}
    assert run("status", **settings).stdout.splitlines()[0].strip() == "Delivery"
    assert json.loads(run("status", "--json", **settings).stdout)["overdue"]["deliveries"] == 0
