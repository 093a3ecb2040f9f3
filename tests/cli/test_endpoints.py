"""`leadwire endpoints` on a database: what a changed address does, and what is noted of it."""

import asyncio
import json

from leadwire import db
from leadwire.webhooks import changes
from leadwire.webhooks.schema import EndpointChange
from tests.flows.commands import run


async def test_configure_says_what_it_removed_and_leaves_an_audit_entry(servers, workspace):
    made = await changes.create(workspace, "http://127.0.0.1:9001/", ["lead.created"])
    await changes.configure(workspace, made.id, EndpointChange(headers={"X-Partner-Key": "sesame-77"}))
    access = {
        "DATABASE_URL": servers.database_url,
        "REDIS_URL": servers.redis_url,
        "SECRET_KEY": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "ALLOWED_NETWORKS": "127.0.0.0/8",
    }
    command = ("endpoints", "configure", made.id, "--url", "http://127.0.0.1:9002/", "--json")
    done = await asyncio.to_thread(run, *command, **access)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["removed_headers"] == ["X-Partner-Key"]
    noted = await db.row("SELECT actor, subject, detail FROM audit_entry WHERE action = 'endpoint.changed'")
    told = "url: http://127.0.0.1:9001/ -> http://127.0.0.1:9002/; headers: X-Partner-Key -> none"
    assert tuple(noted) == ("operator", made.id, told)
