"""The pure rules of delivery: retries, sealed secrets."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadwire.delivery import retry
from leadwire.delivery.retry import NextStep
from leadwire.delivery.states import OUTCOMES, of_status
from leadwire.infrastructure import secret_box, settings
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.secret_box import SecretBox

SCHEDULE = (60, 300, 1800)
NOW = datetime(2026, 1, 2, tzinfo=UTC)


@given(st.integers(1, 9), st.sampled_from(OUTCOMES), st.floats(0, 10**9))
def test_nothing_is_tried_more_than_four_times(number, outcome, wish):
    following = retry.after(outcome, number, SCHEDULE, retry_after=wish)
    assert following.state != "waiting" or number < 4
    assert (following.state == "delivered") == (outcome == "delivered")
    if following.state == "waiting":
        assert SCHEDULE[number - 1] <= following.delay <= max(86_400, SCHEDULE[number - 1])


def test_what_follows_an_attempt():
    for failed in OUTCOMES:
        if failed not in ("delivered", "gone"):
            delays = [retry.after(failed, number, SCHEDULE) for number in (1, 2, 3, 4)]
            assert delays == [
                NextStep("waiting", 60.0),
                NextStep("waiting", 300.0),
                NextStep("waiting", 1800.0),
                NextStep("dead"),
            ]
    assert retry.after("gone", 1, SCHEDULE) == NextStep("dead")
    assert retry.after("timeout", 1, SCHEDULE, test=True) == NextStep("dead")
    assert retry.after("delivered", 1, SCHEDULE, test=True) == NextStep("delivered")
    assert retry.after("http_5xx", 1, (0,)) == NextStep("waiting", 0.0)
    assert retry.after("http_5xx", 1, SCHEDULE, retry_after=61) == NextStep("waiting", 61.0)
    assert retry.after("http_5xx", 1, SCHEDULE, retry_after=1e9) == NextStep("waiting", 86_400.0)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, 0), ("", 0), ("120", 120), ("-5", 0), ("soon", 0), ("1.5", 0), ("٣", 0), ("9" * 400, 999_999_999),
     ("Fri, 02 Jan 2026 00:01:00 GMT", 60), ("Thu, 01 Jan 2026 00:00:00 GMT", 0), ("Fri, 99 Jan 2026", 0),
     ("Fri, 02 Jan 2026 00:01:00", 60), ("Fri Jan  2 00:01:00 2026", 60), ("Fri, 02 Jan 2026 00:01:00 -0000", 60)],
)  # fmt: skip
def test_what_retry_after_asks_for(header, seconds):
    assert retry.asked_for(header, NOW) == seconds


@pytest.mark.parametrize(
    ("statuses", "outcome"),
    [(range(100, 200), "protocol_error"), (range(200, 300), "delivered"), (range(300, 400), "http_3xx"),
     ({*range(400, 500)} - {410}, "http_4xx"), ((410,), "gone"), (range(500, 600), "http_5xx"),
     (range(600, 1000), "protocol_error")],
)  # fmt: skip
def test_only_200_to_299_acknowledge(statuses, outcome):
    assert {of_status(status) for status in statuses} == {outcome}


def test_a_sealed_secret_opens_with_its_key_only():
    one, two = ("A" * 43 + "=", "B" * 42 + "A=")
    sealed = SecretBox((one,)).seal("whsec_x")
    assert b"whsec_x" not in sealed
    assert SecretBox((two, one)).open(sealed) == "whsec_x"
    for wrong in (SecretBox((two,)).open, lambda it: SecretBox((one,)).open(it[:-1] + bytes([it[-1] ^ 1]))):
        with pytest.raises(OperatorError) as refused:
            wrong(sealed)
        assert str(refused.value) == (
            "LEADWIRE_SECRET_KEY does not open this database's endpoint secrets: set the key they were sealed with"
        )


@pytest.mark.parametrize(
    ("key", "why"),
    [("short", "is not base64"), ("ä" * 44, "is not base64"), ("A" * 43 + "=\n", "is not base64"),
     ("AAAA", "must be 32 bytes, base64 encoded; this one has 3"),
     ("A" * 44, "must be 32 bytes, base64 encoded; this one has 33")],
)  # fmt: skip
def test_a_key_that_is_none_is_refused(key, why):
    with pytest.raises(OperatorError) as refused:
        SecretBox((key,))
    assert str(refused.value) == f"LEADWIRE_SECRET_KEY {why}"


def test_keys_for_other_purposes_come_from_the_first_key_by_hmac():
    one, two = ("A" * 43 + "=", "B" * 42 + "A=")
    expected = hmac.new(hashlib.sha256(one.encode()).digest(), b"cookies", "sha256").digest()
    assert SecretBox((one, two)).derived("cookies") == expected
    assert len({SecretBox(keys).derived(purpose) for keys in ((one,), (two,)) for purpose in ("a", "b")}) == 4


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """An installation without LEADWIRE_SECRET_KEY, whose data directory is not there yet."""
    place = tmp_path / "not" / "yet"
    monkeypatch.delenv("LEADWIRE_SECRET_KEY", raising=False)
    monkeypatch.setenv("LEADWIRE_DATA_DIR", str(place))
    for cached in (secret_box.get, settings.get):
        cached.cache_clear()
    yield place
    monkeypatch.undo()
    for cached in (secret_box.get, settings.get):
        cached.cache_clear()


def test_a_key_is_made_at_the_first_need_and_kept(directory):
    sealed = secret_box.get().seal("whsec_x")
    (made,) = directory.iterdir()
    assert (made.name, made.stat().st_mode & 0o777, len(base64.b64decode(made.read_text()))) == (
        "secret.key",
        0o600,
        32,
    )
    secret_box.get.cache_clear()
    assert secret_box.get().open(sealed) == "whsec_x"
    assert list(directory.iterdir()) == [made]


def test_of_two_that_make_a_key_at_once_the_quicker_wins(directory, monkeypatch):
    quicker = "A" * 43 + "="
    monkeypatch.setattr(Path, "exists", lambda path: (path.write_text(quicker), False)[1])
    sealed = secret_box.get().seal("whsec_x")
    assert SecretBox((quicker,)).open(sealed) == "whsec_x"
    assert [path.name for path in directory.iterdir()] == ["secret.key"]


def test_a_data_directory_that_cannot_be_used_is_named(directory):
    directory.mkdir(parents=True)
    (directory / "secret.key").mkdir()
    with pytest.raises(OperatorError) as refused:
        secret_box.get()
    assert str(refused.value) == f"{directory / 'secret.key'} cannot be used as the secret key: Is a directory"


def test_what_an_older_key_sealed_is_renewed_with_the_first_one():
    old, new = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))
    sealed = SecretBox((old,)).seal("secret")
    fresh = SecretBox((new, old)).renewed(sealed)
    assert SecretBox((new,)).open(fresh) == "secret"
    assert SecretBox((new, old)).renewed(fresh) is None
    with pytest.raises(OperatorError):
        SecretBox((new,)).renewed(sealed)
