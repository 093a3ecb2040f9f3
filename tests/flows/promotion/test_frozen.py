"""The primary freezes and its standby is promoted: every request is answered, nothing is lost, nothing doubled."""

import asyncio
from collections import Counter

import asyncpg
import httpx
import pytest

from tests.flows.commands import run
from tests.flows.outages import pids
from tests.flows.promotion.test_killed import numbers
from tests.waiting import eventually

pytestmark = pytest.mark.flow


@pytest.fixture
async def deployment(pair, deployment):
    """Its processes know both hosts, the primary first."""
    hosts = f"host={pair.run},{pair.standby_run}&port=5432,5432"
    url = deployment.settings["DATABASE_URL"].partition("?")[0]
    deployment.settings = deployment.settings | {"DATABASE_URL": f"{url}?{hosts}"}
    return deployment


async def test_every_request_is_answered_and_each_change_is_made_once(outage, api, pair, deployment):
    before = pids(outage)
    leads = [await deployment.lead() for _ in range(4)]
    acknowledged: set[str] = set()
    unavailable: Counter[str] = Counter()
    promoted = asyncio.Event()

    async def change(lead: str, who: int) -> None:
        """Until some changes have been made on the new primary; each is asked for until it is acknowledged."""
        number = after = 0
        while after < 25:
            number += 1
            name = f"{who}-{number}"
            while name not in acknowledged:
                sent = api.patch(lead, json={"custom_fields": {"n": name}}, headers={"Idempotency-Key": name})
                answer: httpx.Response = await asyncio.wait_for(sent, 240)
                assert answer.status_code in (200, 409, 503), answer.text
                if answer.status_code == 200:
                    acknowledged.add(name)
                    after += promoted.is_set()
                else:
                    unavailable[answer.json()["detail"]] += 1
                    await asyncio.sleep(0.1)

    async with asyncio.TaskGroup() as changing:
        for who, lead in enumerate(leads):
            changing.create_task(change(lead, who))
        await eventually(lambda: len(acknowledged) >= 100)
        pair.freeze_primary()
        await eventually(lambda: unavailable.total() >= len(leads))
        await pair.promote()
        deployment.sql.terminate()
        url = deployment.settings["DATABASE_URL"].partition("?")[0]
        deployment.sql = await asyncpg.connect(f"{url}?host={pair.standby_run}&port=5432")
        promoted.set()

    told = await deployment.sql.fetch(
        "SELECT body::json #>> '{data,custom_fields,n}' AS n FROM event WHERE kind = 'lead.updated'"
    )
    assert Counter(row["n"] for row in told) == Counter(acknowledged)
    await eventually(lambda: acknowledged <= numbers(deployment))
    for process in outage.all:
        await eventually(lambda process=process: outage.ready(process))
    assert pids(outage) == before
    assert all(process.running() for process in outage.all)
    await eventually(lambda: balanced(deployment))


async def balanced(deployment) -> bool:
    done = await asyncio.to_thread(run, "ledger", **deployment.settings)
    return done.returncode == 0
