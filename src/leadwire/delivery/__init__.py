"""From a committed change to a receiver's 2xx. Knows events and endpoints, nothing of leads or bots.

In the order in which an event passes through:

1. `outbox`: a change writes its event (`envelope`) in its own transaction, and where few `endpoints` want it and
   nothing waits for them, their deliveries (`table`); `push` adds these to the streams.
2. `relay`: makes all other deliveries, and queues those that wait when they are due: after a failure, in an order, at
   a rate, or behind a backlog.
3. `streams`: Redis Streams that carry ids only, so that PostgreSQL holds the truth and Redis may be lost.
4. `worker`: claim what a stream names, POST it, record the outcome (`states`), only then acknowledge.
5. `transport`: the POST itself, signed (`signing`), to addresses that have been checked, within a deadline.

Beside them: `redrive` sends again, `events` reads events back, `erase` blanks them, `monitoring` and `metrics` tell how
it is going.
"""
