"""What openapi-python-client makes of the document."""

import os
from datetime import UTC, datetime

from leadwire_api import AuthenticatedClient
from leadwire_api.api.conversations import end_conversation
from leadwire_api.api.events import list_events
from leadwire_api.api.leads import list_leads, show_lead, update_lead
from leadwire_api.models import LeadPatch, LeadUpdated, Problem, SingleLead

with AuthenticatedClient(base_url=os.environ["URL"], token=os.environ["KEY"]) as api:
    leads = list_leads.sync(client=api, limit=2, since=datetime(2020, 1, 1, tzinfo=UTC)).data
    assert len(leads) == 2
    patch = LeadPatch.from_dict({"name": "Python", "custom_fields": {"amount": 123456789.12}})
    changed = update_lead.sync(leads[0].id, client=api, body=patch)
    assert isinstance(changed, SingleLead)
    assert changed.data.name == "Python"
    assert changed.data.custom_fields["amount"] == 123456789.12
    [event, *_] = list_events.sync(client=api, types="lead.updated").data
    assert isinstance(event.data, LeadUpdated)
    refused = update_lead.sync(leads[0].id, client=api, body=LeadPatch(score=101))
    assert isinstance(refused, Problem)
    assert refused.errors[0].pointer == "/score"
    assert show_lead.sync("x", client=api).code == "not_found"
    assert end_conversation.sync(leads[0].conversation_id, client=api).data.status == "ended"
