"""Counters, histograms and gauges that cost next to nothing to write to.

prometheus-client formats what is scraped; it does not count, because its locks and label look-ups cost more than the
rest of the instrumentation. Here a cell is bound to its labels once and then only adds: a process has one event loop,
which writes and is scraped, so nothing needs a lock. Labels are bounded by construction; a metric with too many
combinations stops making new ones instead of filling the memory of Prometheus.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final, Generic, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

PREFIX: Final = "leadwire_"
_MOST: Final = 2000  # label combinations of one metric
_REST: Final = "other"  # what the labels of all further combinations are

Labels = tuple[str, ...]
C = TypeVar("C")

known: "dict[str, Family]" = {}
"""Every metric that exists in this process, by its name as it is exposed."""


class Count:
    """One number that only grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def add(self, by: float = 1) -> None:
        """Count it, `by` times."""
        self.value += by


class Times:
    """One histogram: how often values fell into each bucket, and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count a duration of `value` seconds."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Family:
    """A metric: a name without the prefix, what it means, the names of its labels."""

    kind = ""
    suffix = ""

    def __init__(self, name: str, meaning: str, *labels: str) -> None:
        self.name = PREFIX + name
        self.meaning = meaning
        self.labels = labels
        if self.exposed in known:
            raise ValueError(f"two metrics are called {self.exposed}")
        known[self.exposed] = self

    @property
    def exposed(self) -> str:
        """The name as it is scraped and documented."""
        return self.name + self.suffix

    def collect(self) -> Metric:
        """Return its present state, for prometheus-client to format."""
        raise NotImplementedError


class _Bound(Family, Generic[C]):
    _make: Callable[[], C]

    def __init__(self, name: str, meaning: str, *labels: str, values: Iterable[str] = ()) -> None:
        super().__init__(name, meaning, *labels)
        self._cells: dict[Labels, C] = {}
        for value in values:
            self.cell(value)
        if not labels:
            self.cell()

    def cell(self, *values: str) -> C:
        """The one with these labels; keep it, the look-up costs more than writing to it."""
        found = self._cells.get(values)
        if found is None:
            if len(self._cells) >= _MOST:
                values = (_REST,) * len(self.labels)
            found = self._cells.setdefault(values, self._make())
        return found

    def cells(self) -> Mapping[Labels, C]:
        """Every one so far, by its labels."""
        return self._cells


class Counter(_Bound[Count]):
    """`values` are those of its one label, so that each series exists before it is first counted."""

    kind, suffix = "counter", "_total"
    _make = Count

    def collect(self) -> Metric:
        family = CounterMetricFamily(self.name, self.meaning, labels=self.labels)
        for labels, count in self._cells.items():
            family.add_metric(labels, count.value)
        return family


class Histogram(_Bound[Times]):
    """`bounds` are the upper ends of its buckets, in seconds."""

    kind = "histogram"

    def __init__(
        self, name: str, meaning: str, *labels: str, bounds: Sequence[float], values: Iterable[str] = ()
    ) -> None:
        self._bounds = tuple(map(float, bounds))
        self._make = lambda: Times(self._bounds)
        super().__init__(name, meaning, *labels, values=values)

    def collect(self) -> Metric:
        family = HistogramMetricFamily(self.name, self.meaning, labels=self.labels)
        ends = [*map(str, self._bounds), "+Inf"]
        for labels, times in self._cells.items():
            family.add_metric(labels, list(zip(ends, accumulate(times.counts), strict=True)), times.total)
        return family


class Gauge(Family):
    """A present value: set by `show`, or `read` at every scrape. Not exposed until it is set."""

    kind = "gauge"

    def __init__(
        self, name: str, meaning: str, *labels: str, read: Callable[[], Mapping[Labels, float]] | None = None
    ) -> None:
        super().__init__(name, meaning, *labels)
        self._shown: Mapping[Labels, float] = {}
        self._read = read

    def show(self, value: float) -> None:
        """The value, of a gauge without labels."""
        self._shown = {(): value}

    def show_all(self, values: Mapping[Labels, float]) -> None:
        """Every value by its labels; what is not among them is gone."""
        self._shown = dict(values)

    def follow(self, read: Callable[[], float]) -> None:
        """Ask `read` for the value at every scrape, of a gauge without labels."""
        self._read = lambda: {(): read()}

    def clear(self) -> None:
        """Remove every value."""
        self._shown = {}

    def collect(self) -> Metric:
        family = GaugeMetricFamily(self.name, self.meaning, labels=self.labels)
        for labels, value in (self._read() if self._read else self._shown).items():
            family.add_metric(labels, value)
        return family


def collect() -> Iterator[Metric]:
    """Every metric of ours, as it is now."""
    for family in known.values():
        yield family.collect()
