"""/receiver/v1: a receiver reads what became of its own deliveries, and has them sent again."""

import pytest

from leadwire.domain.leads.changes import update
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.webhooks import changes, history, receivers
from leadwire.infrastructure import db, ids
from tests import jobs, make
from tests.delivery.test_numbers import people
from tests.delivery.wired import endpoint


@pytest.fixture
async def died(workspace, bot, wire, receiver, made):
    """Two dead letters and one that was delivered, the oldest first; the endpoint answers well again."""
    receiver.answer = 410
    for _ in range(2):
        await people(workspace, bot, 1)
        await wire.turn()
        await changes.enable(workspace, made)
    receiver.answer = 204
    await people(workspace, bot, 1)
    await wire.turn()
    sent = [one.webhook_id for one in receiver.deliveries]
    receiver.deliveries.clear()
    return sent


async def again(asking, **selection):
    return await asking.post("/receiver/v1/redrives", json=selection)


async def test_deliveries_are_listed_by_state_and_time_page_by_page(asking, died):
    async def listed(query: str) -> list[tuple[str, str]]:
        answer = await asking.get(f"/receiver/v1/deliveries?{query}")
        assert answer.status_code == 200, answer.text
        return [(one["event_id"], one["state"]) for one in answer.json()["data"]]

    first, second, third = died
    whole = [(third, "delivered"), (second, "dead"), (first, "dead")]
    assert await listed("") == whole
    assert await listed("state=dead") == whole[1:]
    assert await listed("state=unfinished") == []
    moment = ids.moment(first).isoformat().replace("+00:00", "Z")
    assert (first, "dead") in await listed(f"since={moment}")
    assert (first, "dead") not in await listed(f"until={moment}")
    seen, cursor = [], ""
    while cursor is not None:
        page = (await asking.get(f"/receiver/v1/deliveries?limit=1&cursor={cursor}")).json()
        seen += [one["event_id"] for one in page["data"]]
        cursor = page["meta"]["next_cursor"]
    assert seen == [third, second, first]


async def test_pages_of_what_is_unfinished_hold_all_of_the_endpoint(
    asking, workspace, bot, wire, receiver, made, monkeypatch
):
    """There was one page: of those due next, among all endpoints of the workspace."""
    monkeypatch.setattr(history, "LOOKED", 2)
    receiver.answer = 500
    leads = await people(workspace, bot, 5)
    await wire.turn()
    await people(workspace, bot, 2)
    other = await endpoint(workspace, receiver.url, "lead.updated")
    for lead in leads:
        await update(workspace, lead.id, LeadPatch(company="Acorn"), unchanged={})
    await wire.relay()
    owed = "SELECT event_id FROM delivery WHERE endpoint_id = $1 ORDER BY event_id DESC"
    whole = [row["event_id"] for row in await db.rows(owed, made)]
    assert (len(whole), len(await db.rows(owed, other.id))) == (7, 5)
    seen, cursor = [], ""
    while cursor is not None:
        answer = await asking.get(f"/receiver/v1/deliveries?state=unfinished&limit=1&cursor={cursor}")
        seen += [one["event_id"] for one in answer.json()["data"]]
        cursor = answer.json()["meta"]["next_cursor"]
    assert seen == whole


@pytest.mark.parametrize("query", ["state=eaten", "limit=0", "limit=101", "since=soon", "cursor=x", "endpoint_id=we_1"])
async def test_a_list_that_cannot_be_is_refused(asking, query):
    answer = await asking.get(f"/receiver/v1/deliveries?{query}")
    assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (400, query.partition("=")[0])


async def test_one_delivery_tells_its_attempts_and_their_cause(asking, died):
    found = (await asking.get(f"/receiver/v1/deliveries/{died[0]}")).json()["data"]
    (attempt,) = found["history"]
    assert (found["state"], found["sequence"], found["event"]) == ("dead", 1, "lead.created")
    assert (attempt["outcome"], attempt["http_status"]) == ("gone", 410)
    assert found["cause"].startswith("Your server answered 410 Gone")
    assert found["next"].startswith("Nothing by itself")
    assert '"event":"lead.created"' in found["body"]


async def test_one_is_sent_again_however_it_ended(asking, wire, receiver, died):
    for event_id in died[1:]:
        job = (await again(asking, event_id=event_id, replay=True)).json()["data"]
        assert (job["state"], job["total"], job["done"]) == ("finished", 1, 1)
        assert (await asking.get(f"/receiver/v1/redrives/{job['id']}")).json()["data"] == job
    answer = await again(asking, event_id=died[1], replay=True)
    assert (answer.status_code, answer.json()["code"]) == (409, "wrong_state")
    await wire.turn()
    assert sorted(one.webhook_id for one in receiver.deliveries) == sorted(died[1:])


async def test_those_that_match_are_counted_and_sent_again(asking, wire, receiver, died):
    counted = (await again(asking, dry_run=True)).json()["data"]
    assert counted == {"would_redrive": 2}
    assert (await again(asking, outcomes=["timeout"], dry_run=True)).json()["data"] == {"would_redrive": 0}
    assert (await again(asking, kinds=["lead.created"])).json()["data"]["total"] == 2
    assert await jobs.redrive() == 2
    await wire.turn()
    assert sorted(one.webhook_id for one in receiver.deliveries) == sorted(died[:2])
    assert (await again(asking, numbers=[2, 3])).json()["data"]["done"] == 2
    assert (await again(asking, replay=True, until="2020-01-01")).json()["data"]["total"] == 0


@pytest.mark.parametrize(
    "selection",
    [
        {"endpoint_id": "we_1"}, {"event_id": "evt_1"}, {"numbers": [2]}, {"numbers": [2, 1]}, {"since": "soon"},
        {"kinds": ["audit.recorded"], "replay": True}, {"kinds": ["lead.eaten"]}, {"outcomes": ["sadness"]},
        {"per_second": 0}, {"per_second": 1001}, {"replay": True, "outcomes": ["timeout"]},
    ],
)  # fmt: skip
async def test_a_selection_that_cannot_be_is_refused(asking, selection):
    answer = await again(asking, **selection)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


async def test_another_endpoint_is_none_of_its_business(asking, workspace, bot, wire, receiver, made):
    await changes.disable(workspace, made)
    other = await endpoint(workspace, receiver.url)
    receiver.answer = 410
    await make.somebody(workspace, bot)
    await wire.turn()
    (sent,) = receiver.deliveries
    assert (await asking.get("/receiver/v1/deliveries")).json()["data"] == []
    for path in (f"deliveries/{sent.webhook_id}", "deliveries/evt_1", "deliveries/we_%00", "redrives/job_1"):
        assert (await asking.get(f"/receiver/v1/{path}")).status_code == 404
    assert (await again(asking)).json()["data"]["total"] == 0
    theirs = await receivers.redrive(receivers.Receiver(other.id, workspace), receivers.Selection())
    assert theirs.total == 1
    assert (await asking.get(f"/receiver/v1/redrives/{theirs.id}")).status_code == 404
