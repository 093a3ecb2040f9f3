"""`ops.generators` says what it skips and what fails. The tools come from registries: `.ci/run` runs them."""

from ops.generators.__main__ import _run, chosen
from ops.generators.tools import Tool


async def test_a_tool_without_its_runtime_is_skipped(tmp_path, capsys):
    assert not await _run(Tool("odd", ("no-such-runtime",), (("no-such-runtime",),)), tmp_path / "odd", b"{}", {})
    assert capsys.readouterr().out == "skipped  odd: there is no no-such-runtime here\n"


async def test_what_a_tool_says_is_shown_when_it_fails(tmp_path, capsys):
    failing = Tool("failing", (), (("/bin/sh", "-c", "cat openapi.json note; exit 3"),), {"note": " and more"})
    assert await _run(failing, tmp_path / "failing", b"{}", {})
    assert "{} and more" in capsys.readouterr().out
    warning = Tool("warning", (), (("/bin/sh", "-c", "echo WARNING"),), silent="WARNING")
    assert await _run(warning, tmp_path / "warning", b"{}", {})
    good = Tool("good", (), (("/bin/sh", "-c", "echo fine"),), silent="WARNING")
    assert not await _run(good, tmp_path / "good", b"{}", {})


def test_what_takes_minutes_is_run_by_name_only():
    assert "rust" not in [tool.name for tool in chosen([])]
    assert [tool.name for tool in chosen(["rust", "orval"])] == ["rust", "orval"]
