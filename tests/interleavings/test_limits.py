"""Of whatever there may be so many only, there are never more, whoever adds at the same moment."""

import re
from functools import partial
from typing import Final, get_args

import pytest
from msgspec import structs

from leadwire.domain.accounts.schema import Quota
from leadwire.infrastructure import db, settings
from leadwire.infrastructure.errors import DomainError
from tests.architecture.test_shape import ROOT
from tests.interleavings import kept
from tests.interleavings.limits import LIMITS, Place
from tests.interleavings.sessions import each_order, interleave

_EVERY: Final = re.compile("")  # statement


def _set(monkeypatch, of, most):
    if isinstance(of, str):
        changed = structs.replace(settings.get(), **{of: most})
        monkeypatch.setattr(settings, "get", lambda: changed)
    else:
        monkeypatch.setattr(*of, most)


@pytest.mark.usefixtures("planned_once")
@pytest.mark.parametrize("name", LIMITS)
async def test_of_two_who_add_the_last_at_once_one_does(name, monkeypatch, record_property):
    limit, place, wrong, orders = LIMITS[name], Place(), list[str](), 0
    await place.make()
    await kept.keep()
    most = await db.value(limit.count) + 1
    _set(monkeypatch, limit.of, most)

    async def play(order, patient):
        nonlocal orders
        orders += 1
        await kept.restore()
        works = [partial(limit.add, place, number) for number in range(2)]
        sessions = await interleave(works, _EVERY, order, patient=patient)
        errors = [error for session in sessions if (error := session.error())]
        codes = [error.code if isinstance(error, DomainError) else repr(error) for error in errors]
        if (count := await db.value(limit.count)) != most or codes != ([limit.refused] if limit.refused else []):
            wrong.append(f"{order}: {count} of {most}, {codes}")
        return sessions

    await each_order(play)
    record_property("interleavings", [f"two of {name}", 1, orders, 0, len(wrong)])
    assert not wrong, "\n".join(wrong)


def test_every_number_is_tried_that_is_counted_like_that():
    places = [
        (".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__"), name)
        for path in (ROOT / "src" / "leadwire").rglob("*.py")
        for name in re.findall(r"quotas\.at_most\(\w+, (\w+)", path.read_text())
    ]
    assert len(places) > 5
    tried = {(limit.of[0].__name__, limit.of[1]) for limit in LIMITS.values() if not isinstance(limit.of, str)}
    assert [place for place in places if place not in tried] == []


def test_every_quota_is_tried():
    settings_tried = {limit.of for limit in LIMITS.values() if isinstance(limit.of, str)}
    assert settings_tried == {f"max_{quota}" for quota in get_args(Quota) if quota != "requests"}
