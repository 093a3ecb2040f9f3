"""Logging never waits: a queue with a bound takes the lines, and what does not fit is counted."""

import contextlib
import logging
import os

import pytest

from leadwire.infrastructure.telemetry import QueuedLines
from tests import catalog
from tests.waiting import until

LINE = "x" * 999


@pytest.fixture
def pipe():
    """A pipe as standard error: what reads it, and what is written to."""
    reader, writer = os.pipe()
    yield reader, writer
    for end in (reader, writer):
        with contextlib.suppress(OSError):
            os.close(end)


def record(text, *arguments):
    return logging.LogRecord("leadwire", logging.INFO, "", 0, text, arguments, None)


def dropped():
    return catalog.value("leadwire_log_lines_dropped_total")


def test_what_nobody_reads_is_dropped_and_counted_and_the_rest_comes_whole(pipe):
    reader, writer = pipe
    handler, before = QueuedLines(logging.Formatter().format, most=50, fd=writer), dropped()
    for _ in range(1000):  # a pipe takes 65,536 bytes
        handler.handle(record(LINE))
    lost = dropped() - before
    assert lost >= 1000 - 50 - 100 - 66  # the queue, what the thread holds, the pipe
    read = b""
    while len(read) < (1000 - lost) * 1000:
        read += os.read(reader, 65_536)
    assert read.decode().split("\n") == [LINE] * int(1000 - lost) + [""]


def test_a_reader_that_is_gone_costs_lines_only(pipe):
    reader, writer = pipe
    os.close(reader)
    handler, before = QueuedLines(logging.Formatter().format, fd=writer), dropped()
    handler.handle(record("nobody"))
    handler.handle(record("is there"))
    until(lambda: dropped() == before + 2)


def test_a_record_that_cannot_be_formatted_is_counted_and_the_next_one_is_written(pipe, capfd):
    reader, writer = pipe
    handler, before = QueuedLines(logging.Formatter().format, fd=writer), dropped()
    handler.handle(record("%d of %d", "one"))
    handler.handle(record("the next \ud800"))
    assert os.read(reader, 100) == b"the next ?\n"
    assert dropped() == before + 1
    assert capfd.readouterr().err == ""


def test_flush_waits_until_everything_is_written(pipe):
    reader, writer = pipe
    handler = QueuedLines(logging.Formatter().format, fd=writer)
    for _ in range(50):
        handler.handle(record(LINE))
    handler.flush()
    os.close(writer)
    read = b""
    while more := os.read(reader, 65_536):
        read += more
    assert len(read) == 50_000
