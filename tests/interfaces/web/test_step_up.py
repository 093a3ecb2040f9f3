"""What asks for the password again, what a changed endpoint loses, and what the audit log says of both."""

import re
from pathlib import Path

import pytest
from ops.tenants.things import Things

from leadwire.domain.webhooks import changes, reads
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import db
from leadwire.interfaces.web import router
from tests import make

SECURITY = Path(__file__).parents[3] / "ops" / "security.md"

OLD, NEW = "http://127.0.0.1:9001/hook", "http://127.0.0.1:9002/hook"


async def time_passes() -> None:
    """Every session was last confirmed 11 minutes ago."""
    await db.rows("UPDATE user_session SET confirmed_at = confirmed_at - interval '11 minutes'")


async def noted(action: str) -> list[str]:
    found = await db.rows("SELECT detail FROM audit_entry WHERE action = $1 ORDER BY id", action)
    return [row["detail"] for row in found]


def listed() -> list[str]:
    """A row for each part of the web area: what asks, and what does not."""
    parts: dict[str, tuple[list[str], list[str]]] = {}
    for one in router.DECLARED:
        path = re.sub(r"_?\w*:str", "", one.path).replace("{}", "…")
        if "POST" in one.handler.http_methods:
            parts.setdefault(one.path.split("/")[1], ([], []))[not one.confirmed].append(path)
    rows = []
    for part, both in sorted(parts.items()):
        asks, not_ = (" ".join(f"`{path}`" for path in sorted(paths)) or "-" for paths in both)
        rows.append(f"| {part} | {asks} | {not_} |")
    return rows


@pytest.fixture
async def made(workspace):
    endpoint = await changes.create(workspace, OLD, ["lead.created"])
    await changes.configure(workspace, endpoint.id, EndpointChange(headers={"X-Partner-Key": "sesame-77"}))
    return endpoint


async def test_a_changed_address_asks_for_the_password(admin, workspace, made):
    await admin.open(f"/webhooks/{made.id}")
    await time_passes()
    page = await admin.fill(f"/webhooks/{made.id}/settings", url=NEW, event=["lead.created"])
    assert "Confirm it is you" in page
    assert (await reads.endpoint(workspace, made.id)).url == OLD


async def test_a_changed_role_asks_for_the_password(admin, agent):
    await admin.open("/team")
    await time_passes()
    grace = await db.value("SELECT id FROM user_account WHERE email = 'grace@example.org'")
    assert "Confirm it is you" in await admin.fill(f"/team/{grace}/role", role="admin")
    assert await db.value("SELECT role FROM user_account WHERE id = $1", grace) == "agent"


async def test_exports_ask_for_the_password(agent, workspace, bot):
    await make.lead(workspace, bot)
    await agent.open("/leads")
    await time_passes()
    for path, format_ in (("/leads/export", "csv"), ("/leads/export", "json")):
        page = await agent.fill(path, format=format_)
        assert "Confirm it is you" in page
        assert "ada@example.com" not in page
    assert await db.value("SELECT count(*) FROM audit_entry WHERE action LIKE 'lead%exported'") == 0


async def test_another_origin_loses_the_headers_and_the_page_says_so(admin, workspace, made):
    await admin.open(f"/webhooks/{made.id}")
    page = await admin.fill(f"/webhooks/{made.id}/settings", url=NEW, event=["lead.created"])
    assert "The address has another origin, so the custom headers were removed: X-Partner-Key." in page
    assert (await reads.endpoint(workspace, made.id)).headers == []
    assert await db.value("SELECT headers FROM webhook_endpoint") is None


@pytest.mark.parametrize("same", [f"{OLD}/other?a=b", OLD])
async def test_another_path_of_the_same_origin_keeps_them(workspace, made, same):
    changed = await changes.configure(workspace, made.id, EndpointChange(url=same))
    assert (changed.headers, changed.removed_headers) == (["X-Partner-Key"], [])


async def test_headers_given_with_the_new_address_are_kept(workspace, made):
    changed = await changes.configure(workspace, made.id, EndpointChange(url=NEW, headers={"X-New": "1"}))
    assert (changed.headers, changed.removed_headers) == (["X-New"], [])


async def test_the_audit_entry_says_old_and_new(admin, made):
    await admin.open(f"/webhooks/{made.id}")
    form = {"url": NEW, "event": ["lead.created", "lead.deleted"], "ordered": "on", "rate_limit": "60"}
    await admin.fill(f"/webhooks/{made.id}/settings", **form)
    assert await noted("endpoint.changed") == [
        (
            f"url: {OLD} -> {NEW}; events: lead.created -> lead.created lead.deleted; ordered: False -> True;"
            " rate_limit: none -> 60; headers: X-Partner-Key -> none"
        )
    ]
    for value in ("first-value", "second-value"):
        await admin.fill(f"/webhooks/{made.id}/headers", headers=f"X-Key: {value}")
    assert await noted("endpoint.headers_changed") == ["headers: none -> X-Key", "headers: X-Key -> X-Key"]


async def test_the_secret_of_a_set_up_is_seen_with_a_trace(admin, made):
    assert made.secret in await admin.open(f"/webhooks/{made.id}/setup/secret")
    assert await noted("endpoint.secret_seen") == [""]


@pytest.mark.parametrize(
    "over", ["enabled = true", "disabled_reason = 'by a person'", "created_at = created_at - interval '61 minutes'"]
)
async def test_after_the_set_up_its_page_shows_no_secret(admin, made, over):
    await db.rows(f"UPDATE webhook_endpoint SET {over}")
    page = await admin.get(f"/webhooks/{made.id}/setup/secret")
    assert page.headers["Location"] == f"/webhooks/{made.id}/secret"
    assert made.secret not in page.text


@pytest.mark.parametrize(
    "path",
    [
        "/account/sessions/{session_id}/end",
        "/leads/{lead_id}/erase",
        "/privacy/erase",
        "/team/{user_id}/remove",
        "/webhooks/{endpoint_id}/delete",
        "/webhooks/{endpoint_id}/discard",
        "/webhooks/{endpoint_id}/headers",
    ],
)
async def test_what_cannot_be_undone_is_not_done_before_the_password(admin, workspace, path):
    me = await db.value("SELECT id FROM user_account")
    known = await Things(workspace, me, "Test").all(path)
    await admin.open("/account")
    await time_passes()
    before = await make.stored()
    url = re.sub(r"{(\w+)}", lambda name: known[name[1]], path)
    page = await admin.fill(url, email="ada@test.example", confirm="ada@test.example", headers="X-Key: 1")
    assert "Confirm it is you" in page
    assert await make.stored() == before


def test_the_review_lists_every_action_and_whether_it_asks():
    """The rows are printed where they differ."""
    text = SECURITY.read_text(encoding="utf-8").partition("## What asks for the password again")[2]
    assert [
        line for line in text.partition("\n## ")[0].splitlines() if line.startswith("| ") and "`/" in line
    ] == listed(), "\n".join(listed())


async def test_the_page_that_asks_carries_the_form_along(admin):
    await admin.open("/account")
    await time_passes()
    for one in (one for one in router.DECLARED if one.confirmed):
        path = re.sub(r"\{\w+:\w+\}", "nothing", one.path) + "?a=b"
        page = await admin.fill(path, event=["lead.created", 'a "quoted"\nvalue'])
        assert f'action="{path}"' in page
        assert '<input type="hidden" name="event" value="lead.created">' in page, path
        assert '<input type="hidden" name="event" value="a &#34;quoted&#34;\nvalue">' in page, path
        assert page.count(f'value="{admin.token}"') == 2, path  # of this form, and of the one that signs out
