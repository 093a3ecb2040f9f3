"""Mails go out with their cause or not at all, once, to a real server that behaves badly."""

import asyncio
import contextlib

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.mail import changes, compose, reads, transport
from leadwire.domain.mail.changes import attempts
from leadwire.domain.mail.schema import JOBS
from leadwire.domain.privacy import erasure
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import Invalid, NotFound
from tests import catalog, jobs, make
from tests.flows.commands import free_port
from tests.mailing import mails, send

TO = "ada@example.org"


async def queue(workspace, to=TO, kind="second_factor_on", **more):
    async with db.transaction():
        values = {"at": "today", "workspace": "Test"}
        return await changes.queue(workspace, kind, to, values, **more)


async def rows():
    return [tuple(row) for row in await db.rows("SELECT state, attempts, error FROM mail ORDER BY id")]


async def due():
    await db.rows("UPDATE mail SET due_at = now() - interval '1 second' WHERE state = 'waiting'")
    await jobs.make_due(*JOBS)


async def test_a_mail_goes_out_as_text_and_html_and_is_emptied(workspace, smtp, mailing):
    assert await queue(workspace)
    await send()
    (mail,) = smtp.received
    assert (mail["From"], mail["To"]) == ("Leadwire <noreply@leads.example>", TO)
    assert mail["Subject"] == "The second factor is on"
    text, html = mail.iter_parts()
    assert [part.get_content_type() for part in (text, html)] == ["text/plain", "text/html"]
    assert "tell an admin of Test at once" in text.get_content()
    assert "tell an admin of Test at once" in html.get_content()
    assert tuple(await db.row("SELECT state, data, attempts FROM mail")) == ("sent", None, 1)
    await send()
    assert len(smtp.received) == 1


async def test_what_is_not_committed_is_not_sent(workspace, smtp, mailing):
    with contextlib.suppress(LookupError):
        async with db.transaction():
            assert await changes.queue(workspace, "second_factor_on", TO, {})
            raise LookupError
    assert await rows() == []
    with pytest.raises(RuntimeError):
        await changes.queue(workspace, "second_factor_on", TO, {})
    await send()
    assert smtp.received == []


async def test_without_a_mail_server_nothing_is_queued(workspace):
    assert not reads.enabled()
    assert not await queue(workspace)
    assert await rows() == []


async def test_what_stands_in_the_database_does_not_show_the_link(workspace, mailing):
    async with db.transaction():
        await changes.queue(workspace, "password_reset", TO, {"path": "/reset-password/hidden-token"})
    assert not any("hidden-token" in row for table in (await make.stored()).values() for row in table)
    assert await mails() == [(TO, {"path": "/reset-password/hidden-token"})]


@pytest.mark.parametrize(
    "bad",
    [
        "ada@example.org\r\nBcc: eve@example.org", "ada@example.org\n", "a\nda@example.org", "Ada <ada@example.org>",
        "ada@example.org, eve@example.org", "ada\0@example.org", "no address", "", "@example.org",
        "ada@example.org>\r\nRCPT TO:<eve@example.org",
    ],
)  # fmt: skip
async def test_what_is_no_address_is_refused_at_entry(workspace, mailing, bad):
    if bad == "ada@example.org\n":  # trimmed, as everywhere
        assert await queue(workspace, bad)
        return
    with pytest.raises(Invalid):
        await queue(workspace, bad)
    assert await rows() == []


@pytest.mark.parametrize(("given", "sent"), [
    ("Ada@BÜCHER.example", "ada@xn--bcher-kva.example"), ("jürgen@example.org", "jürgen@example.org"),
])  # fmt: skip
async def test_addresses_of_all_the_world(workspace, smtp, mailing, given, sent):
    await queue(workspace, given)
    await send()
    assert smtp.recipients == [sent]


async def test_a_refusal_for_now_is_tried_again_by_the_schedule_and_then_it_is_dead(workspace, smtp, mailing, db_clock):
    smtp.rcpt += ["451 4.3.0 try later"] * 4
    await queue(workspace)
    for seconds in (60, 300, 1800):
        await send()
        ((state, _, error),) = await rows()
        assert (state, error) == ("waiting", "451 4.3.0 try later")
        (left,) = await db.row("SELECT extract(epoch FROM due_at - now())::float8 FROM mail")
        assert seconds - 60 < left < seconds + 1
        await db_clock.forward(seconds + 1)
    await send()
    assert await rows() == [("dead", 4, "451 4.3.0 try later")]
    (dead,) = await reads.listed("dead", 10)
    assert dead.recipient == TO
    assert await attempts.redrive() == 1
    await send()
    assert [state for state, *_ in await rows()] == ["sent"]
    assert await attempts.redrive() == 0


async def test_a_repeated_mail_can_be_recognized(workspace, smtp, mailing):
    smtp.data += ["451 not now"]
    await queue(workspace)
    await send()
    await due()
    await send()
    (mail,) = smtp.received
    assert mail["Message-ID"] == f"<{await db.value('SELECT id FROM mail')}@leads.example>"


@pytest.mark.parametrize("manner", ["hang", "cut"])
async def test_a_server_that_does_not_answer_is_left_and_tried_again(workspace, smtp, mailing, monkeypatch, manner):
    monkeypatch.setattr(transport, "TIMEOUT", 0.3)
    smtp.data.append(manner)
    await queue(workspace)
    await send()
    ((state, count, _),) = await rows()
    assert (state, count) == ("waiting", 1)
    await due()
    monkeypatch.setattr(transport, "TIMEOUT", 30.0)
    await send()
    assert [state for state, *_ in await rows()] == ["sent"]


async def test_nobody_there(workspace, set_mail):
    set_mail(f"smtp://127.0.0.1:{free_port()}?tls=none")
    for _ in range(10):
        await queue(workspace)
    await send()
    found = await rows()
    assert {state for state, *_ in found} == {"waiting"}
    assert sum(count for _, count, _ in found) <= 4  # the others were given back
    assert await db.value("SELECT count(*) FROM mail WHERE due_at < now() + interval '10 s'") >= 6


@pytest.mark.parametrize("said", ["550 5.1.1 no such user", "550 unknown", "553 5.1.3 bad address", "550 5.2.1 closed"])
async def test_a_refused_recipient_gets_nothing_more_until_an_admin_lifts_it(workspace, smtp, mailing, said):
    smtp.rcpt.append(said)
    await queue(workspace)
    await queue(workspace)
    await send()
    await due()
    await send()
    assert min(await rows()) == ("dead", 1, said)
    assert not await queue(workspace)
    ((suppressed),) = await reads.suppressed(workspace)
    assert (suppressed.address, suppressed.reason) == (TO, said)
    elsewhere = await accounts.create_workspace("Other")
    assert await queue(elsewhere)
    with pytest.raises(NotFound):
        await changes.lift(elsewhere, TO)
    await changes.lift(workspace, TO)
    assert await queue(workspace)


@pytest.mark.parametrize(
    "said", ["554 5.7.1 relay denied", "530 5.7.0 sign in first", "552 5.2.2 mailbox full", "450 busy"]
)
async def test_a_refusal_that_is_not_about_the_address_stops_nothing(workspace, smtp, mailing, said):
    smtp.rcpt.append(said)
    await queue(workspace)
    await send()
    assert await rows() == [("waiting", 1, said)]
    assert await reads.suppressed(workspace) == []


async def test_two_processes_send_each_mail_once(workspace, smtp, mailing):
    for number in range(100):
        await queue(workspace, f"p{number}@example.org")
    await asyncio.gather(send(), send())
    assert sorted(smtp.recipients) == sorted(f"p{number}@example.org" for number in range(100))
    assert smtp.connections < 100  # kept from mail to mail


async def test_whoever_comes_back_too_late_records_nothing(workspace, mailing, db_clock):
    await queue(workspace)
    mail_id = await db.value("SELECT id FROM mail")
    late = await attempts.claim(mail_id)
    assert await attempts.claim(mail_id) is None
    await db_clock.forward(121)
    mine = await attempts.claim(mail_id)
    assert await attempts.record(late, "sent") is None
    assert await attempts.record(mine, "failed", "451") == "waiting"


async def test_account_mails_do_not_wait_behind_notices(workspace, smtp, mailing):
    for number in range(20):
        await queue(workspace, f"p{number}@example.org", kind="mentions")
    await queue(workspace, kind="password_reset")
    sending = jobs.runner(*JOBS)
    await sending.round()
    await asyncio.gather(*sending._calls)
    rows = await db.rows("SELECT kind, state FROM mail WHERE attempts > 0 ORDER BY kind")
    assert [row["kind"] for row in rows] == ["mentions"] * 4 + ["password_reset"]


async def test_what_a_process_of_the_version_before_has_queued_is_sent(workspace, smtp, mailing):
    await queue(workspace)
    await queue(workspace, "eve@example.org")
    await db.rows("UPDATE mail SET priority = 1 WHERE recipient <> $1", TO)
    await db.rows("DELETE FROM job")
    await send()
    assert sorted(smtp.recipients) == [TO, "eve@example.org"]


async def test_what_a_process_of_the_version_before_is_sending_is_not_sent_as_well(workspace, smtp, mailing, db_clock):
    await queue(workspace)
    await db.rows("UPDATE mail SET due_at = now() + interval '120 seconds'")  # it has claimed it
    await send()
    await db_clock.forward(60)
    await send()
    assert smtp.received == []
    await db_clock.forward(61)
    await send()
    assert len(smtp.received) == 1


async def test_a_suspended_workspace_s_mails_wait(workspace, smtp, mailing, db_clock):
    await queue(workspace)
    await workspaces.suspend(workspace)
    await send()
    await db_clock.forward(360)
    await send()
    assert smtp.received == []
    await workspaces.resume(workspace)
    await db_clock.forward(360)
    await send()
    assert len(smtp.received) == 1
    assert [count for _, count, _ in await rows()] == [1]


async def test_a_person_s_mails_go_with_their_account_and_a_workspace_s_with_it(workspace, mailing):
    await db.rows(
        "INSERT INTO user_account (id, workspace_id, email, role, created_at) VALUES ('u', $1, $2, 'admin', now())",
        workspace, TO,
    )  # fmt: skip
    await queue(workspace, user_id="u")
    await queue(workspace)
    await db.rows("DELETE FROM user_account")
    assert len(await rows()) == 1
    await workspaces.delete(workspace)
    assert await rows() == []


async def test_an_erasure_reaches_mails(workspace, bot, mailing):
    lead = await make.lead(workspace, bot, email=TO)
    await queue(workspace)
    await queue(workspace, "other@example.org", about=lead.conversation_id)
    await queue(workspace, "another@example.org")
    await changes.suppress(workspace, TO, "550")
    await erasure.erase_lead(workspace, lead.id)
    assert [to for to, _ in await mails()] == ["another@example.org"]
    assert await reads.suppressed(workspace) == []


async def test_old_mails_are_deleted(workspace, mailing, smtp, db_clock):
    smtp.rcpt += ["250 OK", "550 5.1.1 unknown"]
    await queue(workspace)
    await send()
    await queue(workspace, "eve@example.org")
    await send()
    await db_clock.forward(8 * 86_400)
    await jobs.run("mail.delete")
    assert [state for state, *_ in await rows()] == ["dead"]
    await db_clock.forward(23 * 86_400)
    await jobs.run("mail.delete")
    assert await rows() == []


async def test_a_mail_that_cannot_be_written_does_not_hold_up_others(workspace, smtp, mailing):
    async with db.transaction():
        await changes.queue(workspace, "second_factor_on", TO, {})  # without the values of its template
    await queue(workspace)
    await send()
    assert len(smtp.received) == 1
    assert sorted(state for state, *_ in await rows()) == ["sent", "waiting"]


async def test_neither_addresses_nor_answers_are_logged(workspace, smtp, mailing, caplog):
    before = catalog.value("leadwire_mails_total", state="dead")
    smtp.rcpt.append(f"550 5.1.1 {TO} is unknown")
    await queue(workspace)
    await send()
    told = [(one.getMessage(), one.fields) for one in caplog.records if one.getMessage() == "mail.failed"]
    assert [fields["code"] for _, fields in told] == ["550"]
    assert "@" not in str(told)
    assert catalog.value("leadwire_mails_total", state="dead") == before + 1


async def test_a_template_that_raises_what_nobody_listed_is_that_mail_s_own(workspace, smtp, mailing, monkeypatch):
    message = compose.message

    def raising(mail, *more):
        if mail.recipient == TO:
            raise KeyError("values")
        return message(mail, *more)

    monkeypatch.setattr(compose, "message", raising)
    elsewhere = await accounts.create_workspace("Other")
    await queue(workspace)
    await queue(elsewhere, "eve@example.org")
    await send()
    assert smtp.recipients == ["eve@example.org"]
    assert await rows() == [("waiting", 1, "KeyError: 'values'"), ("sent", 1, None)]
    assert await db.value("SELECT count(*) FROM job WHERE tries > 0") == 0
