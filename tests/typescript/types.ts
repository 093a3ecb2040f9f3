// Compiled, never run: what the types promise to whoever writes with them.
import { type Lead, type LeadPatch, Leadwire, type ReadLead, verify } from "./index.js";

declare const process: { env: Record<string, string | undefined> };

export const variables = () => [new Leadwire(process.env.KEY, process.env.URL), verify("", {}, process.env.SECRET)];

export async function uses(lw: Leadwire): Promise<void> {
  for await (const lead of lw.leads.list({ score_min: 50, sort: "-score", updated_since: "2026-01-01" })) {
    const score: number = lead.score;
    const email: string | null = lead.email;
    void [score, email];
  }
  // @ts-expect-error there is no such filter
  lw.leads.list({ scoreMin: 50 });
  // @ts-expect-error a walk has its own cursor
  lw.leads.list({ cursor: "first" });
  const read: ReadLead = await lw.leads.get("lead_1");
  await lw.leads.update(read.id, { score: 80, custom_fields: { stage: "won", old: null } }, { ifMatch: read });
  // @ts-expect-error a lead of a list does not tell its version
  await lw.leads.update(read.id, {}, { ifMatch: {} as Lead });
  // @ts-expect-error there is no such field
  const wrong: LeadPatch = { scored: 1 };
  void wrong;
  const event = await verify("", {}, "");
  if (event.kind === "lead.updated") void event.data.previous_attributes;
  if (event.kind === "message.received") void event.data.conversation_id;
  // @ts-expect-error only leads that were changed have it
  if (event.kind === "lead.created") void event.data.previous_attributes;
  if (event.kind === "audit.recorded") void (event.data.hash satisfies string);
  if (event.kind === "endpoint.disabled") void (event.data.reason satisfies "gone" | "failing");
  for await (const one of lw.events.list({ types: "lead.updated" })) {
    void (one.id satisfies string);
    if (one.event === "lead.updated") void [one.data.email satisfies string | null, one.data.previous_attributes.score];
    // @ts-expect-error only leads have one
    if (one.event === "message.sent") void one.data.email;
  }
  const made = await lw.exports.create({ type: "leads" });
  void (made.format satisfies "csv" | "ndjson");
}
