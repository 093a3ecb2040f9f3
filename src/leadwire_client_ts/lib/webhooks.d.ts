import type { webhooks } from "./schema.js";
type Sent<W> = W extends {
    post: {
        requestBody?: {
            content: {
                "application/json": infer B;
            };
        };
    };
} ? B : never;
/** What each kind of event carries. */
export type EventData = {
    [K in keyof webhooks]: Sent<webhooks[K]> extends {
        data: infer D;
    } ? D : never;
};
/** A verified webhook. `id` is the same on every attempt: your key against doubles. `data` is that of its `kind`. */
export type WebhookEvent = {
    [K in keyof EventData]: {
        kind: K;
        id: string;
        timestamp: Date;
        data: EventData[K];
        test: boolean;
    };
}[keyof EventData];
/** A webhook that cannot be trusted: answer 401. */
export declare class InvalidSignature extends Error {
    readonly name = "InvalidSignature";
}
type Given = Headers | Record<string, string | readonly string[] | undefined>;
/** The event of a delivery that a holder of one of the secrets signed, not more than `tolerance` seconds from now.
 *
 * A secret is `whsec_...`; or `whpk_...`, a public key, for an endpoint that signs with one (see `publicKeys`).
 * `body` is the request's bytes or text as received, before any parsing. While a secret is replaced, give the old and
 * the new one. Throws InvalidSignature (answer 401), SyntaxError when the signature holds and the body is no event,
 * TypeError when a secret cannot be one. */
export declare function verify(body: Uint8Array | string, headers: Given, secrets: string | readonly string[] | undefined, { tolerance, now }?: {
    tolerance?: number;
    now?: number;
}): Promise<WebhookEvent>;
/** The public keys of an endpoint, for `verify` instead of a secret: `const keys = publicKeys(address)`, then
 * `verify(body, headers, await keys())`. They are fetched again after five minutes; while that fails, known ones count, for
 * a day. Throws Unreachable when none is known: answer 500, and the event comes again. */
export declare function publicKeys(address: string): () => Promise<string[]>;
export {};
