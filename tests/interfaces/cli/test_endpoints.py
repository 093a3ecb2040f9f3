"""`leadwire endpoints` on a database: what a changed address does, and what is noted of it."""

import asyncio
import json

from leadwire.delivery.relay.fan_out import fan_out
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.schema import Origin
from leadwire.domain.webhooks import changes, receivers
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import db
from tests import jobs
from tests.flows.commands import run


def access(servers):
    return {
        "DATABASE_URL": servers.database_url,
        "REDIS_URL": servers.redis_url,
        "SECRET_KEY": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "ALLOWED_NETWORKS": "127.0.0.0/8",
    }


async def test_each_change_leaves_an_audit_entry(servers, workspace):
    url = "http://127.0.0.1:9001/"
    done = await asyncio.to_thread(
        run, "endpoints", "create", "--url", url, "--event", "lead.created", "--enable", "--json", **access(servers)
    )
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)["id"]
    for command in ("disable", "enable", "delete"):
        done = await asyncio.to_thread(run, "endpoints", command, made, **access(servers))
        assert done.returncode == 0, done.stderr
    sql = "SELECT action, detail FROM audit_entry WHERE actor = 'operator' AND subject = $1 ORDER BY id"
    noted = await db.rows(sql, made)
    assert [tuple(entry) for entry in noted] == [
        ("endpoint.created", f"url: {url}; events: lead.created"),
        ("endpoint.enabled", ""),
        ("endpoint.disabled", ""),
        ("endpoint.enabled", ""),
        ("endpoint.deleted", url),
    ]


async def test_each_step_with_a_secret_leaves_an_audit_entry_without_it(servers, workspace):
    made = await changes.create(workspace, "http://127.0.0.1:9001/", ["lead.created"])
    for step in ("stage", "discard", "stage", "promote"):
        done = await asyncio.to_thread(run, "endpoints", "secret", step, made.id, **access(servers))
        assert done.returncode == 0, done.stderr
    refused = await asyncio.to_thread(run, "endpoints", "secret", "promote", made.id, **access(servers))
    assert refused.returncode == 1
    noted = await db.rows("SELECT workspace_id, actor, action, subject, detail FROM audit_entry ORDER BY id")
    steps = ("staged", "discarded", "staged", "promoted")
    assert [tuple(entry) for entry in noted] == [
        (workspace, "operator", f"endpoint.secret_{step}", made.id, "") for step in steps
    ]


async def test_a_key_is_switched_on_and_replaced_and_each_step_noted(servers, workspace, monkeypatch):
    made = await changes.create(workspace, "http://127.0.0.1:9001/", ["lead.created"])

    async def said(*command):
        done = await asyncio.to_thread(run, "endpoints", *command, made.id, "--json", **access(servers))
        return done.returncode, json.loads(done.stdout) if done.returncode == 0 else done.stderr

    code, told = await said("key", "stage")
    assert (code, "not signed with a key" in told) == (1, True)
    code, on = await said("configure", "--ed25519")
    assert [one["state"] for one in on["public_keys"]] == ["present"]
    code, staged = await said("key", "stage")
    assert [one["state"] for one in staged] == ["present", "next"]
    code, told = await said("key", "promote")
    assert (code, "may not have the next key before" in told) == (1, True)
    await db.rows(
        "UPDATE webhook_endpoint SET public_keys = regexp_replace(public_keys, '(since\":\")....', '\\12001', 'g')"
    )
    code, promoted = await said("key", "promote")
    assert [one["state"] for one in promoted] == ["former", "present"]
    assert [one["kid"] for one in promoted] == [one["kid"] for one in staged]
    assert await said("key", "discard") == (0, promoted[1:])
    code, off = await said("configure", "--no-ed25519")
    assert off["public_keys"] == []
    noted = await db.rows("SELECT action, detail FROM audit_entry WHERE subject = $1 ORDER BY id", made.id)
    assert [tuple(one) for one in noted] == [
        ("endpoint.changed", "ed25519: False -> True"), ("endpoint.key_staged", ""), ("endpoint.key_promoted", ""),
        ("endpoint.keys_discarded", ""), ("endpoint.changed", "ed25519: True -> False"),
    ]  # fmt: skip


async def test_configure_says_what_it_removed_and_leaves_an_audit_entry(servers, workspace):
    made = await changes.create(workspace, "http://127.0.0.1:9001/", ["lead.created"])
    await changes.configure(workspace, made.id, EndpointChange(headers={"X-Partner-Key": "sesame-77"}))
    command = ("endpoints", "configure", made.id, "--url", "http://127.0.0.1:9002/", "--auto-redrive", "--json")
    done = await asyncio.to_thread(run, *command, **access(servers))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["removed_headers"] == ["X-Partner-Key"]
    noted = await db.row("SELECT actor, subject, detail FROM audit_entry WHERE action = 'endpoint.changed'")
    told = "url: http://127.0.0.1:9001/ -> http://127.0.0.1:9002/; auto_redrive: False -> True"
    told += "; headers: X-Partner-Key -> none"
    assert tuple(noted) == ("operator", made.id, told)


async def test_discard_counts_asks_and_leaves_an_audit_entry(servers, workspace, bot):
    made = await changes.create(workspace, "http://127.0.0.1:9001/", ["conversation.started"])
    await changes.enable(workspace, made.id)
    for _ in range(3):
        await conversations.start(workspace, bot, Origin())
    await fan_out()
    command = ("endpoints", "discard", made.id, "--json")
    done = await asyncio.to_thread(run, *command, "--dry-run", **access(servers))
    assert json.loads(done.stdout) == {"would_discard": 3}
    done = await asyncio.to_thread(run, *command, **access(servers))
    assert (done.returncode, "--yes" in done.stderr) == (1, True)
    assert await db.value("SELECT count(*) FROM discard") == 0
    done = await asyncio.to_thread(run, *command, "--yes", **access(servers))
    assert json.loads(done.stdout) == {"id": made.id, "discarded": 3}
    assert await jobs.discard() == 3
    noted = await db.row("SELECT actor, subject, detail FROM audit_entry WHERE action = 'endpoint.discarded'")
    assert tuple(noted) == ("operator", made.id, "waiting: 3 -> 0")
    assert await db.value("SELECT count(*) FROM delivery_result WHERE state = 'cancelled'") == 3


async def test_a_token_is_shown_once_and_replaced(servers, workspace):
    made = await changes.create(workspace, "http://127.0.0.1:9001/", ["lead.created"])
    tokens = []
    for _ in range(2):
        done = await asyncio.to_thread(run, "endpoints", "token", made.id, "--json", **access(servers))
        assert done.returncode == 0, done.stderr
        tokens.append(json.loads(done.stdout)["token"])
    assert await receivers.authenticate(tokens[0]) is None
    assert await receivers.authenticate(tokens[1]) == receivers.Receiver(made.id, workspace)
    noted = await db.rows("SELECT actor, action, subject, detail FROM audit_entry")
    assert [tuple(one) for one in noted] == [("operator", "endpoint.token_created", made.id, "")] * 2
