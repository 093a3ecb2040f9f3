"""`leadwire jobs`: what is done in the background, what has failed and why, trying it again."""

import json

from leadwire.infrastructure import db, jobs
from leadwire.interfaces.cli.checks import postgres


async def test_what_failed_is_listed_with_its_error_and_tried_again(command, workspace):
    await jobs.add("search", "one", workspace)
    await jobs.add("mail", "two", workspace)
    await db.rows("UPDATE job SET tries = 10, failed_at = now(), error = 'KeyError: 1' WHERE kind = 'search'")
    listed = json.loads((await command("jobs", "list", "--json")).stdout)
    assert [(one["kind"], one["key"], one["state"], one["error"]) for one in listed] == [
        ("search", "one", "failed", "KeyError: 1"), ("mail", "two", "waiting", None),
    ]  # fmt: skip
    assert "KeyError: 1" in (await command("jobs", "list", "--state", "failed")).stdout
    assert json.loads((await command("status", "--json")).stdout)["jobs"][0]["oldest"] == "two"
    assert json.loads((await command("jobs", "retry", "--kind", "mail", "--json")).stdout) == {"retried": 0}
    assert json.loads((await command("jobs", "retry", "one", "--json")).stdout) == {"retried": 1}
    assert (await command("jobs", "retry", "one")).returncode == 1


async def test_doctor_finds_jobs_that_nobody_does(database):
    assert (await postgres.background()).level == "ok", "a new installation"
    await jobs.add("search", "one")
    assert (await postgres.background()).level == "error"
    await jobs.add("sessions", "")
    assert (await postgres.background()).level == "ok"
    await db.rows("UPDATE job SET due_at = now() - interval '2 minutes' WHERE key = ''")
    found = await postgres.background()
    assert (found.level, found.says) == ("error", "2 jobs wait and nobody does them")
