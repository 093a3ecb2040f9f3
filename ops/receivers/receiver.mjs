// A receiver of Leadwire's webhooks. Run: SECRET=whsec_... PORT=9000 node receiver.mjs
// With KEYS=https://.../jwks.json instead of SECRET it verifies by what is published there.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createPublicKey, verify } from "node:crypto";
import { createServer } from "node:http";

/** What was signed; null if it is older than five minutes. The body is a Buffer. */
export function signedText(headers, body) {
  const sent = String(headers["webhook-timestamp"]);
  const fresh = /^\d{1,12}$/.test(sent) && Math.abs(Date.now() / 1000 - Number(sent)) <= 300;
  return fresh ? Buffer.concat([Buffer.from(`${headers["webhook-id"]}.${sent}.`), body]) : null;
}

/** Whether one of the secrets signed exactly these bytes. */
export function verified(secrets, headers, body) {
  const text = signedText(headers, body);
  const given = String(headers["webhook-signature"]).split(" ").map((one) => Buffer.from(one));
  return text !== null && secrets.some((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    const expected = Buffer.from(`v1,${createHmac("sha256", key).update(text).digest("base64")}`);
    const known = key.length >= 24; // an unset variable is no secret
    return known && given.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
  });
}

/** The keys of an endpoint. Keep them for five minutes. */
export async function publishedKeys(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  return (await answer.json()).keys.map((key) => createPublicKey({ key, format: "jwk" }));
}

/** Whether one of the keys signed exactly these bytes. */
export function verifiedByKey(keys, headers, body) {
  const text = signedText(headers, body);
  const signatures = String(headers["webhook-signature"]).split(" ").filter((one) => one.startsWith("v1a,"));
  const given = signatures.map((one) => Buffer.from(one.slice(4), "base64"));
  return text !== null && keys.some((key) => given.some((one) => verify(null, text, key, one)));
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
