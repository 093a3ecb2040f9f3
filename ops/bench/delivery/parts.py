"""Each part of the bench, measured and printed."""

import argparse
import statistics
import time
from collections.abc import Awaitable, Callable

from leadwire.infrastructure import settings
from ops.bench.delivery import crowd, isolation, peers, plot, speed
from ops.bench.delivery.bare import bare_aiohttp, bare_httpx, bare_pyreqwest
from ops.bench.delivery.change import change
from ops.bench.delivery.latency import latency
from ops.bench.delivery.sink import Sink
from ops.bench.delivery.soak import soak
from ops.bench.delivery.speed import Drained
from ops.bench.delivery.steps import steps


def _say(part: str, text: str) -> None:
    print(f"{part:10} {text}", flush=True)


async def _relay(_: argparse.Namespace) -> None:
    found = await speed.relay(settings.get())
    _say("relay", f"{found.rate:.0f} events/s, {found.cpu:.1f} us CPU per event")


async def _drain(asked: argparse.Namespace) -> None:
    async with Sink() as sink:
        httpx_cost = await bare_httpx(sink.url(), 3000)
        one = await speed.drain(sink, asked.events)
    _say("drain", f"{_speed(one)}; worker / bare httpx.AsyncClient {one.cpu / httpx_cost:.2f}")
    _say(
        "",
        f"per delivery: relay {one.relay_cpu:.1f} us CPU, {one.transactions:.3f} SQL statements (a transaction each), "
        f"{one.wal:.0f} bytes of WAL, {one.commands:.2f} Redis commands; worker {one.memory:.0f} MB",
    )


async def _workers(asked: argparse.Namespace) -> None:
    async with Sink() as sink:
        for manner, events in (("hook", asked.events), ("slow", asked.events // 4)):
            one = await speed.drain(sink, events, 1, manner)
            two = await speed.drain(sink, events, 2, manner)
            told = "50 ms to answer" if manner == "slow" else "answers at once"
            _say("workers", f"{told}: one {_speed(one)}; two {_speed(two)}; {two.rate / one.rate:.2f} times")


async def _latency(asked: argparse.Namespace) -> None:
    for rate in (200, 1000):
        start = time.perf_counter()
        lags = [lag * 1e3 for lag in await latency(rate, asked.seconds)]
        cuts = statistics.quantiles(lags, n=100, method="inclusive")
        done = len(lags) / (time.perf_counter() - start)
        _say(
            "latency",
            f"{rate}/s asked ({done:.0f}/s with start and end), {len(lags)} events: p50 {cuts[49]:.1f} ms, "
            f"p99 {cuts[98]:.1f} ms, longest {max(lags):.1f} ms",
        )


async def _isolation(asked: argparse.Namespace) -> None:
    _say("isolation", "one quiet endpoint: p50, p99, worst (ms) alone -> beside the bad ones")
    async for one in isolation.isolation(asked.seconds):
        _say("isolation", f"{one.count:4} {one.manner:6} {_short(one.idle)} -> {_short(one.beside)}")


async def _bars(asked: argparse.Namespace) -> None:
    _say("bars", f"one quiet endpoint, {asked.loops} busy loops beside: p50, p99, worst (ms) alone -> beside others")
    async for one in isolation.bars(asked.seconds, asked.loops):
        told = f"{_short(one.alone)} -> {_short(one.together)}: x {one.times:.1f}, at most x {one.most:g}"
        _say("bars", f"{one.beside}: {told}{'' if one.times <= one.most else ' MISSED'}")


async def _backlog(_: argparse.Namespace) -> None:
    found = await isolation.backlog(200_000)
    _say(
        "backlog",
        f"Redis {found.before:.1f} MB before, {found.largest:.1f} MB at most, at most {found.entries} entries in the "
        f"streams while {found.owed} are owed; the others at 100/s: {_healthy(found.healthy)}",
    )


async def _crowd(asked: argparse.Namespace) -> None:
    found = await crowd.waiting(asked.seconds, 50_000, 20)
    told = "one quiet endpoint (p50, p99, worst, ms) alone ->"
    _say("crowd", f"{told} beside 1,000,000 waiting of 50,000: {_short(found.alone)} -> {_short(found.beside)}")
    found = await crowd.fan_out(asked.seconds, 2_000, 500)
    _say(
        "",
        f"{told} beside 500 events for 2,000 endpoints: {_short(found.alone)} -> {_short(found.beside)}; "
        f"{found.rate:.0f} deliveries/s made",
    )


async def _bare(_: argparse.Namespace) -> None:
    async with Sink() as sink:
        by_httpx, by_pyreqwest = await bare_httpx(sink.url(), 3000), await bare_pyreqwest(sink.url(), 20_000)
        by_aiohttp = await bare_aiohttp(sink.url(), 20_000)
    second = f"{by_aiohttp:.1f} us" if by_aiohttp else "not installed"
    told = f"httpx.AsyncClient {by_httpx:.1f} us CPU per POST, pyreqwest alone {by_pyreqwest:.1f} us"
    _say("bare", f"{told}, aiohttp {second}")


async def _peers(asked: argparse.Namespace) -> None:
    events = asked.events // 5
    async with Sink() as sink:
        ours = await speed.drain(sink, events)
        _say("peers", f"leadwire {_speed(ours)}")
        for name in peers.NAMES:
            theirs = await peers.drain(name, sink, events)
            _say(
                "peers",
                f"{name} {theirs.rate:.0f} jobs/s, {theirs.cpu:.1f} us worker CPU per job; leadwire has "
                f"{ours.rate / theirs.rate:.1f} times the rate at 1 / {theirs.cpu / ours.cpu:.1f} of the CPU",
            )


async def _soak(asked: argparse.Namespace) -> None:
    async for line in soak(asked.rate, asked.minutes):
        _say("soak", line)


async def _change(asked: argparse.Namespace) -> None:
    cost = await change(asked.events // 5)
    _say(
        "change",
        f"{cost.rate:.0f} changes/s; each {cost.ours:.0f} us CPU here and {cost.postgres:.0f} us in PostgreSQL, "
        f"{cost.wal:.0f} bytes of WAL, {cost.disk:.0f} of disk",
    )


async def _steps(asked: argparse.Namespace) -> None:
    found = []
    async for step in steps([float(rate) for rate in asked.rates.split(",")], asked.seconds, asked.workers):
        found.append(step)
        cost = ", ".join(f"{part} {used:.0f}" for part, used in step.cpu.items())
        _say(
            "steps",
            f"{step.offered:.0f}/s offered: {step.carried:.0f}/s delivered, p50 {step.p50 * 1e3:.1f} ms, p99 "
            f"{step.p99 * 1e3:.1f} ms, longest {step.longest * 1e3:.0f} ms; us CPU per event: {cost}; {step.wal:.0f} "
            f"bytes of WAL, {step.disk:.0f} of disk",
        )
    if asked.svg:
        title = f"Delivery under load: one relay, {asked.workers} workers, {asked.seconds:g} s a step"
        asked.svg.write_text(plot.svg(found, title))


def _speed(one: Drained) -> str:
    return f"{one.rate:.0f} deliveries/s, {one.cpu:.1f} us worker CPU per delivery"


def _healthy(found: isolation.Lags) -> str:
    return f"p50 {found.p50:.1f} ms, p99 {found.p99:.1f} ms, longest {found.longest:.1f} ms of {found.events}"


def _short(found: isolation.Lags) -> str:
    return f"{found.p50:.1f}, {found.p99:.1f}, {found.longest:.1f}"


PARTS: dict[str, Callable[[argparse.Namespace], Awaitable[None]]] = {
    "relay": _relay,
    "drain": _drain,
    "workers": _workers,
    "latency": _latency,
    "isolation": _isolation,
    "bars": _bars,
    "backlog": _backlog,
    "crowd": _crowd,
    "bare": _bare,
    "peers": _peers,
    "soak": _soak,
    "change": _change,
    "steps": _steps,
}
