"""`python -m leadwire_client`: an endpoint's deliveries come to a program on the developer's machine."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE

import pytest

from leadwire.delivery import signing
from leadwire.domain.webhooks import receivers
from leadwire.infrastructure import db
from tests import jobs
from tests.delivery.test_delivery import states
from tests.delivery.test_numbers import people
from tests.delivery.test_pull import puller_of
from tests.waiting import eventually


async def started(*arguments, **environ):
    command = [sys.executable, "-m", "leadwire_client", *arguments]
    return await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, env=os.environ | environ)


@pytest.fixture
async def made(workspace):
    return await puller_of(workspace)


@pytest.fixture
async def token(workspace, made):
    return await receivers.make_token(workspace, made.id)


async def test_each_delivery_is_sent_on_as_it_was_signed_and_what_the_program_answers_counts(
    workspace, bot, wire, made, token, base_url, receiver
):
    answers = iter([500, 200])
    receiver.answer = lambda _: next(answers)
    receiver.extra_headers = "Content-Encoding: gzip\r\n"  # which its body is not: it is ignored
    await people(workspace, bot, 2)
    await wire.relay()
    running = await started(receiver.url, "--url", base_url, LEADWIRE_TOKEN=token, SECRET=made.secret)
    lines = [(await running.stdout.readline()).decode().split() for _ in range(3)]
    assert lines[0][-1] == receiver.url
    assert [" ".join(line[2:]) for line in lines[1:]] == ["answered 500, comes again", "answered 200"]
    await eventually(_delivered)
    running.terminate()
    await running.wait()
    for one, line in zip(await receiver.received(2), lines[1:], strict=True):
        assert one.headers["webhook-id"] == line[1]
        signing_headers = {"webhook-id", "webhook-timestamp", "webhook-signature", "x-service-signature"}
        assert signing_headers <= {*map(str.lower, one.headers)}


async def _delivered():
    return (await states()).get("delivered") == 1


@pytest.mark.parametrize("wrong", ["token", "secret"])
async def test_a_wrong_token_or_secret_ends_it_with_the_reason(workspace, bot, wire, made, token, base_url, wrong):
    await people(workspace, bot, 1)
    await wire.relay()
    given = {"LEADWIRE_TOKEN": token, "SECRET": made.secret} | (
        {"LEADWIRE_TOKEN": "lwr_none"} if wrong == "token" else {"SECRET": signing.new_secret()}
    )
    running = await started("http://127.0.0.1:1/", "--url", base_url, **given)
    _, said = await running.communicate()
    assert running.returncode == 1
    assert said.decode().startswith("Unauthenticated: " if wrong == "token" else "InvalidSignature: ")


async def test_what_is_no_address_is_refused_at_once():
    for arguments in (
        ["localhost:3000", "--url", "https://x.example"],
        ["http://localhost:3000", "--url", "x.example"],
    ):
        running = await started(*arguments, LEADWIRE_TOKEN="lwr_x", SECRET="whsec_eA==")
        _, said = await running.communicate()
        assert (running.returncode, b"invalid _address value" in said) == (2, True), said


async def test_it_begins_with_what_has_happened_and_has_one_event_sent_again(
    workspace, bot, wire, made, token, base_url, receiver
):
    await people(workspace, bot, 1)
    await wire.relay()
    await db.rows("UPDATE delivery SET due_at = 'infinity', set_aside_at = now()")  # it is on its way, and stays there
    event = await db.value("SELECT event_id FROM delivery")
    given = {"LEADWIRE_TOKEN": token, "SECRET": made.secret}
    running = await started("--resend", event, "--url", base_url, **given)
    _, said = await running.communicate()
    assert running.returncode == 1
    assert said.decode().startswith("Conflict: 409 wrong_state: It is on its way already.")
    await db.rows("DELETE FROM delivery")  # as if the endpoint had been made later
    running = await started(receiver.url, "--since", "2h", "--url", base_url, **given)
    assert (await running.stdout.readline()).decode() == "1 events since then are sent again\n"
    await jobs.redrive()
    assert [one.webhook_id for one in await receiver.received(1)] == [event]
    await eventually(_delivered)
    running.terminate()
    await running.wait()
    running = await started("--resend", event, "--url", base_url, LEADWIRE_TOKEN=token, SECRET="")
    assert (await running.communicate())[0].decode() == f"{event} is sent again\n"
    assert await states() == {"waiting": 1}


async def test_what_comes_is_not_sent_on_without_the_secret_that_it_is_checked_with():
    arguments = ("http://localhost:3000", "--url", "https://x.example")
    running = await started(*arguments, LEADWIRE_TOKEN="lwr_x", SECRET="")
    _, said = await running.communicate()
    assert (running.returncode, b"--secret or SECRET" in said) == (2, True), said


async def test_a_target_or_an_event_is_needed():
    for arguments in ([], ["http://localhost:3000", "--since", "soon"]):
        running = await started(*arguments, "--url", "https://x.example", LEADWIRE_TOKEN="lwr_x", SECRET="whsec_eA==")
        _, said = await running.communicate()
        assert running.returncode == 2, said
