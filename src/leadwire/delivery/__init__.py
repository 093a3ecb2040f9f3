"""From a committed change to a receiver's 2xx. Knows events and endpoints, nothing of leads or bots.

In the order in which an event passes through:

1. `outbox`: a change writes its event (`envelope`) in its own transaction; `wakeup` tells the relays.
2. `relay`: events become deliveries (`table`), one for each of the `endpoints`; what is due is put into the streams.
3. `streams`: Redis Streams that carry ids only, so that PostgreSQL holds the truth and Redis may be lost.
4. `worker`: claim what a stream names, POST it, record the outcome (`states`, `retries`), only then acknowledge.
5. `transport`: the POST itself, signed (`signing`), to addresses that have been checked, within a deadline.

Beside them: `redrive` sends again, `events` reads events back, `erase` blanks them, `monitoring` and `metrics` tell how
it is going.
"""
