"""Names that nobody answers for hold up nobody but themselves. Others are looked up: nobody listens there."""

import asyncio
import socket
import threading
from collections import Counter

import pytest

from leadwire.delivery.transport import guarded
from leadwire.delivery.transport.guarded import GuardedTransport
from tests.delivery.transport.test_guarded import LOOPBACK, PATIENCE, outcome
from tests.waiting import eventually


class Names:
    """In place of the system's look-up: names that begin with `slow` are not answered until `answer` is set."""

    def __init__(self) -> None:
        self.answer = threading.Event()
        self.asked: Counter[str] = Counter()
        self._system = socket.getaddrinfo

    def __call__(self, host, port, *args, **kwargs):
        if not isinstance(host, bytes):  # not asked by the transport
            return self._system(host, port, *args, **kwargs)
        name = host.decode()
        self.asked[name] += 1
        if name.startswith("slow"):
            self.answer.wait(60)
        return self._system("127.0.0.1", port, *args, **kwargs)


@pytest.fixture
def names(monkeypatch):
    made = Names()
    monkeypatch.setattr(socket, "getaddrinfo", made)
    yield made
    made.answer.set()


async def all_of(transport: GuardedTransport, urls: list[str]) -> set[str]:
    return set(await asyncio.gather(*(outcome(transport, url) for url in urls)))


async def test_a_name_that_hangs_takes_one_thread_however_often_it_is_tried(names, monkeypatch):
    transport = GuardedTransport(LOOPBACK, timeout=PATIENCE)
    slow, well = "https://slow.example.com:1024/", "https://well.example.com:1024/"
    with monkeypatch.context() as patched:
        patched.setattr(guarded, "_LOOKUP_LIMIT", 0.05)
        for _ in range(2):
            assert await all_of(transport, [slow] * 50) == {"dns_error"}
    assert names.asked["slow.example.com"] == 1
    assert await all_of(transport, [well] * 50) == {"connect_error"}
    names.answer.set()
    await eventually(lambda: not transport._looking_up)
    assert await outcome(transport, slow) == "connect_error"
    await transport.aclose()


async def test_a_hundred_names_that_hang_are_no_wait_for_another(names, monkeypatch):
    transport = GuardedTransport(LOOPBACK, timeout=PATIENCE)
    with monkeypatch.context() as patched:
        patched.setattr(guarded, "_LOOKUP_LIMIT", 0.05)
        slow = [f"https://slow-{n}.example.com:1024/" for n in range(100)]
        assert await all_of(transport, slow) == {"dns_error"}
    assert len(transport._looking_up) == 100
    assert await outcome(transport, "https://well.example.com:1024/") == "connect_error"
    names.answer.set()
    await transport.aclose()
