"""A kind of question is made of `Ask`: whatever is true of an answer is true of its answers."""

import msgspec

from leadwire.domain.bots.builder import variables
from leadwire.domain.bots.flow import engine
from leadwire.domain.bots.flow.engine import Saved
from leadwire.domain.bots.flow.nodes import KINDS, QUESTIONS, Ask, End, Flow
from leadwire.domain.bots.schema import VisitorSession
from leadwire.domain.bots.visitors import decide
from leadwire.domain.conversations import plan as planning
from leadwire.domain.conversations.schema import NewMessage, Origin


class Scale(Ask, frozen=True, forbid_unknown_fields=True, tag="scale", kw_only=True):
    """Asks for a number from 1 to 5."""

    min: float | None = 1
    max: float | None = 5
    input: str = "number"


FLOW = Flow(
    format=1,
    start="mood",
    nodes=(Scale(id="mood", text="How was it?", save_to="custom_fields.mood", next="end"), End(id="end")),
)


def test_its_answer_is_saved_and_marked_as_one():
    state, _ = engine.begin(FLOW)
    plan = planning.begin("ws", "bot", Origin())
    session = VisitorSession("ws", plan.id, "bot", FLOW, "active", state, None, plan.known)
    heard = decide.hear(session, plan, NewMessage(role="user", content="4"), None)
    assert heard.state.variables == {"mood": 4}
    assert Saved("custom_fields.mood", 4) in heard.steps
    assert next(step for step in heard.steps if isinstance(step, NewMessage)).answers == "custom_fields.mood"


def test_drafts_know_every_kind_of_question():
    assert {name for name, kind in KINDS.items() if "save_to" in kind.__struct_fields__} == QUESTIONS == {"ask"}
    assert variables.is_question({"type": "ask", "id": "mood"})
    assert not variables.is_question({"type": "say", "id": "mood"})
    assert not variables.is_question({"type": ["ask"], "id": "mood"})
    assert msgspec.json.decode(msgspec.json.encode(FLOW.nodes[0]))["type"] == "scale"


def test_its_answer_is_compared_as_what_its_kind_accepts(monkeypatch):
    monkeypatch.setattr(variables, "KINDS", {"scale": Scale})
    monkeypatch.setattr(variables, "QUESTIONS", {"scale"})
    question = {"type": "scale", "id": "mood"}
    branch = {"type": "branch", "id": "way", "cases": [{"when": {"all": [{"var": "mood", "op": "eq", "value": "4"}]}}]}
    variables.type_values([question, branch], branch)
    assert branch["cases"][0]["when"]["all"][0]["value"] == 4
