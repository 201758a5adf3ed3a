// The server's endpoints that the page calls. The only state here is the access token.
import { boot } from "./boot.js";

/**
 * @typedef {{alpha2: string, alpha3: string, name: string, restricted: boolean, fields: string[],
 *   types: {type: string, supported: boolean, needsBack: boolean, hasOneSidedVariant: boolean}[]}} Country
 * @typedef {{status: "approved" | "pending" | "failed", codes: number[], isUnexpected?: boolean, at: string}} Outcome
 * @typedef {{session_id: string, status: string, stage: string, attempts: number, maxAttempts: number, expiresAt: string | number,
 *   is_sandbox: boolean, userId: string, groupId: string, flowId: string, defaultFields: Record<string, boolean>,
 *   defaultDocumentTypes: string[], biometricType: string, documentUploadType: string, detailsFirst: boolean,
 *   merchant: import("./boot.js").Merchant, consent: {version: string, accepted: boolean} | null,
 *   outcome: Outcome | null, handoff: {state: "waiting" | "claimed", step: string | null} | null, receivedAt?: number, canStartAgain: boolean}} Current
 * @typedef {{access_token: string, session_id: string, expires_in: number, number?: string}} Exchange
 */

/** Maximum time of a request of the challenge. A connection that broke silently ends then, and the request is repeated. */
const CHALLENGE_MS = 10_000;

/** Maximum time of a reading, including its upload. The person can go on without it. */
const READING_MS = 45_000;

/** An unsuccessful response. Status 0 means that there was no response. */
export class ApiError extends Error {
  /** @param {number} status @param {any} body @param {number} [retryAfter] seconds */
  constructor(status, body, retryAfter = 0) {
    super(`${status} ${body?.error ?? ""}`);
    this.status = status;
    this.body = body ?? {};
    this.retryAfter = retryAfter;
  }
}

let accessToken = "";
/** @param {string} token */
export const useToken = (token) => void (accessToken = token);

/**
 * @param {string} method
 * @param {string} path
 * @param {{body?: unknown, anonymous?: boolean, keepalive?: boolean, timeout?: number}} [options] `body`: bytes and forms are
 *   sent as they are, everything else as JSON
 * @returns {Promise<any>}
 */
async function call(method, path, { body, anonymous, keepalive, timeout } = {}) {
  if (boot.rehearsal) return rehearse(path);
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json" };
  const isBytes = body instanceof Uint8Array;
  const isForm = body instanceof FormData;
  // The browser itself states a form's type, with its boundary.
  if (body !== undefined && !isForm) headers["Content-Type"] = isBytes ? "application/octet-stream" : "application/json";
  if (!anonymous) headers["Authorization"] = `Bearer ${accessToken}`;
  const ended = new AbortController();
  const timer = timeout ? setTimeout(() => ended.abort(), timeout) : undefined;
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      keepalive: keepalive ?? false,
      cache: "no-store",
      credentials: "omit",
      signal: ended.signal,
      ...(body === undefined ? {} : { body: isForm ? body : isBytes ? /** @type {Uint8Array<ArrayBuffer>} */ (body) : JSON.stringify(body) }),
    });
  } catch {
    throw new ApiError(0, null);
  } finally {
    clearTimeout(timer);
  }
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new ApiError(response.status, answer, Number(response.headers.get("Retry-After")) || 0);
  // The device's clock may be wrong, so times are compared with the server's.
  const serverTime = Date.parse(response.headers.get("Date") ?? "");
  if (answer && typeof answer === "object") Object.defineProperty(answer, "skew", { value: serverTime ? Date.now() - serverTime : 0 });
  return answer;
}

const SESSION = "/v2/sdk/session";

/** The portal's preview calls no server; the page contains the responses. @param {string} path @returns {any} */
function rehearse(path) {
  const { current, documents } = /** @type {{current: Current, documents: any}} */ (boot.rehearsal);
  switch (path) {
    case `${SESSION}/exchange`:
      return { access_token: "preview", session_id: current.session_id, expires_in: 24 * 60 * 60 };
    case `${SESSION}/current`:
      return current;
    case `${SESSION}/documents`:
      return documents;
    case `${SESSION}/handoff`:
      throw new ApiError(503, null);
    default:
      return {};
  }
}

/** @param {string} token @returns {Promise<import("./boot.js").Preview>} */
export const preview = (token) => call("POST", `${SESSION}/preview`, { body: { token }, anonymous: true });
/** @param {string} token @returns {Promise<Exchange>} */
export const exchange = (token) => call("POST", `${SESSION}/exchange`, { body: { token }, anonymous: true });
/** @param {string} token @returns {Promise<import("./boot.js").Preview>} */
export const previewInvitation = (token) => call("POST", `${SESSION}/invitation/preview`, { body: { token }, anonymous: true });
/** Opens a new session, which ends an earlier one of the invitation. @param {string} token @returns {Promise<Exchange>} */
export const openInvitation = (token) => call("POST", `${SESSION}/invitation/open`, { body: { token }, anonymous: true });
/** Requests an email with a new link for an expired invitation. The response is the same for every token. @param {string} token */
export const renewInvitation = (token) => call("POST", `${SESSION}/invitation/renew`, { body: { token }, anonymous: true });
/** @returns {Promise<Current>} */
export const current = () => call("GET", `${SESSION}/current`);
/** @param {{version: string, language: string, accepted: boolean}} body */
export const consent = (body) => call("POST", `${SESSION}/consent`, { body });
/** @returns {Promise<{preselected: string | null, countries: Country[]}>} */
export const documents = () => call("GET", `${SESSION}/documents`);
/** @returns {Promise<{url: string, number: string, expiresAt: string | number, qrSvg: string}>} */
export const handoff = () => call("POST", `${SESSION}/handoff`);
/** @param {string} token @returns {Promise<Exchange>} */
export const claim = (token) => call("POST", `${SESSION}/handoff/claim`, { body: { token }, anonymous: true });
export const reject = () => call("POST", `${SESSION}/handoff/reject`);
/**
 * Starts the liveness challenge, joins its queue, or continues it after a break.
 * @param {import("./capture/challenge.js").Route} route @param {boolean} restart begins the next try after a failed one
 * @param {import("./capture/camera.js").CameraDescription | null} camera
 * @returns {Promise<import("./capture/challenge.js").Answer>}
 */
export const challenge = (route, restart, camera) => call("POST", `${SESSION}/challenge`, { body: { route, restart, ...(camera && { camera }) }, timeout: CHALLENGE_MS });
/**
 * Sends frames of the challenge (capture/frames.js).
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @returns {Promise<import("./capture/challenge.js").Answer>}
 */
export const challengeFrames = (bytes) => call("POST", `${SESSION}/challenge/frames`, { body: bytes, timeout: CHALLENGE_MS });
/**
 * Has a picture of a document read before the submission.
 * @param {FormData} form @returns {Promise<import("./flow.js").Reading>}
 */
export const reading = (form) => call("POST", `${SESSION}/reading`, { body: form, timeout: READING_MS });
/** @param {{events: unknown[], language: string}} batch the language is the page's @param {boolean} keepalive */
export const events = (batch, keepalive) => call("POST", `${SESSION}/events`, { body: batch, keepalive });

/**
 * Sends the verification. `onProgress` receives the share that has been sent, 0–1.
 * @param {FormData} form
 * @param {string} key the idempotency key: the same for every try of one attempt, so that no attempt is made twice
 * @param {(part: number) => void} onProgress
 * @returns {Promise<any>}
 */
export function verify(form, key, onProgress) {
  if (boot.rehearsal) {
    boot.rehearsal.current = { ...boot.rehearsal.current, status: "success", stage: "done", attempts: 1, outcome: { status: "approved", codes: [], at: new Date().toISOString() } };
    return Promise.resolve({});
  }
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/v2/idv/verify");
    request.setRequestHeader("Authorization", `Bearer ${accessToken}`);
    request.setRequestHeader("Idempotency-Key", key);
    request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    request.onload = () => {
      let body = null;
      try {
        body = JSON.parse(request.responseText);
      } catch {
        // Not the server's JSON but, for example, a proxy's page. It is handled as a failure below.
      }
      if (request.status === 200 && body) resolve(body);
      else reject(new ApiError(request.status === 200 ? 0 : request.status, body, Number(request.getResponseHeader("Retry-After")) || 0));
    };
    request.onerror = request.ontimeout = request.onabort = () => reject(new ApiError(0, null));
    // This is longer than the server's limits, so it ends only connections that broke silently.
    request.timeout = 180_000;
    request.send(form);
  });
}
