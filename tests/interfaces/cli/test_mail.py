"""`leadwire mail`, and what `leadwire doctor` says of the mail server."""

import asyncio
import json
from urllib.parse import quote

from leadwire.domain.mail import changes
from leadwire.infrastructure import db
from tests.flows.commands import free_port, refused, run
from tests.interfaces.cli.conftest import examined
from tests.interfaces.cli.test_endpoints import access
from tests.mail_server import PASSWORD, USER, MailServer

TO = "ada@example.org"


async def test_mails_that_were_given_up_are_listed_and_sent_again(servers, workspace, mailing):
    for _ in range(2):
        async with db.transaction():
            await changes.queue(workspace, "password_reset", TO, {"path": "/reset-password/hidden"})
    await db.rows("UPDATE mail SET state = 'dead', attempts = 4, error = '451 busy', finished_at = now()")

    async def mail(*words):
        return await asyncio.to_thread(run, "mail", *words, **access(servers))

    first, second = json.loads((await mail("list", "--state", "dead", "--json")).stdout)
    assert (first["recipient"], first["attempts"], first["error"]) == (TO, 4, "451 busy")
    assert "hidden" not in str(first)
    assert (await mail("redrive", first["id"])).stdout == "1 mail will be sent again.\n"
    assert "was given up" in refused(await mail("redrive", first["id"]))
    assert json.loads((await mail("redrive", "--json")).stdout) == {"redriven": 1}
    assert "password_reset" in (await mail("list")).stdout
    rows = await db.rows("SELECT id, state, attempts FROM mail ORDER BY id DESC")
    assert [tuple(row) for row in rows] == [(one["id"], "waiting", 0) for one in (first, second)]


async def test_doctor_finds_a_mail_server_that_does_not_answer_or_lets_nobody_in(sound, certified, trusted):
    async def found(port, password):
        url = f"smtp://{USER}:{quote(password, safe='')}@127.0.0.1:{port}"
        more = {"MAIL_FROM": "noreply@leads.example", "SMTP_URL": url}
        _, findings = await asyncio.to_thread(examined, **sound, **more)
        return findings["mail server"]

    away = await found(free_port(), "hidden")
    assert (away["level"], "hidden" in str(away)) == ("error", False)
    assert "LEADWIRE_SMTP_URL" in away["fix"]
    async with MailServer(certified, auth=True) as server:
        assert ((await found(server.port, PASSWORD))["level"], server.received) == ("ok", [])
        stranger = await found(server.port, "hidden")
        assert (stranger["level"], "535" in stranger["says"]) == ("error", True)


def test_a_setting_that_cannot_be_used_is_one_line_without_the_password(sound):
    said = refused(run("status", **sound, SMTP_URL="smtp://ada:hidden@mail.example:x"))
    assert "LEADWIRE_SMTP_URL" in said
    assert "hidden" not in said
