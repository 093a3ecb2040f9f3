"""Lists and repeated requests know their own workspace only. Each route is tried by `tests/ops/test_tenants.py`."""

import re

import pytest
from ops.tenants.routes import routes
from ops.tenants.things import MARK, Things

from leadwire.domain.accounts import changes as accounts
from tests import asgi

CHANGES = [one for one in routes(asgi.app().app) if one.path.startswith("/v1/") and one.names and one.method != "GET"]


@pytest.fixture
async def theirs(database):
    """What another workspace has."""
    return Things(await accounts.create_workspace("Other"), "", MARK)


@pytest.mark.parametrize("path", ["/v1/leads", "/v1/conversations"])
async def test_what_is_theirs_is_in_no_list(client, theirs, path):
    await theirs.id("lead_id")
    for query in ("", f"?bot_id={await theirs.id('bot_id')}"):
        answer = await client.get(path + query)
        assert answer.json() == {"data": [], "meta": {"total": 0, "page": 1, "per_page": 20}}


@pytest.mark.parametrize("route", CHANGES, ids=str)
async def test_their_answers_are_not_replayed_to_us(client, theirs, route):
    """An Idempotency-Key is its caller's, also when both choose the same."""
    ours = client.headers["Authorization"]
    _, key = await accounts.create_key(theirs.workspace, "theirs")
    headers = {"Idempotency-Key": "the same"}
    known = await theirs.all(route.path)
    url = re.sub(r"{(\w+)}", lambda found: known[found[1]], route.path)
    sent = {"json": {"name": "Grace"}} if route.method == "PATCH" else {}
    good = await client.request(route.method, url, headers={**headers, "Authorization": f"Bearer {key}"}, **sent)
    assert good.status_code == 200
    answer = await client.request(route.method, url, headers={**headers, "Authorization": ours}, **sent)
    assert answer.status_code == 404
