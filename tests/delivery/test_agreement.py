"""What Python and SQL both compute, they compute alike."""

import re
from datetime import UTC, datetime

from leadwire.delivery import auto_redrive, redrive_job, streams
from leadwire.delivery.endpoints.table import LARGEST_WINDOW
from leadwire.delivery.monitoring import gauges
from leadwire.delivery.worker import claim
from leadwire.infrastructure import db, ids


async def test_python_and_sql_agree_on_the_shard(database):
    for n in range(200):
        endpoint = f"we_{n}"
        sql = await db.value("SELECT ('x' || substr(md5($1), 1, 4))::bit(16)::int % 7", endpoint)
        assert streams.shard_of(endpoint, 7) == sql


async def test_python_and_sql_agree_on_the_days_of_ids(database):
    for day in (datetime(2026, 1, 2, tzinfo=UTC), datetime(1999, 12, 31, tzinfo=UTC), datetime(2100, 6, 1, tzinfo=UTC)):
        assert await db.value("SELECT event_id_floor($1)", day.date()) == ids.floor("evt", day)


def test_files_of_sql_have_the_limits_of_python():
    assert f"admission_window < {LARGEST_WINDOW}" in claim._CLAIM.text
    for sending in (redrive_job._COUNT[False], auto_redrive._FAILED):
        assert f"d.generation <= {redrive_job.TIMES}" in sending.text
    counted = gauges.STATEMENTS["counts"].text + gauges.STATEMENTS["overdue"].text
    assert set(re.findall(r"LIMIT (\d{2,})", counted)) == {str(gauges.CAPPED)}
