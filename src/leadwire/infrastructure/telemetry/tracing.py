"""Spans for OpenTelemetry, where `LEADWIRE_TRACE_SHARE` asks for them and the extra `otel` is installed.

The trace context itself runs through without them: from the request's `traceparent` into its outbox row, and from
there (an entry of the streams is three ids, which lead to the row) into the POST. With spans, the same trace also says
how long each part took. Retries stay in the trace of their request. Ids and enums only, as in the logs.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from leadwire import __version__
from leadwire.infrastructure.errors import OperatorError

_NANO: Final = 1_000_000_000

Kind = Literal["SERVER", "INTERNAL", "CLIENT"]

_provider: Any = None
_tracer: Any = None


class Span:
    """An open span. `traceparent` is its context, for its children."""

    __slots__ = ("_span", "traceparent")

    def __init__(self, span: Any) -> None:
        self._span = span
        context = span.get_span_context()
        self.traceparent = f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def annotate(self, attributes: Mapping[str, Any], *, failed: bool = False) -> None:
        """Set attributes, named by OpenTelemetry's conventions where there are some, and the status of a failure."""
        from opentelemetry.trace import Status, StatusCode

        self._span.set_attributes(attributes)
        if failed:
            self._span.set_status(Status(StatusCode.ERROR))

    def end(self, at: float | None = None) -> None:
        """End the span now, or `at` (Unix time in seconds)."""
        self._span.end(None if at is None else int(at * _NANO))


def start(share: float, role: str) -> None:
    """Make spans from now on, of this share of the requests. Raise OperatorError when the extra is not installed."""
    global _provider, _tracer  # noqa: PLW0603 - one a process
    if not share:
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import TraceIdRatioBased
    except ImportError as error:
        raise OperatorError("LEADWIRE_TRACE_SHARE needs OpenTelemetry: pip install 'leadwire[otel]'") from error
    about = {"service.name": f"leadwire-{role}", "service.version": __version__}
    # By the trace's id alone, so that every process decides alike, and that callers cannot have all of theirs traced.
    _provider = TracerProvider(sampler=TraceIdRatioBased(share), resource=Resource.create(about))
    _provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    _tracer = _provider.get_tracer("leadwire", __version__)


def stop() -> None:
    """Send what is left; takes seconds when the collector is unavailable."""
    global _provider, _tracer  # noqa: PLW0603
    if _provider:
        _provider.shutdown()
    _provider = _tracer = None


def start_request(traceparent: str | None) -> Span | None:
    """Start the span of a request, in its caller's trace if it has one. Return None where no spans are made."""
    return None if _tracer is None else start_span("request", traceparent, "SERVER")


def sampled(traceparent: str | None) -> bool:
    """Whether this process makes spans of this trace."""
    return _tracer is not None and traceparent is not None and int(traceparent[-2:], 16) & 1 == 1


def start_span(
    name: str, parent: str | None, kind: Kind, attributes: Mapping[str, Any] | None = None, at: float | None = None
) -> Span:
    """Start a span of a trace that is `sampled`, now or `at` (Unix time in seconds). `parent` is a trace context."""
    from opentelemetry.context import Context
    from opentelemetry.trace import SpanKind
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    context = TraceContextTextMapPropagator().extract({"traceparent": parent} if parent else {}, Context())
    start_time = None if at is None else int(at * _NANO)
    return Span(_tracer.start_span(name, context, SpanKind[kind], attributes, start_time=start_time))
