"""One trace from the API request over the outbox and the stream into the POST, as a collector and a receiver see it."""

import asyncio
import subprocess
import sys
from collections import defaultdict

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests import make
from tests.delivery.wired import endpoint
from tests.flows.commands import COMMAND, Started, environment, everything, refused, settings_on
from tests.receiver import Receiver

pytestmark = pytest.mark.flow

CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"


class Collector(Receiver):
    """Takes OTLP by HTTP, as the OpenTelemetry collector does."""

    def spans(self):
        """What came, by the span's name: (service, span)."""
        found = defaultdict(list)
        for one in self.deliveries:
            for batch in ExportTraceServiceRequest.FromString(one.body).resource_spans:
                service = next(
                    item.value.string_value for item in batch.resource.attributes if item.key == "service.name"
                )
                for scope in batch.scope_spans:
                    for span in scope.spans:
                        found[span.name].append((service, span))
        return found


def about(span):
    return {item.key: item.value.string_value or item.value.int_value for item in span.attributes}


@pytest.fixture
def settings(servers, redis):
    return settings_on(servers)


async def test_one_trace_leads_from_the_request_into_the_post(workspace, bot, api_key, settings, monkeypatch):
    lead = await make.lead(workspace, bot)
    async with Collector(200) as collector, Receiver(lambda one: 500 if one.attempt == 1 else 204) as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.port}")
        made = await endpoint(workspace, receiver.url, "lead.updated")
        async with everything(Started, settings | {"TRACE_SHARE": "1"}) as (started, address):
            headers = {"Authorization": f"Bearer {api_key}", "traceparent": CALLER}
            async with httpx.AsyncClient(base_url=address, headers=headers, timeout=240) as client:
                answer = await client.patch(f"/v1/leads/{lead.id}", json={"name": "Marguerite Perey"})
                assert answer.status_code == 200
            posts = await receiver.received(2)
            for process in started:
                assert await asyncio.to_thread(process.signal) == 0  # what is left is sent at the end
        spans = collector.spans()

    ((service, asked),) = spans["PATCH /v1/leads/{lead_id}"]
    assert service == "leadwire-serve"
    assert (asked.trace_id.hex(), asked.parent_span_id.hex()) == (CALLER[3:35], CALLER[36:52])
    assert about(asked)["http.response.status_code"] == 200
    tried = [span for _, span in spans["POST webhook"]]
    assert [about(span)["leadwire.outcome"] for span in tried] == ["http_5xx", "delivered"]
    assert len(spans["outbox"]) == 1
    assert len(spans["stream"]) == 2
    for name in ("outbox", "stream", "POST webhook"):
        for service, span in spans[name]:
            assert service == "leadwire-deliver"
            assert (span.trace_id, span.parent_span_id) == (asked.trace_id, asked.span_id)
            assert about(span)["leadwire.event_id"] == posts[0].webhook_id
            assert about(span)["leadwire.endpoint_id"] == made.id
    # The receiver goes on from the very POST it got.
    assert [one.headers["traceparent"] for one in posts] == [
        f"00-{span.trace_id.hex()}-{span.span_id.hex()}-01" for span in tried
    ]
    (_, outbox), (_, stream) = spans["outbox"][0], spans["stream"][0]
    assert outbox.start_time_unix_nano <= outbox.end_time_unix_nano
    assert stream.end_time_unix_nano <= tried[0].end_time_unix_nano
    told = b"".join(one.body for one in collector.deliveries)
    assert b"Marguerite" not in told
    assert receiver.url.encode() not in told


def test_no_exporter_is_loaded_where_nobody_asks_for_it():
    """redis-py loads the rest of OpenTelemetry by itself, where it is installed."""
    code = (
        "import leadwire.processes.serve, sys; print([one for one in sys.modules if 'opentelemetry.exporter' in one])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_without_the_extra_it_is_told_in_one_line(settings, tmp_path):
    (tmp_path / "opentelemetry.py").write_text("raise ImportError('not installed')")
    env = environment(**settings, TRACE_SHARE="0.5") | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run([*COMMAND, "relay"], env=env, capture_output=True, text=True, check=False)
    assert "pip install 'leadwire[otel]'" in refused(done)
