"""Blocks: each fits into a flow as it is, also twice."""

import msgspec
import pytest

from leadwire.domain.bots import engine
from leadwire.domain.bots.builder import blocks
from leadwire.domain.bots.engine import Consented, Saved
from leadwire.domain.bots.flow.parse import parse
from leadwire.infrastructure.errors import NotFound

END = {"type": "end", "id": "after", "text": "Bye."}


def flow_of(*parts):
    return parse(msgspec.json.encode({"format": 1, "start": parts[0]["id"], "nodes": parts}).decode())


@pytest.mark.parametrize("block", blocks.offered(), ids=lambda block: block.name)
def test_each_fits_as_nodes_and_as_text(block):
    assert block.label
    assert block.about.endswith(".")
    first = blocks.nodes(block.name, {"after"}, "after")
    flow = flow_of(*first, END)
    start, end = first[0]["id"], 'type = "end"\nid = "after"\ntext = "Bye."'
    text = f'format = 1\nstart = "{start}"\n\n{block.source}\n\n[[nodes]]\n{end}'
    assert parse(text) == flow


def test_one_can_be_there_twice_and_leads_on():
    second = blocks.nodes("contact", {"name", "email", "phone", "name-2", "bye"}, "bye")
    assert [node["id"] for node in second] == ["name-3", "email-2", "phone-2"]
    assert [node["next"] for node in second] == ["email-2", "phone-2", "bye"]
    assert second[2]["on_fail"] == "bye"
    assert all("after" not in (node.get("next"), node.get("on_fail")) for node in blocks.nodes("email", ()))


def test_consent_is_recorded_with_the_address_of_the_privacy_page():
    flow = flow_of(*blocks.nodes("consent", (), "after"), END)
    state, told = engine.begin(flow)
    _, effects = engine.step(flow, state, "No")
    assert Consented("consent", told[0].text, "No", given=False) in effects
    assert told[0].text.endswith("\nPrivacy policy: https://www.example.com/privacy")


def test_the_details_are_saved_to_the_lead():
    flow = flow_of(*blocks.nodes("contact", (), "after"), END)
    state, effects = engine.begin(flow)
    seen = []
    for line in ("Ada", "ada@example.com", "+1 415 555 2671"):
        state, effects = engine.step(flow, state, line)
        seen += [one.field for one in effects if isinstance(one, Saved)]
    assert seen == ["name", "email", "phone"]


def test_an_unknown_block_is_named():
    with pytest.raises(NotFound):
        blocks.nodes("../flows/demo-booking", ())
