"""What is kept of where a visitor comes from."""

import pytest

from leadwire.domain.bots.visitors import traces
from leadwire.infrastructure import user_agents


def test_what_is_kept_of_a_network_cannot_be_read_nor_compared_between_workspaces(monkeypatch):
    kept = traces.blinded("ws_1", "203.0.113.9")
    assert kept == traces.blinded("ws_1", "203.0.113.9")
    other = traces.blinded("ws_2", "203.0.113.9")
    monkeypatch.setattr(traces, "_key", lambda: b"another")
    assert len({kept, other, traces.blinded("ws_1", "203.0.113.9")}) == 3


@pytest.mark.parametrize(
    ("agent", "names"),
    [
        ("(Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/130.0 Safari/537.36 Edg/130.0", ("Edge", "Windows")),
        ("(iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17.0 Mobile/15E148 Safari/604.1", ("Safari", "iOS")),
        ("(X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0", ("Firefox", "Linux")),
        ("(Linux; Android 14) AppleWebKit/537.36 Chrome/130.0 Mobile Safari/537.36", ("Chrome", "Android")),
        ("curl/8", (None, None)),
        ("", (None, None)),
    ],
)
def test_browsers(agent, names):
    assert user_agents.browser_and_system(agent) == names
    assert user_agents.browser_name(agent) == (f"{names[0]} on {names[1]}" if names[0] else "")
