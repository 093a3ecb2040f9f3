"""Every statement that changes a delivery belongs to an operation that the matrix knows."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import partial

import leadwire.delivery
from leadwire.infrastructure.db.statements import Statement
from tests.interleavings import kept
from tests.interleavings.matrix import OPERATIONS, TABLES
from tests.interleavings.operations import Case
from tests.interleavings.sessions import Session
from tests.interleavings.starts import STARTS

CHANGE = re.compile(r"\b(?:INSERT INTO|UPDATE|DELETE FROM)\s+delivery(?:_result)?\b")
VALUE = re.compile(r"\$\d+|(?<![:\w]):[a-z_]+")
HOLE = re.compile(r"\{\w*\}")
DAY = re.compile(r"\bevent_\d+\b")  # the partition of `event` that a statement names


def texts() -> Iterator[tuple[str, str]]:
    """Where each statement that changes a delivery is, and its text. Texts that are filled in have holes."""
    for module in pkgutil.walk_packages(leadwire.delivery.__path__, "leadwire.delivery."):
        for name, value in vars(importlib.import_module(module.name)).items():
            values = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
            for one in values:
                text = one.text if isinstance(one, Statement) else one
                if isinstance(text, str) and CHANGE.search(text):
                    yield f"{module.name}.{name}", VALUE.sub("?", text)


async def said(meeting, name: str) -> set[str]:
    """All that the operations say, each alone from a start."""
    matrix = await meeting(name)
    found = set()
    for operation in OPERATIONS.values():
        if name in operation.starts:
            await kept.restore()
            session = Session(partial(operation.work, Case(matrix.start)), TABLES)
            await session.settle()
            while not session.done:
                await session.step()
            error = session.error()
            assert error is None or isinstance(error, operation.refuses), f"{operation.name} from {name}"
            found |= {DAY.sub("event", VALUE.sub("?", text)) for text in session.texts}
    return found


def is_one_of(text: str, said: set[str]) -> bool:
    return any(re.search(".*".join(map(re.escape, HOLE.split(text))), one, re.DOTALL) for one in said)


async def test_every_statement_that_changes_a_delivery_is_of_an_operation_that_is_tried(meeting):
    missing = dict(texts())
    assert len(missing) > 15
    for name in STARTS:
        heard = await said(meeting, name)
        missing = {where: text for where, text in missing.items() if not is_one_of(text, heard)}
        if not missing:
            break
    assert not missing, "add the operation to tests/interleavings/by_engine.py or by_people.py"


def test_every_two_operations_meet_somewhere():
    starts = set().union(*(operation.starts for operation in OPERATIONS.values()))
    assert starts == set(STARTS)  # every two that share none meet in a start of either
