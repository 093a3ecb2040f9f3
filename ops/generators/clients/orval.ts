// What orval makes of the document, compiled strictly.
import { endConversation, listEvents, listLeads, showLead, updateLead, type Event, type LeadUpdated } from "./client.js";

const options = { headers: { Authorization: `Bearer ${process.env.KEY}` } };
const check = (holds: boolean, what: string) => { if (!holds) throw new Error(what); };
const changedOf = (event: Event): LeadUpdated | undefined => event.event === "lead.updated" ? event.data : undefined;

const list = await listLeads({ limit: 2, since: "2020-01-01T00:00:00Z" }, options);
if (list.status !== 200) throw new Error("list");
const lead = list.data.data[0]!;
check(list.data.data.length === 2, "list");
const changed = await updateLead(lead.id, { name: "orval", custom_fields: { amount: 123456789.12 } }, options);
check(changed.status === 200 && changed.data.data.name === "orval", "update");
check(changed.status === 200 && changed.data.data.custom_fields.amount === 123456789.12, "a number as it was sent");
const events = await listEvents({ types: "lead.updated" }, options);
check(events.status === 200 && changedOf(events.data.data[0]!)?.previous_attributes.score !== undefined, "event");
const missing = await showLead("x", options);
check(missing.status === 404 && missing.data.code === "not_found", "missing");
const ended = await endConversation(lead.conversation_id, options);
check(ended.status === 200 && ended.data.data.status === "ended", "end");
