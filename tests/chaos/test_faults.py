"""The schedule of faults and the receiver's manners: repeatable, and harmless to what should arrive."""

import pytest
from ops.chaos.acts import ACTS
from ops.chaos.faults import FAULTS, chosen
from ops.chaos.journal import SILENCE, answer_of
from ops.chaos.plan import schedule


def test_a_seed_gives_one_schedule_and_another_seed_another():
    plan = schedule(list(FAULTS), 120, 4, 7)
    assert plan == schedule(list(FAULTS), 120, 4, 7) != schedule(list(FAULTS), 120, 4, 8)
    assert [one.at for one in plan] == sorted(one.at for one in plan)
    assert plan[-1].at < 120


def test_every_kind_comes_once_before_any_comes_twice():
    for kinds in (FAULTS, ACTS):
        plan = schedule(list(kinds), 300, 4, 7)
        assert len(plan) > 2 * len(kinds)
        assert {one.kind for one in plan[: len(kinds)]} == set(kinds)


def test_words_choose_kinds():
    assert chosen("kill") == ["kill-serve", "kill-relay", "kill-worker", "kill-background"]
    assert chosen("flush,stop-worker,flush-redis") == ["flush-redis", "stop-worker"]
    with pytest.raises(ValueError, match="no fault 'earthquake'"):
        chosen("kill,earthquake")


def test_whatever_fails_is_acknowledged_at_the_third_attempt():
    firsts = {answer_of("flaky", f"evt_{n}", 1)[0] for n in range(200)}
    assert firsts == {204, 500, SILENCE}
    assert {answer_of("flaky", f"evt_{n}", 3)[0] for n in range(200)} == {204}
    assert {answer_of("healthy", f"evt_{n}", 1) for n in range(200)} == {(204, 0.0)}
    assert max(answer_of("slow", f"evt_{n}", 1)[1] for n in range(200)) < 1


def test_a_dead_letter_is_made_of_what_has_come_four_times():
    firsts = {f"evt_{n}": answer_of("failing", f"evt_{n}", 1)[0] for n in range(200)}
    assert set(firsts.values()) == {204, 500}
    assert {answer_of("failing", name, 4, 4)[0] for name, answer in firsts.items() if answer == 500} == {500}
    assert {answer_of("failing", name, 1, 5)[0] for name in firsts} == {204}
