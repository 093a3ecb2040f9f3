export * from "./client.js";
export type { CallOptions, ChangeOptions, Options, Retry } from "./connection.js";
export { LeadwireError, Unreachable } from "./errors.js";
export { type EventData, InvalidSignature, publicKeys, verify, type WebhookEvent } from "./webhooks.js";
