// A copy of all leads, in memory: an export at the start, then webhooks; what a webhook cannot tell, by updated_since.
import { createServer } from "node:http";
import { InvalidSignature, Leadwire, verify } from "@leadwire/client";

const { KEY, URL: BASE, SECRET, PORT } = process.env;
const lw = new Leadwire(KEY, BASE);
const leads = new Map(), handled = new Set();
let newest = new Date(0);

function store(lead) {
  const known = leads.get(lead.id);
  if (known?.deleted || (known && known.updated_at > lead.updated_at)) return;
  leads.set(lead.id, lead);
}
async function catchUp() {
  const since = new Date(Math.max(0, newest - 300_000));
  for await (const lead of lw.leads.list({ updated_since: since.toISOString() })) {
    store(lead);
    newest = new Date(Math.max(newest, new Date(lead.updated_at)));
  }
}
async function receive(body, headers) {
  const event = await verify(body, headers, SECRET);
  if (handled.has(event.id)) return;
  if (event.kind === "lead.deleted") leads.set(event.data.id, { id: event.data.id, deleted: true });
  else store(event.data);
  handled.add(event.id);
}

createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  try {
    if (request.url === "/copy") {
      const rows = [...leads.values()].filter((lead) => !lead.deleted).map((lead) => [lead.id, [lead.email, lead.score]]);
      return response.end(JSON.stringify(Object.fromEntries(rows)));
    }
    if (request.url === "/catch-up") await catchUp();
    else await receive(Buffer.concat(parts), request.headers);
    response.writeHead(204).end();
  } catch (error) {
    response.writeHead(error instanceof InvalidSignature ? 401 : 500).end();
  }
}).listen(Number(PORT), "127.0.0.1");

for await (const lead of lw.exports.rows(await lw.exports.create({ type: "leads" }))) store(lead);
await catchUp();
console.log("copied");
