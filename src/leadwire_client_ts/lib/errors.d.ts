/** An error response of the API. Rely on `code`: `/docs/errors` of your installation explains each. */
export declare class LeadwireError extends Error {
    readonly status: number;
    readonly code: string;
    /** Names the request in the logs of the server. */
    readonly requestId: string;
    /** What is wrong with each value, where that is the error. */
    readonly errors: readonly {
        code: string;
        message: string;
        pointer?: string | null;
        parameter?: string | null;
    }[];
    /** The lead that has the e-mail address already, with `lead_conflict`. */
    readonly conflictingId?: string | undefined;
    /** Seconds to wait before the next try. */
    readonly retryAfter?: number | undefined;
    readonly name: string;
    constructor(message: string, status: number, code: string, 
    /** Names the request in the logs of the server. */
    requestId: string, 
    /** What is wrong with each value, where that is the error. */
    errors?: readonly {
        code: string;
        message: string;
        pointer?: string | null;
        parameter?: string | null;
    }[], 
    /** The lead that has the e-mail address already, with `lead_conflict`. */
    conflictingId?: string | undefined, 
    /** Seconds to wait before the next try. */
    retryAfter?: number | undefined);
}
/** There was no response, or one that is none of the API. `cause` has the error of `fetch`. */
export declare class Unreachable extends LeadwireError {
    readonly name = "Unreachable";
    constructor(message: string, cause?: unknown);
}
/** The error that a response is. */
export declare function errorOf(response: Response): Promise<LeadwireError>;
