"""The program of the guide on copies, where a copy or a walk fails amid its leads, and where a sample comes."""

import json
import sqlite3
from contextlib import closing

import httpx
import pytest

from leadwire.delivery import signing
from leadwire.domain.webhooks.samples import SAMPLES
from leadwire_client import Forbidden, Leadwire, Unreadable
from tests.client.test_examples import _signed
from tests.interfaces.docs.test_samples import programs

LEAD = SAMPLES["lead.created"]
EXPORT = {
    "id": "exp_1",
    "type": "leads",
    "format": "ndjson",
    "state": "ready",
    "rows": 0,
    "resume_by": ["created_at", "id"],
    "created_at": LEAD["created_at"],
    "expires_at": LEAD["created_at"],
}


def answer(request):
    """An export, and a list of leads by cursor. What is read of each fails after its first lead."""
    if request.method == "POST":
        return httpx.Response(201, json={"data": EXPORT})
    if request.url.path.endswith("/download"):
        return httpx.Response(200, content=f"{json.dumps(LEAD | {'id': 'lead_1'})}\nno lead\n".encode())
    if request.url.params["cursor"] == "first":
        meta = {"total": 2, "page": 1, "per_page": 1, "next_cursor": "second"}
        return httpx.Response(200, json={"data": [LEAD | {"id": "lead_1"}], "meta": meta})
    return httpx.Response(403, json={"error": {"type": "forbidden", "code": "forbidden", "message": "No longer."}})


@pytest.fixture
def program(tmp_path, monkeypatch):
    """What the guide's code defines. Its database is in the test's directory."""
    monkeypatch.chdir(tmp_path)
    defined = {}
    for part in programs("sync"):
        exec(part, defined)
    with closing(defined["database"]):
        yield defined


@pytest.fixture
def receive(program):
    """Hands the program a webhook, signed. Returns the leads and the handled events that another connection sees."""
    secret = signing.new_secret()

    def hand(event_id, **headers):
        body = json.dumps({"event": "lead.created", "timestamp": LEAD["created_at"], "data": LEAD}).encode()
        program["receive"](body, _signed(body, secret, event_id) | headers, secret)
        with closing(sqlite3.connect("leads.db")) as other:
            leads, events = (other.execute(f"SELECT id FROM {table}").fetchall() for table in ("lead", "webhook_inbox"))
        return [row[0] for row in leads], [row[0] for row in events]

    return hand


@pytest.mark.parametrize(("step", "error"), [("copy", Unreadable), ("catch_up", Forbidden)])
def test_an_event_after_a_step_that_failed_is_committed(step, error, program, receive):
    program["database"].execute("INSERT INTO caught_up VALUES (?)", (LEAD["created_at"],))
    program["database"].commit()
    with Leadwire("lw_1", "http://test", transport=httpx.MockTransport(answer)) as lw, pytest.raises(error):
        program[step](lw)
    assert program["database"].execute("SELECT id FROM lead").fetchall() == []
    assert not program["database"].in_transaction
    assert receive("evt_1") == ([LEAD["id"]], ["evt_1"])


def test_an_event_is_committed_whatever_was_left_open(program, receive):
    program["database"].execute("INSERT INTO caught_up VALUES (?)", (LEAD["created_at"],))
    assert receive("evt_1") == ([LEAD["id"]], ["evt_1"])


def test_a_sample_is_no_lead_of_the_copy(program, receive):
    """Its header is not signed, so what carries it does not count as handled."""
    assert receive("evt_1", **{"X-Service-Test": "true"}) == ([], [])
    assert receive("evt_1") == ([LEAD["id"]], ["evt_1"])
