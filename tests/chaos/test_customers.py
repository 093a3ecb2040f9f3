"""The judge of the chaos harness on what customers do: retries, people who were erased, queues that were emptied."""

import msgspec
import pytest
from ops.chaos.matched import matched
from ops.chaos.records import Act, Attempted, Ended, Fault

from tests.chaos.test_verdict import EVENTS, POSTS, post, seen

FIRST, SECOND, _ = EVENTS


def attempt(number: int, at: float, **other) -> Attempted:
    told = {
        "endpoint": "healthy",
        "event_id": FIRST.event_id,
        "generation": 1,
        "number": number,
        "counted": True,
        "at": at,
        "took": 0.1,
        "outcome": "http_5xx",
    }
    return Attempted(**told | other)


def ended(event=FIRST, **other) -> Ended:
    told = {"endpoint": "healthy", "event_id": event.event_id, "state": "delivered", "generation": 1, "finished": 110.0}
    return Ended(**told | {"sequence": None} | other)


def with_attempts(*attempts: Attempted, **other):
    return seen(attempts=attempts, schedule=(1, 5, 30), **other)


@pytest.mark.parametrize(("second", "early"), [(101.1, 0), (101.09, 1), (100.2, 1), (160.0, 0)])
def test_a_retry_comes_no_earlier_than_its_time_after_the_end_of_the_attempt(second, early):
    card = with_attempts(attempt(1, 100.0), attempt(2, second))
    assert len(card.early) == early
    assert card.failures == (["early 1"] if early else [])


def test_each_retry_has_its_own_time():
    attempts = [attempt(1, 100.0), attempt(2, 101.2), attempt(3, 106.4), attempt(4, 136.6)]
    assert with_attempts(*attempts).early == []
    attempts[3] = attempt(4, 130.0)
    assert with_attempts(*attempts).early == [(attempts[2], attempts[3])]


def test_a_generation_has_attempts_of_its_own():
    assert with_attempts(attempt(1, 100.0), attempt(1, 100.2, generation=2)).failures == []


def test_what_somebody_hurries_may_come_early():
    hurry = Act("retry-now", "healthy", 100.2, 100.3, (FIRST.event_id,))
    attempts = attempt(1, 100.0), attempt(2, 100.4)
    assert with_attempts(*attempts, acts=[hurry]).early == []
    assert with_attempts(*attempts, acts=[hurry, msgspec.structs.replace(hurry, asked=107, answered=108)]).early == []
    assert len(with_attempts(*attempts, acts=[msgspec.structs.replace(hurry, target="other")]).early) == 1
    assert len(with_attempts(*attempts, acts=[msgspec.structs.replace(hurry, asked=100.5)]).early) == 1


def test_two_attempts_with_one_number_are_counted():
    assert with_attempts(attempt(1, 100.0), attempt(1, 103.0)).failures == ["twice 1"]
    assert with_attempts(attempt(1, 100.0), attempt(1, 103.0, counted=False)).failures == []


def test_nothing_is_sent_to_a_person_whose_erasure_was_answered():
    erasure = Act("erase", "lead_a", 103.0, 103.5)
    late = post(FIRST, 8, attempt=2)
    first = msgspec.structs.replace(POSTS[0], answer=500)
    posts = [first, *POSTS[1:], late]
    assert "sent_to_erased 1" in seen(posts=posts, acts=[erasure]).failures
    assert seen(posts=posts, acts=[msgspec.structs.replace(erasure, answered=107.5)]).failures == []
    claimed = [attempt(1, 100.4), attempt(2, 103.4, outcome="delivered")]
    assert seen(posts=posts, acts=[erasure], attempts=claimed).sent_to_erased == [], "it was claimed before"
    asleep = Fault("stop-worker", "deliver-1", 103.4, 107.9)
    assert seen(posts=posts, acts=[erasure], faults=[asleep]).sent_to_erased == []


def test_what_was_discarded_is_not_lost_nor_sent():
    act = Act("discard", "healthy", 101.0, 101.1)
    canceled = ended(EVENTS[2], state="cancelled", finished=102.2)
    assert seen(posts=POSTS[:2], ends=[canceled], acts=[act]).failures == []
    assert seen(posts=POSTS[:2], ends=[canceled]).failures == ["canceled_by_nobody 1"]
    late = post(EVENTS[2], 8, answer=500)
    assert seen(posts=[*POSTS[:2], late], ends=[canceled], acts=[act]).failures == ["sent_when_canceled 1"]


def test_what_counts_as_delivered_was_acknowledged():
    assert seen(ends=[ended()]).failures == []
    assert seen(ends=[ended(endpoint="other")]).failures == ["unseen 1"]


def test_an_endpoint_is_owed_what_was_changed_since_it_is_there():
    assert seen(endpoints=["healthy", "new"], since={"new": 101.5}).lost == 1
    assert seen(endpoints=["healthy", "new"], since={"new": 200.0}).lost == 0


def test_who_stood_still_beside_a_fault_of_another_is_named():
    fault = Fault("hold-endpoint", "flaky", 100.0, 160.0, ("beside",))
    assert seen(faults=[fault]).failures == ["stopped: beside amid hold-endpoint"]


def test_what_was_queued_again_without_a_loss_and_what_was_refused_is_named():
    assert seen(reconciled=3).failures == ["reconciled 3"]
    assert seen(refused=["erasure: 500"]).failures == ["refused: erasure: 500"]


def test_what_a_busy_machine_sends_late_may_look_lost():
    assert seen(reconciled=3, calm=0.0, slack=0.4).failures == []  # each was sent half a second after its commit
    assert seen(reconciled=4, calm=0.0, slack=0.4).failures == ["reconciled 1"]
    assert seen(reconciled=3, calm=0.0, slack=0.6).failures == ["reconciled 3"]
    assert seen(reconciled=3, calm=EVENTS[1].at, slack=0.4).failures == ["reconciled 1"]


def test_what_is_sent_again_on_purpose_is_no_duplicate():
    again = post(FIRST, 5)
    attempts = [attempt(1, 100.4, outcome="delivered"), attempt(1, 104.9, generation=2, outcome="delivered")]
    assert with_attempts(*attempts, posts=[*POSTS, again]).duplicates == {}
    assert with_attempts(attempts[0], posts=[*POSTS, again]).duplicates == {"unexplained": 1}


def test_what_was_recorded_is_excused_by_no_fault_of_the_database():
    again = post(FIRST, 9, sender="deliver-2")
    away = Fault("crash-postgres", "PostgreSQL", 100.6, 101.0)
    assert seen(again, faults=[away]).duplicates == {"crash-postgres": 1}
    recorded = attempt(1, 100.4, outcome="delivered")
    assert seen(again, faults=[away], attempts=[recorded]).duplicates == {"unexplained": 1}
    fenced = attempt(1, 100.4, outcome="delivered", counted=False)
    assert seen(again, faults=[away], attempts=[fenced]).duplicates == {"crash-postgres": 1}


def test_a_post_that_nobody_recorded_is_of_the_generation_that_was_recorded_after_it():
    """Its worker was killed, in the second generation: the third POST repeats the second, and not the first."""
    killed = Fault("kill-worker", "deliver-1", 105.6, 106.0)
    attempts = [attempt(1, 100.4, outcome="delivered"), attempt(1, 114.9, generation=2, outcome="delivered")]
    posts = [*POSTS, post(FIRST, 5, answer=0), post(FIRST, 15, sender="deliver-2")]
    card = seen(posts=posts, attempts=attempts, faults=[killed])
    assert [(first.post, one.post, fault) for first, one, fault in card.proven] == [(posts[3], posts[4], killed)]
    assert card.unexplained == 0


def test_a_post_that_nobody_recorded_is_of_no_generation_that_began_after_it():
    """The second attempt's worker was killed; what waited was discarded, and sent again by somebody."""
    attempts = [
        attempt(1, 100.4),
        attempt(1, 109.9, generation=2),
        attempt(2, 112.9, generation=2, outcome="delivered"),
    ]
    posts = [post(FIRST, after, attempt=number) for after, number in ((0.5, 1), (2, 2), (10, 1), (13, 2))]
    assert [one.generation for one in matched(posts, attempts, [ended(generation=2)])] == [1, 1, 2, 2]
