"""Two workspaces, of which one is bad; and the table of what was made bad, and what came of it."""

from collections.abc import Callable

import pytest

from tests.delivery import conftest, test_one_fails

hasty, no_rest, two = conftest.hasty, test_one_fails.no_rest, test_one_fails.two
Note = Callable[[str, str, str], None]
_MEMBER = "member"


@pytest.fixture
def note(record_property: Callable[[str, object], None]) -> Note:
    """Add a line to the table: the kind or statement, what is bad, what came of it."""
    return lambda *line: record_property(_MEMBER, line)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    tests = terminalreporter.stats.get("passed", [])
    lines = sorted(tuple(value) for test in tests for name, value in test.user_properties if name == _MEMBER)
    for member, bad, outcome in lines:
        terminalreporter.write_line(f"{member:26} {bad:36} {outcome}")
