// What openapi-generator makes of the document for Java.
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.ConversationsApi;
import org.openapitools.client.api.EventsApi;
import org.openapitools.client.api.LeadsApi;
import org.openapitools.client.model.ConversationEnd;
import org.openapitools.client.model.Lead;
import org.openapitools.client.model.LeadPatch;
import org.openapitools.client.model.LeadPatchCustomFieldsValue;
import org.openapitools.client.model.LeadUpdatedEvent;

public class Check {
    static void check(boolean holds, String what) {
        if (!holds) throw new AssertionError(what);
    }

    public static void main(String[] arguments) throws ApiException {
        ApiClient api = new ApiClient().setBasePath(System.getenv("URL"));
        api.setBearerToken(System.getenv("KEY"));
        LeadsApi leads = new LeadsApi(api);
        OffsetDateTime since = OffsetDateTime.parse("2020-01-01T00:00:00+02:00");
        List<Lead> found = leads.listLeads(2L, null, null, null, null, null, since, null, null, null, null, null, null).getData();
        check(found.size() == 2, "list");
        LeadPatch patch = new LeadPatch().name("Java");
        patch.customFields(Map.of("amount", new LeadPatchCustomFieldsValue(123456789.12)));
        Lead changed = leads.updateLead(found.get(0).getId(), patch, null, null).getData();
        check(changed.getName().equals("Java"), "update");
        check(changed.getCustomFields().get("amount").getDouble() == 123456789.12, "a number as it was sent");
        Object event = new EventsApi(api).listEvents(null, null, "lead.updated", null).getData().get(0).getActualInstance();
        check(((LeadUpdatedEvent) event).getData().getPreviousAttributes().containsKey("score"), "an event of its kind");
        try {
            leads.showLead("x", null);
            throw new AssertionError("missing");
        } catch (ApiException error) {
            check(error.getCode() == 404, "missing");
        }
        ConversationEnd ended = new ConversationsApi(api).endConversation(found.get(0).getConversationId(), null).getData();
        check(ended.getStatus() == ConversationEnd.StatusEnum.ENDED, "end");
    }
}
