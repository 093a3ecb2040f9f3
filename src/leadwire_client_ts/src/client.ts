import { type CallOptions, type ChangeOptions, Connection, once, type Options, within } from "./connection.js";
import { LeadwireError, Unreachable } from "./errors.js";
import type { operations } from "./schema.js";

type Query<O> = O extends { parameters: { query?: infer Q } } ? NonNullable<Q> : never;
type Good<R> = R extends { content: { "application/json": infer B } } ? B : never;
type Answer<O> = O extends { responses: { 200: infer R } | { 202: infer R } } ? Good<R> : never;
type Body<O> = O extends { requestBody: { content: { "application/json": infer B } } } ? B : never;
type Data<O> = Answer<O> extends { data: infer D } ? D : never;
type Item<O> = Data<O> extends (infer I)[] ? I : never;
type Filters<O> = Omit<Query<O>, "cursor" | "page">;

export type Lead = Data<operations["show_lead"]>;
export type LeadPatch = Body<operations["update_lead"]>;
export type LeadDeleted = Data<operations["delete_lead"]>;
export type Conversation = Item<operations["list_conversations"]>;
export type ConversationDetail = Data<operations["show_conversation"]>;
export type ConversationEnd = Data<operations["end_conversation"]>;
export type Message = Item<operations["list_messages"]>;
export type Bot = Data<operations["show_bot"]>;
export type StoredEvent = Data<operations["show_event"]>;
export type Export = Data<operations["show_export"]>;
export type ExportRequest = Body<operations["create_export"]>;
export type Me = Data<operations["show_me"]>;
/** A lead as it was read by itself: `etag` names its version. */
export type ReadLead = Lead & { etag: string };

const POLL = 20; // seconds that a request of what goes on without end waits for news

class Resource {
  constructor(protected readonly connection: Connection) {}

  protected async read<O>(path: string, query?: object, options?: CallOptions): Promise<Answer<O>> {
    return (await this.connection.send<Answer<O>>("GET", path, { query, ...options })).body;
  }

  /** Every row, page after page by cursor: what stays comes exactly once, while others come and go. */
  protected async *walk<O>(path: string, filters: object, options?: CallOptions): AsyncGenerator<Item<O>, void, undefined> {
    for (let cursor: string | null | undefined = "first"; cursor; ) {
      const page = (await this.read<O>(path, { limit: 100, ...filters, cursor }, options)) as { data: Item<O>[]; meta: { next_cursor?: string | null } };
      yield* page.data;
      cursor = page.meta.next_cursor;
    }
  }
}

export class Leads extends Resource {
  /** All leads that match, newest first unless `sort` says otherwise. */
  list(filters: Filters<operations["list_leads"]> = {}, options?: CallOptions): AsyncGenerator<Lead, void, undefined> {
    return this.walk<operations["list_leads"]>("/v1/leads", filters, options);
  }
  page(query: Query<operations["list_leads"]> = {}, options?: CallOptions): Promise<Answer<operations["list_leads"]>> {
    return this.read<operations["list_leads"]>("/v1/leads", query, options);
  }
  async get(id: string, options?: CallOptions): Promise<ReadLead> {
    const { body, headers } = await this.connection.send<{ data: Lead }>("GET", at("leads", id), { ...options });
    return { ...body.data, etag: headers.get("etag") ?? "" };
  }
  /** A merge patch: what is not named stays, `null` clears. With `ifMatch`, only if the lead is still as it was read. */
  async update(id: string, changes: LeadPatch, { ifMatch, ...options }: ChangeOptions & { ifMatch?: { etag: string } } = {}): Promise<ReadLead> {
    const headers = { ...once(options), ...(ifMatch ? { "if-match": ifMatch.etag } : {}) };
    const answer = await this.connection.send<{ data: Lead }>("PATCH", at("leads", id), { ...options, body: changes, headers });
    return { ...answer.body.data, etag: answer.headers.get("etag") ?? "" };
  }
  /** Erases the person for good. */
  async delete(id: string, { ifMatch, ...options }: ChangeOptions & { ifMatch?: { etag: string } } = {}): Promise<LeadDeleted> {
    const headers = { ...once(options), ...(ifMatch ? { "if-match": ifMatch.etag } : {}) };
    return (await this.connection.send<{ data: LeadDeleted }>("DELETE", at("leads", id), { ...options, headers })).body.data;
  }
}

export class Conversations extends Resource {
  list(filters: Filters<operations["list_conversations"]> = {}, options?: CallOptions): AsyncGenerator<Conversation, void, undefined> {
    return this.walk<operations["list_conversations"]>("/v1/conversations", filters, options);
  }
  page(query: Query<operations["list_conversations"]> = {}, options?: CallOptions): Promise<Answer<operations["list_conversations"]>> {
    return this.read<operations["list_conversations"]>("/v1/conversations", query, options);
  }
  async get(id: string, options?: CallOptions): Promise<ConversationDetail> {
    return (await this.read<operations["show_conversation"]>(at("conversations", id), {}, options)).data;
  }
  messages(id: string, query: Query<operations["list_messages"]> = {}, options?: CallOptions): Promise<Answer<operations["list_messages"]>> {
    return this.read<operations["list_messages"]>(at("conversations", id, "/messages"), query, options);
  }
  async end(id: string, options: ChangeOptions = {}): Promise<ConversationEnd> {
    const asked = { ...options, headers: once(options) };
    return (await this.connection.send<{ data: ConversationEnd }>("POST", at("conversations", id, "/end"), asked)).body.data;
  }
}

export class Bots extends Resource {
  page(query: Query<operations["list_bots"]> = {}, options?: CallOptions): Promise<Answer<operations["list_bots"]>> {
    return this.read<operations["list_bots"]>("/v1/bots", query, options);
  }
  async get(id: string, options?: CallOptions): Promise<Bot> {
    return (await this.read<operations["show_bot"]>(at("bots", id), {}, options)).data;
  }
}

export class Events extends Resource {
  /** Every event behind `cursor`, in the order of commits; with `follow`, those that come later, too, without end.
   *
   * Keep the `id` of the last event that you have dealt with: it is the `cursor` to go on from. While Leadwire is away,
   * it waits and goes on where it was; any other 4xx, or the signal, ends it. */
  async *list({ cursor = "first", types, follow = false }: { cursor?: string; types?: string; follow?: boolean } = {}, options?: CallOptions): AsyncGenerator<StoredEvent, void, undefined> {
    for (;;) {
      const query = { limit: 100, cursor, types, wait: follow ? POLL : undefined };
      const { data, meta } = (await this.connection.send<Answer<operations["list_events"]>>("GET", "/v1/events", { query, endless: follow, ...options })).body;
      yield* data;
      cursor = meta.next_cursor;
      if (!meta.has_more && !follow) return;
    }
  }
  page(query: Query<operations["list_events"]> = {}, options?: CallOptions): Promise<Answer<operations["list_events"]>> {
    return this.read<operations["list_events"]>("/v1/events", query, options);
  }
  async get(id: string, options?: CallOptions): Promise<StoredEvent> {
    return (await this.read<operations["show_event"]>(at("events", id), {}, options)).data;
  }
}

export class Exports extends Resource {
  async create(asked: ExportRequest, options: ChangeOptions = {}): Promise<Export> {
    return (await this.connection.send<{ data: Export }>("POST", "/v1/exports", { ...options, body: asked, headers: once(options) })).body.data;
  }
  async get(id: string, options?: CallOptions): Promise<Export> {
    return (await this.read<operations["show_export"]>(at("exports", id), {}, options)).data;
  }
  async cancel(id: string, options: ChangeOptions = {}): Promise<Export> {
    return (await this.connection.send<{ data: Export }>("DELETE", at("exports", id), { ...options, headers: once(options) })).body.data;
  }
  /** The rows of an export as `ndjson`, as they arrive: those behind `after`, if it is given. A download that breaks off
   * is resumed after the last row. */
  async *rows<R = Record<string, unknown>>(made: Export, { after }: { after?: string } = {}, options?: CallOptions): AsyncGenerator<R, void, undefined> {
    if (made.format === "csv") throw new TypeError("only rows of an export as ndjson can be read here");
    for (let attempts = this.connection.attempts(); ; ) {
      try {
        const before = after;
        const { body } = await this.connection.ask("GET", at("exports", made.id, "/download"), { query: { after }, ...options }, attempts, (response) => response.body!);
        for await (const line of lines(body, this.connection.timeout, options?.signal)) {
          const row = JSON.parse(line);
          after = made.resume_by.map((name) => row[name]).join();
          yield row;
          attempts = this.connection.attempts(); // whoever took their time over the row has lost none
        }
        if (after === before) return; // else is there more? a proxy ends a body that broke off as if it were whole
      } catch (error) {
        await attempts.rest(error instanceof LeadwireError ? error : new Unreachable(`export ${made.id}: ${error}`, error), options?.signal);
      }
    }
  }
}

export class OwnKey extends Resource {
  /** The key itself: its name, scopes, workspace and limits. */
  async get(options?: CallOptions): Promise<Me> {
    return (await this.read<operations["show_me"]>("/v1/me", {}, options)).data;
  }
}

/** The /v1 API of a Leadwire. Every method throws LeadwireError. */
export class Leadwire {
  readonly leads: Leads;
  readonly conversations: Conversations;
  readonly bots: Bots;
  readonly events: Events;
  readonly exports: Exports;
  readonly me: OwnKey;

  /** Throws TypeError without a key or an address, as when a variable of the environment is not set. */
  constructor(key: string | undefined, baseUrl: string | undefined, options: Options = {}) {
    const connection = new Connection(key, baseUrl, options);
    this.leads = new Leads(connection);
    this.conversations = new Conversations(connection);
    this.bots = new Bots(connection);
    this.events = new Events(connection);
    this.exports = new Exports(connection);
    this.me = new OwnKey(connection);
  }
}

function at(collection: string, id: string, action = ""): string {
  if (!id) throw new TypeError("the id is empty"); // it would name the whole collection
  return `/v1/${collection}/${encodeURIComponent(id)}${action}`;
}

/** The lines of a body, as they arrive; what is not whole is none. */
async function* lines(body: ReadableStream<Uint8Array<ArrayBuffer>>, timeout: number, signal?: AbortSignal): AsyncGenerator<string, void, undefined> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let rest = ""; ; ) {
      const { done, value } = await within(reader.read(), timeout, signal);
      if (done && rest) throw new Error("the body ended within a row");
      if (done) return;
      const parts = (rest + value).split("\n");
      rest = parts.pop()!;
      yield* parts;
    }
  } finally {
    await reader.cancel().catch(() => undefined); // whoever stops reading lets the server stop as well
  }
}
