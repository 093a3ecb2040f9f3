export * from "./client.js";
export { LeadwireError, Unreachable } from "./errors.js";
export { InvalidSignature, verify } from "./webhooks.js";
