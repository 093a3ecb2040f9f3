/** An error response of the API. Rely on `code`: `/docs/errors` of your installation explains each. */
export class LeadwireError extends Error {
  override readonly name: string = "LeadwireError";
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    /** Names the request in the logs of the server. */
    readonly requestId: string,
    /** What is wrong with each value, where that is the error. */
    readonly errors: readonly { code: string; message: string; pointer?: string | null; parameter?: string | null }[] = [],
    /** The lead that has the e-mail address already, with `lead_conflict`. */
    readonly conflictingId?: string,
    /** Seconds to wait before the next try. */
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}

/** There was no response, or one that is none of the API. `cause` has the error of `fetch`. */
export class Unreachable extends LeadwireError {
  override readonly name = "Unreachable";
  constructor(message: string, cause?: unknown) {
    super(message, 0, "unreachable", "");
    this.cause = cause;
  }
}

/** The error that a response is. */
export async function errorOf(response: Response): Promise<LeadwireError> {
  const told = response.headers.get("retry-after") ?? ""; // seconds, or an HTTP date
  const after = /^\d+$/.test(told) ? Number(told) : (Date.parse(told) - Date.now()) / 1000;
  const retryAfter = Number.isFinite(after) ? Math.max(0, after) : undefined;
  try {
    const { title, detail, code, request_id, errors, conflicting_id } = JSON.parse(await response.text());
    if (typeof code !== "string") throw new TypeError("no code");
    const faults: LeadwireError["errors"] = errors ?? [];
    const named = faults.map((fault) => ` ${fault.pointer ?? fault.parameter}: ${fault.message}`).join("");
    const text = `${response.status} ${code}: ${detail ?? title}${named} (request ${request_id})`;
    return new LeadwireError(text, response.status, code, request_id, faults, conflicting_id ?? undefined, retryAfter);
  } catch {
    const id = response.headers.get("x-request-id") ?? "";
    return new LeadwireError(`${response.status} ${response.statusText}`, response.status, `http_${response.status}`, id, [], undefined, retryAfter);
  }
}
