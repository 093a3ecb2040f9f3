"""A real Prometheus beside real processes: every panel shows something, and an alert sees what is gone."""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest
import yaml
from ops.grafana.boards import ALL
from ops.grafana.panels import text

from tests.flows.commands import free_port
from tests.flows.telemetry import address
from tests.waiting import eventually

pytestmark = [
    pytest.mark.flow,
    pytest.mark.skipif(not shutil.which("prometheus"), reason="prometheus is not installed (Debian: prometheus)"),
]

RULES = Path(__file__).parents[2] / "ops" / "prometheus" / "rules.yml"
EMPTY = ('status=~"5.."', 'status=~"4.."', "job_failures")  # nothing of the kind has happened


class Prometheus:
    """Scrapes some processes every second and evaluates our rules as often."""

    def __init__(self, directory: Path, targets: list[str]) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        settings = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [{"job_name": "leadwire", "static_configs": [{"targets": targets}]}],
        }
        (directory / "prometheus.yml").write_text(yaml.safe_dump(settings))
        self._log = (directory / "log").open("w")
        self.process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={directory / 'prometheus.yml'}",
                f"--storage.tsdb.path={directory / 'data'}",
                f"--web.listen-address={self.url.removeprefix('http://')}",
            ],
            stdout=self._log,
            stderr=self._log,
        )

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(120)
        self._log.close()

    async def ask(self, http: httpx.AsyncClient, expression: str) -> list:
        try:
            answer = await http.get(f"{self.url}/api/v1/query", params={"query": expression})
        except httpx.TransportError:
            return []
        if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE:  # it is still starting
            return []
        said = answer.json()
        assert said["status"] == "success", (expression, said)
        return said["data"]["result"]


@pytest.fixture
async def prometheus(deployment, tmp_path):
    processes = [
        await deployment.start("serve", "--port", str(free_port())),
        await deployment.start("relay"),
        await deployment.start("deliver"),
        await deployment.start("background"),
    ]
    made = Prometheus(tmp_path, [address(process).removeprefix("http://") for process in processes])
    try:
        yield made
    finally:
        made.close()


async def test_every_panel_shows_something(deployment, prometheus):
    expressions = [
        target["expr"].replace("$__rate_interval", "10s")
        for board in map(text, ALL.values())
        for panel in json.loads(board)["panels"]
        for target in panel["targets"]
        if not any(word in target["expr"] for word in EMPTY)
    ]
    missing: list[str] = []
    async with httpx.AsyncClient(trust_env=False, timeout=240) as http:

        async def shown():
            """Note which show nothing, while requests are made; whether all of them show something."""
            await deployment.write(1)
            await http.get(f"http://127.0.0.1:{deployment.started[0].process.args[-1]}/docs")  # a probe is not counted
            left = [expression for expression in expressions if not await prometheus.ask(http, expression)]
            missing.clear()
            missing.extend(left)
            return not left

        try:
            await eventually(shown)
        except AssertionError:
            assert missing == []


async def test_a_worker_that_is_gone_is_noticed(deployment, prometheus):
    pending = 'ALERTS{alertname="LeadwireProcessMissing", alertstate="pending"}'
    async with httpx.AsyncClient(trust_env=False, timeout=240) as http:
        await eventually(lambda: prometheus.ask(http, 'leadwire_build_info{role="deliver"}'))
        assert await asyncio.to_thread(deployment.started[2].signal) == 0

        async def noticed():
            found = await prometheus.ask(http, pending)
            return [one["metric"]["role"] for one in found] == ["deliver"]

        await eventually(noticed)
