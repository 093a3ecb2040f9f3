"""`leadwire endpoints` on a database: what a changed address does, and what is noted of it."""

import asyncio
import json

from leadwire.delivery.relay.fan_out import fan_out
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.schema import Origin
from leadwire.domain.webhooks import changes
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


async def test_a_test_is_in_the_audit_log(servers, workspace, wire, receiver):
    made = await changes.create(workspace, receiver.url, ["lead.created"])
    testing = asyncio.create_task(asyncio.to_thread(run, "endpoints", "test", made.id, **access(servers)))
    while not testing.done():
        await wire.turn()
    (seen,) = receiver.deliveries
    assert f"{seen.webhook_id}: delivered (2" in (await testing).stdout
    noted = await db.row("SELECT actor, subject, detail FROM audit_entry WHERE action = 'endpoint.tested'")
    assert tuple(noted) == ("operator", made.id, seen.webhook_id)


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
