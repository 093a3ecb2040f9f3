"""Opening hours, dates and pages in flows: what they mean, and what is refused by name with its line."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leadwire.domain.bots.flow import engine, hours
from leadwire.domain.bots.flow.engine import Reply, Saved
from leadwire.domain.bots.flow.nodes import Ask, End, Flow, Hours
from leadwire.domain.bots.flow.parse import BadFlow, parse, parse_stored
from leadwire.infrastructure import clock

WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
OFFICE = (Hours(days=WEEK[:5], opens="09:00", closes="17:30"),)
FLOW = """
format = 1
start = "hello"
locale = "de"
timezone = "Europe/Berlin"
hours = [{ days = ["mon", "tue", "wed", "thu", "fri"], opens = "09:00", closes = "17:30" }]
closed_on = ["2026-12-25"]

[[nodes]]
type = "branch"
id = "hello"
cases = [{ when = { all = [{ var = "is_open", op = "eq", value = true }] }, next = "open" }]
otherwise = "closed"

[[nodes]]
type = "say"
id = "open"
text = "Wir sind da."
next = "day"

[[nodes]]
type = "say"
id = "closed"
text = "Wieder da: {{next_open|bald}}"
next = "day"

[[nodes]]
type = "ask"
id = "day"
text = "Wann?"
input = "date"
earliest = "today"
latest = "today+14"
save_to = "custom_fields.day"
next = "bye"

[[nodes]]
type = "end"
id = "bye"
text = "Bis {{day}}."
"""
_HOURS = re.compile(r"hours = .*")
NOON = datetime(2026, 11, 23, 11, 0, tzinfo=UTC)  # a Monday, 12:00 in Berlin


def during(timezone, spans=(), closed_on=()):
    """A flow that says nothing, with these opening hours."""
    end = End(id="end")
    return Flow(format=1, start="end", timezone=timezone, hours=spans, closed_on=closed_on, nodes=(end,))


def said(at):
    with clock.at(at):
        return [one.text for one in engine.begin(parse(FLOW))[1] if isinstance(one, Reply)]


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (NOON, "Wir sind da."),
        (NOON.replace(hour=7, minute=59), "Wieder da: Montag, 09:00 CET"),
        (NOON.replace(hour=8), "Wir sind da."),
        (NOON.replace(hour=16, minute=29), "Wir sind da."),
        (NOON.replace(hour=16, minute=30), "Wieder da: Dienstag, 09:00 CET"),
        (datetime(2026, 12, 24, 20, tzinfo=UTC), "Wieder da: Montag, 09:00 CET"),  # Friday is a holiday
        (datetime(2027, 7, 3, 20, tzinfo=UTC), "Wieder da: Montag, 09:00 CEST"),
    ],
)
def test_a_flow_knows_whether_it_is_open_and_when_it_opens_next(at, text):
    assert said(at) == [text, "Wann?"]


def test_what_is_far_away_has_its_date_and_what_never_opens_has_none():
    days = tuple((NOON + timedelta(days=one)).date().isoformat() for one in range(401))
    far = during("America/Sao_Paulo", OFFICE, days[:10])
    assert hours.variables(far, NOON) == {"is_open": False, "next_open": "Thursday, 2026-12-03, 09:00 UTC-03"}
    assert hours.variables(during("UTC", OFFICE, days), NOON) == {"is_open": False}
    assert hours.variables(during("UTC"), NOON) == {"is_open": True}


ZONES = st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu"])
CHANGES = [datetime(2026, *day, tzinfo=UTC) for day in ((3, 29), (10, 25), (3, 8), (11, 1), (4, 4), (10, 3))]
MINUTES = st.integers(0, 24 * 60)


@settings(max_examples=150)
@given(
    ZONES, st.sampled_from(CHANGES), st.integers(-24 * 60, 48 * 60), MINUTES, MINUTES, st.sets(st.sampled_from(WEEK))
)
def test_it_opens_when_it_says_also_when_the_clock_is_changed(zone, day, minute, one, other, days):
    opens, closes = sorted((one, other))
    if opens == closes or not days:
        return
    span = Hours(
        days=tuple(days), opens=f"{opens // 60:02}:{opens % 60:02}", closes=f"{closes // 60:02}:{closes % 60:02}"
    )
    flow, now = during(zone, (span,)), day + timedelta(minutes=minute)
    local = now.astimezone(ZoneInfo(zone))
    inside = WEEK[local.weekday()] in days and span.opens <= f"{local:%H:%M}" < span.closes
    assert hours.is_open(flow, now) is inside
    opening = hours.next_open(flow, now)
    assert opening is not None
    assert now < opening.astimezone(UTC) <= now + timedelta(days=8, hours=3)
    assert f"{opening:%H:%M}" == span.opens
    assert WEEK[opening.weekday()] in days


def asked(text, locale="de", **limits):
    flow = parse(FLOW.replace('locale = "de"', f'locale = "{locale}"'))
    ask = Ask(id="day", text="When?", input="date", next="bye", **limits)
    with clock.at(NOON):
        return hours.read_date(flow, ask, text)


@pytest.mark.parametrize(
    ("text", "locale", "kept"),
    [
        ("2027-01-31", "en", "2027-01-31"),
        ("2027/1/31", "de", "2027-01-31"),
        ("31.1.2027", "de", "2027-01-31"),
        (" 31. 1. 2027 ", "de", "2027-01-31"),
        ("31.01.2027", "en-US", "2027-01-31"),
        ("31/01/2027", "fr", "2027-01-31"),
        ("3/4/2027", "en-GB", "2027-04-03"),
        ("3/4/2027", "en-US", "2027-03-04"),
        ("3/4/2027", "en-us", "2027-03-04"),
        ("3/4/2027", "en", None),
        ("4/4/2027", "en", "2027-04-04"),
        ("31/1/2027", "en", "2027-01-31"),
        ("1/31/2027", "en", "2027-01-31"),
        ("13/13/2027", "en", None),
        ("31.2.2027", "de", None),
        ("2027-02-31", "en", None),
        ("29.2.2027", "de", None),
        ("29.2.2028", "de", "2028-02-29"),
        ("0026-12-24", "en", None),
        ("24.12.26", "de", None),
        ("2027-1/31", "en", None),
        ("tomorrow", "en", None),
        ("٢٠٢٧-٠١-٣١", "ar", None),
        ("9" * 4000, "en", None),
    ],
)
def test_a_date_is_understood_as_the_locale_writes_it_or_not_at_all(text, locale, kept):
    if kept:
        assert asked(text, locale) == kept
        return
    with pytest.raises(ValueError, match=r"."):
        asked(text, locale)


def test_a_date_is_between_the_first_and_the_last():
    flow = parse(FLOW)
    with clock.at(NOON):
        state, _ = engine.begin(flow)
        prompt = engine.prompt(flow, state)
        assert (prompt.kind, prompt.min, prompt.max) == ("date", "2026-11-23", "2026-12-07")
        for text in ("22.11.2026", "8.12.2026"):
            assert engine.step(flow, state, text)[1] == [Reply("Wann?\nYYYY-MM-DD")]
        after, effects = engine.step(flow, state, "7.12.2026")
    assert effects[:2] == [Saved("custom_fields.day", "2026-12-07"), Reply("Bis 2026-12-07.", personal=True)]
    assert after.variables == {"day": "2026-12-07"}


def test_today_is_that_of_the_flows_time_zone():
    late = datetime(2026, 11, 23, 23, 30, tzinfo=UTC)
    with clock.at(late):
        flow = parse(FLOW)
        assert engine.prompt(flow, engine.State(at="day")).min == "2026-11-24"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"Europe/Berlin"', '"Europe/Berlln"', "line 5: 'Europe/Berlln' is no time zone."),
        ('"Europe/Berlin"', '"../../etc/passwd"', "line 5: '../../etc/passwd' is no time zone."),
        ('"17:30"', '"08:00"', "line 6: It closes at 08:00 and opens at 09:00."),
        ('"17:30"', '"09:00"', "line 6: It closes at 09:00 and opens at 09:00."),
        ('"17:30"', '"24:30"', "line 6: '24:30' is no time."),
        ('"09:00"', '"9:00"', "line 6: '9:00' is no time."),
        ('"fri"]', '"fry"]', "line 6: hours[0].days[4]: Invalid enum value 'fry'."),
        (
            "hours = [",
            'hours = [{ days = ["fri"], opens = "17:00", closes = "18:00" }, ',
            "line 6: These hours overlap with others of the same day.",
        ),
        ('["2026-12-25"]', '["2026-02-31"]', "line 7: '2026-02-31' is no date."),
        ('["2026-12-25"]', "[2026-12-25]", "line 7: closed_on[0]: Expected `str`, got `date`."),
        ('"today"', '"2026-02-31"', "line 32, node 'day': '2026-02-31' is no date."),
        ('"today"', '"today+15"', "line 32, node 'day': No date fits: the first is after the last."),
        ('input = "date"', 'input = "text"', "line 32, node 'day': A first and a last date are for a date only."),
        ('custom_fields.day"', 'name"', "line 34, node 'day': A name is a text, not a date."),
        (
            '"Bis {{day}}."',
            '"Bis {{day}}."\nimage = { url = "https://a.example/b" }',
            "line 41, node 'bye': 'image.alt' is missing.",
        ),
        ("de", 'de"\nback_text = "{{day}}', "line 5: No question is saved as 'day'."),
        ("de", 'de"\nback_text = "{{score}}', "line 5: No question is saved as 'score'. You can use: is_open, "),
        ("de", 'de"\nback_text = "{{ Next_open }}', "line 5: No question is saved as 'Next_open'."),
        ("de", 'de"\nhandoff_text = "{{nobody}}', "line 5: No question is saved as 'nobody'."),
        ("{{day}}", "{{Day|bald}}", "line 40, node 'bye': No question is saved as 'Day'."),
        ("{{day}}", "{{first name}}", "line 40, node 'bye': No question is saved as 'first name'."),
    ],
)
def test_what_cannot_be_is_refused_by_name_with_its_line(old, new, told):
    broken = FLOW.replace(old, new, 1)
    assert broken != FLOW
    with pytest.raises(BadFlow) as refused:
        parse(broken)
    assert str(refused.value.flaws[0]).startswith(told)


@pytest.mark.parametrize(
    ("old", "new"),
    [("Europe/Berlin", "Nowhere"), ('"17:30"', '"late"'), ('"today"', '"soon"'), ('"today+14"', '"today+"')],
)
def test_a_draft_that_cannot_be_run_is_not(old, new):
    with pytest.raises(BadFlow):
        parse_stored(FLOW.replace(old, new, 1))


def test_hours_that_touch_are_no_fault():
    late = (
        '{ days = ["fri"], opens = "17:30", closes = "24:00" }, { days = ["sat"], opens = "00:00", closes = "02:00" }'
    )
    flow = parse(FLOW.replace("hours = [", f"hours = [{late}, "))
    assert hours.is_open(flow, datetime(2026, 11, 27, 22, 59, tzinfo=UTC))
    assert hours.is_open(flow, datetime(2026, 11, 27, 23, 0, tzinfo=UTC))
    assert not hours.is_open(flow, datetime(2026, 11, 28, 1, 0, tzinfo=UTC))


def test_hours_overlap_with_those_of_their_own_days_only():
    spans = """[
        { days = ["mon"], opens = "09:00", closes = "12:00" }, { days = ["tue"], opens = "10:00", closes = "13:00" },
        { days = ["mon", "tue"], opens = "14:00", closes = "18:00" },
    ]"""
    assert len(parse(_HOURS.sub(f"hours = {spans}", FLOW)).hours) == 3
    for overlaps in ("12:30", "09:30"):
        with pytest.raises(BadFlow, match="These hours overlap"):
            parse(_HOURS.sub(f"hours = {spans.replace('14:00', overlaps)}", FLOW))
