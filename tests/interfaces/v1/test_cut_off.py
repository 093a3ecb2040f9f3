"""A body that its sender breaks off is not acted upon, however whole it looks so far."""

import pytest

from leadwire.infrastructure import db
from tests import asgi, make


async def cut_off(method, path, *headers, body, more=()):
    """Send a body of which no more comes; answers the statuses that were sent nevertheless."""
    messages = [{"type": "http.request", "body": part, "more_body": True} for part in (body, *more)]
    sent = []

    async def receive():
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "client": ("127.2.0.1", 1),
        "server": ("test", 80), "headers": [(b"host", b"test"), *headers],
    }  # fmt: skip
    await asgi.app()(scope, receive, send)
    return [message["status"] for message in sent if message["type"] == "http.response.start"]


JSON = (b"content-type", b"application/json")


@pytest.mark.parametrize("key", [(), ((b"idempotency-key", b"one"),)], ids=["plain", "with a key"])
@pytest.mark.parametrize("parts", [(b'{"name":"Cut"}',), (b'{"name":', b'"Cut"}'), (b'{"name":"Cut"} ', b"")])
async def test_a_change_cut_off_is_none(client, api_key, workspace, bot, key, parts):
    lead = await make.lead(workspace, bot)
    path, bearer = f"/v1/leads/{lead.id}", (b"authorization", f"Bearer {api_key}".encode())
    await cut_off("PATCH", path, JSON, bearer, *key, body=parts[0], more=parts[1:])
    found = await client.get(path)
    assert found.json()["data"]["name"] == lead.name != "Cut"
    assert await db.value("SELECT count(*) FROM idempotent_answer") == 0
    again = {name.decode(): value.decode() for name, value in key}
    assert (await client.patch(path, json={"name": "Whole"}, headers=again)).status_code == 200


async def test_a_deletion_under_a_key_waits_for_the_end_of_its_body(client, api_key, workspace, bot):
    lead = await make.lead(workspace, bot)
    bearer = (b"authorization", f"Bearer {api_key}".encode())
    await cut_off("DELETE", f"/v1/leads/{lead.id}", bearer, (b"idempotency-key", b"one"), body=b"{")
    assert (await client.get(f"/v1/leads/{lead.id}")).status_code == 200


async def test_a_form_cut_off_is_refused(database):
    form = (b"content-type", b"application/x-www-form-urlencoded")
    assert await cut_off("POST", "/sign-in", form, (b"origin", b"http://test"), body=b"email=a%40b.example") == [400]
