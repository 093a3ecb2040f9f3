"""The demo is like a company's chat: busy on working days, and no busier once somebody works in it."""

import itertools
import random
import re
from datetime import UTC, datetime

from leadwire_development.demo import script, seed, visitors


def test_history_is_busy_on_working_days_and_by_day():
    found = seed.moments(datetime(2026, 1, 1, tzinfo=UTC), random.Random(20))
    assert found == sorted(found)
    assert (found[-1] - found[0]).days in range(50, 60)
    by_day = [sum(one.weekday() == day for one in found) for day in range(7)]
    assert max(by_day[5:]) < min(by_day[:5])
    assert sum(7 <= one.hour < 19 for one in found) > len(found) / 2


def test_visitors_come_less_and_less():
    found = list(itertools.islice(visitors.pauses(random.Random(1)), 100))
    assert sum(found[:12]) < 72
    assert 15 < sum(before < 3600 for before in itertools.accumulate(found)) < 40
    assert all(pause >= 900 for pause in found[40:])


def test_visitors_have_addresses_and_pages_as_people_have():
    chance = random.Random(20)
    visits = [script.visit(chance) for _ in range(300)]
    assert all(re.fullmatch(r"[a-z]+\.[a-z]+@[a-z]+\.example", one.lead.email) for one in visits if one.lead)
    pages = {visitors._page(one.origin.source) for one in visits}
    assert {page.count("?") for page in pages} == {0, 1}
    assert "https://www.example.com/pricing?plan=team&utm_campaign=newsletter" in pages


def test_the_history_alone_has_more_than_four_hundred_leads():
    """It had 393, and as many as the simulated visitors had left by the time somebody looked."""
    chance = random.Random(20)
    visits = [script.visit(chance) for _ in range(seed._CONVERSATIONS)]
    assert len({(one.bot, one.lead.email) for one in visits if one.lead}) > 400
