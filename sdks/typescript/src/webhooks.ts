// Verification of webhook messages by Standard Webhooks 1.0.0. It uses WebCrypto, whose comparison takes the same time
// for every signature. It never parses a body whose signature it has not verified, and does not detect repetitions.
import { WebhookVerificationError } from "./errors.js";
import type { AttemptStatus } from "./models.js";

/** What an event about a verification contains. */
export interface VerificationEventData {
  externalUserId: string;
  groupingId: string | null;
  flowId: string;
  sessionId: string | null;
  facemapId: string | null;
  /** The number of the attempt in the account and mode. */
  logId: number;
  /** Counts the events of one registration. Events may arrive in another order. */
  sequence: number;
  status: AttemptStatus;
  success: boolean;
  /** Failure codes. */
  codes: number[];
  isSandbox: boolean;
}

interface Message<Type extends string, Data> {
  /** The id of the event, the same in every delivery: use it to drop repetitions. */
  id: string;
  type: Type;
  /** ISO 8601, UTC. */
  timestamp: string;
  data: Data;
}

/** An event about a verification. */
export type VerificationEvent = Message<
  | "verification.completed"
  | "verification.review_required"
  | "verification.review_decided"
  | "verification.rescreened",
  VerificationEventData
>;
/** A test message, which a person or a command requested. */
export type TestEvent = Message<"webhook.test", { flowId: string; isSandbox: boolean }>;
/** A verified message. Check `type`. */
export type WebhookEvent = VerificationEvent | TestEvent;

/** The headers of the request: of `node:http`, of Express, or a `Headers` object. */
export type WebhookHeaders = { get(name: string): string | null } | Record<string, string | readonly string[] | undefined>;

/** Options of {@link verifyWebhook}. */
export interface VerifyWebhookOptions {
  /** How far the message's time may be from now in either direction; by default 300 seconds. */
  toleranceSeconds?: number;
  /** The current time in milliseconds; by default that of the system. */
  now?: number;
}

type Bytes = Uint8Array<ArrayBuffer>;

const DEFAULT_TOLERANCE_SECONDS = 300;
/** A message has one signature, or two during a rotation. */
const MAX_SIGNATURES = 16;
const encoder = new TextEncoder();

/**
 * Verifies a message and returns its event. Pass the body exactly as it arrived, before any JSON parser. Pass several
 * secrets if the messages of several Flows arrive at one address, or during a rotation.
 *
 * @throws WebhookVerificationError if the message is not authentic or outside the time window: answer with 400.
 * @throws TypeError if a secret is not `whsec_…`.
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  options: VerifyWebhookOptions = {},
): Promise<WebhookEvent> {
  const keys = (typeof secrets === "string" ? [secrets] : secrets).map(keyOf);
  if (!keys.length) throw new TypeError("secrets must contain at least one secret");
  const id = header(headers, "webhook-id");
  const timestamp = header(headers, "webhook-timestamp");
  const signatures = header(headers, "webhook-signature");
  checkTime(timestamp, options);

  const body = typeof rawBody === "string" ? encoder.encode(rawBody) : rawBody;
  const signed = joined(encoder.encode(`${id}.${timestamp}.`), body);
  if (!(await isSigned(signed, signatures, keys))) {
    throw new WebhookVerificationError("no_match", "No signature of the message matches a secret and the body as it arrived");
  }
  return eventOf(id, body);
}

function header(headers: WebhookHeaders, name: string): string {
  let value: string | readonly string[] | null | undefined;
  if (typeof headers.get === "function") {
    value = headers.get(name);
  } else {
    value = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  }
  const one = typeof value === "string" ? value : value?.length === 1 ? value[0] : undefined;
  if (!one) throw new WebhookVerificationError("missing_header", `The header ${name} is missing or repeated`);
  return one;
}

function checkTime(timestamp: string, options: VerifyWebhookOptions): void {
  const { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, now = Date.now() } = options;
  if (!(toleranceSeconds >= 0)) throw new TypeError("toleranceSeconds must be a number from 0");
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookVerificationError("invalid_timestamp", "The header webhook-timestamp is not a time in seconds");
  }
  const age = Math.floor(now / 1000) - Number(timestamp);
  if (age > toleranceSeconds) throw new WebhookVerificationError("too_old", `The message is ${age} seconds old`);
  if (-age > toleranceSeconds) throw new WebhookVerificationError("too_new", `The message is ${-age} seconds in the future`);
}

async function isSigned(signed: Bytes, header: string, keys: readonly Bytes[]): Promise<boolean> {
  const signatures = header
    .split(" ")
    .slice(0, MAX_SIGNATURES)
    .flatMap((part) => (part.startsWith("v1,") ? (fromBase64(part.slice(3)) ?? []) : []));
  for (const bytes of keys) {
    const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    for (const signature of signatures) {
      if (await crypto.subtle.verify("HMAC", key, signature, signed)) return true;
    }
  }
  return false;
}

function eventOf(id: string, body: Uint8Array): WebhookEvent {
  try {
    const { type, timestamp, data } = JSON.parse(new TextDecoder().decode(body));
    if (typeof type === "string" && typeof timestamp === "string" && typeof data === "object" && data !== null) {
      return { id, type, timestamp, data } as WebhookEvent;
    }
  } catch {
    // Reported below.
  }
  throw new WebhookVerificationError("not_an_event", "The message is signed, but it is not an event of Bonafide");
}

function keyOf(secret: string): Bytes {
  const key = typeof secret === "string" && secret.startsWith("whsec_") ? fromBase64(secret.slice("whsec_".length)) : undefined;
  if (!key?.length) throw new TypeError("A webhook secret must be whsec_ followed by base64");
  return key;
}

function fromBase64(text: string): Bytes | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function joined(first: Uint8Array, second: Uint8Array): Bytes {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
