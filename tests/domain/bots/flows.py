"""Flows for tests."""

import functools

from leadwire.domain.bots.flow import library
from leadwire.domain.bots.flow.nodes import Flow
from leadwire.domain.bots.flow.parse import parse

SMALL = """
format = 1
start = "email"

[[nodes]]
type = "ask"
id = "email"
text = "Your e-mail?"
input = "email"
save_to = "email"
retry_text = "Again?"
max_retries = 1
next = "size"

[[nodes]]
type = "ask"
id = "size"
text = "How big?"
input = "choice"
save_to = "custom_fields.size"
options = [{ label = "Small" }, { label = "Large", value = "l", score = 30 }]
next = "points"

[[nodes]]
type = "score"
id = "points"
rules = [{ label = "business", add = 20, when = { all = [{ var = "email_is_business", op = "eq", value = true }] } }]
next = "route"

[[nodes]]
type = "branch"
id = "route"
cases = [{ when = { all = [{ var = "score", op = "gte", value = 50 }] }, next = "human" }]
otherwise = "bye"

[[nodes]]
type = "handoff"
id = "human"
text = "One moment."

[[nodes]]
type = "end"
id = "bye"
text = "Bye {{email}}."
"""
PRIVACY = "https://www.acme.example/privacy"


def small() -> Flow:
    """Two questions, a score, a hand-off or an end."""
    return parse(SMALL)


@functools.cache
def shipped(name: str) -> Flow:
    """A flow that Leadwire ships with."""
    return parse(library.text(name, PRIVACY))
