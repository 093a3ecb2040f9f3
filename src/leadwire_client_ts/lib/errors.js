/** An error response of the API. Rely on `code`: `/docs/errors` of your installation explains each. */
export class LeadwireError extends Error {
    status;
    code;
    requestId;
    errors;
    conflictingId;
    retryAfter;
    name = "LeadwireError";
    constructor(message, status, code, 
    /** Names the request in the logs of the server. */
    requestId, 
    /** What is wrong with each value, where that is the error. */
    errors = [], 
    /** The lead that has the e-mail address already, with `lead_conflict`. */
    conflictingId, 
    /** Seconds to wait before the next try. */
    retryAfter) {
        super(message);
        this.status = status;
        this.code = code;
        this.requestId = requestId;
        this.errors = errors;
        this.conflictingId = conflictingId;
        this.retryAfter = retryAfter;
    }
}
/** There was no response, or one that is none of the API. `cause` has the error of `fetch`. */
export class Unreachable extends LeadwireError {
    name = "Unreachable";
    constructor(message, cause) {
        super(message, 0, "unreachable", "");
        this.cause = cause;
    }
}
/** The error that a response is. */
export async function errorOf(response) {
    const told = response.headers.get("retry-after") ?? ""; // seconds, or an HTTP date
    const after = /^\d+$/.test(told) ? Number(told) : (Date.parse(told) - Date.now()) / 1000;
    const retryAfter = Number.isFinite(after) ? Math.max(0, after) : undefined;
    try {
        const { title, detail, code, request_id, errors, conflicting_id } = JSON.parse(await response.text());
        if (typeof code !== "string")
            throw new TypeError("no code");
        const faults = errors ?? [];
        const named = faults.map((fault) => ` ${fault.pointer ?? fault.parameter}: ${fault.message}`).join("");
        const text = `${response.status} ${code}: ${detail ?? title}${named} (request ${request_id})`;
        return new LeadwireError(text, response.status, code, request_id, faults, conflicting_id ?? undefined, retryAfter);
    }
    catch {
        const id = response.headers.get("x-request-id") ?? "";
        return new LeadwireError(`${response.status} ${response.statusText}`, response.status, `http_${response.status}`, id, [], undefined, retryAfter);
    }
}
