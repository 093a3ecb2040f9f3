"""Each line about a request names its workspace, and no person."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.bots.flow import library
from leadwire.infrastructure import telemetry
from leadwire.infrastructure.errors import RateLimited
from leadwire.interfaces.v1.authentication import ApiKeyGuard
from tests.interfaces.web.conftest import PASSWORD, browser, signed_in

EMAIL = "secretia.person@example.com"


class _Kept(logging.Handler):
    """Formats each line where it is written, as the real handler does."""

    def __init__(self) -> None:
        super().__init__()
        self.json: list[dict[str, Any]] = []
        self.text: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.json.append(json.loads(telemetry._json(record)))
        self.text.append(telemetry._plain(record))

    def taken(self) -> list[dict[str, Any]]:
        """What has been written since the last call."""
        found = [line for line in self.json if "request_id" in line]
        self.json.clear()
        return found


@pytest.fixture
def log() -> Iterator[_Kept]:
    kept, logger = _Kept(), logging.getLogger("leadwire")
    before = logger.level
    logger.addHandler(kept)
    logger.setLevel(logging.DEBUG)
    yield kept
    logger.removeHandler(kept)
    logger.setLevel(before)
    assert not any(part in line.lower() for line in kept.text for part in ("secretia", PASSWORD))


def workspaces(lines: list[dict[str, Any]]) -> dict[str, set[str | None]]:
    """Which workspaces the lines of each kind name."""
    found: dict[str, set[str | None]] = {}
    for line in lines:
        found.setdefault(line["event"], set()).add(line.get("workspace_id"))
    return found


async def test_requests_to_the_api(workspace, bot, api_key, anonymous, log, monkeypatch):
    _, narrow = await accounts.create_key(workspace, "narrow", scopes=["conversations:read"])
    for key, path, status in (
        (api_key, "/v1/leads", 200),
        (api_key, "/v1/leads?limit=none", 400),
        (api_key, "/v1/leads/lead_unknown", 404),
        (narrow, "/v1/leads", 403),
    ):
        answer = await anonymous.get(path, headers={"Authorization": f"Bearer {key}"})
        assert answer.status_code == status
        assert workspaces(log.taken()) == {"request.answered": {workspace}}, path
    assert f"workspace_id={workspace}" in log.text[-1], "also in the text form"
    assert (await anonymous.get("/v1/leads")).status_code == 401
    assert workspaces(log.taken()) == {"request.answered": {None}}


async def test_who_is_refused_is_logged_where_reads_are_not(workspace, api_key, anonymous, log):
    logging.getLogger("leadwire").setLevel(logging.INFO)
    _, narrow = await accounts.create_key(workspace, "narrow", scopes=["conversations:read"])
    for key in (api_key, narrow, "nonsense"):
        await anonymous.get("/v1/leads", headers={"Authorization": f"Bearer {key}"})
    assert [(line["status"], line.get("workspace_id")) for line in log.taken()] == [(403, workspace), (401, None)]


async def test_one_request_too_many(workspace, api_key, log):
    guard = ApiKeyGuard(1)
    scope = {"headers": [(b"authorization", f"Bearer {api_key}".encode())], "state": {"leadwire.added_headers": []}}
    telemetry.begin("req_1", None)
    await guard._admit(scope, "leads:read")
    telemetry.begin("req_2", None)
    with pytest.raises(RateLimited):
        await guard._admit(scope, "leads:read")
    telemetry.log("request.answered")
    assert workspaces(log.taken()) == {"request.answered": {workspace}}


async def test_visitors(workspace, bot, anonymous, log):
    await bots.save_draft(workspace, bot, library.text("lead-qualification"))
    await bots.publish(workspace, bot)
    line = {"content": f"Write to {EMAIL}", "client_message_id": "a" * 20}
    assert (await anonymous.get(f"/widget/v1/bots/{bot}")).status_code == 200
    assert workspaces(log.taken()) == {"request.answered": {workspace}}
    assert (await anonymous.post(f"/widget/v1/bots/{bot}/conversations", json={})).status_code == 422
    assert workspaces(log.taken()) == {"request.answered": {workspace}}
    started = (await anonymous.post(f"/widget/v1/bots/{bot}/conversations", json=line)).json()
    anonymous.headers["Authorization"] = f"Bearer {started['token']}"
    place = f"/widget/v1/conversations/{started['conversation_id']}"
    assert (await anonymous.get(f"{place}/messages")).status_code == 200
    assert (await anonymous.get(f"{place}/messages?after=x")).status_code == 400
    assert (await anonymous.post(f"{place}/end", json={})).status_code == 200
    assert workspaces(log.taken()) == {"request.answered": {workspace}}


async def test_pages_and_signing_in(workspace, log):
    async with signed_in(workspace, "admin", EMAIL) as admin:
        await admin.open("/leads")
        await admin.open("/leads/lead_unknown", status=404)
        assert workspaces([line for line in log.taken() if line["route"].startswith("/leads")]) == {
            "request.answered": {workspace}
        }
    async with browser() as stranger:
        await stranger.post("/sign-in", data={"email": EMAIL, "password": "wrong"})
        found = workspaces(log.taken())
        assert (found["sign_in.refused"], found["request.answered"]) == ({workspace}, {workspace})
        await stranger.post("/sign-in", data={"email": EMAIL, "password": PASSWORD})
        assert workspaces(log.taken())["request.answered"] == {workspace}
