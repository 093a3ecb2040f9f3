"""The primary is lost and its standby promoted while changes come in: no process is restarted, no change is lost."""

import asyncio
import contextlib
import json

import asyncpg
import httpx
import pytest

from tests.flows.commands import refused, run
from tests.flows.outages import pids
from tests.waiting import eventually

pytestmark = pytest.mark.flow


@pytest.fixture
async def deployment(pair, deployment):
    """Its processes know both hosts, the standby first."""
    hosts = f"host={pair.standby_run},{pair.run}&port=5432,5432&target_session_attrs=read-write"
    deployment.settings = deployment.settings | {"DATABASE_URL": f"postgresql://postgres@/killed?{hosts}"}
    return deployment


def numbers(deployment):
    """Which changes the receiver has been told of."""
    bodies = (json.loads(one.body) for one in deployment.receiver.deliveries)
    return {body["data"]["custom_fields"].get("n") for body in bodies if body["event"] == "lead.updated"}


async def test_no_acknowledged_change_is_lost_and_every_process_recovers(outage, api, pair, deployment):
    before = pids(outage)
    assert (await asyncio.to_thread(run, "migrate", **deployment.settings)).stdout == "nothing to do\n"
    leads = [await deployment.lead() for _ in range(4)]
    acknowledged: set[str] = set()
    promoted = asyncio.Event()

    async def change(lead: str, who: int) -> None:
        """Until some changes have been made on the new primary. One that is not acknowledged is not made again."""
        number = after = 0
        while after < 25:
            number += 1
            name = f"{who}-{number}"
            with contextlib.suppress(httpx.TransportError):
                answer = await api.patch(lead, json={"custom_fields": {"n": name}})
                assert answer.status_code in (200, 503), answer.text
                if answer.status_code == 200:
                    acknowledged.add(name)
                    after += promoted.is_set()
                    continue
            await asyncio.sleep(0.1)

    async with asyncio.TaskGroup() as changing:
        for who, lead in enumerate(leads):
            changing.create_task(change(lead, who))
        await eventually(lambda: len(acknowledged) >= 100)
        await pair.lose_primary()
        said = refused(await asyncio.to_thread(run, "status", **deployment.settings))
        assert "none of the hosts takes changes" in said
        assert "a standby, or read-only" in said
        examined = await asyncio.to_thread(run, "doctor", **deployment.settings)
        assert examined.returncode == 1
        assert "none of the hosts takes changes" in examined.stdout
        await pair.promote()
        deployment.sql.terminate()
        deployment.sql = await asyncpg.connect(
            f"postgresql://postgres@/killed?host={pair.standby_run}&port=5432&target_session_attrs=any"
        )
        promoted.set()

    assert len(acknowledged) >= 200
    kept = {row[0] for row in await deployment.sql.fetch("SELECT body::json #>> '{data,custom_fields,n}' FROM event")}
    assert acknowledged - kept == set()
    await eventually(lambda: acknowledged <= numbers(deployment))
    for process in outage.all:
        await eventually(lambda process=process: outage.ready(process))
    assert pids(outage) == before
    assert all(process.running() for process in outage.all)
    for command in ("ledger", "status", "migrate"):
        done = await asyncio.to_thread(run, command, **deployment.settings)
        assert done.returncode == 0, done.stderr
    examined = await asyncio.to_thread(run, "doctor", "--json", **deployment.settings)
    (hosts,) = [one for one in json.loads(examined.stdout)["findings"] if one["about"] == "PostgreSQL hosts"]
    assert hosts["level"] == "warning"
    assert f"{pair.standby_run}:5432: primary" in hosts["says"]
