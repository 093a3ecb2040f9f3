"""`leadwire listen` as a real process: what it answers, what it prints, and that it always ends."""

import asyncio
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from leadwire.delivery import signing
from leadwire.infrastructure import clock
from leadwire_development.listen import _listen
from leadwire_development.receiver import Receiver
from tests.waiting import eventually

SECRET = signing.new_secret()
BODY = (
    b'{"event":"lead.created","timestamp":"2026-01-02T03:04:05.678Z","data":{"id":"lead_1","email":"ada@example.com"}}'
)


class Listening:
    """The process, its lines as they come, and a client of it."""

    def __init__(self, *options: str, **env: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "leadwire", "listen", "--port", "0", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, **env},
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reading = threading.Thread(target=self._read)
        self._reading.start()
        if "--json" in options:
            self.url = self.seen()["listening"]
        else:
            self.url = self.process.stderr.readline().strip().removeprefix("listening on ")
        self.client = httpx.Client(base_url=self.url, timeout=240, trust_env=False)

    def _read(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line.removesuffix("\n"))

    def line(self) -> str:
        """The next line it prints; queue.Empty when there is none within a minute."""
        return self._lines.get(timeout=240)

    def seen(self) -> dict[str, Any]:
        """The next line of `--json`, read as strictly as other languages do."""
        return json.loads(self.line(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))

    def post(self, body: bytes = BODY, path: str = "/", secret: str = SECRET, **signed: Any) -> int:
        """POST `body`, signed; the status answered."""
        now = int(clock.now().timestamp())
        values = {"event_id": "evt_1", "staged": None, "at": now, "attempt": 1, "prefix": "X-Service-"}
        headers = signing.headers(body=body, secret=secret, **{**values, **signed})
        return self.client.post(path, content=body, headers=headers).status_code

    def raw(self, data: bytes) -> socket.socket:
        """A connection on which `data` was sent."""
        url = httpx.URL(self.url)
        connection = socket.create_connection((url.host, url.port), timeout=240)
        connection.sendall(data)
        return connection

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Signal it: exit code, stderr. It may not wait for a sender, which would take longer than the limit here."""
        self.process.send_signal(number)
        return self.process.wait(240), self.process.stderr.read()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(120)
        self.client.close()
        self._reading.join(240)
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture
def listening() -> Iterator[Any]:
    """Start one with these options; each is ended with the test."""
    started: list[Listening] = []

    def start(*options: str, **env: str) -> Listening:
        started.append(Listening(*options, **env))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.mark.parametrize("prefix", ["X-Service-", "Acme-"])
def test_a_signed_delivery_is_verified_answered_and_told_in_one_json_line(listening, prefix):
    receiver = listening("--json", LEADWIRE_LISTEN_SECRET=SECRET)
    assert receiver.post(attempt=2, test=True, prefix=prefix) == 204
    seen = receiver.seen()
    assert (seen["verified"], seen["reason"], seen["status"], seen["test"]) == (True, None, 204, True)
    assert (seen["event"], seen["webhook_id"], seen["attempt"]) == ("lead.created", "evt_1", "2")
    assert seen["timestamp"] == "2026-01-02T03:04:05.678Z"
    assert seen["body"] == json.loads(BODY)
    assert seen["headers"]["webhook-id"] == "evt_1"
    assert clock.parse(seen["received_at"])


def test_a_forged_a_stale_and_an_unsigned_delivery_are_401_and_say_why(listening):
    receiver = listening("--json", "--secret", SECRET)
    assert receiver.post(secret=signing.new_secret()) == 401
    assert receiver.seen()["reason"] == "X-Service-Signature does not match the body"
    assert receiver.post(at=int(clock.now().timestamp()) - 301) == 401
    assert "too far" in receiver.seen()["reason"]
    assert receiver.client.post("/", content=BODY).status_code == 401
    seen = receiver.seen()
    assert (seen["verified"], seen["reason"], seen["status"]) == (False, "X-Service-Signature is missing", 401)


def test_without_a_secret_nothing_is_verified_and_everything_accepted(listening):
    receiver = listening("--json", "--status", "202")
    assert receiver.client.post("/any/path", content=b"not json").status_code == 202
    seen = receiver.seen()
    assert (seen["verified"], seen["body"], seen["status"]) == (None, None, 202)


def test_fail_first_counts_per_event_so_each_one_shows_its_retries(listening):
    receiver = listening("--json", "--fail-first", "2")
    assert [receiver.post(event_id="evt_1", attempt=n) for n in (1, 2, 3)] == [500, 500, 204]
    assert [receiver.post(event_id="evt_2", attempt=n) for n in (1, 2, 3)] == [500, 500, 204]


def test_a_forged_delivery_is_401_while_failures_are_asked_for_too(listening):
    receiver = listening("--json", "--secret", SECRET, "--fail-first", "9")
    assert receiver.post(secret=signing.new_secret()) == 401


def test_the_terminal_shows_words_not_only_colors_and_no_personal_data(listening):
    receiver = listening("--secret", SECRET)
    receiver.post()
    good = receiver.line()
    receiver.post(secret=signing.new_secret(), attempt=3)
    bad = receiver.line()
    for text in ("verified", "lead.created", "lead_1", "evt_1", "attempt 1", "answered 204"):
        assert text in good
    for text in ("REFUSED", "attempt 3", "answered 401", "does not match"):
        assert text in bad
    assert "ada@" not in good + bad
    assert "\x1b" not in good + bad  # a pipe is no terminal


@pytest.mark.parametrize("mode", [[], ["--json"]], ids=["lines", "json"])
def test_what_strangers_send_cannot_steer_the_terminal(listening, mode):
    receiver = listening(*mode)
    evil = "\x1b[2J\x07\r\n\x9b31m\u202e"
    body = json.dumps({"event": evil, "data": {"id": evil * 50}}).encode()
    assert receiver.client.post("/", content=body, headers={b"webhook-id": b"\x9b31m\xff"}).status_code == 204
    assert receiver.line().isprintable()
    assert receiver.client.get("/").text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "body",
    [b"NaN", b'{"data":[1e999]}', b'{"event":"\\ud800"}', b"\xff", b"", b"1" * 5000, b'{"event":{},"data":{"id":[]}}']
    + [b'{"event":' + b"[" * depth + b"]" * depth + b"}" for depth in (900, 972, 100_000)],
)  # fmt: skip
def test_every_body_is_answered_and_makes_one_line_of_true_json(listening, body):
    receiver = listening("--json")
    assert receiver.client.post("/", content=body).status_code == 204
    assert receiver.seen()["status"] == 204


def test_get_shows_the_last_deliveries_and_other_methods_are_405(listening):
    receiver = listening()
    receiver.post()
    page = receiver.client.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/plain")
    assert "evt_1" in page.text
    assert "answered 204" in page.text
    assert (receiver.client.put("/").status_code, receiver.client.get("/hook").status_code) == (405, 405)
    assert receiver.client.get("/hook").headers["allow"] == "POST"


def test_a_body_over_a_million_bytes_is_413_and_no_delivery(listening):
    receiver = listening("--json")
    assert receiver.client.post("/", content=b"x" * 1_000_001).status_code == 413
    assert receiver.client.post("/", content=b"x" * 1_000_000).status_code == 204
    assert receiver.seen()["status"] == 204


def test_a_sender_who_leaves_within_the_body_made_no_delivery(listening):
    receiver = listening("--json", "--secret", SECRET)
    receiver.raw(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{").close()
    assert receiver.post() == 204
    assert receiver.seen()["verified"] is True


async def test_answers_are_sent_at_once(monkeypatch, capsys):
    """Without TCP_NODELAY, each but the first of a connection comes 40 ms late."""
    options, connection_made = [], HttpToolsProtocol.connection_made

    def made(self, transport):
        options.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        connection_made(self, transport)

    monkeypatch.setattr(HttpToolsProtocol, "connection_made", made)
    receiver = Receiver(None, status=204, fail_first=0, delay=0, show=lambda seen: None)
    serving = asyncio.create_task(_listen(receiver, "127.0.0.1", 0, as_json=True))
    try:
        said = await eventually(lambda: capsys.readouterr().out)
        async with httpx.AsyncClient(base_url=json.loads(said)["listening"], trust_env=False, timeout=240) as client:
            assert (await client.post("/", content=BODY)).status_code == 204
    finally:
        receiver.stop.set()
        await serving
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().remove_signal_handler(number)
    assert options == [1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_although_a_sender_is_kept_waiting(listening, number):
    receiver = listening("--json", "--delay", "3600")
    with receiver.raw(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}") as waiting:
        receiver.seen()
        assert receiver.stop(number) == (0, "")
        assert waiting.recv(64).startswith(b"HTTP/1.1 204")


def test_a_signal_ends_it_although_a_sender_stalls_within_the_body(listening):
    receiver = listening("--json")
    with receiver.raw(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{"):
        receiver.post()  # by now the other one has been accepted
        assert receiver.stop() == (0, "")


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--secret", "nope"], 1, "whsec_"),
        (["--secret", "whsec_!!!"], 1, "whsec_"),
        (["--secret", "whsec_"], 1, "whsec_"),
        (["--status", "99"], 2, "--status"),
        (["--port", "70000"], 2, "--port"),
        (["--delay", "-1"], 2, "--delay"),
    ],
)
def test_an_option_that_cannot_be_used_is_named(options, code, says):
    ended = subprocess.run(
        [sys.executable, "-m", "leadwire", "listen", "--port", "0", *options],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (code, "")
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_port_in_use_is_one_line(listening):
    taken = httpx.URL(listening().url).port
    ended = subprocess.run(
        [sys.executable, "-m", "leadwire", "listen", "--port", str(taken)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert f"127.0.0.1:{taken}" in ended.stderr
