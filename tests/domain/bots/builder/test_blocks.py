"""Blocks: each fits into a flow as it is, also twice."""

import msgspec
import pytest

from leadwire.domain.bots.builder import blocks
from leadwire.domain.bots.builder.rewriting import written
from leadwire.domain.bots.flow import engine
from leadwire.domain.bots.flow.engine import Consented, Saved
from leadwire.domain.bots.flow.parse import BadFlow, parse
from leadwire.infrastructure.errors import NotFound
from tests.domain.bots.flows import PRIVACY

END = {"type": "end", "id": "after", "text": "Bye."}


def filled(nodes):
    return blocks.with_privacy({"nodes": nodes}, PRIVACY)["nodes"]


def flow_of(*parts):
    return parse(msgspec.json.encode({"format": 1, "start": parts[0]["id"], "nodes": parts}).decode())


@pytest.mark.parametrize("block", blocks.offered(), ids=lambda block: block.name)
def test_each_fits_as_nodes_and_as_text(block):
    assert block.label
    assert block.about.endswith(".")
    first = filled(blocks.nodes(block.name, {"after"}, "after"))
    flow = flow_of(*first, END)
    source = block.source.replace('url = ""', f'url = "{PRIVACY}"')
    start, end = first[0]["id"], 'type = "end"\nid = "after"\ntext = "Bye."'
    text = f'format = 1\nstart = "{start}"\n\n{source}\n\n[[nodes]]\n{end}'
    assert parse(text) == flow


def test_one_can_be_there_twice_and_leads_on():
    second = blocks.nodes("contact", {"name", "email", "phone", "name-2", "bye"}, "bye")
    assert [node["id"] for node in second] == ["name-3", "email-2", "phone-2"]
    assert [node["next"] for node in second] == ["email-2", "phone-2", "bye"]
    assert second[2]["on_fail"] == "bye"
    assert all("after" not in (node.get("next"), node.get("on_fail")) for node in blocks.nodes("email", ()))


def test_consent_is_recorded_with_the_address_of_the_privacy_page():
    flow = flow_of(*filled(blocks.nodes("consent", (), "after")), END)
    state, told = engine.begin(flow)
    _, effects = engine.step(flow, state, "No")
    assert Consented("consent", told[0].text, "No", given=False) in effects
    assert told[0].text.endswith("\nPrivacy policy: https://www.acme.example/privacy")


@pytest.mark.parametrize(
    "address", ["", "https://www.example.com/privacy", "https://example.org/p", "https://EXAMPLE.net", "http://a.b/p"]
)
def test_a_consent_without_an_address_of_ones_own_is_told_and_not_suggested(address):
    asked = blocks.nodes("consent", (), "after")
    asked[0]["links"][0]["url"] = address
    with pytest.raises(BadFlow) as refused:
        flow_of(*asked, END)
    assert [flaw.path for flaw in refused.value.flaws] == [("nodes", 0, "links", 0, "url")] or not address
    draft = {"nodes": asked}
    assert blocks.privacy_page(["{", written(draft), "nodes = 3"]) == ""
    draft = blocks.with_privacy({"nodes": blocks.nodes("consent", ())}, PRIVACY)
    assert blocks.privacy_page(["{", written({"nodes": asked}), written(draft)]) == PRIVACY


def test_an_address_is_not_written_over():
    asked = filled(blocks.nodes("consent", (), "after"))
    assert blocks.with_privacy({"nodes": asked}, "https://other.example/p") == {"nodes": asked}


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
