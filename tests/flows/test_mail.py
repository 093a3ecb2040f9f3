"""Mail by real processes: none is lost when one is killed amid its work, and another one goes on."""

import asyncio
import json
from collections import Counter

import msgspec
import pytest

from leadwire.domain.mail.schema import Contents
from leadwire.infrastructure import ids, secret_box
from tests.flows.commands import run
from tests.flows.deployment import Deployment
from tests.mail_server import MailServer
from tests.waiting import eventually

pytestmark = pytest.mark.flow

COUNT = 400
ADD = """
WITH added AS (
    INSERT INTO mail (id, workspace_id, kind, recipient, data, state, priority, created_at)
    SELECT one, w.id, 'second_factor_on', one || '@example.org', $2, 'waiting', 1, now()
    FROM unnest($1::text[]) one, workspace w RETURNING id, workspace_id
) INSERT INTO job (kind, key, workspace_id, due_at, since) SELECT 'mail', id, workspace_id, now(), now() FROM added"""


async def test_a_process_that_is_killed_loses_no_mail(deployment: Deployment, smtp: MailServer) -> None:
    deployment.settings = deployment.settings | {
        "SMTP_URL": f"smtp://127.0.0.1:{smtp.port}?tls=none",
        "MAIL_FROM": "noreply@leads.example",
        "PUBLIC_URL": "https://leads.example",
    }
    doomed = await deployment.start("background")
    contents = msgspec.json.encode(Contents({"at": "today", "workspace": "Test"})).decode()
    made = [ids.new("mail") for _ in range(COUNT)]
    await deployment.sql.execute(ADD, made, secret_box.get().seal(contents))
    await smtp.wait(120)
    doomed.process.kill()
    doomed.process.wait()
    assert len(smtp.received) < COUNT
    # What it had claimed is due again when its claim ends: by SQL, so that nobody waits.
    await deployment.sql.execute("UPDATE mail SET due_at = now() WHERE state = 'waiting'")
    await deployment.sql.execute("UPDATE job SET due_at = now() WHERE kind = 'mail'")
    await asyncio.gather(deployment.start("background"), deployment.start("background"))

    async def done() -> bool:
        return bool(await deployment.sql.fetchval("SELECT bool_and(state = 'sent') FROM mail"))

    await eventually(done)
    arrived = Counter(mail["Message-ID"] for mail in smtp.received)
    assert set(arrived) == {f"<{one}@leads.example>" for one in made}
    assert arrived.total() - COUNT <= 4  # those under way, under the same Message-ID
    listed = await asyncio.to_thread(run, "mail", "list", "--json", "--limit", "1000", **deployment.settings)
    assert Counter(one["state"] for one in json.loads(listed.stdout)) == {"sent": COUNT}
