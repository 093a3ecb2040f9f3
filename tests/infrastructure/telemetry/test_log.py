"""Log lines tell of a fault without telling of a person."""

import logging

import asyncpg
import pytest

from leadwire.infrastructure import db, telemetry
from tests import make

PERSON = ("secret.person", "Secretia")


def traces(text: str) -> list[str]:
    return [trace for trace in PERSON if trace in text]


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE lead SET email = (SELECT min(email) FROM lead)",
        "UPDATE lead SET created_at = NULL",
        "SELECT name::int FROM lead",
        "SELECT 1 FROM lead WHERE score = $1",
    ],
)
async def test_what_a_database_complains_of_is_logged_without_the_values(workspace, bot, statement, form):
    for email in ("secret.person@example.com", "someone@example.com"):
        await make.lead(workspace, bot, email=email, name="Secretia")
    form = telemetry._json if form == "json" else telemetry._plain
    values = ["Secretia"] if "$1" in statement else []
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)) as refused:
        await db.rows(statement, *values)
    assert traces(str(refused.value))
    caught = (refused.type, refused.value, refused.tb)
    line = form(logging.LogRecord("leadwire", logging.ERROR, "", 0, "request.failed", None, caught))
    assert refused.type.__name__ in line
    assert traces(line) == []


def test_a_trace_tells_what_led_to_an_error():
    try:
        try:
            raise ExceptionGroup("both", [KeyError("inside")])
        except ExceptionGroup as first:
            raise ValueError("outside") from first
    except ValueError as error:
        caught = (type(error), error, error.__traceback__)
    record = logging.LogRecord("leadwire", logging.ERROR, "", 0, "request.failed", None, caught)
    line = telemetry._json(record)
    assert "ValueError: outside" in line
    assert line.index("KeyError: 'inside'") < line.index("ExceptionGroup: both") < line.rindex("ValueError: outside")
    assert "test_log.py" in line
