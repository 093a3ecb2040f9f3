// A receiver of Leadwire's webhooks. Run: SECRET=whsec_... PORT=9000 node receiver.mjs

import { createHmac, timingSafeEqual } from "node:crypto";
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

createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  const genuine = verified((process.env.SECRET ?? "").split(","), request.headers, body);
  response.writeHead(genuine ? 204 : 401).end();
  // Later, and once for each webhook-id: an event may come again.
  if (genuine) console.log(request.headers["webhook-id"], JSON.parse(body.toString()).event);
}).listen(Number(process.env.PORT), "127.0.0.1");
