"""What openapi-generator makes of the document for Python. It writes times as `+0000`."""

import os
from datetime import UTC, datetime

import leadwire_api
from leadwire_api.exceptions import NotFoundException, UnprocessableEntityException


def refused(kind, call, *given):
    """What the server's error says."""
    try:
        call(*given)
    except kind as error:
        return error.data
    raise AssertionError(f"{call.__name__} was not refused")


configuration = leadwire_api.Configuration(host=os.environ["URL"], access_token=os.environ["KEY"])
with leadwire_api.ApiClient(configuration) as client:
    leads, conversations = leadwire_api.LeadsApi(client), leadwire_api.ConversationsApi(client)
    found = leads.list_leads(limit=2, since=datetime(2020, 1, 1, tzinfo=UTC)).data
    assert len(found) == 2
    changed = leads.update_lead(found[0].id, leadwire_api.LeadPatch(name="Java"))
    assert changed.data.name == "Java"
    too_long = leadwire_api.LeadPatch.model_construct(name="x" * 201)
    assert refused(UnprocessableEntityException, leads.update_lead, found[0].id, too_long).errors[0].pointer == "/name"
    assert refused(NotFoundException, leads.show_lead, "x").code == "not_found"
    assert conversations.end_conversation(found[0].conversation_id).data.status == "ended"
