import { errorOf, LeadwireError, Unreachable } from "./errors.js";
const PASSING = new Set([429, 502, 503, 504]);
/** The attempts of one call; those that are endless go on until it succeeds. */
export class Attempts {
    options;
    endless;
    #made = 0;
    #end;
    constructor(options, endless = false) {
        this.options = options;
        this.endless = endless;
        this.#end = endless ? Infinity : Date.now() + (options.retry?.deadline ?? 60_000);
    }
    /** Milliseconds that the next attempt may take; so many seconds more as the server `waits`, because it was asked to. */
    timeout(longest, waits) {
        return Math.max(1, Math.min(longest + waits * 1000, this.#end - Date.now()));
    }
    /** Wait for the next attempt. Throws the error where it was the last, and what ended the signal. */
    async rest(error, signal) {
        signal?.throwIfAborted();
        const { attempts = Infinity, deadline = 60_000, firstWait = 500, longestWait = 8_000 } = this.options.retry ?? {};
        if (!(error instanceof LeadwireError) || !this.#passing(error))
            throw error;
        const told = Math.min((error.retryAfter ?? 0) * 1000, this.endless ? deadline : Infinity);
        const grown = Math.min(longestWait, firstWait * 2 ** this.#made++) * (1 - Math.random() / 2);
        const wait = Math.max(grown, told && told + Math.random() * firstWait);
        if (this.#made >= attempts || Date.now() + wait >= this.#end)
            throw error;
        this.options.onRetry?.(error, wait);
        await pause(wait, signal);
    }
    #passing(error) {
        if (error instanceof Unreachable || (this.endless && error.status >= 500))
            return true;
        return PASSING.has(error.status) || error.code === "idempotency_in_progress";
    }
}
/** To one server with one key. Sends, waits and sends again: every change carries an Idempotency-Key. */
export class Connection {
    #key;
    #base;
    timeout;
    #options;
    #fetch;
    constructor(key, baseUrl, options = {}) {
        if (!key || !baseUrl)
            throw new TypeError(`the ${key ? "address" : "API key"} is missing`);
        if (/[^!-~]/.test(key))
            throw new TypeError("the API key has spaces, line ends or characters other than ASCII");
        if (!/^https?:$/.test(new URL(baseUrl).protocol))
            throw new TypeError("the address begins with neither http: nor https:");
        this.#key = key;
        this.#base = baseUrl.replace(/\/+$/, "");
        this.timeout = options.timeout ?? 30_000;
        this.#options = options;
        this.#fetch = options.fetch ?? ((...given) => fetch(...given));
    }
    attempts(endless = false) {
        return new Attempts(this.#options, endless);
    }
    /** The body of a good response, and its headers, asked for again where that may help. Throws LeadwireError. */
    async send(method, path, asked = {}) {
        for (const attempts = this.attempts(asked.endless);;) {
            try {
                return await this.ask(method, path, asked, attempts, async (response) => JSON.parse(await response.text()));
            }
            catch (error) {
                await attempts.rest(error, asked.signal);
            }
        }
    }
    /** What `read` makes of a good response, asked for one time. Throws LeadwireError. */
    async ask(method, path, { query, body, headers, signal }, attempts, read) {
        const { wait: waits = 0 } = (query ?? {});
        const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
        const search = new URLSearchParams(given.map(([name, value]) => [name, value instanceof Date ? value.toISOString() : String(value)])).toString();
        const url = `${this.#base}${path}${search && `?${search}`}`;
        const request = {
            method,
            headers: { authorization: `Bearer ${this.#key}`, accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
            ...(body === undefined ? {} : { body: JSON.stringify(body, finite) }),
        };
        const late = new AbortController();
        const timer = setTimeout(() => late.abort(new Error("timeout")), attempts.timeout(this.timeout, waits));
        const stop = () => late.abort(signal?.reason);
        signal?.addEventListener("abort", stop);
        try {
            signal?.throwIfAborted();
            const response = await this.#fetch(url, { ...request, signal: late.signal });
            if (!response.ok)
                throw await errorOf(response);
            return { headers: response.headers, body: await read(response) };
        }
        catch (error) {
            signal?.throwIfAborted();
            if (error instanceof LeadwireError)
                throw error;
            throw new Unreachable(`${method} ${url}: ${error instanceof Error ? error.message : error}`, error);
        }
        finally {
            clearTimeout(timer);
            signal?.removeEventListener("abort", stop);
        }
    }
}
/** JSON has no NaN and no infinity; `null`, which `JSON.stringify` makes of them, would clear a field. */
function finite(_name, value) {
    if (typeof value === "number" && !Number.isFinite(value))
        throw new TypeError(`JSON has no ${value}`);
    return value;
}
/** The header that makes a change happen once. */
export function once(options = {}) {
    const random = Array.from({ length: 4 }, () => Math.floor(Math.random() * 2 ** 32).toString(16).padStart(8, "0"));
    return { "idempotency-key": options.idempotencyKey ?? globalThis.crypto?.randomUUID?.() ?? random.join("") };
}
/** What a promise brings in time, unless the signal ends it first. */
export function within(work, milliseconds, signal) {
    return new Promise((resolve, reject) => {
        const stop = () => reject(signal?.reason);
        if (signal?.aborted)
            stop();
        const timer = setTimeout(() => reject(new Unreachable("timeout")), milliseconds);
        signal?.addEventListener("abort", stop);
        work.then(resolve, reject).finally(() => { clearTimeout(timer); signal?.removeEventListener("abort", stop); });
    });
}
/** Wait, unless the signal ends it. */
export function pause(milliseconds, signal) {
    return new Promise((resolve, reject) => {
        const stop = () => { clearTimeout(timer); reject(signal?.reason); };
        const timer = setTimeout(() => { signal?.removeEventListener("abort", stop); resolve(); }, milliseconds);
        signal?.addEventListener("abort", stop, { once: true });
    });
}
