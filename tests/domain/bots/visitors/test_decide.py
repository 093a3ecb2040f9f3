"""A turn's plan, decided without a database: what is stored, and that what is told is what is stored."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadwire.domain.bots.flow import engine
from leadwire.domain.bots.flow.parse import parse
from leadwire.domain.bots.schema import VisitorSession
from leadwire.domain.bots.visitors import decide
from leadwire.domain.conversations import plan as planning
from leadwire.domain.conversations.plan import Known
from leadwire.domain.conversations.schema import AlreadyEnded, NewMessage, Origin
from leadwire.domain.leads.schema import StoredLead, custom_fields
from leadwire.infrastructure import ids
from leadwire.infrastructure.errors import Conflict
from tests.domain.bots.flows import SMALL

FLOW = parse(SMALL)
BOT = "bot_00000000000000000000000000"
EMAIL = "ada@work.example"


class Talk:
    """A conversation that is stored nowhere: each turn knows what the one before has planned. `leads` has all leads."""

    def __init__(self, leads, flow=FLOW):
        state, self.greeting = engine.begin(flow)
        self.plan = planning.begin("ws", BOT, Origin())
        self.session = VisitorSession("ws", self.plan.id, BOT, flow, "active", state, None, self.plan.known)
        self.leads = leads

    def says(self, text, *, online=True, page=None):
        """Take a turn. Return its plan."""
        user = NewMessage(role="user", content=text, client_message_id=ids.new("x"))
        return self._take(decide.hear(self.session, self.plan, user, None, page, self.greeting), online)

    def asks_for_a_person(self, *, online=True):
        return self._take(
            decide.heard(self.session, self.plan, *engine.ask_for_person(FLOW, self.session.state)), online
        )

    def _take(self, heard, online):
        address = heard.patch.email if heard.needs_holder else None
        turn = decide.decide(heard, self.leads.get(address), online=online)
        lead = turn.talk.lead
        if lead and (lead.version == 0 or turn.talk.lead_changed):
            lead = StoredLead(lead.lead, lead.version + 1)
            self.leads[lead.lead.email] = lead
        known = Known("ws", turn.talk.row, 1, lead or self.plan.known.lead)
        self.session = msgspec.structs.replace(turn.after, known=known)
        self.plan, self.greeting = planning.change(known), ()
        return turn.talk


def kinds(plan):
    return [event.kind for event in plan.events]


SENT, RECEIVED, HANDOFF = "message.sent", "message.received", "conversation.handoff"
CREATED, UPDATED, ENDED = "lead.created", "lead.updated", "conversation.ended"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["hm"], [RECEIVED, SENT]),
        ([EMAIL], [RECEIVED, SENT, CREATED]),
        ([EMAIL, "Small"], [RECEIVED, SENT, UPDATED, ENDED]),
        ([EMAIL, "Large"], [RECEIVED, SENT, UPDATED, HANDOFF]),
        (["hm", "hm"], [RECEIVED, SENT, HANDOFF]),
        (["hm", "hm", "hello?"], [RECEIVED]),
        (["hm", "hm", f"It is <{EMAIL}>, thanks"], [RECEIVED, SENT, CREATED]),
    ],
)
def test_the_last_turn_of_each_talk_tells_its_events_in_order(texts, expected):
    talk = Talk({})
    told = [kinds(talk.says(text)) for text in texts]
    begun = ["conversation.started", SENT]  # the greeting
    assert told[-1] == ([*begun, *expected] if len(texts) == 1 else expected)


def test_a_turn_that_says_nothing_of_the_visitor_touches_no_lead():
    talk = Talk({})
    assert talk.says("hm").lead is None
    talk.says(EMAIL)
    assert talk.says("what?").lead is None
    assert talk.session.known.lead.lead.email == EMAIL


def test_who_has_been_here_before_is_enriched_and_never_overwritten():
    leads = {}
    Talk(leads).says(EMAIL)
    known = leads[EMAIL]
    leads[EMAIL] = StoredLead(msgspec.structs.replace(known.lead, score=90, custom_fields={"size": "huge"}), 7)
    stranger = Talk(leads)
    assert (stranger.says(EMAIL).lead, stranger.plan.row["lead_id"]) == (leads[EMAIL], known.lead.id)
    plan = stranger.says("Small")
    assert (plan.lead_changed, custom_fields(plan.lead.lead)) == (False, {"size": "huge"})


def test_a_lead_gains_the_points_of_its_own_conversation():
    talk = Talk({})
    talk.says(EMAIL)
    plan = talk.says("Large")
    assert (plan.lead.version, plan.lead.lead.score, custom_fields(plan.lead.lead)) == (1, 50, {"size": "l"})
    assert plan.events[2].data.previous_attributes == {"score": 0, "custom_fields": {"size": None}}


MANY_POINTS = """
format = 1
start = "email"
nodes = [
    { type = "ask", id = "email", text = "Your e-mail?", input = "email", save_to = "email", next = "rules" },
    { type = "score", id = "rules", next = "one", rules = [
        { label = "all", add = 0, when = { all = [{ var = "email", op = "is_set" }] } },
    ] },
    { type = "ask", id = "one", text = "?", input = "choice", options = [{ label = "Go", score = 30 }], next = "two" },
    { type = "ask", id = "two", text = "?", input = "choice", options = [{ label = "Go", score = 60 }], next = "end" },
    { type = "ask", id = "end", text = "?", input = "choice", options = [{ label = "Go", score = -10 }], next = "bye" },
    { type = "end", id = "bye" },
]
"""


@pytest.mark.parametrize(("first", "scores"), [(-40, [0, 0, 50, 40]), (80, [80, 100, 100, 100]), (0, [0, 30, 90, 80])])
def test_a_leads_score_is_the_sum_of_its_points_limited(first, scores):
    talk = Talk({}, parse(MANY_POINTS.replace("add = 0", f"add = {first}")))
    assert [talk.says(text).lead.lead.score for text in (EMAIL, "Go", "Go", "Go")] == scores


def test_points_are_added_to_a_score_that_somebody_has_set():
    talk = Talk({}, parse(MANY_POINTS))
    talk.says(EMAIL)
    known = talk.session.known
    lead = StoredLead(msgspec.structs.replace(known.lead.lead, score=55), known.lead.version + 1)
    known = msgspec.structs.replace(known, lead=lead)
    talk.leads[EMAIL], talk.plan = lead, planning.change(known)
    talk.session = msgspec.structs.replace(talk.session, known=known)
    assert talk.says("Go").lead.lead.score == 85


def test_what_the_page_tells_is_kept_until_there_is_a_lead():
    talk = Talk({})
    talk.says("hm", page={"page.plan": "pro"})
    assert custom_fields(talk.says(EMAIL).lead.lead) == {"plan": "pro"}


@pytest.mark.parametrize(("online", "said"), [(True, 1), (False, 2)])
def test_the_bot_says_whether_anybody_is_there(online, said):
    talk = Talk({})
    talk.says("hm")
    plan = talk.asks_for_a_person(online=online)
    assert (len(plan.messages), plan.row["status"]) == (said, "handoff")
    assert kinds(plan) == [SENT, HANDOFF, *[SENT] * (said - 1)]


def test_nothing_is_said_after_the_end_or_in_a_full_conversation():
    talk = Talk({})
    for text in (EMAIL, "Small"):
        talk.says(text)
    with pytest.raises(AlreadyEnded):
        talk.says("wait")
    talk = Talk({})
    talk.says("hm")
    talk.plan.row["messages_count"] = 999
    with pytest.raises(Conflict):
        talk.says(EMAIL)


TEXTS = st.lists(
    st.sampled_from(["hm", EMAIL, "bea@example.com", "Small", "Large", "l", "a person please", f"me: {EMAIL}", "?"]),
    min_size=1,
    max_size=6,
)


@given(st.lists(st.tuples(TEXTS, st.booleans()), min_size=1, max_size=3))
def test_what_is_told_is_what_is_stored(talks):
    """Of visitors one after the other, who may have the same address."""
    leads = {}
    for texts, online in talks:
        talk = Talk(leads)
        for text in texts:
            before = dict(talk.plan.known.row)
            try:
                plan = talk.says(text, online=online)
            except AlreadyEnded:
                break
            _assert_one_truth(before, plan, talk.session)


def _assert_one_truth(before, plan, session):
    told = {kind: [event.data for event in plan.events if event.kind == kind] for kind in kinds(plan)}
    said = [event.data for event in plan.events if event.kind in (SENT, RECEIVED)]
    assert [(one.id, one.role, one.content) for one in said] == [
        (one.id, one.role, one.content) for one in plan.messages
    ]
    assert all((event.kind == RECEIVED) == (event.data.role == "user") for event in plan.events if event.data in said)
    first, count = before["messages_count"] + 1, plan.row["messages_count"]
    assert [one.seq for one in plan.messages] == list(range(first, count + 1))
    assert told.get(CREATED, []) == ([plan.lead.lead] if plan.lead and plan.lead.version == 0 else [])
    assert [one.id for one in told.get(UPDATED, [])] == ([plan.lead.lead.id] if plan.lead_changed else [])
    for status, kind in (("handoff", HANDOFF), ("ended", ENDED)):
        turned = plan.row["status"] == status != before["status"]
        assert len(told.get(kind, [])) == turned
        if turned and plan.row["lead_id"]:
            assert told[kind][0].lead == plan.lead.lead
    now = (session.status, session.lead_id, session.has_email)
    reachable = None not in (plan.row["lead_id"], plan.row["visitor_email"])
    assert now == (plan.row["status"], plan.row["lead_id"], reachable)
    assert msgspec.json.decode(msgspec.json.encode(plan))["row"]["id"] == plan.id  # it can be read in a log
