"""The wire: from a committed change to a receiver's 2xx. Knows events and endpoints, nothing of leads or bots.

In hop order: outbox (the change and its event are one transaction) -> relay (events become deliveries, their ids go
into a stream) -> deliver (claim, sign, POST, record, acknowledge). PostgreSQL holds the truth; Redis carries ids.
"""
