"""What openapi-generator makes of the document for Python. It writes times as `+0000`."""

import os
from datetime import UTC, datetime

import leadwire_api
from leadwire_api.exceptions import NotFoundException, UnprocessableEntityException

CUSTOM = {"stage": "won", "amount": 123456789.12, "seats": 3, "paid": True}


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
    values = {name: leadwire_api.LeadPatchCustomFieldsValue(value) for name, value in CUSTOM.items()}
    changed = leads.update_lead(found[0].id, leadwire_api.LeadPatch(name="Java", custom_fields=values))
    assert changed.data.name == "Java"
    assert CUSTOM.items() <= {name: one.actual_instance for name, one in changed.data.custom_fields.items()}.items()
    [event, *_] = leadwire_api.EventsApi(client).list_events(types="lead.updated").data
    assert isinstance(event.actual_instance.data, leadwire_api.LeadUpdated)
    too_long = leadwire_api.LeadPatch.model_construct(name="x" * 201)
    assert refused(UnprocessableEntityException, leads.update_lead, found[0].id, too_long).errors[0].pointer == "/name"
    assert refused(NotFoundException, leads.show_lead, "x").code == "not_found"
    assert conversations.end_conversation(found[0].conversation_id).data.status == "ended"
