// A receiver of Leadwire's webhooks. Run: SECRET=whsec_... PORT=9000 node receiver.mjs
// With KEYS=https://.../jwks.json instead of SECRET it verifies by what is published there.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createPublicKey, verify } from "node:crypto";
import { createServer } from "node:http";

/**
 * Whether a holder of one of the secrets sent exactly these bytes, less than five minutes ago.
 * @param {string[]} secrets
 * @param {Record<string, string | string[] | undefined>} headers
 * @param {Buffer} body as it came: parsed and written again it is another text
 */
export function verified(secrets, headers, body) {
  const [id, sent, signatures] = ["id", "timestamp", "signature"].map((name) => String(headers[`webhook-${name}`] ?? ""));
  if (!/^\d{1,12}$/.test(sent) || Math.abs(Date.now() / 1000 - Number(sent)) > 300) return false;
  const given = signatures.split(" ").map((text) => Buffer.from(text));
  return secrets.some((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    const digest = createHmac("sha256", key).update(`${id}.${sent}.`).update(body).digest("base64");
    const expected = Buffer.from(`v1,${digest}`); // two are given while a secret is changed: one must match
    return given.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
  });
}

/** The keys of an endpoint. Keep them for five minutes. */
export async function publishedKeys(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  return (await answer.json()).keys.map((key) => createPublicKey({ key, format: "jwk" }));
}

/**
 * Whether the holder of one of the keys sent exactly these bytes, less than five minutes ago.
 * @param {import("node:crypto").KeyObject[]} keys
 * @param {Record<string, string | string[] | undefined>} headers
 * @param {Buffer} body as it came: parsed and written again it is another text
 */
export function verifiedByKey(keys, headers, body) {
  const [id, sent, signatures] = ["id", "timestamp", "signature"].map((name) => String(headers[`webhook-${name}`] ?? ""));
  if (!/^\d{1,12}$/.test(sent) || Math.abs(Date.now() / 1000 - Number(sent)) > 300) return false;
  const signed = Buffer.concat([Buffer.from(`${id}.${sent}.`), body]);
  const given = signatures.split(" ").filter((one) => one.startsWith("v1a,")).map((one) => Buffer.from(one.slice(4), "base64"));
  // While a key is changed there are two: one must match.
  return keys.some((key) => given.some((one) => verify(null, signed, key, one)));
}

const { KEYS, SECRET = "", PORT } = process.env;
let kept = { keys: [], until: 0 };
async function keys() {
  if (performance.now() >= kept.until) kept = { keys: await publishedKeys(KEYS), until: performance.now() + 300_000 };
  return kept.keys;
}

createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  const genuine = KEYS ? verifiedByKey(await keys(), request.headers, body) : verified(SECRET.split(","), request.headers, body);
  response.writeHead(genuine ? 204 : 401).end();
  // Later, and once for each webhook-id: an event may come again.
  if (genuine) console.log(request.headers["webhook-id"], JSON.parse(body.toString()).event);
}).listen(Number(PORT), "127.0.0.1");
