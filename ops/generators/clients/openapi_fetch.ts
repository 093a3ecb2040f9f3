// What openapi-typescript and openapi-fetch make of the document, compiled strictly.
import createClient from "openapi-fetch";
import type { paths, webhooks } from "./schema.js";

type Handoff = webhooks["conversation.handoff"]["post"]["requestBody"]["content"]["application/json"];
export const reasonOf = (event: Handoff): string | null => event.data.handoff.reason;

const api = createClient<paths>({ baseUrl: process.env.URL!, headers: { Authorization: `Bearer ${process.env.KEY}` } });
const check = (holds: boolean, what: string) => { if (!holds) throw new Error(what); };

const { data: list } = await api.GET("/v1/leads", { params: { query: { limit: 2, since: "2020-01-01T00:00:00Z" } } });
const lead = list!.data[0]!;
const name: string | null = lead.name;
check(list!.data.length === 2 && name !== "", "list");
const path = { lead_id: lead.id };
const { data: changed } = await api.PATCH("/v1/leads/{lead_id}", { params: { path }, body: { name: "TypeScript", custom_fields: { a: 1 } } });
check(changed!.data.name === "TypeScript" && changed!.data.custom_fields.a === 1, "update");
const { data: events } = await api.GET("/v1/events", { params: { query: { types: "lead.updated" } } });
const event = events!.data[0]!;
check(event.event === "lead.updated" && event.data.previous_attributes.none === undefined, "event");
const { error: refused } = await api.PATCH("/v1/leads/{lead_id}", { params: { path }, body: { score: 101 } });
check(refused?.code === "validation_error" && refused.errors?.[0]?.pointer === "/score", "refusal");
const { error: missing } = await api.GET("/v1/leads/{lead_id}", { params: { path: { lead_id: "x" } } });
check(missing?.code === "not_found", "missing");
const { data: ended } = await api.POST("/v1/conversations/{conversation_id}/end", { params: { path: { conversation_id: lead.conversation_id } } });
check(ended!.data.status === "ended", "end");
