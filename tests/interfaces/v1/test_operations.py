"""The signature of a handler decides what is read from a request."""

import pytest

from leadwire.interfaces.http.responses import Single
from leadwire.interfaces.v1.operations import Caller, get


def test_a_parameter_must_come_from_somewhere():
    async def show(caller: Caller, thing_id: str) -> Single[str]:
        return Single(f"{caller} {thing_id}")

    operation = get("/{thing_id:str}", scope="things:read")(show).opt["operation"]
    assert list(operation.inputs) == ["caller", "thing_id"]
    assert operation.path_parameter == "thing_id"
    with pytest.raises(TypeError, match="thing_id is neither in the path"):
        get("/{other_id:str}", scope="things:read")(show)
