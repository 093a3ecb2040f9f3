"""Every route, tried as whoever must not use it, as `python -m ops.tenants` does; and that a hole is found."""

import pytest
from litestar import Response, get, post
from litestar.params import FromPath
from ops.tenants.matrix import KINDS
from ops.tenants.report import table
from ops.tenants.routes import ANY_KEY, FROM_ELSEWHERE, OPEN, routes
from ops.tenants.server import tried

from leadwire.app import create_app
from leadwire.infrastructure import db
from leadwire.interfaces.web import router
from leadwire.interfaces.web.routes import screen
from tests.serving import served


@pytest.mark.parametrize("kind", KINDS)
async def test_no_route_has_a_hole(database, kind):
    async with served(more=()) as url:
        matrix = await tried(url, routes(create_app().app), [kind])
    assert table(matrix).endswith("no hole"), table(matrix)
    assert sum(matrix.counts.values()) > 40


def test_what_is_listed_as_open_is_served():
    paths = {one.path for one in routes(create_app().app)}
    assert {*OPEN, *ANY_KEY, *FROM_ELSEWHERE} - paths == set()


@get("/naked/{lead_id:str}")
async def unguarded(lead_id: FromPath[str]) -> str:
    return str(await db.value("SELECT name FROM lead WHERE id = $1", lead_id))


@post("/naked/{lead_id:str}/erase")
async def changes(lead_id: FromPath[str]) -> None:
    await db.rows("UPDATE lead SET name = 'Mallory' WHERE id = $1", lead_id)


@screen("/naked/{lead_id}/shown")
async def of_any_workspace(_, lead_id):
    name = await db.value("SELECT name FROM lead WHERE id = $1", lead_id)
    return Response(name, media_type="text/html", status_code=200 if name else 404)


@get("/naked/{parcel_id:str}")
async def strange(parcel_id: FromPath[str]) -> str:
    return parcel_id


async def _holes(handlers, kinds=tuple(KINDS)):
    async with served(more=handlers) as url:
        app = create_app(more=handlers)
        return await tried(url, [one for one in routes(app.app) if one.path.startswith("/naked")], kinds)


async def test_a_route_without_a_guard_is_found(database):
    matrix = await _holes([unguarded])
    assert {hole.tried for hole in matrix.holes} == {"strangers", "foreign"}


async def test_a_change_that_anybody_can_make_is_found(database):
    matrix = await _holes([changes])
    assert {hole.tried for hole in matrix.holes} == {"strangers", "forms", "foreign"}
    assert "changed lead" in table(matrix)


async def test_a_screen_that_forgets_the_workspace_is_found(database, monkeypatch):
    monkeypatch.setattr(router, "DECLARED", [*router.DECLARED, of_any_workspace])
    matrix = await _holes([])
    assert {hole.tried for hole in matrix.holes} == {"foreign"}


async def test_an_id_that_nothing_makes_is_told(database):
    matrix = await _holes([strange], ["foreign"])
    assert "{parcel_id}: say in ops/tenants/things.py how one is made" in table(matrix)
