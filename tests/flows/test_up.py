"""`leadwire up` as a newcomer starts it, and every command beside it in another terminal."""

import contextlib
import itertools
import json
import os
import re
import shlex
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from leadwire.infrastructure import clock
from tests.flows.commands import (
    COMMAND,
    Listener,
    Started,
    data_directory,
    environment,
    free_port,
    mentioning,
    refused,
    run,
)
from tests.waiting import until

pytestmark = pytest.mark.flow


class Up:
    """One `up` on a data directory; `beside` runs a command that knows nothing but that directory."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.directory = directory
        self.port = free_port()
        self._began = ("up", "--port", str(self.port), *options)
        self.listeners: list[Listener] = []
        self.http = httpx.Client()
        self.started: Started = None  # type: ignore[assignment]  # until the next line
        self.start()

    def start(self) -> None:
        quick = {"RETRY_SCHEDULE": "1,1,1", "LEASE": "5", "DELIVERY_TIMEOUT": "3"}
        if self.started:
            self.started.close()
        self.started = Started(*self._began, DATA_DIR=str(self.directory), **quick)
        until(lambda: self._published() or not self.started.running(), 200)
        assert self.started.running(), self.started.err
        self.key = self.told()["api_key"]
        self.http.close()
        self.http = httpx.Client(
            base_url=self.told()["url"], headers={"Authorization": f"Bearer {self.key}"}, timeout=240, trust_env=False
        )

    def _published(self) -> bool:
        with contextlib.suppress(FileNotFoundError):
            return bool(self.told()["pid"] == self.started.process.pid)
        return False

    def told(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads((self.directory / "up.json").read_text())
        return told

    def pid(self, name: str) -> int:
        return next(int(process["pid"]) for process in self.told()["processes"] if process["name"] == name)

    def beside(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run(*arguments, DATA_DIR=str(self.directory))

    def json(self, *arguments: str) -> Any:
        result = self.beside(*arguments, "--json")
        assert result.returncode == 0, result
        return json.loads(result.stdout)

    def ok(self, *arguments: str) -> str:
        result = self.beside(*arguments)
        assert (result.returncode, result.stderr) == (0, "")
        return result.stdout

    def lead(self, number: int) -> str:
        """A demo lead of a test's own."""
        lead: str = self.http.get("/v1/leads", params={"limit": 1, "page": 300 + number}).json()["data"][0]["id"]
        return lead

    def patch(self, lead: str, value: str) -> None:
        """A change, tried again while the API is down."""

        def changed() -> bool:
            try:
                return self.http.patch(f"/v1/leads/{lead}", json={"custom_fields": {"flow": value}}).is_success
            except httpx.TransportError:
                return False

        until(changed)

    def endpoint(self, *options: str, events: tuple[str, ...] = ("lead.updated",)) -> tuple[str, Listener]:
        """An enabled endpoint and the `listen` behind it."""
        port = free_port()
        kinds = [part for event in events for part in ("--event", event)]
        made = self.json("endpoints", "create", "--url", f"http://127.0.0.1:{port}/", *kinds, "--enable")
        self.listeners.append(Listener(port, made["secret"], *options))
        return made["id"], self.listeners[-1]

    def close(self) -> None:
        self.http.close()
        for listener in self.listeners:
            listener.close()
        self.started.close()


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    """The one that most tests share."""
    with data_directory() as directory:
        running = Up(directory)
        try:
            yield running
        finally:
            running.close()


@pytest.fixture(scope="module")
def listener(up: Up) -> Listener:
    """What every change of a lead arrives at."""
    return up.endpoint()[1]


@pytest.fixture
def one_endpoint(up: Up) -> Iterator[Any]:
    """Make endpoints that are gone after the test."""
    made: list[str] = []

    def make(*options: str) -> tuple[str, Listener]:
        endpoint, listener = up.endpoint(*options)
        made.append(endpoint)
        return endpoint, listener

    yield make
    for endpoint in made:
        up.beside("endpoints", "delete", endpoint)


def test_up_json_says_where_everything_is_to_its_owner_alone(up: Up) -> None:
    told = up.told()
    assert set(told) == {
        "url",
        "api_key",
        "workspace_id",
        "pid",
        "database_url",
        "redis_url",
        "processes",
        "join",
        "mailbox",
    }
    assert stat.S_IMODE((up.directory / "up.json").stat().st_mode) == 0o600
    assert told["pid"] == up.started.process.pid
    assert told["url"] == f"http://localhost:{up.port}"
    assert [one["name"] for one in told["processes"]][:4] == ["serve", "relay", "deliver", "background"]
    for process in told["processes"]:
        os.kill(process["pid"], 0)


def test_it_prints_what_to_try_next_with_the_real_key_and_shows_verified_deliveries(up: Up) -> None:
    assert up.key in up.started.out
    until(lambda: "verified" in up.started.out)
    assert up.started.err == ""


def test_the_commands_to_try_next_work_as_they_are_printed(up: Up) -> None:
    printed = [line.strip() for line in up.started.out.splitlines() if "uv run leadwire " in line]
    tried = [line for line in printed if " listen " not in line]  # which needs no `up`, and does not end
    assert [line.split()[-1] for line in tried] == ["--enable", "status"]
    shown = []
    for line in tried:
        here = line.replace("uv run leadwire", shlex.join(COMMAND))
        shown.append(subprocess.run(here, shell=True, capture_output=True, text=True, env=environment(), check=True))
    up.ok("endpoints", "delete", shown[0].stdout.split()[0])
    assert "unrelayed events" in shown[1].stdout


def test_it_survives_whatever_its_receiver_is_sent(up: Up) -> None:
    pids = {one["name"]: one["pid"] for one in up.told()["processes"]}
    (address,) = {one["url"] for one in up.json("endpoints", "list") if one["url"].endswith("/webhooks")}
    huge = {"event": "lead.updated", "data": {"id": "lead_1", "custom_fields": {"text": "x" * 900_000}}}
    strange = {"event": "\x1b[2Jstrange\x00\x07", "data": {"id": "\u202e\r\n"}}
    for body in (json.dumps(huge).encode(), json.dumps(strange).encode(), b"\xff\x00\x1b[2J", b"[" * 100_000):
        assert httpx.post(address, content=body, trust_env=False, timeout=240).status_code == 401
    until(lambda: "REFUSED" in up.started.out and "?[2Jstrange??" in up.started.out)
    assert "\x1b[2J" not in up.started.out
    assert {one["name"]: one["pid"] for one in up.told()["processes"]} == pids
    assert {stat.S_IMODE(log.stat().st_mode) for log in (up.directory / "logs").iterdir()} == {0o600}


async def test_the_demo_has_bots_leads_conversations_and_a_past(up: Up) -> None:
    assert up.http.get("/v1/leads", params={"limit": 1}).json()["meta"]["total"] >= 400
    assert up.http.get("/v1/conversations", params={"limit": 1}).json()["meta"]["total"] >= 600
    connection = await asyncpg.connect(up.told()["database_url"])
    try:
        assert await connection.fetchval("SELECT count(*) FROM bot") == 3
        assert await connection.fetchval("SELECT now() - min(created_at) > interval '50 days' FROM conversation")
        assert await connection.fetchval("SELECT count(*) FROM message") > 1600
    finally:
        await connection.close()


def test_a_patched_lead_arrives_verified(up: Up, listener: Listener) -> None:
    lead = up.lead(0)
    up.patch(lead, "first")
    (seen,) = until(lambda: listener.seen(lead))
    assert (seen["event"], seen["verified"], seen["attempt"], seen["test"]) == ("lead.updated", True, "1", False)
    assert seen["body"]["data"]["custom_fields"]["flow"] == "first"


def test_an_endpoint_is_tested_disabled_enabled_and_deleted(up: Up) -> None:
    port = free_port()
    made = up.json("endpoints", "create", "--url", f"http://127.0.0.1:{port}/hook", "--event", "lead.updated")
    assert made["secret"].startswith("whsec_")
    endpoint = made["id"]

    def enabled() -> bool:
        return bool({one["id"]: one["enabled"] for one in up.json("endpoints", "list")}[endpoint])

    assert not made["enabled"]
    listener = Listener(port, made["secret"])
    up.listeners.append(listener)
    tested = up.json("endpoints", "test", endpoint)
    assert (tested["attempt"]["outcome"], tested["attempt"]["http_status"]) == ("delivered", 204)
    (seen,) = until(listener.seen)
    assert (seen["test"], seen["verified"], seen["webhook_id"]) == (True, True, tested["event_id"])
    up.ok("endpoints", "enable", endpoint)
    assert enabled()
    up.ok("endpoints", "disable", endpoint)
    lead = up.lead(1)
    up.patch(lead, "while disabled")
    up.ok("endpoints", "enable", endpoint)
    up.patch(lead, "while enabled")
    until(lambda: "while enabled" in [one["body"]["data"]["custom_fields"]["flow"] for one in listener.seen(lead)])
    up.ok("endpoints", "delete", endpoint)
    assert endpoint not in {one["id"] for one in up.json("endpoints", "list")}
    assert endpoint in refused(up.beside("endpoints", "enable", endpoint))


def test_an_invitation_has_the_address_of_the_running_up(up: Up) -> None:
    assert up.json("users", "invite")["link"].startswith(f"http://localhost:{up.port}/join/")


def test_mail_is_shown_in_the_mailbox_with_links_that_work(up: Up) -> None:
    link = up.json("users", "invite", "--email", "mailed@example.org")["link"]

    def shown() -> Any:
        page = up.http.get(up.told()["mailbox"]).text
        return "<td>sent</td>" in page and re.search(r"/dev/mail/\w+/mail_\w+", page)

    mail = up.http.get(until(shown)[0]).text
    assert link in mail
    assert up.http.get(link).is_success


def test_a_test_of_an_endpoint_that_refuses_exits_1(up: Up, one_endpoint: Any) -> None:
    endpoint, _ = one_endpoint("--status", "500")
    result = up.beside("endpoints", "test", endpoint, "--json")
    assert result.returncode == 1
    assert json.loads(result.stdout)["attempt"]["outcome"] == "http_5xx"


def test_a_key_works_with_its_scopes_until_it_is_revoked(up: Up) -> None:
    made = up.json("keys", "create", "--name", "flow", "--scope", "leads:read")
    with httpx.Client(base_url=up.told()["url"], trust_env=False, timeout=240) as client:
        client.headers["Authorization"] = f"Bearer {made['key']}"
        assert client.get("/v1/leads?limit=1").status_code == 200
        assert client.get("/v1/conversations?limit=1").status_code == 403
        up.ok("keys", "revoke", made["id"])
        until(lambda: client.get("/v1/leads?limit=1").status_code == 401)
    listed = up.ok("keys", "list", "--json")
    assert {one["id"]: one["revoked_at"] for one in json.loads(listed)}[made["id"]]
    assert made["key"] not in listed


def test_status_and_ledger_tell_the_truth(up: Up) -> None:
    status = up.json("status")
    assert set(status) == {
        "unrelayed", "deliveries", "overdue", "behind", "paused_endpoints", "dead_letters", "set_aside", "streams",
        "workers", "silent_workers", "jobs", "background_seconds",
    }  # fmt: skip
    assert len(status["workers"]) >= 1
    ledger = up.json("ledger")
    assert ledger["balanced"] is True
    assert [check for check in ledger["checks"] if check["broken"]] == []


def test_four_attempts_then_one_dead_letter_and_a_redrive_delivers_it(up: Up, one_endpoint: Any) -> None:
    endpoint, listener = one_endpoint("--fail-first", "4")
    lead = up.lead(2)
    up.patch(lead, "doomed")
    tries = until(lambda: len(listener.seen(lead)) == 4 and listener.seen(lead))
    until(lambda: up.json("dead-letters", "list", "--event", tries[0]["webhook_id"])["total"])
    assert [(one["attempt"], one["status"], one["verified"]) for one in tries] == [
        (str(number), 500, True) for number in (1, 2, 3, 4)
    ]
    assert len({json.dumps(one["body"]) for one in tries}) == len({one["webhook_id"] for one in tries}) == 1
    moments = [clock.parse(one["received_at"]) for one in tries]
    assert all((later - earlier).total_seconds() >= 0.95 for earlier, later in itertools.pairwise(moments))
    (letter,) = up.json("dead-letters", "list", "--event", tries[0]["webhook_id"])["dead_letters"]
    assert (letter["state"], letter["attempts"], letter["last_outcome"]) == ("dead", 4, "http_5xx")
    (shown,) = up.json("dead-letters", "show", letter["event_id"], "--endpoint", endpoint)
    assert [one["http_status"] for one in shown["history"]] == [500] * 4
    assert json.loads(shown["body"]) == tries[0]["body"]
    this = ("--endpoint", endpoint, "--event", letter["event_id"])  # the demo's visitors may doom others
    assert up.json("redrives", "start", "--endpoint", endpoint, "--dry-run")["would_redrive"] >= 1
    job = up.json("redrives", "start", "--endpoint", endpoint, "--event-id", letter["event_id"])
    assert (job["total"], job["first_event"]) == (1, letter["event_id"])
    until(lambda: len(listener.seen(lead)) == 5)
    assert listener.seen(lead)[4]["status"] == 204
    until(lambda: up.json("dead-letters", "list", *this)["total"] == 0)


def test_a_second_up_on_the_same_directory_or_port_is_one_line(up: Up) -> None:
    again = run("up", "--port", str(free_port()), DATA_DIR=str(up.directory))
    assert (again.returncode, "another" in refused(again)) == (1, True)
    with data_directory() as other:
        for command in (("up",), ("serve",)):
            taken = run(*command, "--port", str(up.port), DATA_DIR=str(other))
            assert (taken.returncode, str(up.port) in refused(taken)) == (1, True)
    assert up.http.get("/health/ready").status_code == 200


def test_the_readmes_command_finds_the_process_that_delivers(up: Up) -> None:
    (pattern,) = re.findall(r'pkill -9 -f "(.+)"', (Path(__file__).parents[2] / "README.md").read_text())
    assert len([line for line in mentioning(str(up.directory)) if pattern in line]) == 1


@pytest.mark.parametrize("name", ["serve", "relay", "deliver", "background"])
def test_a_killed_process_is_restarted_and_nothing_is_lost(up: Up, listener: Listener, name: str) -> None:
    lead = up.lead({"serve": 6, "relay": 7, "deliver": 8, "background": 9}[name])
    before = up.pid(name)
    up.patch(lead, "0")
    os.kill(before, signal.SIGKILL)
    for number in range(1, 20):
        up.patch(lead, str(number))
    until(lambda: up.pid(name) != before)
    os.kill(up.pid(name), 0)
    up.patch(lead, "20")

    def arrived() -> set[str]:
        return {one["body"]["data"]["custom_fields"]["flow"] for one in listener.seen(lead)}

    # A relay killed between its commit and the stream is healed by reconcile, at the latest after 30 s and a round.
    until(lambda: arrived() >= {str(number) for number in range(21)})
    until(lambda: f"{name} died (SIGKILL), starting it again" in up.started.out)
    assert up.http.get("/v1/leads?limit=1").status_code == 200


def test_killed_servers_come_back_and_nothing_is_lost(up: Up, listener: Listener) -> None:
    lead = up.lead(4)
    servers = {
        "postgres": next((up.directory / "servers").resolve().glob("postgres-*/postmaster.pid")),
        "valkey": next((up.directory / "servers").resolve().rglob("server.pid")),
    }
    for number, file in enumerate(servers.values()):
        up.patch(lead, f"before {number}")
        os.kill(int(file.read_text().split()[0]), signal.SIGKILL)
        up.patch(lead, f"after {number}")

    def arrived() -> set[str]:
        return {one["body"]["data"]["custom_fields"]["flow"] for one in listener.seen(lead)}

    until(lambda: arrived() >= {f"{when} {number}" for when in ("before", "after") for number in (0, 1)})


def test_ctrl_c_ends_it_cleanly_and_the_next_one_keeps_the_data(up: Up) -> None:
    key, lead, workspace = up.key, up.lead(5), up.told()["workspace_id"]
    up.patch(lead, "kept")
    total = up.http.get("/v1/leads?limit=1").json()["meta"]["total"]
    assert up.started.signal(signal.SIGINT) == 0
    assert mentioning(str(up.directory)) == []
    assert not (up.directory / "up.json").exists()
    assert "Your data is kept." in up.started.out
    assert up.started.err == ""
    up.start()
    assert (up.key, up.told()["workspace_id"]) == (key, workspace)
    assert up.http.get(f"/v1/leads/{lead}").json()["data"]["custom_fields"]["flow"] == "kept"
    assert total <= up.http.get("/v1/leads?limit=1").json()["meta"]["total"] < total + 100


def test_kill_9_of_up_leaves_no_process_and_the_next_one_starts(up: Up) -> None:
    up.started.process.kill()
    up.started.process.wait()
    until(lambda: not mentioning(str(up.directory)))
    up.start()
    assert up.json("ledger")["balanced"] is True
