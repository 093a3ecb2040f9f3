"""What a process reports to systemd: that it is ready and that its loop runs; and nothing while it does not."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from leadwire.processes.runtime import systemd_notified
from leadwire_development.embedded import Services
from tests.flows.commands import Started
from tests.waiting import eventually


class Systemd:
    """The end of the socket that is systemd's."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))

    def hears(self, seconds: float = 240.0) -> str:
        self._socket.settimeout(seconds)
        return self._socket.recv(100).decode()

    def all_heard(self) -> int:
        """How many words wait to be read; they are read."""
        count = 0
        self._socket.setblocking(False)
        try:
            while True:
                self._socket.recv(100)
                count += 1
        except BlockingIOError:
            return count

    def close(self) -> None:
        self._socket.close()


@pytest.mark.flow
@pytest.mark.usefixtures("connected")
def test_a_process_is_ready_and_alive_until_it_hangs(
    servers: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ears = Systemd(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", str(ears.path))
    monkeypatch.setenv("WATCHDOG_USEC", "300000")
    relay = Started("relay", DATABASE_URL=servers.database_url, REDIS_URL=servers.redis_url)
    try:
        assert [ears.hears() for _ in range(3)] == ["READY=1", "WATCHDOG=1", "WATCHDOG=1"]
        relay.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, relay.process.pid, os.WSTOPPED | os.WNOWAIT)
        ears.all_heard()
        with pytest.raises(TimeoutError):
            ears.hears(1.0)  # ten times as long as it is silent at the most
        relay.process.send_signal(signal.SIGCONT)
        assert ears.hears() == "WATCHDOG=1"
        assert relay.signal() == 0
    finally:
        relay.close()
        ears.close()


@pytest.fixture
def ears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Systemd]:
    """A systemd that wants to hear of this process every millisecond."""
    systemd = Systemd(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", str(systemd.path))
    monkeypatch.setenv("WATCHDOG_USEC", "3000")
    yield systemd
    systemd.close()


async def test_one_that_is_not_alive_says_no_more(ears: Systemd) -> None:
    asked: list[int] = []
    async with systemd_notified(lambda: not asked.append(1) and len(asked) < 3):
        await eventually(lambda: len(asked) > 5)
    assert ears.all_heard() == 3  # ready, and twice alive


@pytest.mark.usefixtures("ears")
async def test_a_systemd_that_reads_nothing_holds_nobody_up() -> None:
    """The system keeps some datagrams for it (10, or a few hundred), and would let the next one wait."""
    asked: list[int] = []
    async with systemd_notified(lambda: not asked.append(1)):
        await eventually(lambda: len(asked) > 1000)
