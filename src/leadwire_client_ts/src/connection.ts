import { errorOf, LeadwireError, Unreachable } from "./errors.js";

/** How stubborn one call is; times in milliseconds. `{ attempts: 1 }` never repeats. */
export interface Retry {
  /** Requests at the most, the first included: 4. */
  attempts?: number;
  /** For the whole call, waits included: 60,000. */
  deadline?: number;
  /** The first wait at the most, doubled each time: 500. */
  firstWait?: number;
  /** 8,000. */
  longestWait?: number;
}

export interface Options {
  /** For one request, in milliseconds: 30,000. */
  timeout?: number;
  retry?: Retry;
  /** Instead of the global one, for tests or a proxy. */
  fetch?: typeof fetch;
}

/** What one call can be given. */
export interface CallOptions {
  /** Ends the call, also amid a wait. */
  signal?: AbortSignal;
}

/** What a change can be given, besides. */
export interface ChangeOptions extends CallOptions {
  /** The name of the change, so that it happens once: by default a new one, the same at each attempt. */
  idempotencyKey?: string;
}

export interface Asked extends CallOptions {
  query?: object | undefined;
  body?: unknown;
  headers?: Record<string, string>;
}

type Read<R> = (response: Response) => R | Promise<R>;
type Good<R> = { headers: Headers; read: R };

const PASSING = new Set([429, 502, 503, 504]);

/** To one server with one key. Sends, waits and sends again: every change carries an Idempotency-Key. */
export class Connection {
  readonly #key: string;
  readonly #base: string;
  readonly timeout: number;
  readonly #retry: Required<Retry>;
  readonly #fetch: typeof fetch;

  constructor(key: string | undefined, baseUrl: string | undefined, options: Options = {}) {
    if (!key || !baseUrl) throw new TypeError(`the ${key ? "address" : "API key"} is missing`);
    this.#key = key;
    this.#base = baseUrl.replace(/\/+$/, "");
    this.timeout = options.timeout ?? 30_000;
    this.#retry = { attempts: 4, deadline: 60_000, firstWait: 500, longestWait: 8_000, ...options.retry };
    this.#fetch = options.fetch ?? ((...given) => fetch(...given));
  }

  /** The body of a good response, and its headers. Throws LeadwireError. */
  async send<T>(method: string, path: string, asked: Asked = {}): Promise<{ body: T; headers: Headers }> {
    const { headers, read } = await this.raw(method, path, asked, (response) => response.text());
    try {
      return { body: JSON.parse(read) as T, headers };
    } catch (error) {
      throw new Unreachable(`${method} ${path}: the response is no JSON`, error);
    }
  }

  /** What `read` makes of a good response. Throws LeadwireError. */
  async raw<R>(method: string, path: string, { query, body, headers, signal }: Asked, read: Read<R>): Promise<Good<R>> {
    const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
    const search = new URLSearchParams(given.map(([name, value]) => [name, value instanceof Date ? value.toISOString() : String(value)]));
    const request: RequestInit = {
      method,
      headers: { authorization: `Bearer ${this.#key}`, accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    const end = Date.now() + this.#retry.deadline;
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#once(`${this.#base}${path}${search.size ? `?${search}` : ""}`, request, end, read, signal);
      if (!(outcome instanceof LeadwireError)) return outcome;
      const passing = outcome instanceof Unreachable || PASSING.has(outcome.status) || outcome.code === "idempotency_in_progress";
      const grown = Math.min(this.#retry.longestWait, this.#retry.firstWait * 2 ** (attempt - 1));
      const wait = (outcome.retryAfter === undefined ? 0 : outcome.retryAfter * 1000) + Math.random() * (outcome.retryAfter === undefined ? grown : this.#retry.firstWait);
      if (!passing || attempt >= this.#retry.attempts || Date.now() + wait >= end) throw outcome;
      await pause(wait, signal);
    }
  }

  async #once<R>(url: string, request: RequestInit, end: number, read: Read<R>, signal?: AbortSignal): Promise<Good<R> | LeadwireError> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error("timeout")), Math.max(1, Math.min(this.timeout, end - Date.now())));
    const stop = () => late.abort(signal?.reason);
    signal?.addEventListener("abort", stop);
    try {
      signal?.throwIfAborted();
      const response = await this.#fetch(url, { ...request, signal: late.signal });
      return response.ok ? { headers: response.headers, read: await read(response) } : await errorOf(response);
    } catch (error) {
      signal?.throwIfAborted();
      return new Unreachable(`${request.method} ${url}: ${error instanceof Error ? error.message : error}`, error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }
}

/** The header that makes a change happen once. */
export function once(options: ChangeOptions = {}): Record<string, string> {
  const random = Array.from({ length: 4 }, () => Math.floor(Math.random() * 2 ** 32).toString(16).padStart(8, "0"));
  return { "idempotency-key": options.idempotencyKey ?? globalThis.crypto?.randomUUID?.() ?? random.join("") };
}

/** What a promise brings in time, unless the signal ends it first. */
export function within<T>(work: Promise<T>, milliseconds: number, signal?: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = () => reject(signal?.reason);
    if (signal?.aborted) stop();
    const timer = setTimeout(() => reject(new Unreachable("timeout")), milliseconds);
    signal?.addEventListener("abort", stop);
    work.then(resolve, reject).finally(() => { clearTimeout(timer); signal?.removeEventListener("abort", stop); });
  });
}

/** Wait, unless the signal ends it. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => { clearTimeout(timer); reject(signal?.reason); };
    const timer = setTimeout(() => { signal?.removeEventListener("abort", stop); resolve(); }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
