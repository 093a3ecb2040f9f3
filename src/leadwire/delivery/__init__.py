"""From a committed change to a receiver's 2xx. Knows events and endpoints, nothing of leads or bots.

`outbox` -> `relay` or `streams.push` -> `streams` -> `worker` -> `transport`: `docs/architecture.md` follows an event
along it.
"""
