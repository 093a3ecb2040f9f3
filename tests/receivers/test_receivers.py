"""Each receiver that the documentation shows, in its own language, against real deliveries and against forged ones."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from leadwire.delivery import signing
from leadwire.domain.webhooks import changes, rotation
from leadwire.domain.webhooks.schema import EndpointChange
from tests import make
from tests.delivery.wired import Wire, endpoint
from tests.flows.commands import free_port
from tests.waiting import until

pytestmark = pytest.mark.flow

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "ops" / "receivers"
BODY = '{"event":"lead.created","data":{"name":"Zoë 日本"}}'.encode()


def command(language: str, port: int, work: Path) -> list[str]:
    """How to run it; skips the test where its runtime is not there."""
    runtime, *arguments = {
        "py": [sys.executable],
        "mjs": ["node"],
        "go": ["go", "build", "-o", str(work / "receiver")],
        "php": ["php", "-S", f"127.0.0.1:{port}"],
        "rb": ["ruby"],
    }[language]
    if shutil.which(runtime) is None:
        pytest.skip(f"{runtime} is not installed")
    if (
        language == "rb"
        and subprocess.run([runtime, "-rwebrick", "-e", ""], capture_output=True, check=False).returncode
    ):
        pytest.skip("the gem webrick is not installed")
    whole = [runtime, *arguments, str(PROGRAMS / f"receiver.{language}")]
    if language == "go":
        subprocess.run(whole, check=True, capture_output=True, timeout=110)
        return [str(work / "receiver")]
    return whole


@pytest.fixture
def running(tmp_path):
    """Start one with a secret; answers its URL and the file it prints to."""
    started = []

    def start(language: str, secret: str) -> tuple[str, Path]:
        port, printed = free_port(), tmp_path / f"out{len(started)}"
        arguments = command(language, port, tmp_path)
        with printed.open("wb") as out:
            started.append(
                subprocess.Popen(
                    arguments, env={**os.environ, "SECRET": secret, "PORT": str(port)}, stdout=out, stderr=out
                )
            )
        until(lambda: _listening(port) or started[-1].poll() is not None)
        assert started[-1].poll() is None, printed.read_text()
        return f"http://127.0.0.1:{port}/", printed

    yield start
    for process in started:
        process.terminate()
        process.wait(10)


def _listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def signed(secret: str, *, body: bytes = BODY, at: int = 0, staged: str | None = None) -> dict[str, str]:
    """The headers of a delivery `at` seconds from now."""
    made = signing.headers(
        event_id="evt_1", body=body, secret=secret, staged=staged, at=int(time.time()) + at, attempt=1,
        prefix="X-Service-",
    )  # fmt: skip
    return dict(made)


@pytest.fixture(
    params=["py", "mjs", pytest.param("go", marks=pytest.mark.large), "php", "rb"]
)  # Go builds for a minute
def language(request):
    return request.param


async def test_real_deliveries_are_received_also_while_the_secret_changes(language, running, redis, workspace, bot):
    made = await endpoint(workspace, "http://127.0.0.1:9999/", "lead.created")
    staged = await rotation.stage(workspace, made.id)
    receivers = [running(language, secret) for secret in (made.secret, staged)]
    for number, (url, _) in enumerate(receivers):
        await changes.configure(workspace, made.id, EndpointChange(url=url))
        async with Wire(redis) as wire:
            await make.lead(workspace, bot, email=f"ada{number}@example.com", name="Zoë 日本")
            (one,) = await wire.turn()
        assert (one.outcome, one.http_status) == ("delivered", 204)
    for _, printed in receivers:
        assert until(lambda printed=printed: re.search(r"evt_\w+ lead\.created", printed.read_text()))


def test_whatever_is_not_genuine_is_refused(language, running):
    secret, other = signing.new_secret(), signing.new_secret()
    url, printed = running(language, secret)
    right = signed(secret)
    with httpx.Client() as client:

        def answer(headers: dict[str, str], body: bytes = BODY) -> int:
            return client.post(url, content=body, headers=headers).status_code

        for headers in (right, signed(other, staged=secret), signed(secret, at=-290), signed(secret, at=290)):
            assert answer(headers) == 204
        for headers in (
            signed(other), signed(secret, at=-310), signed(secret, at=310), {}, {**right, "webhook-id": "evt_2"},
            {**right, "webhook-timestamp": "1e9"}, {**right, "webhook-timestamp": "9" * 5000},
            {**right, "webhook-timestamp": f"{right['webhook-timestamp']}.0"}, {**right, "webhook-signature": ""},
            {**right, "webhook-signature": right["webhook-signature"][:-1]},
            {**right, "webhook-signature": right["webhook-signature"].removeprefix("v1,")},
            *({name: value for name, value in right.items() if name != f"webhook-{left_out}"}
              for left_out in ("id", "timestamp", "signature")),
        ):  # fmt: skip
            assert answer(headers) == 401, headers
        for body in (BODY + b" ", BODY[:-1], b"", BODY.replace(b"lead", b"Lead")):
            assert answer(right, body) == 401
        assert answer(right) == 204
    until(lambda: printed.read_text().count("evt_1 lead.created") == 5)


@pytest.mark.parametrize("language", ["py", "mjs", "go", "php", "rb"])
def test_the_documentation_shows_them_as_they_are(language):
    text = (ROOT / "src" / "leadwire" / "docs" / "receiving-webhooks.md").read_text()
    fence = {"py": "python", "mjs": "js", "rb": "ruby"}.get(language, language)
    shown, *_ = re.findall(rf"```{fence}\n(.+?)```", text, re.DOTALL)
    assert shown in (PROGRAMS / f"receiver.{language}").read_text()
    assert "verified" in shown.partition("\n")[0]
