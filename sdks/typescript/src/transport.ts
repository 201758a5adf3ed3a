// Sends the requests of all resources: credentials, idempotency keys, time limits, retries and errors. It logs nothing,
// stores nothing, and sends the credentials to no other address than `baseUrl`.
import { BonafideError, ConnectionError, errorOf, TimeoutError } from "./errors.js";
import { endpoints } from "./generated/endpoints.js";
import type { operations } from "./generated/openapi.js";
import { delayBeforeRetry, isLost } from "./retry.js";
import { VERSION } from "./version.js";

/** The name of an operation in the OpenAPI document. */
export type Operation = keyof typeof endpoints;

/** Options of a client. */
export interface ClientOptions {
  /** The address of the server, such as `https://verify.example.com`. */
  baseUrl: string;
  /** The API key: `bf_live_…` or `bf_test_…`. */
  apiKey: string;
  /** The secret of the API key. Never send it to a browser. */
  secret: string;
  /** Milliseconds that one attempt may take; by default 60,000. */
  timeoutMs?: number;
  /** How often a request that is safe to repeat is repeated after a failure; by default 2. */
  maxRetries?: number;
  /** The implementation of `fetch`; by default the global one. */
  fetch?: typeof globalThis.fetch;
  /** Called after each response, for logs and metrics. It receives no personal data. If it throws, the call fails. */
  onResponse?: (info: ResponseInfo) => void;
}

/** Options of one call. */
export interface RequestOptions {
  /** Ends the call; it is then rejected with the signal's reason. */
  signal?: AbortSignal;
  /** Replaces the client's `timeoutMs`. */
  timeoutMs?: number;
  /** Replaces the client's `maxRetries`. */
  maxRetries?: number;
}

/** Options of a call that the server carries out once per idempotency key. */
export interface IdempotentRequestOptions extends RequestOptions {
  /**
   * 1–255 printable ASCII characters; by default a random key for each call, which its retries share. Give your own, for
   * example the id of your job, if your program may repeat the call.
   */
  idempotencyKey?: string;
}

/** What `onResponse` receives. */
export interface ResponseInfo {
  readonly operation: Operation;
  readonly status: number;
  readonly requestId: string | undefined;
  /** Whether the server repeated the response to an earlier request with the same idempotency key. */
  readonly isReplayed: boolean;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly durationMs: number;
  /** The rate limit, if the endpoint has one. */
  readonly rateLimit: { readonly limit: number; readonly remaining: number; readonly resetSeconds: number } | undefined;
}

type Content<Body> = Body extends { content: infer C } ? ("application/json" extends keyof C ? C["application/json"] : never) : never;
type Responses<O extends Operation> = operations[O]["responses"];

/** The JSON body of a success of an operation. */
export type Success<O extends Operation> = Content<Responses<O>[keyof Responses<O> & (200 | 201)]>;

/** The query parameters of an operation. */
export type Query<O extends Operation> = NonNullable<operations[O]["parameters"]["query"]>;

/** The parts of a request. */
export interface Input<O extends Operation> {
  readonly path?: operations[O]["parameters"]["path"];
  readonly query?: Query<O>;
  readonly json?: unknown;
  readonly form?: FormData;
}

type Scalar = string | number | boolean;
type Values = Record<string, Scalar | readonly Scalar[] | null | undefined>;

/** POST requests without an idempotency key that change nothing if they are repeated. */
const REPEATABLE_POSTS: readonly Operation[] = [
  "decideAttempt",
  "eraseApplicant",
  "exportApplicant",
  "matchEntities",
  "revokeInvitation",
  "revokeSessionLink",
];
const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_RETRIES = 2;
/** Timers end at once if they are longer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class Transport {
  readonly #baseUrl: string;
  readonly #authorization: string;
  readonly #fetch: typeof globalThis.fetch;
  readonly #timeoutMs: number;
  readonly #maxRetries: number;
  readonly #onResponse: ((info: ResponseInfo) => void) | undefined;

  constructor(options: ClientOptions) {
    this.#baseUrl = baseUrlOf(options.baseUrl);
    this.#authorization = authorizationOf(options.apiKey, options.secret);
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.#timeoutMs = checkedTimeout(options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    this.#maxRetries = checkedRetries(options.maxRetries ?? DEFAULT_RETRIES);
    this.#onResponse = options.onResponse;
  }

  /** Carries out an operation and returns the JSON of its response. */
  async json<O extends Operation>(operation: O, input: Input<O>, options: IdempotentRequestOptions = {}): Promise<Success<O>> {
    const text = await this.text(operation, input, options);
    try {
      return JSON.parse(text) as Success<O>;
    } catch (cause) {
      throw new BonafideError("The response is not JSON: check that baseUrl leads to a Bonafide server", { cause });
    }
  }

  /** Carries out an operation and returns the text of its response. */
  async text<O extends Operation>(operation: O, input: Input<O>, options: IdempotentRequestOptions = {}): Promise<string> {
    return new TextDecoder().decode(await this.bytes(operation, input, options));
  }

  /** Carries out an operation, repeats it if that is safe and useful, and returns the bytes of its response. */
  async bytes<O extends Operation>(operation: O, input: Input<O>, options: IdempotentRequestOptions = {}): Promise<ArrayBuffer> {
    const { method, path, takesKey } = endpoints[operation];
    const url = this.#baseUrl + pathOf(path, input.path as Values | undefined) + queryOf(input.query as Values | undefined);
    const headers = this.#headers(input, takesKey ? (options.idempotencyKey ?? crypto.randomUUID()) : undefined);
    const body = input.form ?? (input.json === undefined ? undefined : JSON.stringify(input.json));
    // A repeated DELETE would report 404 for the object that the first one deleted.
    const isRepeatable = method === "GET" || method === "PUT" || takesKey || REPEATABLE_POSTS.includes(operation);
    const maxRetries = checkedRetries(options.maxRetries ?? this.#maxRetries);
    const timeoutMs = checkedTimeout(options.timeoutMs ?? this.#timeoutMs);
    const retries = isRepeatable ? maxRetries : 0;
    let wasLost = false;
    for (let attempt = 1; ; attempt++) {
      try {
        const init = { method, headers, body, redirect: "manual" as const };
        return await this.#attempt(operation, attempt, url, init, timeoutMs, options.signal);
      } catch (error) {
        const delay = delayBeforeRetry({ error, attempts: attempt, wasLost });
        if (attempt > retries || delay === undefined) throw error;
        wasLost ||= isLost(error);
        await sleep(delay, options.signal);
      }
    }
  }

  #headers(input: Input<Operation>, idempotencyKey: string | undefined): Record<string, string> {
    return {
      accept: "application/json, */*",
      authorization: this.#authorization,
      "user-agent": `bonafide-typescript/${VERSION}`,
      ...(input.json === undefined ? {} : { "content-type": "application/json" }),
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    };
  }

  /** One attempt, from the request to the last byte of the response. */
  async #attempt(
    operation: Operation,
    attempt: number,
    url: string,
    init: RequestInit,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<ArrayBuffer> {
    signal?.throwIfAborted();
    const controller = new AbortController();
    const abort = () => controller.abort();
    let isTimeout = false;
    const timer = setTimeout(() => {
      isTimeout = true;
      abort();
    }, timeoutMs);
    signal?.addEventListener("abort", abort, { once: true });
    const started = performance.now();
    let response: Response;
    let body: ArrayBuffer;
    try {
      response = await this.#fetch(url, { ...init, signal: controller.signal });
      body = await response.arrayBuffer();
    } catch (cause) {
      signal?.throwIfAborted();
      if (isTimeout) throw new TimeoutError(`No response within ${timeoutMs} ms`, { cause });
      throw new ConnectionError(`No response: ${reasonOf(cause)}`, { cause });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
    this.#onResponse?.(infoOf(operation, attempt, response, performance.now() - started));
    if (!response.ok) throw errorOf(response, new TextDecoder().decode(body));
    return body;
  }
}

function baseUrlOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !["http:", "https:"].includes(url.protocol) || url.search || url.hash || url.username) {
    throw new TypeError("baseUrl must be the http or https address of the server, such as https://verify.example.com");
  }
  return url.href.replace(/\/+$/, "");
}

function authorizationOf(apiKey: string, secret: string): string {
  const isPrintable = (value: unknown) => typeof value === "string" && /^[!-~]+$/.test(value);
  if (!isPrintable(apiKey) || apiKey.includes(":")) throw new TypeError("apiKey must be an API key: bf_live_… or bf_test_…");
  if (!isPrintable(secret)) throw new TypeError("secret must be the secret of the API key");
  return `Basic ${btoa(`${apiKey}:${secret}`)}`;
}

function checkedTimeout(ms: number): number {
  if (ms > 0 && ms <= LONGEST_TIMER_MS) return ms;
  throw new TypeError(`timeoutMs must be a number from 1 to ${LONGEST_TIMER_MS}`);
}

function checkedRetries(count: number): number {
  if (Number.isInteger(count) && count >= 0) return count;
  throw new TypeError("maxRetries must be a whole number from 0");
}

/** The path with its parameters. A URL would drop empty segments and those of dots, and so name another object. */
function pathOf(template: string, values: Values = {}): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = typeof values[name] === "number" ? String(values[name]) : values[name];
    if (typeof value !== "string" || /^\.{0,2}$/.test(value)) throw new TypeError(`${name} must be an id`);
    return encodeURIComponent(value);
  });
}

function queryOf(values: Values = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) query.append(name, String(one));
    }
  }
  return query.size ? `?${query}` : "";
}

function infoOf(operation: Operation, attempt: number, response: Response, durationMs: number): ResponseInfo {
  const { headers, status } = response;
  const number = (name: string) => Number(headers.get(`ratelimit-${name}`));
  const rateLimit = { limit: number("limit"), remaining: number("remaining"), resetSeconds: number("reset") };
  return {
    operation,
    status,
    requestId: headers.get("x-request-id") ?? undefined,
    isReplayed: headers.get("idempotency-replayed") === "true",
    attempt,
    durationMs,
    rateLimit: headers.has("ratelimit-limit") ? rateLimit : undefined,
  };
}

/** The innermost reason of a failed `fetch`, such as `connect ECONNREFUSED 127.0.0.1:8080`. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error && (cause.message || "code" in cause)) return cause.message || String((cause as { code?: unknown }).code);
  return error instanceof Error ? error.message : String(error);
}

/** Waits, and ends early with the signal's reason if the signal is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
