import { LeadwireError } from "./errors.js";
/** How stubborn one call is; times in milliseconds. `{ attempts: 1 }` never repeats.
 *
 * What follows without end has no deadline: it is told to wait for `deadline` at most, and begins with `firstWait` again
 * after a success. `attempts` bounds its failures in a row. */
export interface Retry {
    /** Requests at the most, the first included: no bound but the deadline. */
    attempts?: number;
    /** For the whole call, waits included: 60,000. */
    deadline?: number;
    /** The first wait at the most, doubled each time; up to half of it is taken off at random: 500. */
    firstWait?: number;
    /** 8,000. */
    longestWait?: number;
}
export interface Options {
    /** For one request, in milliseconds: 30,000. One that is asked to wait has so much more. */
    timeout?: number;
    retry?: Retry;
    /** Told before each wait: why, and for how many milliseconds. */
    onRetry?: (error: LeadwireError, wait: number) => void;
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
    /** Ask until there is an answer. */
    endless?: boolean;
}
type Read<R> = (response: Response) => R | Promise<R>;
type Good<R> = {
    headers: Headers;
    body: R;
};
/** The attempts of one call; those that are endless go on until it succeeds. */
export declare class Attempts {
    #private;
    private readonly options;
    private readonly endless;
    constructor(options: Options, endless?: boolean);
    /** Milliseconds that the next attempt may take; so many seconds more as the server `waits`, because it was asked to. */
    timeout(longest: number, waits: number): number;
    /** Wait for the next attempt. Throws the error where it was the last, and what ended the signal. */
    rest(error: unknown, signal?: AbortSignal): Promise<void>;
}
/** To one server with one key. Sends, waits and sends again: every change carries an Idempotency-Key. */
export declare class Connection {
    #private;
    readonly timeout: number;
    constructor(key: string | undefined, baseUrl: string | undefined, options?: Options);
    attempts(endless?: boolean): Attempts;
    /** The body of a good response, and its headers, asked for again where that may help. Throws LeadwireError. */
    send<T>(method: string, path: string, asked?: Asked): Promise<Good<T>>;
    /** What `read` makes of a good response, asked for one time. Throws LeadwireError. */
    ask<R>(method: string, path: string, { query, body, headers, signal }: Asked, attempts: Attempts, read: Read<R>): Promise<Good<R>>;
}
/** The header that makes a change happen once. */
export declare function once(options?: ChangeOptions): Record<string, string>;
/** What a promise brings in time, unless the signal ends it first. */
export declare function within<T>(work: Promise<T>, milliseconds: number, signal?: AbortSignal): Promise<T>;
/** Wait, unless the signal ends it. */
export declare function pause(milliseconds: number, signal?: AbortSignal): Promise<void>;
export {};
