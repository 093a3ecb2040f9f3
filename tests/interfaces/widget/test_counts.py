"""The widget tells how often it is shown and opened: from allowed websites only, and not without end."""

import pytest

from leadwire.domain.bots.changes import counts
from leadwire.infrastructure import db
from leadwire.interfaces.widget import api
from tests.interfaces.widget.conftest import SITE


async def send(client, bot_id, body, origin=SITE):
    headers = {"Origin": origin, "Content-Type": "text/plain;charset=UTF-8"}
    return await client.post(f"/widget/v1/bots/{bot_id}/counts", content=body, headers=headers)


@pytest.fixture(autouse=True)
def _fresh(no_refill):
    api._COUNTS._buckets.clear()


async def stored():
    await counts.write()
    return {row["kind"]: row["total"] for row in await db.rows("SELECT kind, total FROM bot_count")}


async def test_what_is_shown_and_opened_is_counted_as_sums(anonymous, shop):
    for body in ("shown", "shown", "opened", "shown\n"):
        answer = await send(anonymous, shop.id, body)
        assert (answer.status_code, answer.content) == (202, b"")
        assert "set-cookie" not in answer.headers
    assert await stored() == {"shown": 3, "opened": 1}
    await send(anonymous, shop.id, "opened")
    assert await stored() == {"shown": 3, "opened": 2}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("started", 422),
        ("", 422),
        ("shown opened", 422),
        ("shown" + " " * 80, 413),
        ('{"kind": "shown"}', 422),
        (b"\xff", 422),
    ],
)
async def test_anything_else_is_refused(anonymous, shop, body, status):
    assert (await send(anonymous, shop.id, body)).status_code == status
    assert await stored() == {}


async def test_other_websites_and_unknown_bots_are_refused(anonymous, shop):
    assert (await send(anonymous, shop.id, "shown", "https://elsewhere.example")).json()["code"] == "origin_not_allowed"
    assert (await send(anonymous, "bot_00000000000000000000000000", "shown")).status_code in (403, 404)
    assert await stored() == {}


async def test_one_network_cannot_count_without_end(anonymous, shop):
    statuses = [(await send(anonymous, shop.id, "shown")).status_code for _ in range(api._COUNTS.limit + 1)]
    assert statuses == [202] * api._COUNTS.limit + [429]
    assert await stored() == {"shown": api._COUNTS.limit}
