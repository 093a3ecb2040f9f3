export * from "./client.js";
export { LeadwireError, Unreachable } from "./errors.js";
export { InvalidSignature, publicKeys, verify } from "./webhooks.js";
