/** A webhook that cannot be trusted: answer 401. */
export class InvalidSignature extends Error {
    name = "InvalidSignature";
}
/** The event of a delivery that a holder of one of the secrets signed, not more than `tolerance` seconds from now.
 *
 * `body` is the request's bytes or text as received, before any parsing. While a secret is replaced, give the old and
 * the new one. Throws InvalidSignature (answer 401), SyntaxError when the signature holds and the body is no event,
 * TypeError when a secret cannot be one. */
export async function verify(body, headers, secrets, { tolerance = 300, now = Date.now() / 1000 } = {}) {
    if (!secrets?.length)
        throw new TypeError("there is no secret");
    const [id, sent, signatures] = ["id", "timestamp", "signature"].map((name) => header(headers, `webhook-${name}`));
    if (!id || !signatures)
        throw new InvalidSignature("a header of Standard Webhooks is missing");
    if (!/^\d{1,12}$/.test(sent))
        throw new InvalidSignature("webhook-timestamp is not a number");
    const text = typeof body === "string" ? new TextEncoder().encode(body) : body;
    const head = new TextEncoder().encode(`${id}.${sent}.`);
    const signed = new Uint8Array(head.length + text.length);
    signed.set(head);
    signed.set(text, head.length);
    const { subtle } = globalThis.crypto ?? (await import("node:crypto")).webcrypto;
    const given = signatures.split(" ").filter((one) => one.startsWith("v1,")).map((one) => bytes(one.slice(3)));
    let matching = false;
    for (const secret of typeof secrets === "string" ? [secrets] : secrets) {
        const raw = bytes(secret.replace(/^whsec_/, ""));
        if (!raw || raw.length < 24)
            throw new TypeError("a secret is not whsec_ and the base64 of at least 24 bytes");
        const key = await subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
        for (const one of given)
            if (one && (await subtle.verify("HMAC", key, one, signed)))
                matching = true; // in constant time
    }
    if (!matching)
        throw new InvalidSignature("webhook-signature does not match: another secret, or the body was changed on its way");
    if (Math.abs(now - Number(sent)) > tolerance)
        throw new InvalidSignature("webhook-timestamp is too far from now: a recording, or a wrong clock");
    const { event, timestamp, data } = JSON.parse(new TextDecoder().decode(text));
    return { kind: event, id, timestamp: new Date(timestamp), data, test: header(headers, "x-service-test") === "true" };
}
function header(headers, name) {
    if (headers instanceof Headers)
        return headers.get(name) ?? "";
    const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
    return (typeof found === "string" ? found : found?.[0]) ?? "";
}
function bytes(base64) {
    try {
        return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
    }
    catch {
        return null;
    }
}
