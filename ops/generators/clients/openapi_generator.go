// What openapi-generator makes of the document for Go.
package main

import (
	"context"
	"log"
	"os"
	"time"

	leadwire "check/generated"
)

func must(holds bool, what string) {
	if !holds {
		log.Fatal(what)
	}
}

func main() {
	configuration := leadwire.NewConfiguration()
	configuration.Servers = leadwire.ServerConfigurations{{URL: os.Getenv("URL")}}
	api := leadwire.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), leadwire.ContextAccessToken, os.Getenv("KEY"))
	since := time.Date(2020, 1, 1, 0, 0, 0, 0, time.FixedZone("", 7200))
	list, _, err := api.LeadsAPI.ListLeads(ctx).Limit(2).Since(since).Execute()
	must(err == nil && len(list.Data) == 2, "list")
	lead, patch, amount := list.Data[0], leadwire.NewLeadPatch(), 123456789.12
	patch.SetName("Go")
	patch.SetCustomFields(map[string]leadwire.LeadPatchCustomFieldsValue{"amount": {Float64: &amount}})
	changed, _, err := api.LeadsAPI.UpdateLead(ctx, lead.Id).LeadPatch(*patch).Execute()
	must(err == nil && changed.Data.GetName() == "Go", "update")
	must(*changed.Data.CustomFields["amount"].Float64 == amount, "a number as it was sent")
	events, _, err := api.EventsAPI.ListEvents(ctx).Types("lead.updated").Execute()
	must(err == nil && len(events.Data[0].LeadUpdatedEvent.Data.PreviousAttributes) > 0, "an event of its kind")
	_, missing, err := api.LeadsAPI.ShowLead(ctx, "x").Execute()
	must(err != nil && missing.StatusCode == 404, "missing")
	ended, _, err := api.ConversationsAPI.EndConversation(ctx, lead.ConversationId).Execute()
	must(err == nil && ended.Data.Status == "ended", "end")
}
