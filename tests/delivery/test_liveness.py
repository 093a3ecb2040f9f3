"""A worker is alive while its due work moves: not when a server is away, and not when it only seems to run."""

import pytest

from leadwire.delivery.relay.loop import Relay
from leadwire.delivery.worker import observe
from leadwire.delivery.worker.observe import Liveness
from leadwire.infrastructure import loop
from leadwire.infrastructure.settings import Settings


class Clock:
    """`time.monotonic`, moved by hand."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(observe, "time", made)
    monkeypatch.setattr(loop, "time", made)
    return made


def test_an_idle_worker_that_asks_for_work_is_alive(clock):
    beating = Liveness(30)
    for _ in range(100):
        clock.now += 5
        beating.turned()
    assert beating.stuck(posts=0, unrecorded=0) is None


def test_posts_that_do_not_end_are_told_after_their_deadline_and_a_minute(clock):
    beating = Liveness(30)
    clock.now += 89
    beating.turned()
    assert beating.stuck(posts=3, unrecorded=0) is None
    clock.now += 2
    assert beating.stuck(posts=3, unrecorded=0) == "none of 3 POSTs has ended for more than 90 s"


def test_one_post_that_ends_now_and_then_is_progress(clock):
    beating = Liveness(30)
    for _ in range(10):
        clock.now += 80
        beating.turned()
        beating.moved = clock.now
    assert beating.stuck(posts=128, unrecorded=0) is None


def test_a_redis_that_stays_a_replica_is_told_and_one_that_is_away_is_not(clock):
    beating = Liveness(30)
    for replica, alive in ((True, True), (False, True), (True, True), (True, False), (False, True)):
        beating.streams_answered(replica=replica)
        clock.now += 91
        beating.turned()
        beating.streams_answered(replica=replica)
        told = beating.stuck(posts=0, unrecorded=0)
        assert (told is None) == alive or (told or "").startswith("Redis has been a replica for more than 90 s")


def test_outcomes_that_nobody_tries_to_record_are_told(clock):
    beating = Liveness(30)
    clock.now += 100
    beating.turned()
    assert beating.stuck(posts=0, unrecorded=7) == "7 outcomes have not been recorded for more than 90 s"
    beating.turned(recording=True)  # the database is away, and it goes on trying
    assert beating.stuck(posts=0, unrecorded=7) is None


def test_a_loop_that_does_not_turn_is_told(clock):
    beating = Liveness(30)
    clock.now += 91
    assert beating.stuck(posts=0, unrecorded=0) == "nothing has been asked of the streams for more than 90 s"


def test_a_relay_that_does_not_turn_is_told(clock, redis):
    """Its loops are told apart; one that waits for work, or that fails and tries again, is alive."""
    admit = Relay(redis, Settings())._loops["admit"]
    assert admit.stuck() is None
    admit._since = clock.now
    clock.now += 135
    assert admit.stuck() is None
    clock.now += 65
    assert admit.stuck() == "admit has not ended a round for 200 s"
