import { type CallOptions, type ChangeOptions, Connection, type Options } from "./connection.js";
import type { operations } from "./schema.js";
type Query<O> = O extends {
    parameters: {
        query?: infer Q;
    };
} ? NonNullable<Q> : never;
type Good<R> = R extends {
    content: {
        "application/json": infer B;
    };
} ? B : never;
type Answer<O> = O extends {
    responses: {
        200: infer R;
    } | {
        202: infer R;
    };
} ? Good<R> : never;
type Body<O> = O extends {
    requestBody: {
        content: {
            "application/json": infer B;
        };
    };
} ? B : never;
type Data<O> = Answer<O> extends {
    data: infer D;
} ? D : never;
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
export type ReadLead = Lead & {
    etag: string;
};
declare class Resource {
    protected readonly connection: Connection;
    constructor(connection: Connection);
    protected read<O>(path: string, query?: object, options?: CallOptions): Promise<Answer<O>>;
    /** Every row, page after page by cursor: what stays comes exactly once, while others come and go. */
    protected walk<O>(path: string, filters: object, options?: CallOptions): AsyncGenerator<Item<O>, void, undefined>;
}
export declare class Leads extends Resource {
    /** All leads that match, newest first unless `sort` says otherwise. */
    list(filters?: Filters<operations["list_leads"]>, options?: CallOptions): AsyncGenerator<Lead, void, undefined>;
    page(query?: Query<operations["list_leads"]>, options?: CallOptions): Promise<Answer<operations["list_leads"]>>;
    get(id: string, options?: CallOptions): Promise<ReadLead>;
    /** A merge patch: what is not named stays, `null` clears. With `ifMatch`, only if the lead is still as it was read. */
    update(id: string, changes: LeadPatch, { ifMatch, ...options }?: ChangeOptions & {
        ifMatch?: {
            etag: string;
        };
    }): Promise<ReadLead>;
    /** Erases the person for good. */
    delete(id: string, { ifMatch, ...options }?: ChangeOptions & {
        ifMatch?: {
            etag: string;
        };
    }): Promise<LeadDeleted>;
}
export declare class Conversations extends Resource {
    list(filters?: Filters<operations["list_conversations"]>, options?: CallOptions): AsyncGenerator<Conversation, void, undefined>;
    page(query?: Query<operations["list_conversations"]>, options?: CallOptions): Promise<Answer<operations["list_conversations"]>>;
    get(id: string, options?: CallOptions): Promise<ConversationDetail>;
    messages(id: string, query?: Query<operations["list_messages"]>, options?: CallOptions): Promise<Answer<operations["list_messages"]>>;
    end(id: string, options?: ChangeOptions): Promise<ConversationEnd>;
}
export declare class Bots extends Resource {
    page(query?: Query<operations["list_bots"]>, options?: CallOptions): Promise<Answer<operations["list_bots"]>>;
    get(id: string, options?: CallOptions): Promise<Bot>;
}
export declare class Events extends Resource {
    /** Every event behind `cursor`, in the order of commits; with `follow`, those that come later, too, without end.
     *
     * Keep the `id` of the last event that you have dealt with: it is the `cursor` to go on from. While Leadwire is away,
     * it waits and goes on where it was; any other 4xx, or the signal, ends it. */
    list({ cursor, types, follow }?: {
        cursor?: string;
        types?: string;
        follow?: boolean;
    }, options?: CallOptions): AsyncGenerator<StoredEvent, void, undefined>;
    page(query?: Query<operations["list_events"]>, options?: CallOptions): Promise<Answer<operations["list_events"]>>;
    get(id: string, options?: CallOptions): Promise<StoredEvent>;
}
export declare class Exports extends Resource {
    create(asked: ExportRequest, options?: ChangeOptions): Promise<Export>;
    get(id: string, options?: CallOptions): Promise<Export>;
    cancel(id: string, options?: ChangeOptions): Promise<Export>;
    /** The rows of an export as `ndjson`, as they arrive: those behind `after`, if it is given. A download that breaks off
     * is resumed after the last row. */
    rows<R = Record<string, unknown>>(made: Export, { after }?: {
        after?: string;
    }, options?: CallOptions): AsyncGenerator<R, void, undefined>;
}
export declare class OwnKey extends Resource {
    /** The key itself: its name, scopes, workspace and limits. */
    get(options?: CallOptions): Promise<Me>;
}
/** The /v1 API of a Leadwire. Every method throws LeadwireError. */
export declare class Leadwire {
    readonly leads: Leads;
    readonly conversations: Conversations;
    readonly bots: Bots;
    readonly events: Events;
    readonly exports: Exports;
    readonly me: OwnKey;
    /** Throws TypeError without a key or an address, as when a variable of the environment is not set. */
    constructor(key: string | undefined, baseUrl: string | undefined, options?: Options);
}
export {};
