"""What people are told of endpoints: once, all together, whoever does it and whatever dies."""

import asyncio
from datetime import timedelta

import pytest

from leadwire.delivery.relay.loop import Relay
from leadwire.delivery.worker.health import FAILING_DAYS
from leadwire.delivery.worker.loop import Deliverer
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.changes import team
from leadwire.domain.mail import changes as mail
from leadwire.domain.mail import compose
from leadwire.domain.mail.schema import JOBS, Contents
from leadwire.domain.notices import changes
from leadwire.domain.notices.schema import ENDPOINTS
from leadwire.domain.webhooks import changes as webhooks
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import db, settings
from tests import jobs, make
from tests.catalog import value
from tests.delivery.wired import endpoint
from tests.domain.notices.telling import tell
from tests.mailing import mails
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("mailing")
PAUSE = ENDPOINTS.pause.total_seconds() + 1
STATES = ("ending", "failing", "disabled", "working")

# Endpoints as a worker leaves them that has failed three times.
FAILING = """
INSERT INTO webhook_endpoint (id, workspace_id, url, events, secret, enabled, failing_since, failures, created_at,
    updated_at)
SELECT 'we_' || $2 || n, $1, 'https://host' || n || '.example/secret-path?key=1', '{lead.created}', '', true,
    now() - $4 * interval '1 minute', 3, now(), now()
FROM generate_series(1, $3) n"""

NOBODY_MAILS = f"SELECT count(*) = 0 FROM job WHERE kind IN {JOBS}"


async def failing(workspace, count=1, minutes=6, name=""):
    await db.rows(FAILING, workspace, name, count, float(minutes))


async def sweep():
    return await tell("endpoints")


async def looked(smtp, count):
    """Let a process look at once, and return whether so many mails have arrived."""
    await jobs.make_due("notice_endpoints.find")
    return len(smtp.received) >= count


async def told():
    """To whom, and the hosts in each state, mail by mail."""
    return [
        (to, {state: [one["host"] for one in values["parts"][state]] for state in STATES if values["parts"][state]})
        for to, values in await mails("endpoints")
    ]


@pytest.mark.usefixtures("ada")
async def test_a_failing_endpoint_reaches_a_mailbox_and_so_does_its_recovery(
    workspace, bot, wire, receiver, smtp, db_clock, monkeypatch
):  # fmt: skip
    receiver.answer = lambda _: 204 if smtp.received else 500
    await endpoint(workspace, receiver.url)
    stop = asyncio.Event()
    deliverer = Deliverer(wire.redis, wire.transport, wire.settings)
    works = (Relay(wire.redis, wire.settings), deliverer, jobs.runner("notice_endpoints", *JOBS))
    running = [asyncio.create_task(one.run(stop)) for one in works]
    await make.lead(workspace, bot)
    for attempts, minutes in ((1, 1), (2, 5)):  # as the retries are due
        await eventually(lambda made=attempts: db.value("SELECT failures = $1 FROM webhook_endpoint", made))
        assert smtp.received == []
        await db_clock.forward(minutes * 60 + 1)
    await eventually(lambda: looked(smtp, 1))
    (bad,) = smtp.received
    await eventually(lambda: db.value(NOBODY_MAILS))  # else the clock would end its lease: it comes twice
    await db_clock.forward(1801)  # the last retry arrives
    await eventually(lambda: looked(smtp, 2))
    *_, good = smtp.received
    stop.set()
    await asyncio.gather(*running)
    assert len(receiver.deliveries) == 4
    assert (bad["To"], bad["Subject"]) == ("ada@example.com", "Webhook endpoints of Test: 1 failing")
    assert (good["To"], good["Subject"]) == ("ada@example.com", "Webhook endpoints of Test: 1 in service again")
    assert f"127.0.0.1:{receiver.port}, since" in bad.get_body(("plain",)).get_content()
    assert bad["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert f"<{settings.get().public_url}/unsubscribe/" in bad["List-Unsubscribe"]


async def test_a_gone_receiver_is_told_once_as_disabled_and_once_as_back(workspace, bot, ada, wire, receiver, db_clock):
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 410
    await make.lead(workspace, bot)
    await wire.turn()
    assert [await sweep() for _ in range(3)] == [1, 0, 0]
    host = f"127.0.0.1:{receiver.port}"
    assert await told() == [("ada@example.com", {"disabled": [host]})]
    ((_, values),) = await mails("endpoints")
    assert values["parts"]["disabled"][0]["reason"] == "its server answered 410 Gone"
    await webhooks.enable(workspace, made.id)
    assert await sweep() == 0  # not so soon after the last
    await db_clock.forward(PAUSE)
    assert [await sweep() for _ in range(2)] == [1, 0]
    assert (await told())[1:] == [("ada@example.com", {"working": [host]})]


async def test_one_that_has_just_begun_to_fail_is_told_with_others_only(workspace, ada):
    await failing(workspace, minutes=4)
    assert await sweep() == 0
    await db.rows("UPDATE webhook_endpoint SET failing_since = now() - interval '6 minutes', failures = 2")
    assert await sweep() == 0
    await failing(workspace, name="more")
    assert await sweep() == 1
    assert [len(state["failing"]) for _, state in await told()] == [2]


async def test_200_endpoints_that_fail_at_once_are_one_mail(workspace, ada):
    await failing(workspace, 200)
    assert [await sweep() for _ in range(2)] == [1, 0]
    ((_, values),) = await mails("endpoints")
    assert values["summary"] == "200 failing"
    assert (len(values["parts"]["failing"]), values["more"]["failing"]) == (20, 180)
    assert "secret-path" not in str(values)


async def test_it_is_told_once_however_many_processes_look(workspace, ada, db_clock):
    await failing(workspace, 3)
    assert await tell("endpoints", processes=4) == 1
    await db.rows("UPDATE webhook_endpoint SET failing_since = NULL, failures = 0")  # as a success does
    await db_clock.forward(PAUSE)
    assert await tell("endpoints", processes=4) == 1
    assert [list(states) for _, states in await told()] == [["failing"], ["working"]]


async def test_a_process_that_dies_amid_it_has_told_nobody_and_the_next_tells_all(workspace, ada, person, monkeypatch):
    await person(workspace, "admin")
    await failing(workspace)
    queue, calls = mail.queue, []

    async def dies(*given, **named):
        calls.append(given)
        if len(calls) == 2:
            raise ConnectionError
        return await queue(*given, **named)

    monkeypatch.setattr(mail, "queue", dies)
    assert await sweep() == 0
    assert len(calls) == 2
    assert await mails("endpoints") == []
    monkeypatch.setattr(mail, "queue", queue)
    assert [await sweep() for _ in range(2)] == [2, 0]


async def test_one_workspace_that_fails_holds_up_no_other(workspace, ada, person, monkeypatch):
    other = await accounts.create_workspace("Other")
    await person(other, "admin")
    await failing(workspace)
    await failing(other, name="other")
    queue = mail.queue

    async def refuses(whose, *given, **named):
        if whose == workspace:
            raise KeyError("no")
        return await queue(whose, *given, **named)

    monkeypatch.setattr(mail, "queue", refuses)
    failures = value("leadwire_job_failures_total", kind="notice_endpoints")
    assert await sweep() == 1
    assert value("leadwire_job_failures_total", kind="notice_endpoints") == failures + 1
    monkeypatch.setattr(mail, "queue", queue)
    assert await sweep() == 1


async def test_those_are_told_who_chose_it_or_whose_role_says_so(workspace, ada, person):
    agent, viewer, _ = [await person(workspace, role) for role in ("agent", "viewer", "agent")]
    await person(await accounts.create_workspace("Other"), "admin")
    busy = await person(workspace, "admin")
    await changes.choose(workspace, viewer, ["endpoints", "waiting"])
    await changes.choose(workspace, busy, ["dead_letters"])
    await changes.choose(workspace, agent, [])
    await failing(workspace)
    assert await sweep() == 2
    assert {to for to, _ in await told()} == {"ada@example.com", f"{viewer}@example.com"}


async def test_who_leaves_is_written_to_no_more(workspace, ada, person):
    await person(workspace, "admin", "grace@example.com")
    await changes.choose(workspace, ada, ["endpoints"])
    await failing(workspace)
    assert await sweep() == 2
    await team.remove_user(workspace, ada)
    assert [to for to, _ in await told()] == ["grace@example.com"]
    assert await db.value("SELECT count(*) FROM notice_choice") == 0


async def test_a_suspended_workspace_is_told_nothing_until_it_is_resumed(workspace, ada):
    await failing(workspace)
    await workspaces.suspend(workspace)
    assert await sweep() == 0
    await workspaces.resume(workspace)
    assert await sweep() == 1


async def test_what_a_person_disables_or_removes_is_not_told(workspace, ada, db_clock):
    await failing(workspace, 2)
    assert await sweep() == 1
    await webhooks.disable(workspace, "we_1")
    await webhooks.delete(workspace, "we_2")
    await db_clock.forward(PAUSE)
    assert await sweep() == 0
    assert await db.value("SELECT count(*) FROM notice WHERE subject <> ''") == 0
    await webhooks.enable(workspace, "we_1")
    assert await sweep() == 0


async def test_one_that_was_gone_without_having_failed_is_told(workspace, ada):
    await failing(workspace)
    await db.rows("UPDATE webhook_endpoint SET enabled = false, disabled_reason = 'gone', failing_since = NULL")
    assert await sweep() == 1
    assert await told() == [("ada@example.com", {"disabled": ["host1.example"]})]


async def test_a_day_before_one_is_disabled_it_is_told_once_more(workspace, ada, db_clock):
    await failing(workspace, minutes=FAILING_DAYS * 24 * 60 - 24 * 60 - 30)
    assert [await sweep() for _ in range(2)] == [1, 0]
    await db_clock.forward(1801)
    assert [await sweep() for _ in range(2)] == [1, 0]
    ((_, before), (_, values)) = await mails("endpoints")
    assert (before["summary"], values["summary"]) == ("1 failing", "1 disabled tomorrow")
    made = compose.content("endpoints", Contents(values, ""), "https://leads.example")
    assert made.subject == "Webhook endpoints of Test: 1 disabled tomorrow"
    since = await db.value("SELECT failing_since FROM webhook_endpoint")
    assert f"since {since:%d %b %H:%M} UTC: disabled after {since + timedelta(days=5):%d %b %H:%M} UTC\n" in made.text
    await db_clock.forward(86_400)
    assert await sweep() == 0  # it goes on failing, and nothing was sent there


async def test_a_mail_that_the_version_before_has_queued_can_be_written(workspace, ada):
    await failing(workspace)
    assert await sweep() == 1
    ((_, values),) = await mails("endpoints")
    del values["parts"]["ending"], values["more"]["ending"]
    assert compose.content("endpoints", Contents(values, ""), "https://leads.example").subject.endswith("1 failing")
