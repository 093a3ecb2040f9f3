"""Every route there is, walked with another workspace's ids: they are as unknown as any, and stay as they are.

The routes come from the router: a new one is walked too, or fails here until its ids are given.
"""

import re

import pytest
from litestar import Litestar

from leadwire.app import create_app
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.exports import changes as exports
from leadwire.infrastructure import ids
from tests import make

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
APP: Litestar = create_app()._app
V1 = [
    (method, route.path)
    for route in APP.routes
    for method in METHODS
    if route.path.startswith("/v1/") and method in route.methods
]
ONE = [(method, path) for method, path in V1 if "{" in path]
LISTS = ["/v1/leads", "/v1/conversations"]


@pytest.fixture
async def theirs(database):
    """The ids of another workspace, by the names of path parameters."""
    workspace = await accounts.create_workspace("Other")
    lead = await make.lead(workspace, await bots.create(workspace, "Bot"))
    export = (await exports.create(workspace, "leads", "ndjson", "")).id
    event = await make.db.value("SELECT min(id) FROM event WHERE workspace_id = $1", workspace)
    return {
        "lead_id": lead.id,
        "conversation_id": lead.conversation_id,
        "bot_id": lead.bot_id,
        "event_id": event,
        "export_id": export,
    }


async def _asked(client, method, path, known):
    """The answer without what is each request's own, for `path` with ids from `known`."""
    url = re.sub(r"{(\w+):\w+}", lambda found: known[found[1]], path)
    sent = {"json": {"name": "Mallory"}} if method in ("PUT", "PATCH", "POST") else {}
    answer = await client.request(method, url, **sent)
    body = answer.json() if answer.content else {}
    return answer.status_code, {**body, "request_id": ""}, sorted(answer.headers)


def test_there_are_routes_to_walk():
    assert len(ONE) == 18
    others = {path for method, path in V1 if method == "GET" and "{" not in path} - {*LISTS}
    assert others == {"/v1/bots", "/v1/events", "/v1/me"}  # their own tests look there


@pytest.mark.parametrize(("method", "path"), ONE)
async def test_what_is_theirs_is_like_what_never_was(client, theirs, method, path):
    nobodys = {name: ids.new(id_.partition("_")[0]) for name, id_ in theirs.items()}
    before = await make.stored()
    found = await _asked(client, method, path, theirs)
    assert found[0] == 404
    assert found == await _asked(client, method, path, nobodys)
    assert _changed(before, await make.stored()) <= {"api_key"}  # our own, which was used


@pytest.mark.parametrize("path", LISTS)
async def test_what_is_theirs_is_in_no_list(client, theirs, path):
    for query in ("", f"?bot_id={theirs['bot_id']}"):
        answer = await client.get(path + query)
        assert answer.json() == {"data": [], "meta": {"total": 0, "page": 1, "per_page": 20}}


@pytest.mark.parametrize(("method", "path"), [one for one in ONE if one[0] not in ("GET", "HEAD")])
async def test_their_answers_are_not_replayed_to_us(client, anonymous, theirs, method, path):
    """An Idempotency-Key is its caller's, also when both choose the same."""
    ours = client.headers["Authorization"]
    _, key = await accounts.create_key((await _owner(theirs)), "theirs")
    headers = {"Idempotency-Key": "the same"}
    url = re.sub(r"{(\w+):\w+}", lambda found: theirs[found[1]], path)
    sent = {"json": {"name": "Grace"}} if method == "PATCH" else {}
    good = await client.request(method, url, headers={**headers, "Authorization": f"Bearer {key}"}, **sent)
    assert good.status_code == 200
    answer = await client.request(method, url, headers={**headers, "Authorization": ours}, **sent)
    assert answer.status_code == 404


async def _owner(theirs) -> str:
    return await make.db.value("SELECT workspace_id FROM bot WHERE id = $1", theirs["bot_id"])


def _changed(before, after) -> set[str]:
    return {table for table in after if before[table] != after[table]}
