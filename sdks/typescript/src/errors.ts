// The errors of this package, and how a response of the server becomes one. Errors never contain credentials.

/** A fault of a request. */
export interface Fault {
  /** The field or parameter, if the server names one. */
  readonly field: string | undefined;
  /** What is wrong, as the server states it. */
  readonly message: string;
}

/** What an {@link ApiError} consists of. */
export interface ApiErrorDetails {
  readonly status: number;
  readonly message: string;
  readonly code?: string | undefined;
  readonly faults?: readonly Fault[];
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly body?: unknown;
}

/** The base class of all errors of this package, except a `TypeError` for a wrong argument. */
export class BonafideError extends Error {
  override name = "BonafideError";
}

/** There was no complete response: the server cannot be reached, or the connection was lost. `cause` states why. */
export class ConnectionError extends BonafideError {
  override name = "ConnectionError";
}

/** The response took longer than `timeoutMs`. */
export class TimeoutError extends ConnectionError {
  override name = "TimeoutError";
}

/** The server refused the request, or could not process it. */
export class ApiError extends BonafideError {
  override name = "ApiError";
  /** The HTTP status. */
  readonly status: number;
  /** A word for programs, such as `invalid_credentials`. Only links, sessions and invitations have one. */
  readonly code: string | undefined;
  /** What is wrong, one entry per fault. Empty if the server names no single fault. */
  readonly faults: readonly Fault[];
  /** The id by which the operator finds the request in the log. */
  readonly requestId: string | undefined;
  /** When to try again, if the server states it. */
  readonly retryAfterSeconds: number | undefined;
  readonly #body: unknown;

  constructor(details: ApiErrorDetails) {
    super(details.message);
    this.status = details.status;
    this.code = details.code;
    this.faults = details.faults ?? [];
    this.requestId = details.requestId;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.#body = details.body;
  }

  /** The field of the first fault that names one. */
  get field(): string | undefined {
    return this.faults.find((fault) => fault.field !== undefined)?.field;
  }

  /** The body as the server sent it: parsed JSON, otherwise text. */
  get body(): unknown {
    return this.#body;
  }
}

/** The request must be changed: 400, 405, 408, 410, 413 and 422, and 501 for an unsupported document. */
export class InvalidRequestError extends ApiError {
  override name = "InvalidRequestError";
}

/** API key or secret are missing or wrong: 401, and the 400 of Groups, Flows, links and sessions. */
export class AuthenticationError extends ApiError {
  override name = "AuthenticationError";
}

/** 403: the account or the key may not do this, or a jurisdiction is restricted. */
export class PermissionError extends ApiError {
  override name = "PermissionError";
}

/** 404: no such object exists in the account and mode of the key. */
export class NotFoundError extends ApiError {
  override name = "NotFoundError";
}

/** 409: a name is taken, the state does not permit the action, or the same idempotent request is still running. */
export class ConflictError extends ApiError {
  override name = "ConflictError";
}

/** 429: too many requests. See `retryAfterSeconds`. */
export class RateLimitError extends ApiError {
  override name = "RateLimitError";
}

/** 5xx: the server or a source of it failed or is busy. The result is unknown; never treat it as "not found". */
export class ServerError extends ApiError {
  override name = "ServerError";
}

/** Why {@link WebhookVerificationError} was thrown. */
export type WebhookFailure = "missing_header" | "invalid_timestamp" | "too_old" | "too_new" | "no_match" | "not_an_event";

/** A webhook message is not authentic, or is outside the time window. Answer it with 400. */
export class WebhookVerificationError extends BonafideError {
  override name = "WebhookVerificationError";

  constructor(
    readonly reason: WebhookFailure,
    message: string,
  ) {
    super(message);
  }
}

const WRONG_CREDENTIALS = "Invalid API key/secret combination";
const NAMED_FAULT = /^([a-z][\w.[\]]*|Idempotency-Key)(?: - | (?=cannot |file |is required|required))(.*)$/s;

/** The error for a response that is not a success. */
export function errorOf(response: Response, text: string): ApiError {
  const details = detailsOf(response, text);
  const { status } = details;
  if (status === 401 || details.code === "invalid_credentials" || (status === 400 && details.message === WRONG_CREDENTIALS)) {
    return new AuthenticationError(details);
  }
  switch (status) {
    case 403:
      return new PermissionError(details);
    case 404:
      return new NotFoundError(details);
    case 409:
      return new ConflictError(details);
    case 429:
      return new RateLimitError(details);
    case 501:
      return new InvalidRequestError(details);
    default:
      if (status >= 500) return new ServerError(details);
      return status >= 400 ? new InvalidRequestError(details) : new ApiError(details);
  }
}

function detailsOf(response: Response, text: string): ApiErrorDetails {
  const body = parsed(text);
  const faults = faultsOf(body);
  const sent = stringIn(body, "message") ?? stringIn(body, "description") ?? stringIn(body, "detail");
  const word = stringIn(body, "error");
  const summary = sent ?? word ?? (faults.length ? "Validation failed" : unexpected(response));
  const listed = faults.map(({ field, message }) => (field && !message.includes(field) ? `${field}: ${message}` : message));
  return {
    status: response.status,
    message: listed.length ? `${summary}: ${listed.join("; ")}` : summary,
    // A 401 has `error` without a message: then it is a sentence and not a word.
    code: sent === undefined ? undefined : word,
    faults,
    requestId: response.headers.get("x-request-id") ?? undefined,
    retryAfterSeconds: retryAfterSeconds(response.headers),
    body,
  };
}

/** The text for a response that this server does not send, such as that of a proxy. */
function unexpected(response: Response): string {
  const location = response.headers.get("location");
  if (response.status < 400 && location !== null) return `The server redirects to ${location}: correct baseUrl`;
  return `Unexpected response with status ${response.status}: check that baseUrl leads to a Bonafide server`;
}

function faultsOf(body: unknown): Fault[] {
  if (typeof body !== "object" || body === null) return [];
  const { errors, detail } = body as { errors?: unknown; detail?: unknown };
  if (Array.isArray(errors)) return errors.map((error) => faultOf(String(error)));
  if (!Array.isArray(detail)) return [];
  return detail.map((fault: { loc?: unknown; msg?: unknown }) => ({
    field: Array.isArray(fault.loc) && fault.loc.length ? fault.loc.join(".") : undefined,
    message: String(fault.msg),
  }));
}

/** A fault such as `query - query contains invalid characters`, `firstName cannot be empty` or `dob is required`. */
function faultOf(text: string): Fault {
  return { field: NAMED_FAULT.exec(text)?.[1], message: text };
}

/** The value of `Retry-After` in seconds. The server sends seconds; a proxy may send a date. */
export function retryAfterSeconds(headers: Headers, now = Date.now()): number | undefined {
  const value = headers.get("retry-after")?.trim();
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Number(value);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - now) / 1000));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function stringIn(body: unknown, member: string): string | undefined {
  const value = typeof body === "object" && body !== null ? (body as Record<string, unknown>)[member] : undefined;
  return typeof value === "string" ? value : undefined;
}
