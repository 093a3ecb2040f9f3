"""/receiver/v1: denied unless the token is the endpoint's, and bad input said clearly."""

import json

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts import keys
from leadwire.domain.accounts.changes import workspaces as moves
from leadwire.domain.webhooks import changes, receivers
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import db
from leadwire.interfaces.receiver import api
from tests import jobs
from tests.delivery.test_numbers import numbered, people
from tests.delivery.wired import endpoint

CALLS = [
    ("GET", "checkpoint"), ("POST", "replay"), ("POST", "fetch"), ("POST", "acknowledge"), ("GET", "deliveries"),
    ("GET", "deliveries/evt_1"), ("POST", "redrives"), ("GET", "redrives/job_1"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), CALLS)
async def test_nothing_is_answered_without_a_token_that_holds(anonymous, api_key, workspace, made, method, path):
    replaced = await receivers.make_token(workspace, made)
    present = await receivers.make_token(workspace, made)
    unknown, typo = keys.new(keys.RECEIVER), present[:-1] + ("a" if present[-1] != "a" else "b")
    for given in (None, "", "Basic eDp5", "Bearer", f"Bearer {api_key}", f"Bearer {replaced}", f"Bearer {typo}",
                  f"Bearer {unknown}", f"Bearer {present} x", f"Bearer {'x' * 300}", "Bearer \xff"):  # fmt: skip
        headers = {} if given is None else {"Authorization": given.encode("latin-1")}
        answer = await anonymous.request(method, f"/receiver/v1/{path}", headers=headers, content=b"not json")
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated"), given
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="leadwire"'


async def test_a_token_opens_nothing_else(asking):
    assert (await asking.get("/v1/leads")).status_code == 401


async def test_a_removed_endpoint_has_no_receiver(asking, workspace, made):
    assert (await asking.get("/receiver/v1/checkpoint")).status_code == 200
    await changes.delete(workspace, made)
    assert (await asking.get("/receiver/v1/checkpoint")).status_code == 401


async def test_a_workspace_that_has_moved_takes_note_of_nothing(asking, workspace):
    await moves.leave(workspace, "move", "https://b.example")
    for method, path in CALLS:
        answer = await asking.request(method, f"/receiver/v1/{path}")
        assert (answer.status_code, answer.json()["code"]) == (503, "workspace_moving")
        assert answer.json()["detail"] == "The workspace has moved to https://b.example."


async def test_a_suspended_workspace_has_no_answers(asking, workspace):
    await workspaces.suspend(workspace)
    for method, path in CALLS:
        if path == "acknowledge":
            continue  # what was handed out before may have arrived
        answer = await asking.request(method, f"/receiver/v1/{path}")
        assert (answer.status_code, answer.json()["code"]) == (403, "workspace_suspended")
    answer = await asking.post("/receiver/v1/acknowledge", json={"lease": "pull:x", "ids": []})
    assert answer.status_code != 403
    await workspaces.resume(workspace)
    assert (await asking.get("/receiver/v1/checkpoint")).status_code == 200


async def test_a_token_is_kept_as_a_digest(asking, made):
    token = asking.headers["Authorization"].removeprefix("Bearer ")
    kept = await db.value("SELECT token FROM webhook_endpoint WHERE id = $1", made)
    assert kept == keys.digest(token)


async def test_a_token_is_for_its_own_endpoint(asking, workspace, bot, wire, receiver, made):
    """The other one's numbers are as unknown as any, in the same workspace and in another."""
    elsewhere = await accounts.create_workspace("Other")
    for owner in (workspace, elsewhere):
        other = await endpoint(owner, receiver.url)
        assert (await changes.reads.endpoint(owner, other.id)).token_at is None
    await changes.disable(workspace, made)
    other = await numbered(workspace, receiver)
    await people(workspace, bot, 3)
    await wire.turn()
    assert await db.value("SELECT last FROM endpoint_sequence WHERE endpoint_id = $1", other) == 3
    found = (await asking.get("/receiver/v1/checkpoint")).json()["checkpoint"]
    assert (found["endpoint_id"], found["highest"], found["count"]) == (made, 0, 0)
    answer = await asking.post("/receiver/v1/replay", json={"first": 1, "last": 3})
    assert (answer.status_code, answer.json()) == (200, {"data": {"replayed": 0}})
    assert await jobs.redrive() == 0


async def test_there_is_no_checkpoint_while_deliveries_have_no_numbers(asking, workspace, made):
    await changes.configure(workspace, made, EndpointChange(numbered=False))
    answer = await asking.get("/receiver/v1/checkpoint")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_numbered")


async def test_the_same_is_answered_to_head_and_options(asking):
    answer = await asking.head("/receiver/v1/checkpoint")
    assert (answer.status_code, answer.content) == (200, b"")
    assert "webhook-signature" in answer.headers
    assert (await asking.options("/receiver/v1/replay")).headers["allow"] == "OPTIONS, POST"
    assert (await asking.delete("/receiver/v1/replay")).status_code == 405


@pytest.mark.parametrize("query", ["after=-1", "after=x", "after=1&after=2", "after=9223372036854775808", "since=1"])
async def test_a_query_that_is_wrong_is_refused(asking, query):
    answer = await asking.get(f"/receiver/v1/checkpoint?{query}")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["parameter"] in ("after", "since")


async def test_the_largest_number_is_no_fault_of_ours(asking):
    found = (await asking.get("/receiver/v1/checkpoint?after=9223372036854775807")).json()["checkpoint"]
    assert (found["last"], found["count"], found["gone"]) == (2**63 - 1, 0, [])


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("", 400), ("{", 400), ("[]", 422), ("{}", 422), ('{"first": 1}', 422), ('{"first": "1", "last": 2}', 422),
        ('{"first": 1, "last": 2, "all": true}', 422), ('{"first": 1, "last": 9223372036854775808}', 422),
        ('{"first": 1, "last": 1001}', 422), ('{"first": 2, "last": 1}', 422), ('{"first": 1, "last": 1.5}', 422),
        ('{"first": 1, "first": 1, "last": 1}', 422), ('{"first": -1, "last": 1}', 422),
    ],
)  # fmt: skip
async def test_a_replay_that_cannot_be_is_refused(asking, body, status):
    answer = await asking.post(
        "/receiver/v1/replay", content=body, headers={"Content-Type": "application/json; charset=utf-8"}
    )
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_replay_sends_exactly_these_again(asking, workspace, bot, wire, receiver):
    await people(workspace, bot, 4)
    await wire.turn()
    receiver.deliveries.clear()
    answer = await asking.post("/receiver/v1/replay", content=json.dumps({"first": 2, "last": 3}),
                               headers={"Content-Type": "application/json"})  # fmt: skip
    assert answer.json() == {"data": {"replayed": 2}}
    await wire.turn()
    assert sorted(one.headers["x-service-sequence"] for one in receiver.deliveries) == ["2", "3"]


@pytest.mark.parametrize("suspended", [True, False])
async def test_a_body_that_is_held_back_until_its_token_has_ended_sends_nothing_again(
    asking, workspace, made, monkeypatch, suspended
):
    monkeypatch.setattr(api, "CHECKED_EVERY", 0.0)

    async def held():
        yield b'{"first": 1, '
        await (workspaces.suspend(workspace) if suspended else receivers.make_token(workspace, made))
        yield b'"last": 2}'

    answer = await asking.post("/receiver/v1/replay", content=held(), headers={"Content-Type": "application/json"})
    assert answer.status_code == (403 if suspended else 401)


async def test_too_many_requests_are_refused(asking, monkeypatch, no_refill):
    monkeypatch.setattr(api._LIMIT, "_burst", 2.0)
    answers = [await asking.get("/receiver/v1/checkpoint") for _ in range(3)]
    assert [one.status_code for one in answers] == [200, 200, 429]
    assert int(answers[2].headers["Retry-After"]) > 0
    assert int(answers[0].headers["RateLimit"].partition("r=")[2].partition(";")[0]) == 1


async def test_guesses_are_limited(anonymous, monkeypatch, no_refill):
    api._FAILURES._buckets.clear()
    monkeypatch.setattr(api._FAILURES, "_burst", 2.0)
    answers = [await anonymous.get("/receiver/v1/checkpoint") for _ in range(3)]
    assert [one.status_code for one in answers] == [401, 401, 429]
