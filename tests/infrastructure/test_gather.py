"""Changes made together: who shares a statement, and that each has its own answer."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from leadwire.infrastructure.db import shares
from leadwire.infrastructure.db.gather import Gathered

BAD = "refused"


class Statements:
    """What is run, and what has taken effect. A statement ends when `ended` is set."""

    def __init__(self, at_once=1) -> None:
        self.run, self.kept, self.asked_for = [], [], set()
        self.ended = asyncio.Event()
        self.begun = asyncio.Condition()
        self.failure: Exception | None = None
        self.gathered = Gathered(self, at_once)

    async def __call__(self, members):
        async with self.begun:
            self.run.append(list(members))
            self.asked_for.add(shares.workspace.get())
            self.begun.notify_all()
        await self.ended.wait()
        if self.failure:
            raise self.failure
        if any(BAD in str(member) for member in members):
            raise ValueError(BAD)
        self.kept += members
        return [("answer", member) for member in members]

    def begin(self, *members):
        return [asyncio.create_task(self.gathered(member)) for member in members]


async def ends(tasks):
    return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 240)


async def begun(statements, count):
    async with asyncio.timeout(240), statements.begun:
        await statements.begun.wait_for(lambda: len(statements.run) >= count)


async def test_one_runs_at_once_and_those_that_come_meanwhile_run_together():
    statements = Statements()
    tasks = statements.begin("a", "b", "c")
    await begun(statements, 1)
    assert statements.run == [["a"]]
    statements.ended.set()
    assert await ends(tasks) == [("answer", "a"), ("answer", "b"), ("answer", "c")]
    assert statements.run == [["a"], ["b", "c"]]
    assert await statements.gathered("d") == ("answer", "d")
    assert statements.run[2:] == [["d"]]


async def test_what_does_not_fit_into_a_statement_goes_into_the_next():
    statements = Statements()
    tasks = statements.begin(*range(100))
    await begun(statements, 1)
    statements.ended.set()
    assert await ends(tasks) == [("answer", number) for number in range(100)]
    assert [len(members) for members in statements.run] == [1, 64, 35]


async def test_a_workspace_with_many_keeps_no_other_waiting():
    statements = Statements()
    tasks = []
    for whose, members in (("ws_many", [("many", number) for number in range(101)]), ("ws_one", [("one", 0)])):
        shares.workspace.set(whose)
        tasks += statements.begin(*members)
    await begun(statements, 1)
    statements.ended.set()
    await ends(tasks)
    assert statements.run[1][:2] == [("many", 1), ("one", 0)]
    assert [member for members in statements.run for member in members if member[0] == "many"] == [
        ("many", number) for number in range(101)
    ]
    assert statements.asked_for == {""}, "no workspace's share holds a statement back"


async def test_when_the_server_is_gone_each_is_told_and_nothing_runs_again():
    statements = Statements()
    statements.failure = ConnectionResetError("gone")
    tasks = statements.begin("a", "b", "c")
    await begun(statements, 1)
    statements.ended.set()
    assert await ends(tasks) == [statements.failure] * 3
    assert statements.run == [["a"], ["b", "c"]]


async def test_who_gives_up_leaves_the_others_alone():
    statements = Statements()
    first, second, third, _ = tasks = statements.begin("a", "b", "c", "d")
    await begun(statements, 1)
    second.cancel()  # before its statement
    first.cancel()  # amid its own
    await begun(statements, 2)
    third.cancel()  # amid the statement of several
    statements.ended.set()
    *_, answer = await ends(tasks)
    assert answer == ("answer", "d")
    assert statements.run == [["a"], ["c", "d"]]
    assert all(task.cancelled() for task in (first, second, third))


async def test_the_end_of_a_process_ends_who_waits():
    statements = Statements()
    tasks = statements.begin("a", "b")
    await begun(statements, 1)
    tasks[0].cancel()
    await begun(statements, 2)
    (task,) = statements.gathered._tasks
    task.cancel()
    assert [type(end) for end in await ends(tasks)] == [asyncio.CancelledError] * 2


@given(
    st.lists(st.tuples(st.sampled_from(["good", BAD]), st.integers(0, 4)), min_size=1, max_size=30), st.integers(1, 3)
)
def test_each_gets_its_own_answer_whoever_fails_beside_it(asked, at_once):
    """`asked`: what each is, and how many turns of the loop it comes after the one before."""

    async def story():
        statements = Statements(at_once)
        statements.ended.set()
        tasks = []
        for number, (kind, after) in enumerate(asked):
            for _ in range(after):
                await asyncio.sleep(0)
            tasks += statements.begin((kind, number))
        answers = await ends(tasks)
        for number, ((kind, _), answer) in enumerate(zip(asked, answers, strict=True)):
            if kind == BAD:
                assert isinstance(answer, ValueError)
            else:
                assert answer == ("answer", (kind, number))
        good = [(kind, number) for number, (kind, _) in enumerate(asked) if kind != BAD]
        assert sorted(statements.kept) == good, "each once"

    asyncio.run(story())
