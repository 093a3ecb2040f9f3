"""When it is sent again: decided without a clock of its own, and seen against servers that fail."""

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadwire.infrastructure import db
from leadwire_client import AsyncLeadwire, RateLimited, Retry, Unavailable, Unreachable
from leadwire_client.retry import Attempts
from tests import make
from tests.receiver import Receiver

AT_ONCE = Retry(first_wait=0, attempts=4)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def _refusal(status: int, retry_after: str | None = None, code: str = "") -> httpx.Response:
    headers = {"Retry-After": retry_after} if retry_after is not None else {}
    return httpx.Response(status, headers=headers, json={"code": code} if code else None)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_passes_is_tried_again_and_retry_after_is_waited_out(status):
    wait = Attempts(Retry(), Clock()).wait_after(_refusal(status, "7"))
    assert wait is not None
    assert 7 <= wait <= 7.5


@pytest.mark.parametrize("text", ["", "soon", "-1", "9" * 5000, "\u0663", "Wed, 99 Foo 2026 00:00:00 GMT"])
def test_an_unreadable_retry_after_is_as_none(text):
    wait = Attempts(Retry(), Clock()).wait_after(httpx.Response(503, headers=[(b"Retry-After", text.encode())]))
    assert wait is not None
    assert wait <= 0.5


def test_a_retry_after_may_be_a_date():
    wait = Attempts(Retry(), Clock()).wait_after(_refusal(503, "Wed, 21 Oct 2015 07:28:00 GMT"))
    assert wait is not None
    assert wait <= 0.5  # long past
    assert Attempts(Retry(), Clock()).wait_after(_refusal(503, "Wed, 21 Oct 2999 07:28:00 GMT")) is None


@pytest.mark.parametrize("status", [200, 301, 400, 401, 403, 404, 409, 412, 413, 415, 422, 500])
def test_what_stays_is_not_tried_again(status):
    assert Attempts(Retry(), Clock()).wait_after(_refusal(status)) is None


def test_a_change_that_another_attempt_is_still_making_is_waited_for():
    assert Attempts(Retry(), Clock()).wait_after(_refusal(409, code="idempotency_in_progress")) is not None
    assert Attempts(Retry(), Clock()).wait_after(_refusal(409, code="lead_conflict")) is None


@given(
    retry=st.builds(
        Retry,
        attempts=st.integers(1, 8),
        deadline=st.floats(0.1, 100),
        first_wait=st.floats(0, 10),
        longest_wait=st.floats(0, 30),
    ),
    told=st.lists(st.none() | st.integers(0, 50), min_size=8, max_size=8),
    took=st.lists(st.floats(0, 5), min_size=8, max_size=8),
)
def test_neither_the_attempts_nor_the_deadline_are_exceeded(retry, told, took):
    clock = Clock()
    attempts = Attempts(retry, clock)
    made = 0
    while True:
        assert clock.now < retry.deadline
        timeout = attempts.timeout(30.0, 20.0).read
        assert timeout <= max(0.001, retry.deadline - clock.now)
        clock.now += min(took[made], timeout)
        wait = attempts.wait_after(_refusal(503, None if told[made] is None else str(told[made])))
        made += 1
        if wait is None:
            break
        assert wait >= (told[made - 1] or 0)
        clock.now += wait
    assert made <= retry.attempts


def _made(attempts, clock, took=0.0):
    """How many attempts are made, each refused after `took` seconds."""
    for made in range(1, 1000):
        clock.now += took
        if (wait := attempts.wait_after(httpx.ConnectError("refused"))) is None:
            return made
        clock.now += wait
    raise AssertionError


@pytest.mark.parametrize("took", [0.0, 1.0])
def test_a_call_goes_on_until_its_deadline_with_few_requests(took):
    clock = Clock()
    assert 8 <= _made(Attempts(Retry(), clock), clock, took) <= 20
    assert clock.now >= 60 - 8


def test_a_retry_after_of_nothing_does_not_make_the_waits_short():
    clock = Clock()
    attempts = Attempts(Retry(), clock)
    made = 1
    while (wait := attempts.wait_after(_refusal(503, "0"))) is not None:
        clock.now += wait
        made += 1
    assert made <= 20


def test_what_follows_has_no_deadline_and_waits_for_a_minute_at_most():
    clock = Clock()
    attempts = Attempts(Retry(), clock, endless=True)
    for _ in range(1000):
        clock.now += (wait := attempts.wait_after(httpx.ReadTimeout("")))
        assert wait <= 8
    assert attempts.timeout(30.0, 20.0) == httpx.Timeout(30.0, read=50.0)
    assert 60 <= attempts.wait_after(_refusal(429, "3600")) <= 60.5
    assert attempts.wait_after(_refusal(500)) is not None
    assert attempts.wait_after(_refusal(410)) is None
    assert Attempts(Retry(attempts=1), clock, endless=True).wait_after(_refusal(503)) is None


@pytest.mark.parametrize(
    "given", [{"attempts": 0}, {"deadline": 0}, {"first_wait": -1}, {"longest_wait": -0.1}], ids=str
)
def test_a_policy_that_makes_no_sense_is_refused(given):
    with pytest.raises(ValueError, match="Retry"):
        Retry(**given)


async def test_a_server_that_recovers_is_not_noticed(api_key):
    answers = iter([503, 429, 204])
    async with Receiver(lambda _: next(answers)) as receiver, _client(api_key, receiver) as client:
        receiver.extra_headers = "Retry-After: 0\r\n"
        with pytest.raises(Exception, match="truncated"):  # 204 has no body: that answer came through
            await client.leads.delete("x")
        keys = [received.headers["idempotency-key"] for received in receiver.deliveries]
        assert len(keys) == 3
        assert len(set(keys)) == 1


async def test_one_that_stays_away_is_an_error_of_its_kind(api_key):
    async with Receiver(503) as receiver, _client(api_key, receiver) as client:
        receiver.extra_headers = "Retry-After: 3600\r\n"  # longer than the deadline: not even begun
        with pytest.raises(Unavailable) as unavailable:
            await client.leads.page()
        assert unavailable.value.retry_after == 3600
        receiver.answer, receiver.extra_headers = 429, ""
        with pytest.raises(RateLimited):
            await client.leads.page()
        assert len(receiver.deliveries) == 1 + AT_ONCE.attempts
        address = receiver.url
    async with AsyncLeadwire(api_key, address, retry=AT_ONCE) as client:
        with pytest.raises(Unreachable, match="GET /v1/leads"):
            await client.leads.page()


class Losing(httpx.AsyncBaseTransport):
    """The API itself, but the first `lost` answers do not arrive."""

    def __init__(self, real: httpx.AsyncBaseTransport, lost: int) -> None:
        self._real, self._lost = real, lost

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await self._real.handle_async_request(request)
        if self._lost:
            self._lost -= 1
            await answer.aread()
            raise httpx.ReadError("connection reset", request=request)
        return answer


async def test_a_change_whose_answer_was_lost_happens_once(in_process, api_key, workspace, bot):
    lead = await make.lead(workspace, bot)
    async with AsyncLeadwire(api_key, "http://test", transport=Losing(in_process, 2), retry=AT_ONCE) as client:
        assert (await client.leads.delete(lead.id)).deleted  # without the key, the second attempt would be NotFound
    assert (await make.kinds()).count("lead.deleted") == 1
    assert await db.value("SELECT count(*) FROM lead") == 0


def _client(api_key: str, receiver: Receiver) -> AsyncLeadwire:
    return AsyncLeadwire(api_key, receiver.url, retry=AT_ONCE)
