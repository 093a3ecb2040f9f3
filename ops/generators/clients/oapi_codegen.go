// What oapi-codegen makes of the document.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"time"

	"check/leadwire"
)

func must(holds bool, what string) {
	if !holds {
		log.Fatal(what)
	}
}

func main() {
	ctx := context.Background()
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))
		return nil
	}
	api, err := leadwire.NewClientWithResponses(os.Getenv("URL"), leadwire.WithRequestEditorFn(authorize))
	must(err == nil, "client")
	limit, since := int64(2), time.Date(2020, 1, 1, 0, 0, 0, 0, time.FixedZone("", 7200))
	list, err := api.ListLeadsWithResponse(ctx, &leadwire.ListLeadsParams{Limit: &limit, Since: &since})
	must(err == nil && len(list.JSON200.Data) == 2, "list")
	lead, name, updated := list.JSON200.Data[0], "Go", "lead.updated"
	amount := &leadwire.LeadPatch_CustomFields_AdditionalProperties{}
	must(amount.FromLeadPatchCustomFields1(123456789.12) == nil, "a number")
	fields := map[string]*leadwire.LeadPatch_CustomFields_AdditionalProperties{"amount": amount}
	changed, err := api.UpdateLeadWithResponse(ctx, lead.Id, nil, leadwire.LeadPatch{Name: &name, CustomFields: &fields})
	must(err == nil && *changed.JSON200.Data.Name == name, "update")
	stored, err := changed.JSON200.Data.CustomFields["amount"].AsLeadCustomFields1()
	must(err == nil && stored == 123456789.12, "a number as it was sent")
	events, err := api.ListEventsWithResponse(ctx, &leadwire.ListEventsParams{Types: &updated})
	must(err == nil && len(events.JSON200.Data) > 0, "events")
	event, err := events.JSON200.Data[0].ValueByDiscriminator()
	must(err == nil && event.(leadwire.LeadUpdatedEvent).Data.Score >= 0, "an event of its kind")
	missing, err := api.ShowLeadWithResponse(ctx, "x", nil)
	must(err == nil && missing.ApplicationproblemJSON404.Code == "not_found", "missing")
	ended, err := api.EndConversationWithResponse(ctx, lead.ConversationId, nil)
	must(err == nil && ended.JSON200.Data.Status == "ended", "end")
}
