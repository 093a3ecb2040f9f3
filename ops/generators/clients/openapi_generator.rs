// What openapi-generator makes of the document for Rust. An event it read should not be written again: `event` is twice
// in what it writes.
use openapi::apis::{configuration::Configuration, conversations_api, events_api, leads_api};
use openapi::models::{conversation_end::Status, Event, LeadCustomFieldsValue, LeadPatch, LeadPatchCustomFieldsValue};
use std::collections::HashMap;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut api = Configuration::new();
    api.base_path = std::env::var("URL")?;
    api.bearer_access_token = Some(std::env::var("KEY")?);
    let since = Some("2020-01-01T00:00:00+02:00".to_owned());
    #[rustfmt::skip]
    let list = leads_api::list_leads(
        &api, Some(2), None, None, None, None, None, since, None, None, None, None, None, None,
    ).await?;
    assert_eq!(list.data.len(), 2);
    let lead = &list.data[0];
    let mut patch = LeadPatch::new();
    patch.name = Some(Some("Rust".to_owned()));
    let amount = LeadPatchCustomFieldsValue::Number(123456789.12);
    patch.custom_fields = Some(Some(HashMap::from([("amount".to_owned(), amount)])));
    let changed = leads_api::update_lead(&api, &lead.id, patch, None, None).await?;
    assert_eq!(changed.data.name.as_deref(), Some("Rust"));
    assert_eq!(changed.data.custom_fields["amount"], LeadCustomFieldsValue::Number(123456789.12));
    let events = events_api::list_events(&api, None, None, Some("lead.updated"), None).await?;
    assert!(matches!(&events.data[0], Event::LeadUpdated(event) if !event.data.previous_attributes.is_empty()));
    let missing = leads_api::show_lead(&api, "x", None).await.unwrap_err();
    assert!(missing.to_string().contains("404"));
    let ended = conversations_api::end_conversation(&api, &lead.conversation_id, None).await?;
    assert_eq!(ended.data.status, Status::Ended);
    Ok(())
}
