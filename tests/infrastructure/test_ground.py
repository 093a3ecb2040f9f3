"""Ids, the clock and the settings."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadwire.infrastructure import clock, ids, settings
from leadwire.infrastructure.errors import OperatorError

MOMENTS = st.datetimes(datetime(1970, 1, 2), datetime(9998, 12, 30), timezones=st.just(UTC)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)


def test_ids_sort_by_when_they_were_made_and_are_well_formed():
    made = [ids.new("lead") for _ in range(5000)]
    assert made == sorted(made)
    assert len(set(made)) == 5000
    assert all(ids.is_id("lead", one) for one in made)


def test_an_id_is_a_version_7_uuid_of_now():
    digits = "0123456789abcdefghjkmnpqrstvwxyz"
    number, before = 0, clock.now()
    made, after = ids.new("evt"), clock.now()
    for character in made.removeprefix("evt_"):
        number = number * 32 + digits.index(character)
    assert number >> 76 & 0xF == 7
    assert number >> 62 & 0b11 == 0b10
    assert before <= clock.from_unix((number >> 80) / 1000) <= after


@given(MOMENTS, st.integers(1, 10**7))
def test_id_floors_sort_as_their_moments(moment, later):
    assert ids.floor("evt", moment) < ids.floor("evt", moment + timedelta(milliseconds=later))
    assert len(ids.floor("evt", moment)) == 30


@pytest.mark.parametrize(
    "text",
    ["lead_", "conv_01m7xhqxsjfwybxzjpzqasdkbw", "lead_01M7XHQXSJFWYBXZJPZQASDKBW", "lead_81m7xhqxsjfwybxzjpzqasdkbw",
     "lead_01m7xhqxsjfwybxzjpzqasdkb", "lead_01m7xhqxsjfwybxzjpzqasdkbwx", "lead_01m7xhqxsjfwybxzjpzqasdki\0",
     "lead_" + "é" * 26],
)  # fmt: skip
def test_what_is_no_lead_id(text):
    assert not ids.is_id("lead", text)


@given(MOMENTS)
def test_what_is_emitted_reads_back_the_same(moment):
    text = clock.iso(moment)
    assert len(text) == 24
    assert clock.parse(text) == moment


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2026-01-02", "2026-01-02T00:00:00.000Z"),
        ("2026-01-02T03:04", "2026-01-02T03:04:00.000Z"),
        ("2026-01-02 03:04:05.6789", "2026-01-02T03:04:05.678Z"),
        ("2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05.000Z"),
        ("2026-01-02T03:04:05 02:00", "2026-01-02T01:04:05.000Z"),
        ("2026-01-02t03:04:05z", "2026-01-02T03:04:05.000Z"),
        ("2026-01-02T03:04:05-08:00", "2026-01-02T11:04:05.000Z"),
        ("2026-01-02T03:04:05+0000", "2026-01-02T03:04:05.000Z"),
        ("2026-01-02T03:04:05.678901+0200", "2026-01-02T01:04:05.678Z"),
        ("2026-01-02T03:04:05 0530", "2026-01-01T21:34:05.000Z"),
        ("2026-01-02T03:04:05-08", "2026-01-02T11:04:05.000Z"),
        ("2026-01-02T03:04:05 02", "2026-01-02T01:04:05.000Z"),
        ("2026-01-02T03:04:05,5Z", "2026-01-02T03:04:05.500Z"),
        ("20260102", "2026-01-02T00:00:00.000Z"),
        ("20260102T030405Z", "2026-01-02T03:04:05.000Z"),
        ("20260102T030405", "2026-01-02T03:04:05.000Z"),
        ("20260102T0304+0200", "2026-01-02T01:04:00.000Z"),
        ("20260102T030405.678-08:00", "2026-01-02T11:04:05.678Z"),
        ("2026-01-02T24:00:00Z", "2026-01-03T00:00:00.000Z"),
        ("2026-01-02T24:00", "2026-01-03T00:00:00.000Z"),
        ("20251231T240000.000+02", "2025-12-31T22:00:00.000Z"),
        ("1969-12-31T23:30:00-01:00", "1970-01-01T00:30:00.000Z"),
        ("9999-01-01T00:00:00+00:01", "9998-12-31T23:59:00.000Z"),
    ],
)
def test_times_as_people_write_them(text, same):
    assert clock.iso(clock.parse(text)) == same
    assert clock.iso(clock.parse(same)) == same


@pytest.mark.parametrize(
    "text",
    ["", "1767225600", "1767225600000", "176722560", "2026010", "202601", "2026", "00000101", "19691231", "99990101",
     "20260230", "0000-01-01", "1969-12-31", "9999-01-01", "10000-01-01", "2026-02-30",
     "2026-01-01T24:01", "2026-01-01T24:00:00.001Z", "20260101T240001Z", "2026-01-01T25:00:00Z", "20260101T290000Z",
     "9998-12-31T24:00:00Z", "9999-12-31T24:00:00Z", "1970-01-01T00:00:00+01:00", "9998-12-31T23:59:59-00:01",
     "0001-01-01T00:00:00+01:00",
     "2026-01-01T23:59:60Z", "2026-01-01T23:60:00Z", "9999-12-31T23:59:59-14:00", "2026-W01-1", "2026-001",
     "2026-0101", "202601-01", "2026-01-01T030405Z", "20260101T03:04:05Z", "20260101T03Z", "2026-01-01T00:00:00.Z",
     "now", "2026-01-01T00:00:00+25:00", "2026-01-01T00:00:00+2500", "2026-01-01T00:00:00+0260",
     "2026-01-01T00:00:00+2", "2026-01-01T00:00:00+020", "2026-01-01+02:00", "20260101+0200", "٢٠٢٦-01-01",
     "٢٠٢٦0101", "2026-01-01\0", "20260101\n", " 2026-01-01", "1" * 100_000],
)  # fmt: skip
def test_what_is_no_time(text):
    with pytest.raises(ValueError):
        clock.parse(text)


def test_settings_have_the_documented_defaults():
    read = settings.read({})
    assert read.retry_schedule == (60, 300, 1800)
    assert read.allowed_networks == ()
    assert str(read.data_dir) == ".leadwire"
    assert read.rate_limit == 6000


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("HTTPS://Leads.Example.com/", "https://leads.example.com"),
        ("https://leads.example.com:443", "https://leads.example.com"),
        ("http://[::1]:80/Chat/", "http://[::1]/Chat"),
        ("http://leads.example.com:443", "http://leads.example.com:443"),
    ],
)
def test_a_public_address_is_kept_as_browsers_write_it(given, kept):
    assert settings.read({"LEADWIRE_PUBLIC_URL": given}).public_url == kept


def test_settings_are_read_from_the_environment():
    texts = {"RETRY_SCHEDULE": "1, 2,3", "ALLOWED_NETWORKS": "127.0.0.0/8,::1/128", "PUBLIC_URL": "https://a.example/"}
    read = settings.read({f"LEADWIRE_{name}": text for name, text in texts.items()})
    assert (read.retry_schedule, read.public_url) == ((1, 2, 3), "https://a.example")
    assert [str(network) for network in read.allowed_networks] == ["127.0.0.0/8", "::1/128"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RETRY_SCHEDULE", "soon"),
        ("RETRY_SCHEDULE", "0"),
        ("RETRY_SCHEDULE", ","),
        ("SECRET_KEY", ", ,"),
        ("ALLOWED_NETWORKS", ","),
        ("OPERATORS", ","),
        ("ALLOWED_NETWORKS", "10.0.0.0/99"),
        ("RATE_LIMIT", "-1"),
        ("DELIVERY_TIMEOUT", "never"),
        ("DELIVERY_TIMEOUT", "201"),
        ("LEASE", "5"),
        ("HEADER_PREFIX", "X Service"),
        ("PUBLIC_URL", "leads.example.com"),
        ("PUBLIC_URL", "https://[leads"),
        ("PUBLIC_URL", "https://leads.example.com:port"),
        ("MODEL_URL", "models.example.com/v1"),
        ("AUDIT_HEAD_URL", "ftp://heads.example.com"),
        ("PUBLIC_URL", "https://leads.example.com?next=1"),
        ("PUBLIC_URL", "https://ada@leads.example.com"),
        ("PUBLIC_URL", "https://leads example.com"),
        ("PUBLIC_URL", "https://bücher.example"),
        ("PUBLIC_URL", "https://leads.example.com/'x"),
        ("DNS_RESOLVER", "10.0.0.2:0"),
        ("DATA_DIR", "~nobody-of-this-name/leadwire"),
        ("LEASE", "inf"),
        ("RECONCILE_AFTER", "inf"),
        ("SESSION_LIFE", "99999999999"),
        ("SESSION_IDLE", "99999999999"),
        ("RATE_LIMIT", "99999999999"),
        ("MAX_USERS", "99999999999"),
        ("MAX_FLOW_BYTES", "99999999999"),
        ("TEST_EVENT_RATE", "99999999999"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(name, value):
    with pytest.raises(OperatorError, match=f"LEADWIRE_{name}"):
        settings.read({f"LEADWIRE_{name}": value})
