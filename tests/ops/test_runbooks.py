"""Every alert has its runbook, and what a runbook tells to do can be done: commands parse, queries run, links lead."""

import io
import logging
import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml
from ops.prometheus.rules import ALERTS, runbook

from leadwire.__main__ import main
from leadwire.infrastructure import db, telemetry
from tests.ops.command_line import parsed

ROOT = Path(__file__).parents[2]
BOOKS = sorted((ROOT / "src" / "leadwire" / "docs" / "runbooks").glob("*.md"))
HEADINGS = ["Check", "Fix"]  # what it means stands before them, under the title
PLACEHOLDERS = {"EVENT": "evt_0", "ID": "we_0", "TIME": "2026-01-02T03:04:05Z", "PID": "0"}


def commands(book):
    """Everything that is to be typed, in blocks and in sentences, with the placeholders filled in."""
    text = book.read_text()
    lines = [line for block in re.findall(r"```sh\n(.+?)```", text, re.DOTALL) for line in block.splitlines()]
    lines += re.findall(r"`((?:leadwire|psql) [^`]+)`", re.sub(r"```.+?```", "", text, flags=re.DOTALL))
    return [re.sub(rf"\b({'|'.join(PLACEHOLDERS)})\b", lambda found: PLACEHOLDERS[found[1]], line) for line in lines]


LINES = [line for book in BOOKS for line in commands(book)]


def test_every_alert_has_a_runbook_and_none_is_left_over():
    assert {runbook(alert.name) for alert in ALERTS} == {book.stem for book in BOOKS}


def test_the_page_on_call_names_each_by_whether_somebody_is_called():
    called, later = BOOKS[0].parents[1].joinpath("on-call.md").read_text().split("## Within a working day")
    pages = {alert.name for alert in ALERTS if alert.severity == "page"}
    for text, names in ((called, pages), (later, {alert.name for alert in ALERTS} - pages)):
        assert sorted(re.findall(r"^- \[(\w+)\]\(runbooks/", text, re.MULTILINE)) == sorted(names)


def test_psql_asks_the_host_that_takes_changes_as_leadwire_does():
    """Alone it takes the first that answers: an old primary, or a standby."""
    lines = BOOKS[0].parents[1].joinpath("on-call.md").read_text().splitlines()
    assert "export PGTARGETSESSIONATTRS=read-write PGCONNECT_TIMEOUT=5" in lines


def test_the_ways_into_a_process_are_those_of_ops_deploy():
    deploy, text = ROOT / "ops" / "deploy", BOOKS[0].parents[1].joinpath("on-call.md").read_text()
    (block,) = re.findall(r"```sh\n(systemd-run .+?)```", text, re.DOTALL)
    systemd, compose, kubernetes = map(shlex.split, block.splitlines())
    unit = (deploy / "systemd" / "leadwire-relay@.service").read_text()
    assert systemd[systemd.index("-p") + 1] in unit.splitlines()
    path = systemd[systemd.index("-E") + 1].removeprefix("PATH=").partition(":")[0]
    assert f"ExecStart={path}/leadwire " in unit
    services = yaml.safe_load((ROOT / compose[compose.index("-f") + 1]).read_text())["services"]
    assert compose[compose.index("exec") + 1] in services
    name = kubernetes[3].removeprefix("deployment/")
    assert f"metadata: {{name: {name}," in (deploy / "kubernetes" / "base" / "relay.yaml").read_text()


def test_each_has_all_its_parts():
    names = {f"# {alert.name}" for alert in ALERTS}
    for book in BOOKS:
        text = book.read_text()
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS, book
        assert text.splitlines()[0] in names, book
        assert runbook(text.splitlines()[0][2:]) == book.stem
        assert all(part.strip() for part in re.split(r"^#+ .+$", text, flags=re.MULTILINE)[1:]), book


def test_their_commands_of_leadwire_exist():
    for line in LINES:
        if line.startswith("leadwire"):
            arguments = shlex.split(line.partition(" | ")[0])[1:]
            parsed(*arguments)


async def test_their_queries_run(workspace):
    for line in LINES:
        if line.startswith("psql"):
            program, address, option, sql = shlex.split(line)
            assert (program, address, option) == ("psql", "$LEADWIRE_DATABASE_URL", "-c")
            await db.rows(sql)


def test_the_lines_they_look_for_in_the_log_are_written():
    sources = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    looked_for = [line.partition("| grep")[2] for line in LINES if "| grep" in line and "journalctl" in line]
    words = {word for text in looked_for for word in re.findall(r"\b[a-z]+\.[a-z_]+\b", text)}
    assert words
    assert [word for word in words if f'"{word}"' not in sources] == []


def test_what_else_they_look_for_in_the_log_is_in_its_lines(monkeypatch):
    """Levels, and the line with which a command that failed ends."""
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    with pytest.raises(SystemExit):
        main("nonsense")
    record = logging.LogRecord("leadwire", logging.ERROR, "", 0, "request.failed", None, None)
    text = written.getvalue() + telemetry._json(record)
    looked_for = [
        shlex.split(line.split("| grep -E ")[1])[0] for line in LINES if "journalctl" in line and "-E" in line
    ]
    words = {
        word for pattern in looked_for for word in pattern.split("|") if not re.fullmatch(r"[a-z]+\.[a-z_]+", word)
    }
    assert words
    assert [word for word in words if word not in text] == []


def test_their_links_lead_somewhere():
    for book in BOOKS:
        for link in re.findall(r"\]\(([^)]+)\)", book.read_text()):
            path, _, anchor = link.partition("#")
            target = (book.parent / path).resolve()
            assert target.is_file(), (book, link)
            headings = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
            assert not anchor or anchor in {heading.lower().replace(" ", "-") for heading in headings}, (book, link)
