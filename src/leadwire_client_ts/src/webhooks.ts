import { Unreachable } from "./errors.js";
import type { webhooks } from "./schema.js";

type Sent<W> = W extends { post: { requestBody?: { content: { "application/json": infer B } } } } ? B : never;

/** What each kind of event carries. */
export type EventData = { [K in keyof webhooks]: Sent<webhooks[K]> extends { data: infer D } ? D : never };

/** A verified webhook. `id` is the same on every attempt: your key against doubles. `data` is that of its `kind`. */
export type WebhookEvent =
  | { [K in keyof EventData]: { kind: K; id: string; timestamp: Date; data: EventData[K]; test: boolean } }[keyof EventData];

/** A webhook that cannot be trusted: answer 401. */
export class InvalidSignature extends Error {
  override readonly name = "InvalidSignature";
}

const SECRET = { version: "v1", algorithm: { name: "HMAC", hash: "SHA-256" }, shortest: 24, form: "whsec_ and the base64 of at least 24 bytes" };
const PUBLIC = { version: "v1a", algorithm: { name: "Ed25519" }, shortest: 32, form: "whpk_ and the base64 of 32 bytes" };

type Given = Headers | Record<string, string | readonly string[] | undefined>;

/** The event of a delivery that a holder of one of the secrets signed, not more than `tolerance` seconds from now.
 *
 * A secret is `whsec_...`; or `whpk_...`, a public key, for an endpoint that signs with one (see `publicKeys`).
 * `body` is the request's bytes or text as received, before any parsing. While a secret is replaced, give the old and
 * the new one. Throws InvalidSignature (answer 401), SyntaxError when the signature holds and the body is no event,
 * TypeError when a secret cannot be one. */
export async function verify(
  body: Uint8Array | string,
  headers: Given,
  secrets: string | readonly string[] | undefined,
  { tolerance = 300, now = Date.now() / 1000 }: { tolerance?: number; now?: number } = {},
): Promise<WebhookEvent> {
  if (!secrets?.length) throw new TypeError("there is no secret");
  const [id, sent, signatures] = ["id", "timestamp", "signature"].map((name) => header(headers, `webhook-${name}`)) as [string, string, string];
  if (!id || !signatures) throw new InvalidSignature("a header of Standard Webhooks is missing");
  if (!/^\d{1,12}$/.test(sent)) throw new InvalidSignature("webhook-timestamp is not a number");
  const text = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const head = new TextEncoder().encode(`${id}.${sent}.`);
  const signed = new Uint8Array(head.length + text.length);
  signed.set(head);
  signed.set(text, head.length);
  const { subtle } = globalThis.crypto ?? ((await import("node:crypto" as string)) as { webcrypto: Crypto }).webcrypto;
  const given = signatures.split(" ").map((one) => one.split(",") as [string, string?]);
  let matching = false;
  for (const secret of typeof secrets === "string" ? [secrets] : secrets) {
    const kind = secret.startsWith("whpk_") ? PUBLIC : SECRET;
    const raw = bytes(secret.replace(/^wh(sec|pk)_/, ""));
    if (!raw || raw.length < kind.shortest) throw new TypeError(`a secret is not ${kind.form}`);
    const key = await subtle.importKey("raw", raw, kind.algorithm, false, ["verify"]);
    for (const [version, text] of given) {
      const one = version === kind.version && bytes(text ?? "");
      if (one && (await subtle.verify(kind.algorithm.name, key, one, signed))) matching = true; // in constant time
    }
  }
  if (!matching) throw new InvalidSignature("webhook-signature does not match: another secret, or the body was changed on its way");
  if (Math.abs(now - Number(sent)) > tolerance) throw new InvalidSignature("webhook-timestamp is too far from now: a recording, or a wrong clock");
  const { event, timestamp, data } = JSON.parse(new TextDecoder().decode(text)) ?? {};
  const at = new Date(timestamp);
  if (typeof event !== "string" || !(at.getTime() > 0) || !(data instanceof Object)) throw new SyntaxError("the body is no event");
  return { kind: event, id, timestamp: at, data, test: ownHeader(headers, "test") === "true" } as WebhookEvent;
}

/** The public keys of an endpoint, for `verify` instead of a secret: `const keys = publicKeys(address)`, then
 * `verify(body, headers, await keys())`. They are fetched again after five minutes; while that fails, known ones count, for
 * a day. Throws Unreachable when none is known: answer 500, and the event comes again. */
export function publicKeys(address: string): () => Promise<string[]> {
  let known: string[] = [];
  let fetched = -Infinity;
  let next = -Infinity;
  let fetching: Promise<void> | undefined;
  const fetchAgain = async (): Promise<void> => {
    const now = performance.now();
    next = now + 10_000;
    try {
      const answer = await fetch(address, { signal: AbortSignal.timeout(10_000) });
      if (answer.status === 404) known = [];
      if (!answer.ok) throw new Error(`${answer.status}`);
      const { keys } = (await answer.json()) as { keys: { crv: string; x: string }[] };
      const ours = keys.filter((key) => key.crv === "Ed25519");
      known = ours.map(({ x }) => `whpk_${x.replaceAll("-", "+").replaceAll("_", "/")}=`);
      fetched = now;
      next = now + 300_000;
    } catch {
      if (now > fetched + 86_400_000) known = [];
    }
  };
  return async () => {
    if (performance.now() >= next) fetching ??= fetchAgain().finally(() => (fetching = undefined));
    await fetching;
    if (!known.length) throw new Unreachable(`${address} does not tell any key`);
    return known;
  };
}

/** A header of Leadwire's own, by its name without the prefix: each installation has its own, X-Service- by default. It
 * is what stands before the name of the signature that begins with `sha256=`: other headers may end alike. */
function ownHeader(headers: Given, name: string): string {
  const names = (headers instanceof Headers ? [...headers.keys()] : Object.keys(headers)).map((one) => one.toLowerCase());
  const signatures = names.filter((one) => one.endsWith("signature") && header(headers, one).startsWith("sha256="));
  const own = [...signatures, "x-service-signature"].map((one) => header(headers, one.slice(0, -"signature".length) + name));
  return own.find(Boolean) ?? "";
}

function header(headers: Given, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? "";
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return (typeof found === "string" ? found : found?.[0]) ?? "";
}

function bytes(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
  } catch {
    return null;
  }
}
