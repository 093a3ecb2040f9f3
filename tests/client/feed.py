"""A feed of events that fails in every way before each of them. Both clients follow it."""

import itertools
import json

FAILURES = (429, 502, 503, 504, 500, "cut", "whole", "closed") * 2
"""Answers by their status, or how one of 200 goes wrong: its body is cut where its length is told, and where it is not;
the connection is closed without any."""
EVENTS = ("evt_1", "evt_2", "evt_3")
PLACES = ("first", "evt_0", *EVENTS)
"""The cursors that are given. At first nothing has come, and the place moves on without an event."""


class Feed:
    """An app that answers with an event after each row of failures, and at the end with `last`, by its status."""

    def __init__(self, last=410):
        answers = [*FAILURES, 200] * len(PLACES[1:])
        self.answers = itertools.chain(answers, itertools.repeat(last))
        self.asked = []
        """The cursor of each request."""

    async def __call__(self, scope, receive, send):
        cursor = scope["query_string"].decode().partition("cursor=")[2].partition("&")[0]
        self.asked.append(cursor)
        answer = next(self.answers)
        if answer == "closed":
            raise ConnectionResetError
        body = self.page(cursor) if answer == 200 or isinstance(answer, str) else b'{"code": "refused", "title": "No."}'
        headers = [(b"content-length", b"%d" % len(body)), (b"retry-after", b"0")]
        if answer == "whole":  # what a proxy makes of it: whole for HTTP, but not for us
            body = body[:-9]
            headers = [(b"content-length", b"%d" % len(body))]
        status = answer if isinstance(answer, int) else 200
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body[:-9] if answer == "cut" else body, "more_body": True})
        if answer == "cut":
            raise ConnectionResetError
        await send({"type": "http.response.body", "body": b""})

    @staticmethod
    def page(cursor):
        place = PLACES[PLACES.index(cursor) + 1]
        data = {"id": "lead_1", "deleted": True}
        row = {"id": place, "event": "lead.deleted", "timestamp": "2026-01-02T03:04:05.678Z", "data": data}
        rows = [row] if place in EVENTS else []
        return json.dumps({"data": rows, "meta": {"next_cursor": place, "has_more": False}}).encode()

    def as_followed(self):
        """Whether each request has gone on from the last place."""
        each = len(FAILURES) + 1
        before = [cursor for cursor in PLACES[:-1] for _ in range(each)]
        return self.asked == [*before, PLACES[-1]]
