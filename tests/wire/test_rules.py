"""The pure rules of the wire: retries, the admission window, sealed secrets, shards."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadwire import db
from leadwire.errors import OperatorError
from leadwire.wire import retries, streams
from leadwire.wire.keyring import Keyring
from leadwire.wire.relay import window
from leadwire.wire.states import OUTCOMES, of_status

SCHEDULE = (60, 300, 1800)
NOW = datetime(2026, 1, 2, tzinfo=UTC)


@given(st.integers(1, 9), st.sampled_from(OUTCOMES), st.floats(0, 10**9))
def test_nothing_is_tried_more_than_four_times(number, outcome, wish):
    following = retries.after(outcome, number, SCHEDULE, retry_after=wish)
    assert following.state != "waiting" or number < 4
    assert (following.state == "delivered") == (outcome == "delivered")
    if following.state == "waiting":
        assert SCHEDULE[number - 1] <= following.delay <= max(86_400, SCHEDULE[number - 1])


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, 0), ("", 0), ("120", 120), ("-5", 0), ("soon", 0), ("1.5", 0), ("٣", 0), ("9" * 400, 999_999_999),
     ("Fri, 02 Jan 2026 00:01:00 GMT", 60), ("Thu, 01 Jan 2026 00:00:00 GMT", 0), ("Fri, 99 Jan 2026", 0),
     ("Fri, 02 Jan 2026 00:01:00", 0)],
)  # fmt: skip
def test_what_retry_after_asks_for(header, seconds):
    assert retries.wish(header, NOW) == seconds


@given(st.integers(1, 256), st.integers(0, 300), st.integers(0, 8))
def test_the_window_stays_between_one_and_its_largest(size, gain, halvings):
    assert 1 <= window.after(size, gain, halvings) <= window.LARGEST


def test_the_window_opens_by_success_and_halves_by_setbacks():
    assert window.signals(["delivered"] * 3 + ["http_5xx", "timeout", "connect_error"]) == (3, 2)
    assert window.after(64, 3, 0) == 67
    assert window.after(64, 0, 2) == 16
    assert window.after(64, 0, 8) == 1


@pytest.mark.parametrize("status", range(100, 700))
def test_only_200_to_299_acknowledge(status):
    assert (of_status(status) == "delivered") == (200 <= status <= 299)


def test_a_sealed_secret_opens_with_its_key_only():
    one, two = ("A" * 43 + "=", "B" * 42 + "A=")
    sealed = Keyring((one,)).seal("whsec_x")
    assert b"whsec" not in sealed
    assert Keyring((two, one)).open(sealed) == "whsec_x"
    for wrong in (Keyring((two,)).open, lambda it: Keyring((one,)).open(it[:-1] + bytes([it[-1] ^ 1]))):
        with pytest.raises(OperatorError, match="LEADWIRE_SECRET_KEY"):
            wrong(sealed)


@pytest.mark.parametrize("key", ["short", "AAAA", "A" * 44, "ä" * 44])
def test_a_key_that_is_none_is_refused(key):
    with pytest.raises(OperatorError, match="LEADWIRE_SECRET_KEY"):
        Keyring((key,))


async def test_python_and_sql_agree_on_the_shard(database):
    for n in range(200):
        endpoint = f"we_{n}"
        sql = await db.value("SELECT ('x' || substr(md5($1), 1, 4))::bit(16)::int % 7", endpoint)
        assert streams.shard_of(endpoint, 7) == sql


async def test_python_and_sql_agree_on_the_days_of_ids(database):
    from leadwire import ids

    for day in (datetime(2026, 1, 2, tzinfo=UTC), datetime(1999, 12, 31, tzinfo=UTC), datetime(2100, 6, 1, tzinfo=UTC)):
        assert await db.value("SELECT event_id_floor($1)", day.date()) == ids.floor("evt", day)
