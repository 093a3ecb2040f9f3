"""Checks, before anything is timed, that both servers answer and write the same."""

import json
import re
from datetime import datetime
from typing import Any

from ops.bench.api import data as database
from ops.bench.api.data import Data
from ops.bench.api.servers import Running, call

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def check(servers: list[Running], data: Data, url: str) -> str:
    """Raises SystemExit at the first difference. Moments count as equal when they are the same instant."""
    paths = [f"/v1/leads/{id_}" for id_ in data.leads[:20]]
    paths += [f"/v1/conversations/{id_}" for id_ in data.conversations[:20]]
    paths += ["/v1/leads?limit=20", "/v1/leads?limit=20&page=3", "/v1/leads?limit=5&score_min=90"]
    for path in paths:
        _same(path, *[_answer(server, data, "GET", path, None) for server in servers])
    path = paths[0]
    before = _answer(servers[0], data, "GET", path, None)["data"]
    change = {"score": 100 - before["score"] or 7, "company": "Another", "custom_fields": {"budget": None, "note": "n"}}
    back = {"score": before["score"], "company": before["company"]}
    back["custom_fields"] = {"budget": before["custom_fields"]["budget"], "note": None}
    for patch in (change, back):
        said = []
        for server in servers:
            said.append(_answer(server, data, "PATCH", path, json.dumps(patch)))
            if server is servers[0]:  # the second one starts from the same lead
                undo = back if patch is change else change
                _answer(server, data, "PATCH", path, json.dumps(undo))
        _same(f"PATCH {path}", *said)
    # Written: ours, ours undone, theirs; then for the way back the same again.
    (ours, _, theirs), (ours_back, _, theirs_back) = (
        [_plain(event) for event in part] for part in _halves(database.outbox(url))
    )
    _same("outbox row", ours, theirs)
    _same("outbox row", ours_back, theirs_back)
    return f"{len(paths)} GETs, 2 PATCHes and their outbox rows are equal"


def _halves(events: list[Any]) -> tuple[list[Any], list[Any]]:
    if len(events) != 6:
        raise SystemExit(f"6 events expected, there are {len(events)}")
    return events[:3], events[3:]


def _answer(server: Running, data: Data, method: str, path: str, body: str | None) -> Any:
    status, text = call(server.port, data.key, method, path, body)
    if status != 200:
        raise SystemExit(f"{server.name} answers {method} {path} with {status}: {text[:500]!r}")
    return _plain(json.loads(text))


def _same(what: str, ours: Any, theirs: Any) -> None:
    if ours != theirs:
        raise SystemExit(f"{what} differs:\n{json.dumps(ours)}\n{json.dumps(theirs)}")


def _plain(value: Any) -> Any:
    """`value` with every moment in one form, and without those of changes: two servers do not make them at once."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items() if key != "updated_at"}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, str) and _MOMENT.fullmatch(value):
        return datetime.fromisoformat(value).isoformat()
    return value
