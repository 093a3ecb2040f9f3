"""What `up` does with whatever its children print."""

import asyncio
import contextlib
import json
import stat

import pytest

from leadwire.development import terminal
from leadwire.development.supervisor import Child
from tests.waiting import eventually

PRINTS = r"""
import json, sys
write = sys.stdout.buffer.write
write(b"x" * 3_000_000 + b"\n")
write(json.dumps({"webhook_id": "w", "body": "y" * 1_000_000}).encode() + b"\n")
write(b"\xff\xfe\x00 not UTF-8 \x80\n")
write(b"\x1b[2J\x1b]0;title\x07\n")
write(b"[" * 100_000 + b"\n" + b"17\n" + b"[]\n" + b"{}\n" + b'{"webhook_id": 1}\n' + b"\n")
write(b"the last line\n")
sys.stdout.flush()
sys.stdin.read()
"""


@pytest.fixture
async def child(tmp_path):
    """A child that prints what children should not, and the lines that were handed on."""
    package = tmp_path / "fake" / "leadwire"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(PRINTS)
    lines: list[str] = []

    def show(line):
        lines.append(line)
        terminal.show_delivery(line)

    (tmp_path / "child.log").touch(mode=0o644)
    made = Child("child", [], {"PYTHONPATH": str(package.parent)}, tmp_path, lines.append, show)
    await made.start()
    keeping = asyncio.create_task(made.keep_running(lambda: None))
    yield keeping, lines
    keeping.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await keeping
    await made.stop()


async def test_whatever_a_child_prints_it_is_read_to_its_end(child, capsys):
    keeping, lines = child
    await eventually(lambda: keeping.done() or "the last line\n" in lines)
    assert not keeping.done(), keeping.exception()
    assert max(map(len, lines)) < 1_000_000
    assert capsys.readouterr().out == ""


async def test_logs_of_children_are_for_their_owner_alone(child, tmp_path):
    assert stat.S_IMODE((tmp_path / "child.log").stat().st_mode) == 0o600


def test_what_a_stranger_sent_the_receiver_reaches_the_terminal_without_control_characters(capsys):
    hostile = {
        "received_at": "2026-01-02T03:04:05.678Z", "verified": False, "event": "\x1b[2Jlead.created",
        "subject": "lead_1\r\n\x00\u202e", "webhook_id": "evt_\x9b1" + "x" * 10_000, "attempt": "2\x07",
        "body": {"data": "no object"},
    }  # fmt: skip
    terminal.show_delivery(json.dumps(hostile))
    (line,) = capsys.readouterr().out.splitlines()
    assert all(" " <= character <= "~" for character in line)
    assert "?[2Jlead.created" in line
    assert len(line) < 300
