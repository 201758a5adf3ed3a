// Requests, retries, time limits and errors, with a `fetch` that fails as a network or a server would.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { afterEach, mock, test } from "node:test";
import { inspect } from "node:util";
import {
  ApiError,
  AuthenticationError,
  Bonafide,
  BonafideError,
  ConflictError,
  ConnectionError,
  InvalidRequestError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServerError,
  TimeoutError,
  VERSION,
  type ClientOptions,
  type ResponseInfo,
} from "@bonafide/server";
import { retryAfterSeconds } from "#dist/errors.js";
import { delayBeforeRetry } from "#dist/retry.js";

interface Sent {
  url: URL;
  method: string;
  headers: Record<string, string>;
  body: RequestInit["body"];
  redirect: RequestInit["redirect"];
}
type Step = Response | Error | ((init: RequestInit) => Promise<Response>);

const LOST = () => new TypeError("fetch failed", { cause: new Error("read ECONNRESET") });
const answer = (status: number, body: unknown = {}, headers: Record<string, string> = {}) =>
  new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers });

/** A client whose attempts end as `steps` state, and what it sent. Retries do not wait. */
function clientOf(steps: Step[], options: Partial<ClientOptions> = {}) {
  mock.method(Math, "random", () => 0);
  const sent: Sent[] = [];
  const fetch = async (input: string | URL | Request, init: RequestInit = {}) => {
    const headers = init.headers as Record<string, string>;
    sent.push({ url: new URL(String(input)), method: init.method ?? "GET", headers, body: init.body, redirect: init.redirect });
    const step = steps.shift();
    if (step === undefined) throw new Error("an unexpected attempt");
    if (step instanceof Error) throw step;
    return typeof step === "function" ? step(init) : step;
  };
  const client = new Bonafide({ baseUrl: "https://v.example/base/", apiKey: "bf_test_a", secret: "s3cret", fetch, ...options });
  return { client, sent };
}

afterEach(() => mock.restoreAll());

test("a request has the address, the credentials and the body of its operation", async () => {
  const { client, sent } = clientOf([answer(200, { flowId: "f" }), answer(200, { success: true }), answer(200, { limit: 1 })]);
  const submission = { flowId: "f", externalUserId: "u", firstName: "A", lastName: "B", dob: undefined };
  await client.verifications.submit({ ...submission, documentTypes: ["PASSPORT", "DRIVERS"], selfie: new Uint8Array([1, 2]) });
  await client.applicants.resolve("../a b&c");
  await client.lists.match({ q: { schema: "Person", properties: {} } }, { topics: ["sanction", "role.pep"], limit: 3 });
  const [verify, resolve, match] = sent;
  assert.equal(verify?.url.href, "https://v.example/base/v2/idv/verify");
  assert.equal(verify.headers["authorization"], `Basic ${Buffer.from("bf_test_a:s3cret").toString("base64")}`);
  assert.equal(verify.headers["user-agent"], `bonafide-typescript/${VERSION}`);
  assert.match(verify.headers["idempotency-key"] ?? "", /^[0-9a-f-]{36}$/);
  const form = verify.body as FormData;
  assert.deepEqual([...form.keys()], ["flowId", "externalUserId", "firstName", "lastName", "documentTypes", "selfie"]);
  assert.equal(form.get("documentTypes"), "PASSPORT,DRIVERS");
  assert.equal((form.get("selfie") as File).size, 2);
  assert.equal(resolve?.url.searchParams.get("externalUserId"), "../a b&c");
  assert.equal(resolve.headers["idempotency-key"], undefined);
  assert.equal(match?.url.href, "https://v.example/base/v2/yente/match/default?topics=sanction&topics=role.pep&limit=3");
  assert.equal(match.headers["content-type"], "application/json");
});

test("a request that is safe to repeat is repeated after a lost connection, 429, 502, 503 and 504", async () => {
  for (const step of [LOST(), ...[429, 502, 503, 504].map((status) => answer(status))]) {
    const { client, sent } = clientOf([step, answer(200, { groups: [] })]);
    assert.deepEqual(await client.groups.list(), []);
    assert.equal(sent.length, 2);
  }
});

test("no other status is repeated, and after `maxRetries` the last error is thrown", async () => {
  for (const status of [302, 400, 401, 403, 404, 409, 422, 500, 501]) {
    const { client, sent } = clientOf([answer(status)]);
    await assert.rejects(client.groups.list(), { status });
    assert.equal(sent.length, 1);
  }
  const { client, sent } = clientOf([answer(503), answer(502), answer(504)]);
  await assert.rejects(client.groups.list(), { status: 504 });
  assert.equal(sent.length, 3);
  const never = clientOf([answer(503)], { maxRetries: 0 });
  await assert.rejects(never.client.groups.list(), ServerError);
  const once = clientOf([answer(503)]);
  await assert.rejects(once.client.groups.list({ maxRetries: 0 }), ServerError);
});

test("all attempts of a call share one idempotency key, and each call has its own", async () => {
  const { client, sent } = clientOf([LOST(), answer(503), answer(200), answer(200), answer(200)]);
  const request = { type: "address", currency: "btc", query: "a" } as const;
  await client.monitoring.screen(request);
  await client.monitoring.screen(request);
  await client.monitoring.screen(request, { idempotencyKey: "job 7" });
  const keys = sent.map(({ headers }) => headers["idempotency-key"]);
  assert.equal(new Set(keys.slice(0, 3)).size, 1);
  assert.notEqual(keys[3], keys[0]);
  assert.equal(keys[4], "job 7");
});

test("a POST without an idempotency key and a DELETE are never repeated", async () => {
  const link = { userId: "u", groupId: "g", flowId: "f" };
  const calls: ((client: Bonafide) => Promise<unknown>)[] = [
    (client) => client.links.create(link),
    (client) => client.invitations.create(link),
    (client) => client.invitations.remind("i"),
    (client) => client.groups.delete("g"),
    (client) => client.flows.delete("f"),
  ];
  for (const call of calls) {
    for (const step of [LOST(), answer(429), answer(503)]) {
      const { client, sent } = clientOf([step]);
      await assert.rejects(call(client), BonafideError);
      assert.equal(sent.length, 1);
      assert.equal(sent[0]?.headers["idempotency-key"], undefined);
    }
  }
  // Revoking again and matching again change nothing.
  const { client, sent } = clientOf([LOST(), answer(200), answer(502), answer(200)]);
  await client.invitations.revoke("i");
  await client.lists.match({});
  assert.equal(sent.length, 4);
});

test("a 409 is repeated only while the server may still process a lost attempt", async () => {
  const group = { name: "g", flowIds: ["f"] };
  const lost = clientOf([LOST(), answer(409), answer(201, { groupId: "g" })]);
  assert.equal((await lost.client.groups.create(group)).groupId, "g");
  const refused = clientOf([answer(503), answer(409)]);
  await assert.rejects(refused.client.groups.create(group), ConflictError);
});

test("the delay has full jitter, grows, and is at least Retry-After", () => {
  const failed = (status: number, retryAfter?: number) =>
    new ApiError({ status, message: "", retryAfterSeconds: retryAfter });
  const delay = (error: unknown, attempts: number, random: number) =>
    delayBeforeRetry({ error, attempts, wasLost: false }, () => random);
  const lost = new ConnectionError("");
  assert.deepEqual([1, 2, 3, 9].map((attempts) => delay(lost, attempts, 1)), [500, 1000, 2000, 8000]);
  assert.equal(delay(lost, 3, 0), 0);
  assert.equal(delay(failed(503), 2, 0.5), 500);
  assert.equal(delay(failed(429, 2), 1, 0), 2000);
  assert.equal(delay(failed(429, 2), 1, 1), 2500);
  // A longer wait is the caller's decision.
  assert.equal(delay(failed(429, 31), 1, 0), undefined);
  assert.equal(delay(failed(500), 1, 0), undefined);
  assert.equal(delay(new Error("a fault of the program"), 1, 0), undefined);
  const seconds = (value: string) => retryAfterSeconds(new Headers({ "retry-after": value }), Date.UTC(2026, 0, 1));
  assert.deepEqual(["7", "Thu, 01 Jan 2026 00:00:09 GMT", "soon"].map(seconds), [7, 9, undefined]);
});

test("the client waits as long as Retry-After states", async () => {
  const { client } = clientOf([answer(429, {}, { "retry-after": "2" }), answer(200, { groups: [] })], { timeoutMs: 99_000 });
  const real = globalThis.setTimeout;
  const delays: (number | undefined)[] = [];
  const waitless = (run: () => void, ms?: number) => {
    if (ms === 99_000) return real(run, ms);
    delays.push(ms);
    return real(run, 0);
  };
  globalThis.setTimeout = waitless as typeof setTimeout;
  try {
    await client.groups.list();
  } finally {
    globalThis.setTimeout = real;
  }
  assert.deepEqual(delays, [2000]);
});

/** A server that never answers. */
const silent = ({ signal }: RequestInit) =>
  new Promise<Response>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));

test("an attempt that takes longer than `timeoutMs` is a TimeoutError, and may be repeated", async () => {
  const { client, sent } = clientOf([silent, answer(200, { groups: [] })], { timeoutMs: 5 });
  await client.groups.list();
  assert.equal(sent.length, 2);
  const never = clientOf([silent]);
  await assert.rejects(never.client.groups.list({ timeoutMs: 5, maxRetries: 0 }), TimeoutError);
});

test("a signal ends a call, also while it waits for a retry, with the signal's reason", async () => {
  const during = new AbortController();
  const waiting = clientOf([silent]).client.groups.list({ signal: during.signal });
  during.abort(new Error("the user left"));
  await assert.rejects(waiting, { message: "the user left" });

  const between = new AbortController();
  const { client, sent } = clientOf([
    async () => {
      setImmediate(() => between.abort(new Error("too late")));
      return answer(429, {}, { "retry-after": "20" });
    },
  ]);
  await assert.rejects(client.groups.list({ signal: between.signal }), { message: "too late" });
  await assert.rejects(client.groups.list({ signal: AbortSignal.abort(new Error("before")) }), { message: "before" });
  assert.equal(sent.length, 1);
});

test("a lost connection states its reason", async () => {
  const { client } = clientOf([LOST()], { maxRetries: 0 });
  await assert.rejects(client.groups.list(), (error: ConnectionError) => {
    assert.ok(error instanceof ConnectionError && !(error instanceof TimeoutError));
    assert.equal(error.message, "No response: read ECONNRESET");
    return true;
  });
});

test("each shape of an error has its class, message, code and faults", async () => {
  const cases: [number, unknown, new (...args: never[]) => ApiError, string, string | undefined, string | undefined][] = [
    [400, { message: "Invalid API key/secret combination" }, AuthenticationError, "Invalid API key/secret combination", , ,],
    [400, { error: "invalid_credentials", message: "m" }, AuthenticationError, "m", "invalid_credentials", ,],
    [401, { error: "Authorization is missing" }, AuthenticationError, "Authorization is missing", , ,],
    [401, { code: 401, description: "d" }, AuthenticationError, "d", , ,],
    [403, { success: false, message: "country of residence is a restricted jurisdiction" }, PermissionError,
      "country of residence is a restricted jurisdiction", , ,],
    [404, { code: 404, description: "No applicant" }, NotFoundError, "No applicant", , ,],
    [409, { error: "in_review", message: "m" }, ConflictError, "m", "in_review", ,],
    [429, { error: "rate_limited", message: "m" }, RateLimitError, "m", "rate_limited", ,],
    [501, { success: false, message: "not yet" }, InvalidRequestError, "not yet", , ,],
    [500, { message: "m" }, ServerError, "m", , ,],
    [400, { success: false, message: "Validation failed", errors: ["a strange fault", "firstName cannot be empty"] },
      InvalidRequestError, "Validation failed: a strange fault; firstName cannot be empty", , "firstName"],
    [400, { message: "Validation failed", errors: ["query - query contains invalid characters"] }, InvalidRequestError,
      "Validation failed: query - query contains invalid characters", , "query"],
    [400, { success: false, message: "Required fields missing", errors: ["Social Security Number is required"] },
      InvalidRequestError, "Required fields missing: Social Security Number is required", , ,],
    [422, { detail: [{ type: "value_error", loc: ["query", "limit"], msg: "must be a number" }] }, InvalidRequestError,
      "Validation failed: query.limit: must be a number", , "query.limit"],
    [422, { detail: "nothing to search" }, InvalidRequestError, "nothing to search", , ,],
    [502, "<html>", ServerError, "Unexpected response with status 502: check that baseUrl leads to a Bonafide server", , ,],
  ];
  for (const [status, body, type, message, code, field] of cases) {
    const { client } = clientOf([answer(status, body, { "x-request-id": "r-1", "retry-after": "4" })], { maxRetries: 0 });
    await assert.rejects(client.groups.list(), (error: ApiError) => {
      assert.equal(error.constructor, type, message);
      assert.ok(error instanceof ApiError && error instanceof BonafideError);
      assert.equal(error.name, type.name);
      assert.deepEqual([error.status, error.message, error.code, error.field], [status, message, code, field]);
      assert.deepEqual([error.requestId, error.retryAfterSeconds, error.body], ["r-1", 4, body]);
      return true;
    });
  }
});

test("a redirect and a response that is not JSON name the cause", async () => {
  const { client, sent } = clientOf([answer(301, "", { location: "https://v.example/" }), answer(200, "<html>")]);
  await assert.rejects(client.groups.list(), { message: "The server redirects to https://v.example/: correct baseUrl" });
  await assert.rejects(client.groups.list(), /is not JSON: check that baseUrl/);
  assert.equal(sent[0]?.redirect, "manual");
});

test("wrong arguments are TypeErrors, and nothing is sent", async () => {
  const make = (options: Partial<ClientOptions>) => () =>
    new Bonafide({ baseUrl: "https://v.example", apiKey: "bf_test_a", secret: "s", ...options });
  for (const baseUrl of ["", "v.example", "ftp://v.example", "https://v.example?a=b", "https://u:p@v.example"]) {
    assert.throws(make({ baseUrl }), TypeError);
  }
  for (const credentials of [{ apiKey: "" }, { apiKey: "a:b" }, { secret: "" }, { secret: "a\nb" }]) {
    assert.throws(make(credentials), TypeError);
  }
  for (const timeoutMs of [0, -1, Number.NaN, 2 ** 31]) assert.throws(make({ timeoutMs }), TypeError);
  for (const maxRetries of [-1, 0.5, Number.NaN, Infinity]) assert.throws(make({ maxRetries }), TypeError);
  const { client, sent } = clientOf([]);
  await assert.rejects(client.groups.list({ timeoutMs: Infinity }), TypeError);
  await assert.rejects(client.groups.list({ maxRetries: Number.NaN }), TypeError);
  const person = { flowId: "f", externalUserId: "u", firstName: "A", lastName: "B" };
  const notAFile = { path: "selfie.jpg" } as unknown as Blob;
  await assert.rejects(client.verifications.submit({ ...person, selfie: notAFile }), TypeError);
  // A URL would shorten these, and DELETE would name another object.
  for (const id of ["", ".", ".."]) await assert.rejects(client.groups.delete(id), TypeError);
  assert.equal(sent.length, 0);
});

test("a file is received byte for byte", async () => {
  const bytes = new Uint8Array([0xff, 0xd8, 0, 0x80, 0xfe]);
  const { client, sent } = clientOf([new Response(bytes), new Response(bytes)]);
  assert.deepEqual(new Uint8Array(await client.attempts.file(7, "selfie")), bytes);
  assert.deepEqual(new Uint8Array(await client.applicants.export("p", "r")), bytes);
  const paths = sent.map(({ method, url }) => `${method} ${url.pathname}`);
  assert.deepEqual(paths, ["GET /base/v2/reports/attempts/7/files/selfie", "POST /base/v2/reports/applicants/p/export"]);
  assert.equal(sent[1]?.body, '{"reviewerId":"r"}');
});

test("an id cannot change the path", async () => {
  const { client, sent } = clientOf([answer(200)]);
  await client.groups.get("a/../b?c#d");
  assert.equal(sent[0]?.url.pathname, "/base/v2/public/groups/a%2F..%2Fb%3Fc%23d");
});

test("neither a client nor an error shows the secret", async () => {
  const { client } = clientOf([answer(401, { error: "e" }), LOST()], { maxRetries: 0 });
  const errors = await Promise.all([client.groups.list().catch(String), client.groups.list().catch((error) => error)]);
  const shown = [client, ...errors].map((value) => inspect(value, { depth: 20, showHidden: true })).join();
  assert.doesNotMatch(shown, /s3cret|czNjcmV0/);
  assert.equal(JSON.stringify(client).includes("s3cret"), false);
});

test("onResponse receives every response", async () => {
  const seen: ResponseInfo[] = [];
  const limits = { "ratelimit-limit": "60", "ratelimit-remaining": "59", "ratelimit-reset": "1" };
  const headers = { "x-request-id": "r", "idempotency-replayed": "true", ...limits };
  const { client } = clientOf([answer(503), answer(200, {}, headers)], { onResponse: (info) => seen.push(info) });
  await client.monitoring.screen({ type: "address", currency: "btc", query: "a" });
  const rateLimit = { limit: 60, remaining: 59, resetSeconds: 1 };
  const expected = { operation: "screenTransaction", hasDuration: true };
  assert.deepEqual(
    seen.map(({ durationMs, ...info }) => ({ ...info, hasDuration: durationMs >= 0 })),
    [
      { ...expected, status: 503, requestId: undefined, isReplayed: false, attempt: 1, rateLimit: undefined },
      { ...expected, status: 200, requestId: "r", isReplayed: true, attempt: 2, rateLimit },
    ],
  );
});

test("pages are loaded when they are needed, and nothing is left out", async () => {
  const page = (alerts: string[], next: string | null) => answer(200, { alerts: alerts.map((alertId) => ({ alertId })), next });
  const { client, sent } = clientOf([page(["1", "2"], "c/1"), page([], "c2"), page(["3"], null)]);
  const alerts = client.monitoring.alerts({ state: "open", before: "start" });
  assert.equal(sent.length, 0);
  const ids: string[] = [];
  for await (const { alertId } of alerts) ids.push(alertId);
  assert.deepEqual(ids, ["1", "2", "3"]);
  assert.deepEqual(sent.map(({ url }) => url.searchParams.get("before")), ["start", "c/1", "c2"]);
});

test("a session is polled until it is final or in review", async () => {
  const session = (status: string, stage: string, result = "{}") =>
    answer(200, { session_id: "s", status, result, metadata: { stage } });
  const { client, sent } = clientOf([session("pending", "open"), session("success", "done", '{"success":true}')]);
  const done = await client.sessions.waitForOutcome("s", { intervalMs: 0 });
  assert.equal(done.result?.success, true);
  assert.equal(sent.length, 2);
  const review = await clientOf([session("pending", "in_review")]).client.sessions.waitForOutcome("s");
  assert.equal(review.result, null);
});

test("the version is that of the package", async () => {
  const file = new URL(import.meta.resolve("@bonafide/server/package.json"));
  assert.equal(VERSION, JSON.parse(await readFile(file, "utf8")).version);
});
