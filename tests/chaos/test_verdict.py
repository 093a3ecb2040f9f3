"""The judge of the chaos harness: each broken promise is seen, and a run without one is clean."""

import msgspec
import pytest
from ops.chaos.matched import Made
from ops.chaos.records import NUMBERED, ORDERED, Accepted, Attempted, Fault, Post, Recorded
from ops.chaos.report import lines
from ops.chaos.times import spread
from ops.chaos.verdict import Evidence, judge

CHANGES = [
    Accepted(1, "lead.updated", "lead_a", 100.0, 100.1, []),
    Accepted(2, "lead.updated", "lead_a", 101.0, 101.1, ["503", "503"]),
    Accepted(3, "conversation.ended", "conv_a", 102.0, 102.1, []),
]
EVENTS = [
    Recorded("evt_1", "lead.updated", "lead_a", 1, 100.0),
    Recorded("evt_2", "lead.updated", "lead_a", 2, 101.0),
    Recorded("evt_3", "conversation.ended", "conv_a", None, 102.0),
]
CLEAN = Evidence(
    accepted=CHANGES,
    events=EVENTS,
    posts=[],
    faults=[],
    endpoints=["healthy"],
    states={"lead_a": 2, "conv_a": -1},
    deliveries={"delivered": 3},
    unfinished=0,
    redriven=0,
    ledger={"delivered_without_2xx": 0},
    timeout=2.0,
)


def post(event: Recorded, after: float = 0.5, **other) -> Post:
    told = {
        "at": event.at + after,
        "endpoint": "healthy",
        "sender": "deliver-1",
        "event_id": event.event_id,
        "attempt": 1,
        "kind": event.kind,
        "subject": event.subject,
        "number": event.number,
        "verified": True,
        "digest": 7,
        "answer": 204,
        "held": 0.0,
    }
    return Post(**told | other)


POSTS = [post(event) for event in EVENTS]


def seen(*more: Post, **other):
    """The scorecard of a clean run with `more` POSTs and other evidence."""
    posts = sorted([*POSTS, *more], key=lambda one: one.at)
    return judge(msgspec.structs.replace(CLEAN, **{"posts": posts, **other}))


def test_a_clean_run_is_clean():
    card = seen()
    assert card.failures == []
    assert (card.accepted, card.owed, card.posts, card.asked_again) == (3, 3, 3, 1)
    assert (card.late["healthy"].p50, card.late["healthy"].max) == (0.5, 0.5)


@pytest.mark.parametrize("other", [{"answer": 500}, {"answer": 0}, {"verified": False, "answer": 401}])
def test_what_was_never_acknowledged_is_lost(other):
    card = seen(posts=[*POSTS[:2], post(EVENTS[2], **other)])
    assert card.lost == 1
    assert "lost 1" in card.failures


def test_every_endpoint_is_owed_every_change():
    assert seen(endpoints=["healthy", "other"]).lost == 3


def test_a_retry_is_no_duplicate():
    card = seen(posts=[*POSTS[:2], post(EVENTS[2], answer=500), post(EVENTS[2], 2, attempt=2)])
    assert (card.lost, card.duplicates) == (0, {})


def test_a_second_post_of_the_same_attempt_is_an_unexplained_duplicate():
    assert seen(post(EVENTS[0], 3)).failures == ["unexplained 1"]


def test_a_retry_of_what_was_acknowledged_is_a_duplicate():
    assert seen(post(EVENTS[0], 3, attempt=2)).duplicates == {"unexplained": 1}


@pytest.mark.parametrize(
    ("fault", "second", "explained"),
    [
        (Fault("kill-worker", "deliver-1", 100.6, 101.0), "deliver-2", True),
        (Fault("kill-worker", "deliver-2", 100.6, 101.0), "deliver-2", False),
        (Fault("kill-worker", "deliver-1", 100.4, 101.0), "deliver-1", True),  # its end was a moment before
        (Fault("kill-worker", "deliver-1", 99.0, 100.4), "deliver-1", False),  # sent by the process after that
        (Fault("kill-worker", "deliver-1", 104.0, 105.0), "deliver-2", False),
        (Fault("stop-worker", "deliver-1", 100.6, 110.0), "deliver-2", True),
        (Fault("stop-worker", "deliver-1", 100.6, 101.0), "deliver-2", False),  # shorter than its lease
        (Fault("stop-worker", "deliver-2", 94.0, 108.0), "deliver-2", True),  # it had looked at its lease before
        (Fault("stop-worker", "deliver-2", 94.0, 98.0), "deliver-2", False),
        (Fault("stop-relay", "relay-1", 94.0, 100.2), "deliver-2", False),
        (Fault("flush-redis", "Valkey", 100.6, 100.6), "deliver-2", False),
        (Fault("lose-answers", "proxy", 100.4, 103.0), "deliver-2", False),
        (Fault("kill-serve", "serve", 100.6, 101.0), "deliver-2", False),
        (Fault("kill-relay", "relay-1", 100.6, 101.0), "deliver-2", False),
        (Fault("crash-postgres", "PostgreSQL", 100.6, 101.0), "deliver-2", True),
        (Fault("lock-table", "PostgreSQL", 100.6, 108.0), "deliver-2", False),  # what it has in hand is its own
        (Fault("raise-record", "delivery_result", 100.6, 108.0), "deliver-2", True),
        (Fault("raise-record", "delivery_result", 90.0, 94.0), "deliver-2", False),
        (Fault("cut-worker", "deliver-1", 100.6, 108.0), "deliver-2", True),  # it did not hear the answer
        (Fault("cut-worker", "deliver-2", 90.0, 100.0), "deliver-2", True),  # its POST came when it could
        (Fault("cut-worker", "deliver-2", 90.0, 93.0), "deliver-2", False),
        (Fault("cut-worker", "deliver-3", 100.6, 108.0), "deliver-2", False),
        (Fault("cut-worker", "deliver-1", 80.0, 84.0), "deliver-2", False),
        (Fault("cut-relay", "relay-1", 100.6, 108.0), "deliver-2", False),
        (Fault("cut-redis", "redis", 100.6, 108.0), "deliver-2", False),
        (Fault("shift-clocks", "deliver-1", 100.4, 108.0), "deliver-2", False),
        (Fault("upgrade", "every process", 100.4, 108.0), "deliver-2", False),
        (Fault("kill-primary", "pg-1", 100.6, 108.0), "deliver-2", True),
    ],
)
def test_a_duplicate_is_explained_only_by_what_kept_its_worker_from_recording(fault, second, explained):
    card = seen(post(EVENTS[0], 9, sender=second), faults=[fault])
    assert card.duplicates == {fault.kind if explained else "unexplained": 1}


def test_no_fault_explains_a_duplicate_within_a_lease():
    killed = Fault("kill-worker", "deliver-1", 100.6, 101.0)
    assert seen(post(EVENTS[0], 0.9, sender="deliver-2"), faults=[killed]).unexplained == 1


def test_a_duplicate_is_proven_by_its_two_posts_and_the_fault():
    killed = Fault("kill-worker", "deliver-1", 100.6, 101.0)
    again = post(EVENTS[0], 9, sender="deliver-2")
    assert seen(again, faults=[killed]).proven == [(Made(POSTS[0], None, 1), Made(again, None, 1), killed)]


def test_the_report_tells_what_the_database_has_of_a_repetition():
    again = post(EVENTS[0], 9, held=0.7)
    card = seen(again, attempts=[Attempted("healthy", "evt_1", 1, 1, True, 108.9, 2.1, "timeout")])
    (told,) = [line for line in lines({"chaos": card}) if "attempt 1.1 by deliver-1" in line]
    assert told.endswith(
        "1970-01-01T00:01:49.000Z -> 204 after 0.7 s (timeout, begun 1970-01-01T00:01:48.900Z, 2.1 s), after "
        "healthy/evt_1 attempt 1.1 by deliver-1 1970-01-01T00:01:40.500Z -> 204 after 0.0 s (not recorded)"
    )


def test_a_worker_that_was_stopped_records_nothing_of_what_another_one_has_claimed():
    posts = [
        post(EVENTS[0], 0.1, answer=0, held=60.0),
        post(EVENTS[0], 6, sender="deliver-2"),
        post(EVENTS[0], 8, sender="deliver-2", attempt=2),
    ]
    asleep = Fault("stop-worker", "deliver-1", 100.5, 106.5)
    assert seen(posts=posts + POSTS[1:], faults=[asleep]).duplicates == {"stop-worker": 1, "unexplained": 1}


def test_what_could_not_be_recorded_stays_in_hand_while_the_database_is_away():
    away, killed = Fault("crash-postgres", "PostgreSQL", 100.6, 106.0), Fault("kill-worker", "deliver-1", 107.0, 108.0)
    assert seen(post(EVENTS[0], 20), faults=[killed]).unexplained == 1
    assert seen(post(EVENTS[0], 20), faults=[away, killed]).duplicates == {"kill-worker": 1}
    assert seen(post(EVENTS[0], 20), faults=[away]).duplicates == {"crash-postgres": 1}
    locked, refused = Fault("lock-rows", "PostgreSQL", 100.6, 106.0), Fault("raise-record", "attempt", 105.0, 109.0)
    assert seen(post(EVENTS[0], 20), faults=[refused]).unexplained == 1
    assert seen(post(EVENTS[0], 20), faults=[locked, refused]).duplicates == {"raise-record": 1}
    before = Fault("lock-table", "PostgreSQL", 97.0, 100.3)  # its worker tries again after a pause, and then the rest
    assert seen(post(EVENTS[0], 20), faults=[before]).unexplained == 1
    assert seen(post(EVENTS[0], 20), faults=[before, killed]).duplicates == {"kill-worker": 1}


@pytest.mark.parametrize(("took", "duplicates"), [(1.9, {}), (0.1, {"unexplained": 1})])
def test_a_retry_of_what_was_answered_too_late_is_no_duplicate(took, duplicates):
    """The receiver had no CPU: its answer came when the attempt had ended."""
    ended = Attempted("healthy", "evt_1", 1, 1, True, POSTS[0].at - took, 2.0, "timeout")
    assert seen(post(EVENTS[0], 3, attempt=2), attempts=[ended]).duplicates == duplicates


@pytest.mark.parametrize(
    ("outcome", "more", "duplicates"),
    [("timeout", [], {}), ("http_5xx", [], {"unexplained": 1}), ("timeout", [5.0], {"unexplained": 1})],
    ids=["given up", "answered", "and sent again"],
)
def test_what_was_given_up_before_its_retry_and_read_behind_it_is_no_duplicate(outcome, more, duplicates):
    """The receiver shares a busy machine, and reads what waits for it in any order."""
    first = Attempted("healthy", "evt_1", 1, 1, True, 100.0, 2.0, outcome)
    second = Attempted("healthy", "evt_1", 1, 2, True, 103.0, 0.5, "delivered")
    posts = [post(EVENTS[0], 3.5, attempt=2), *(post(EVENTS[0], after) for after in (4.0, *more))]
    assert seen(posts=[*posts, *POSTS[1:]], attempts=[first, second]).duplicates == duplicates


def test_what_was_given_up_and_read_last_has_no_place_in_an_order():
    """The worker had given up on the first, and sent it again, before the second of its subject was sent."""
    tries = [(1, 100.0, "timeout"), (2, 103.0, "delivered")]
    made = [Attempted(ORDERED[0], "evt_1", 1, number, True, at, 0.5, ended) for number, at, ended in tries]
    there = [(EVENTS[0], 3.5, 2), (EVENTS[1], 3.0, 1), (EVENTS[0], 4.5, 1)]
    posts = [post(event, after, endpoint=ORDERED[0], attempt=number) for event, after, number in there]
    assert seen(posts=[*POSTS, *posts], attempts=made).misordered == 0


@pytest.mark.parametrize(("after", "explained"), [(1.5, False), (6.0, True)])
def test_a_worker_that_records_nothing_had_all_of_it_in_hand_when_it_was_killed(after, explained):
    """On a machine under load that may be for longer than a moment."""
    killed = Fault("kill-worker", "deliver-1", 104.0, 105.0)
    later = Recorded("evt_4", "lead.updated", "lead_b", 4, 100.0)
    recorded = Attempted("healthy", "evt_4", 1, 1, True, 100.0 + after, 0.0, "delivered")
    card = seen(post(EVENTS[0], 20, sender="deliver-2"), post(later, after), faults=[killed], attempts=[recorded])
    assert card.duplicates == {"kill-worker" if explained else "unexplained": 1}


@pytest.mark.parametrize(
    ("failure", "other"),
    [
        ("changes_without_event 1", {"events": EVENTS[:2]}),
        ("events_without_change 1", {"accepted": CHANGES[:2]}),
        ("events_doubled 1", {"events": [*EVENTS, Recorded("evt_4", "lead.updated", "lead_a", 2, 101.0)]}),
        ("wrong_state 1", {"states": {"lead_a": 1, "conv_a": -1}}),
        ("wrong_state 1", {"states": {"lead_a": 2}}),
        ("unfinished 1", {"unfinished": 1}),
        ("ledger: dead_too_early 2", {"ledger": {"dead_too_early": 2}}),
    ],
)
def test_every_other_broken_promise_is_named(failure, other):
    assert seen(**other).failures == [failure]


def test_a_wrong_signature_and_another_body_are_named():
    card = seen(posts=[*POSTS, post(EVENTS[2], 1, attempt=2, verified=False, answer=401, digest=8)])
    assert {"wrong_signature 1", "altered 1"} <= set(card.failures)


def test_order_is_counted_by_first_arrivals_of_a_lead():
    assert seen().out_of_order == 0
    assert seen(posts=[post(EVENTS[1]), post(EVENTS[0], 5), post(EVENTS[0], 6), POSTS[2]]).out_of_order == 1


def test_an_order_that_was_promised_counts_what_was_acknowledged_first():
    early = [post(EVENTS[0], endpoint=ORDERED[0], answer=500), post(EVENTS[1], endpoint=ORDERED[0])]
    late = post(EVENTS[0], 5, endpoint=ORDERED[0], attempt=2)
    assert "misordered 1" in seen(*early, late).failures
    assert seen(post(EVENTS[0], endpoint=ORDERED[0]), post(EVENTS[1], endpoint=ORDERED[0])).misordered == 0


@pytest.mark.parametrize(
    ("numbers", "wrong"), [((1, 2, 1), 0), ((1, 3, 1), 1), ((1, 1, 1), 1), ((1, 2, 3), 1), ((1, None, 1), 1)]
)
def test_a_number_that_is_missing_double_or_changed_is_counted(numbers, wrong):
    of = (EVENTS[0], EVENTS[1], EVENTS[0])
    posts = [post(event, endpoint=NUMBERED[0], sequence=number) for event, number in zip(of, numbers, strict=True)]
    assert seen(*posts).misnumbered == wrong


def test_recovery_is_from_the_fault_to_the_first_later_change_that_arrives():
    card = seen(faults=[Fault("kill-relay", "relay-1", 100.8, 103.0), Fault("kill-serve", "serve", 200.0, 201.0)])
    assert card.recovery["kill-relay"].max == pytest.approx(0.7)
    assert "kill-serve" not in card.recovery  # nothing came after it: nothing is claimed


def test_a_spread_of_nothing_or_of_one_is_no_error():
    assert spread([]).count == 0
    assert (spread([2.0]).p50, spread([2.0]).max) == (2.0, 2.0)
