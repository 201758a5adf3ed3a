// Which failures are worth another attempt, and after which delay. It is pure, and knows neither the network nor time.
import { ApiError, ConflictError, ConnectionError } from "./errors.js";

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 8_000;
/** A longer `Retry-After` is the caller's to wait for. */
const LONGEST_RETRY_AFTER_MS = 30_000;
const REPEATABLE = [429, 502, 503, 504];

/** What is known about a failed attempt. */
export interface Failure {
  readonly error: unknown;
  /** The number of attempts that failed, this one included. */
  readonly attempts: number;
  /** Whether an earlier attempt of the same call may have reached the server without a response. */
  readonly wasLost: boolean;
}

/** Whether the server may have processed an attempt whose response did not arrive. */
export function isLost(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && [502, 504].includes(error.status));
}

/**
 * The delay before the next attempt in milliseconds, with full jitter, or undefined if there should be none. It is only
 * for requests that are safe to repeat.
 */
export function delayBeforeRetry({ error, attempts, wasLost }: Failure, random = Math.random): number | undefined {
  const backoff = random() * Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempts - 1));
  if (error instanceof ConnectionError) return backoff;
  if (!(error instanceof ApiError)) return undefined;
  // The server is still processing the lost attempt; its response follows under the same idempotency key.
  if (error instanceof ConflictError && wasLost) return backoff;
  if (!REPEATABLE.includes(error.status)) return undefined;
  const wait = (error.retryAfterSeconds ?? 0) * 1000;
  return wait > LONGEST_RETRY_AFTER_MS ? undefined : wait + backoff;
}
