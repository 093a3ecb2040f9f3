"""Each text of a lead is stored, wherever it comes from, and has one limit."""

import pytest

from leadwire.domain.leads import changes, reads
from leadwire.domain.leads.schema import LENGTHS, TEXTS, LeadPatch
from leadwire.domain.search import reads as search
from leadwire.domain.search.query import parse
from tests import jobs, make
from tests.domain.bots.conftest import Visitor, published

VALUES = {"email": "ada@example.com", "phone": "+442079460000"}
FLOW = """
format = 1
start = "email"

[[nodes]]
type = "ask"
id = "email"
text = "Your e-mail?"
input = "email"
save_to = "email"
next = "more"

[[nodes]]
type = "ask"
id = "more"
text = "And what else?"
input = "text"
save_to = "{field}"
max_retries = 3
next = "bye"

[[nodes]]
type = "end"
id = "bye"
text = "Bye."
"""


@pytest.mark.parametrize("field", TEXTS)
async def test_a_change_is_stored(workspace, bot, field):
    lead = await make.lead(workspace, bot)
    value = VALUES.get(field, "Engineer")
    await changes.update(workspace, lead.id, LeadPatch(**{field: value}), unchanged={})
    assert getattr((await reads.stored(workspace, lead.id)).lead, field) == value


@pytest.mark.parametrize("field", TEXTS)
async def test_a_lead_is_found_by_a_text_that_alone_has_changed(workspace, bot, field):
    lead = await make.lead(workspace, bot, email="bob@example.org")
    await jobs.run("search.take", "search")
    value = VALUES.get(field, "Engineer")
    await changes.update(workspace, lead.id, LeadPatch(**{field: value}), unchanged={})
    await jobs.run("search.take", "search")
    assert (await search.page(workspace, "lead", parse(value, {}))).items == [lead.id]


@pytest.mark.parametrize("field", [name for name in TEXTS if name not in VALUES])
async def test_what_a_visitor_says_is_stored(workspace, field):
    visitor = Visitor(await published(workspace, FLOW.format(field=field)))
    await visitor.says("ada@example.com")
    await visitor.says("x" * (LENGTHS[field] + 1))
    await visitor.says("Engineer")
    lead_id = (await visitor.visit()).lead_id
    assert getattr((await reads.stored(workspace, lead_id)).lead, field) == "Engineer"


@pytest.mark.parametrize("field", [name for name in TEXTS if name not in VALUES])
async def test_what_a_visitor_says_before_there_is_a_lead_is_stored(workspace, field):
    flow = FLOW.format(field=field).replace('start = "email"', 'start = "more"')
    flow = flow.replace('next = "bye"', 'next = "email"').replace('next = "more"', 'next = "bye"')
    visitor = Visitor(await published(workspace, flow))
    await visitor.says("Engineer")
    await visitor.says("ada@example.com")
    lead_id = (await visitor.visit()).lead_id
    assert getattr((await reads.stored(workspace, lead_id)).lead, field) == "Engineer"
