import { Connection, once, within } from "./connection.js";
import { LeadwireError, Unreachable } from "./errors.js";
const POLL = 20; // seconds that a request of what goes on without end waits for news
class Resource {
    connection;
    constructor(connection) {
        this.connection = connection;
    }
    async read(path, query, options) {
        return (await this.connection.send("GET", path, { query, ...options })).body;
    }
    /** Every row, page after page by cursor: what stays comes exactly once, while others come and go. */
    async *walk(path, filters, options) {
        for (let cursor = "first"; cursor;) {
            const page = (await this.read(path, { limit: 100, ...filters, cursor }, options));
            yield* page.data;
            cursor = page.meta.next_cursor;
        }
    }
}
export class Leads extends Resource {
    /** All leads that match, newest first unless `sort` says otherwise. */
    list(filters = {}, options) {
        return this.walk("/v1/leads", filters, options);
    }
    page(query = {}, options) {
        return this.read("/v1/leads", query, options);
    }
    async get(id, options) {
        const { body, headers } = await this.connection.send("GET", at("leads", id), { ...options });
        return { ...body.data, etag: headers.get("etag") ?? "" };
    }
    /** A merge patch: what is not named stays, `null` clears. With `ifMatch`, only if the lead is still as it was read. */
    async update(id, changes, { ifMatch, ...options } = {}) {
        const headers = { ...once(options), ...(ifMatch ? { "if-match": ifMatch.etag } : {}) };
        const answer = await this.connection.send("PATCH", at("leads", id), { ...options, body: changes, headers });
        return { ...answer.body.data, etag: answer.headers.get("etag") ?? "" };
    }
    /** Erases the person for good. */
    async delete(id, { ifMatch, ...options } = {}) {
        const headers = { ...once(options), ...(ifMatch ? { "if-match": ifMatch.etag } : {}) };
        return (await this.connection.send("DELETE", at("leads", id), { ...options, headers })).body.data;
    }
}
export class Conversations extends Resource {
    list(filters = {}, options) {
        return this.walk("/v1/conversations", filters, options);
    }
    page(query = {}, options) {
        return this.read("/v1/conversations", query, options);
    }
    async get(id, options) {
        return (await this.read(at("conversations", id), {}, options)).data;
    }
    messages(id, query = {}, options) {
        return this.read(at("conversations", id, "/messages"), query, options);
    }
    async end(id, options = {}) {
        const asked = { ...options, headers: once(options) };
        return (await this.connection.send("POST", at("conversations", id, "/end"), asked)).body.data;
    }
}
export class Bots extends Resource {
    page(query = {}, options) {
        return this.read("/v1/bots", query, options);
    }
    async get(id, options) {
        return (await this.read(at("bots", id), {}, options)).data;
    }
}
export class Events extends Resource {
    /** Every event behind `cursor`, in the order of commits; with `follow`, those that come later, too, without end.
     *
     * Keep the `id` of the last event that you have dealt with: it is the `cursor` to go on from. While Leadwire is away,
     * it waits and goes on where it was; any other 4xx, or the signal, ends it. */
    async *list({ cursor = "first", types, follow = false } = {}, options) {
        for (;;) {
            const query = { limit: 100, cursor, types, wait: follow ? POLL : undefined };
            const { data, meta } = (await this.connection.send("GET", "/v1/events", { query, endless: follow, ...options })).body;
            yield* data;
            cursor = meta.next_cursor;
            if (!meta.has_more && !follow)
                return;
        }
    }
    page(query = {}, options) {
        return this.read("/v1/events", query, options);
    }
    async get(id, options) {
        return (await this.read(at("events", id), {}, options)).data;
    }
}
export class Exports extends Resource {
    async create(asked, options = {}) {
        return (await this.connection.send("POST", "/v1/exports", { ...options, body: asked, headers: once(options) })).body.data;
    }
    async get(id, options) {
        return (await this.read(at("exports", id), {}, options)).data;
    }
    async cancel(id, options = {}) {
        return (await this.connection.send("DELETE", at("exports", id), { ...options, headers: once(options) })).body.data;
    }
    /** The rows of an export as `ndjson`, as they arrive: those behind `after`, if it is given. A download that breaks off
     * is resumed after the last row. */
    async *rows(made, { after } = {}, options) {
        if (made.format === "csv")
            throw new TypeError("only rows of an export as ndjson can be read here");
        for (let attempts = this.connection.attempts();;) {
            try {
                const before = after;
                const { body } = await this.connection.ask("GET", at("exports", made.id, "/download"), { query: { after }, ...options }, attempts, (response) => response.body);
                for await (const line of lines(body, this.connection.timeout, options?.signal)) {
                    const row = JSON.parse(line);
                    after = made.resume_by.map((name) => row[name]).join();
                    yield row;
                    attempts = this.connection.attempts(); // whoever took their time over the row has lost none
                }
                if (after === before)
                    return; // else is there more? a proxy ends a body that broke off as if it were whole
            }
            catch (error) {
                await attempts.rest(error instanceof LeadwireError ? error : new Unreachable(`export ${made.id}: ${error}`, error), options?.signal);
            }
        }
    }
}
export class OwnKey extends Resource {
    /** The key itself: its name, scopes, workspace and limits. */
    async get(options) {
        return (await this.read("/v1/me", {}, options)).data;
    }
}
/** The /v1 API of a Leadwire. Every method throws LeadwireError. */
export class Leadwire {
    leads;
    conversations;
    bots;
    events;
    exports;
    me;
    /** Throws TypeError without a key or an address, as when a variable of the environment is not set. */
    constructor(key, baseUrl, options = {}) {
        const connection = new Connection(key, baseUrl, options);
        this.leads = new Leads(connection);
        this.conversations = new Conversations(connection);
        this.bots = new Bots(connection);
        this.events = new Events(connection);
        this.exports = new Exports(connection);
        this.me = new OwnKey(connection);
    }
}
function at(collection, id, action = "") {
    if (!id)
        throw new TypeError("the id is empty"); // it would name the whole collection
    return `/v1/${collection}/${encodeURIComponent(id)}${action}`;
}
/** The lines of a body, as they arrive; what is not whole is none. */
async function* lines(body, timeout, signal) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    try {
        for (let rest = "";;) {
            const { done, value } = await within(reader.read(), timeout, signal);
            if (done && rest)
                throw new Error("the body ended within a row");
            if (done)
                return;
            const parts = (rest + value).split("\n");
            rest = parts.pop();
            yield* parts;
        }
    }
    finally {
        await reader.cancel().catch(() => undefined); // whoever stops reading lets the server stop as well
    }
}
