// The client against a real server. The last test checks that every operation that takes an API key was called.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  AuthenticationError,
  Bonafide,
  ConflictError,
  ConnectionError,
  InvalidRequestError,
  NotFoundError,
  RateLimitError,
  ServerError,
  verifyWebhook,
  WebhookVerificationError,
  type ClientOptions,
  type InvitationWithUrl,
  type Link,
  type ResponseInfo,
} from "@bonafide/server";
import { fileFromPath } from "@bonafide/server/node";
import { endpoints } from "#dist/generated/endpoints.js";
import { permitKey } from "./owner.js";
import { exchange, specimen, startReceiver, startServer, until, useLink, type Server } from "./server.js";

const responses: ResponseInfo[] = [];
let server: Server;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let bonafide: Bonafide;
/** A Group of the Flow that requires no document. */
let guests: string;

const clientOf = (options: Partial<ClientOptions> = {}, { baseUrl, apiKey, secret } = server) =>
  new Bonafide({ baseUrl, apiKey, secret, timeoutMs: 180_000, onResponse: (info) => responses.push(info), ...options });
const flow = (name: string) => server.flows[name] ?? assert.fail(`no Flow ${name}`);
const person = () => ({ externalUserId: `user-${randomUUID()}`, firstName: "Ann", lastName: "Example" });
const isReplayed = () => responses.at(-1)?.isReplayed;

before(async () => {
  // In this order, `after` stops the receiver if the server does not start.
  receiver = await startReceiver();
  server = await startServer();
  bonafide = clientOf();
  guests = (await bonafide.groups.create({ name: "Guests", flowIds: [flow("data-only")] })).groupId;
});
after(async () => {
  receiver?.stop();
  await server?.stop();
});

test("a link becomes a session, a result, a signed webhook and an applicant", async () => {
  const flowId = flow("passport");
  const { groupId } = server;
  await bonafide.flows.update(flowId, { webhookUrl: receiver.url });
  const { url } = await bonafide.links.create({
    userId: "traveller-1",
    groupId,
    flowId,
    expected: { firstName: "Tamsin", lastName: "Velloway", dob: "03/14/1991" },
  });
  // The applicant opens the link, but your own system collects the pictures.
  const { session_id: sessionId } = await exchange(server.baseUrl, url);
  const open = await bonafide.sessions.get(sessionId);
  assert.deepEqual([open.status, open.result, open.metadata.stage], ["pending", null, "open"]);

  const result = await bonafide.verifications.submit({
    flowId,
    sessionId,
    groupingId: groupId,
    externalUserId: "traveller-1",
    firstName: "Tamsin",
    lastName: "Velloway",
    dob: "03/14/1991",
    country: "UTO",
    documentTypes: ["PASSPORT"],
    documentCountry: "UTO",
    ocrMatch: true,
    passportFront: await fileFromPath(specimen("pass-passport-passportFront")),
    selfie: new Uint8Array(await (await fileFromPath(specimen("pass-passport-selfie"))).arrayBuffer()),
  });
  assert.equal(result.success, true, result.message ?? "");
  assert.equal(result.mrz_data?.mrz_data.document_number, "UTA776763");
  assert.equal(result.document_results?.[0]?.face_match, true);
  assert.equal(result.metadata?.info.firstName, "Tamsin");
  assert.equal(result.kycResults.status, "clear");
  assert.equal(result.ocr_comparison?.match, true);

  const session = await bonafide.sessions.waitForOutcome(sessionId);
  assert.deepEqual([session.status, session.metadata.stage, session.user_id], ["success", "done", "traveller-1"]);
  assert.equal(session.result?.facemap_id, result.facemap_id);

  const secret = await server.cli("webhook", "secret", flowId);
  const message = await until(() => receiver.messages[0]);
  const event = await verifyWebhook(message.body, message.headers, secret);
  assert.ok(event.type === "verification.completed");
  assert.equal(event.id, message.headers["webhook-id"]);
  const { externalUserId, status, success, codes, sequence, isSandbox, sessionId: from } = event.data;
  const members = [externalUserId, status, success, codes, sequence, isSandbox, from];
  assert.deepEqual(members, ["traveller-1", "approved", true, [], 1, true, sessionId]);
  const changed = message.body.toString().replace("approved", "declined");
  await assert.rejects(verifyWebhook(changed, message.headers, secret), WebhookVerificationError);

  const listed = await until(async () => {
    const { events: [first] } = await bonafide.events.list({ flowId, type: "verification.completed" }).first();
    return first?.delivery.state === "delivered" ? first : undefined;
  });
  assert.deepEqual([listed.eventId, listed.timestamp, listed.data], [event.id, event.timestamp, event.data]);

  const resolved = await bonafide.applicants.resolve("traveller-1");
  assert.equal(resolved.facemapId, result.facemap_id);
  const record = await bonafide.applicants.get(resolved.facemapId);
  const [registration] = record.registrations;
  assert.equal(registration?.status, "approved");
  assert.equal(registration.info.idDocs?.[0]?.["number"], "UTA776763");
  assert.equal(registration.verifications[0]?.logId, event.data.logId);

  const { attempts: [attempt] } = await bonafide.attempts.list({ sessionId, status: "approved" }).first();
  assert.equal(attempt?.logId, event.data.logId);
  const whole = await bonafide.attempts.get(attempt.logId);
  assert.deepEqual([whole.attempt, whole.response.success, whole.decisions], [attempt, true, []]);
  const { screenings: [screening] } = await bonafide.screenings.list({ facemapId: resolved.facemapId }).first();
  assert.equal(screening?.screening.status, "clear");
  assert.deepEqual(await bonafide.screenings.alerts({ state: "open" }).first(), { alerts: [], next: null });
  const labels: string[] = [];
  const found = bonafide.applicants.list({ status: "approved", name: String(whole.submission["lastName"]), limit: 1 });
  for await (const { externalUserId } of found) labels.push(externalUserId);
  assert.ok(labels.includes("traveller-1"));
});

test("links are listed and revoked", async () => {
  const link = { groupId: server.groupId, flowId: flow("passport"), userId: "revoked-1" };
  await bonafide.links.create(link);
  const { links: [open] } = await bonafide.links.list({ userId: "revoked-1", state: "open" }).first();
  assert.ok(open);
  assert.equal((await bonafide.links.revoke(open.linkId)).state, "revoked");
  assert.deepEqual((await bonafide.links.list({ userId: "revoked-1", state: "open" }).first()).links, []);
  await assert.rejects(bonafide.links.revoke(randomUUID()), NotFoundError);
});

test("both secrets verify a message during a rotation", async () => {
  const flowId = flow("residence");
  await bonafide.flows.update(flowId, { webhookUrl: receiver.url });
  const old = await server.cli("webhook", "secret", flowId);
  await server.cli("webhook", "rotate", flowId);
  const current = await server.cli("webhook", "secret", flowId);
  assert.notEqual(current, old);
  await server.cli("webhook", "test", flowId);
  const message = await until(() => receiver.messages.find(({ body }) => body.includes("webhook.test")));
  for (const secrets of [old, current, [old, current]]) {
    const event = await verifyWebhook(message.body, message.headers, secrets);
    assert.ok(event.type === "webhook.test" && event.data.flowId === flowId && event.data.isSandbox);
  }
  const other = await server.cli("webhook", "secret", flow("licence"));
  await assert.rejects(verifyWebhook(message.body, message.headers, other), WebhookVerificationError);
});

test("the example makes a link and receives the outcome", async () => {
  const flowId = flow("data-only");
  const secret = await server.cli("webhook", "secret", flowId);
  const example = spawn(process.execPath, [fileURLToPath(new URL("../examples/merchant.js", import.meta.url))], {
    stdio: ["ignore", "pipe", "inherit"],
    // Colours would split the port from its name. Deno also takes `FORCE_COLOR=0` as a request for colours.
    env: { ...process.env, BONAFIDE_URL: server.baseUrl, API_KEY: server.apiKey, SECRET: server.secret, GROUP_ID: guests, FLOW_ID: flowId,
      WEBHOOK_SECRET: secret, PORT: "0", NO_COLOR: "1", FORCE_COLOR: undefined },
  });
  const ended = once(example, "exit");
  try {
    let output = "";
    example.stdout.on("data", (chunk) => (output += chunk));
    const port = await until(() => {
      if ((example.exitCode ?? example.signalCode) !== null) throw new Error(`the example stopped:\n${output}`);
      return /listening on .*port: (\d+)/.exec(output)?.[1];
    });
    const address = `http://127.0.0.1:${port}`;
    await bonafide.flows.update(flowId, { webhookUrl: `${address}/webhook` });
    const made = await fetch(`${address}/verify?user=guest-7`, { method: "POST" });
    const { url } = (await made.json()) as Link;
    const sessionId = await useLink(server.baseUrl, url, { firstName: "Ann", lastName: "Example" });
    await until(() => (output.includes("verification.completed guest-7 approved") ? true : undefined));
    assert.equal((await bonafide.sessions.waitForOutcome(sessionId)).status, "success");
    const forged = await fetch(`${address}/webhook`, { method: "POST", body: "{}" });
    assert.equal(forged.status, 400);
  } finally {
    example.kill();
    await ended;
    await bonafide.flows.update(flowId, { webhookUrl: "" });
  }
});

test("a failed verification is a result, and not an error", async () => {
  const flowId = flow("data-only");
  const flagged = await bonafide.verifications.submit({ ...person(), flowId, firstName: "Zoltar", lastName: "Quenthabar" });
  assert.equal(flagged.success, false);
  assert.equal(flagged.kycResults.code, 2702);
  assert.equal(flagged.kycResults.results[0]?.caption, "Zoltar Quenthabar");
  const expired = await bonafide.verifications.submit({ ...person(), flowId, lastName: "SANDBOX-2509" });
  assert.deepEqual(expired.documentResult?.codes, [2509]);
});

test("a repeated verification with the same key is carried out once", async () => {
  const request = { ...person(), flowId: flow("data-only") };
  const idempotencyKey = randomUUID();
  const first = await bonafide.verifications.submit(request, { idempotencyKey });
  assert.equal(isReplayed(), false);
  const second = await bonafide.verifications.submit(request, { idempotencyKey });
  assert.equal(isReplayed(), true);
  assert.deepEqual(second, first);
  const other = { ...request, lastName: "Another" };
  await assert.rejects(bonafide.verifications.submit(other, { idempotencyKey }), (error: InvalidRequestError) => {
    assert.ok(error instanceof InvalidRequestError);
    assert.equal(error.status, 422);
    return true;
  });
});

test("a verification whose response was lost is repeated, and recorded once", async () => {
  const request = { ...person(), flowId: flow("passport"), documentTypes: "PASSPORT", documentCountry: "UTO" } as const;
  const files = {
    passportFront: await fileFromPath(specimen("2003-document-corrupted-passportFront")),
    selfie: await fileFromPath(specimen("2003-document-corrupted-selfie")),
  };
  let attempts = 0;
  const fetchAndLoseTheFirst: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (++attempts === 1) throw new TypeError("the connection was lost");
    return response;
  };
  const result = await clientOf({ fetch: fetchAndLoseTheFirst }).verifications.submit({ ...request, ...files, dob: "03/14/1991" });
  assert.equal(attempts, 2);
  assert.equal(isReplayed(), true);
  assert.ok(result.idvResult.codes?.includes(2003));
  const { facemapId } = await bonafide.applicants.resolve(request.externalUserId);
  const [registration] = (await bonafide.applicants.get(facemapId)).registrations;
  assert.equal(registration?.verifications.length, 1);
});

test("errors state the field, the status and the request", async () => {
  const request = { ...person(), flowId: flow("data-only") };
  await assert.rejects(bonafide.verifications.submit({ ...request, firstName: "", email: "no" }), (error: InvalidRequestError) => {
    assert.ok(error instanceof InvalidRequestError);
    assert.equal(error.status, 400);
    assert.deepEqual(error.faults.map(({ field }) => field), ["firstName", "email"]);
    assert.match(error.message, /^Validation failed: firstName cannot be empty; email - /);
    assert.match(error.requestId ?? "", /^[0-9a-f-]{36}$/);
    return true;
  });
  const country = { documentTypes: "PASSPORT", documentCountry: "UTO" } as const;
  const withoutFiles = bonafide.verifications.submit({ ...request, ...country, flowId: flow("passport") });
  await assert.rejects(withoutFiles, { name: "InvalidRequestError", field: "passportFront" });
  await assert.rejects(bonafide.verifications.submit({ ...request, country: "PRK" }), { name: "PermissionError", status: 403 });
  await assert.rejects(bonafide.groups.create({ name: "", flowIds: [] }), { name: "InvalidRequestError", field: "name" });
  await assert.rejects(bonafide.lists.search("a", { limit: 501 }).first(), { name: "InvalidRequestError", field: "query.limit" });
  const unknown = randomUUID();
  const missing = [
    () => bonafide.flows.get(unknown),
    () => bonafide.groups.get(unknown),
    () => bonafide.sessions.get(unknown),
    () => bonafide.invitations.get(unknown),
    () => bonafide.applicants.get(unknown),
    () => bonafide.applicants.resolve(".."),
    () => bonafide.monitoring.picture(unknown),
    () => bonafide.lists.entity("nobody"),
    () => bonafide.verifications.submit({ ...request, flowId: unknown }),
  ];
  for (const call of missing) await assert.rejects(call, NotFoundError);
});

test("a key without permissions reads no evidence, decides nothing, and erases and exports nobody", async () => {
  const reviewerId = randomUUID();
  const calls = [
    () => bonafide.attempts.evidence(1),
    () => bonafide.attempts.file(1, "selfie"),
    () => bonafide.attempts.decide(1, { decision: "decline", reason: "copy", reviewerId }),
    () => bonafide.attempts.addNote(1, { text: "note", reviewerId }),
    () => bonafide.applicants.erase(randomUUID(), reviewerId),
    () => bonafide.applicants.export(randomUUID(), reviewerId),
  ];
  for (const call of calls) await assert.rejects(call, { name: "PermissionError", message: /lacks the permission/ });
  const nobody = bonafide.attempts.decide(1, { decision: "decline", reviewerId: "" });
  await assert.rejects(nobody, { name: "InvalidRequestError", field: "reviewerId" });
});

test("wrong credentials are an AuthenticationError in every family, and an unreachable server a ConnectionError", async () => {
  const stranger = clientOf({ secret: "wrong" });
  const link = { userId: "u", groupId: guests, flowId: flow("data-only") };
  const calls = [
    () => stranger.groups.list(),
    () => stranger.flows.list(),
    () => stranger.links.create(link),
    () => stranger.verifications.submit({ ...person(), flowId: link.flowId }),
    () => stranger.applicants.resolve("u"),
    () => stranger.monitoring.screen({ type: "address", currency: "btc", query: "a" }),
    () => stranger.lists.catalog(),
  ];
  for (const call of calls) await assert.rejects(call, AuthenticationError);
  // A port that was just closed has no server.
  const closed = createServer();
  await once(closed.listen(0, "127.0.0.1"), "listening");
  const { port } = closed.address() as AddressInfo;
  await once(closed.close(), "close");
  const nowhere = clientOf({ baseUrl: `http://127.0.0.1:${port}`, maxRetries: 0 });
  await assert.rejects(nowhere.groups.list(), (error: ConnectionError) => {
    assert.ok(error instanceof ConnectionError);
    // Node, then Deno.
    assert.match(error.message, /ECONNREFUSED|Connection refused/);
    return true;
  });
});

test("Flows are read as JSON and changed", async () => {
  const flowId = flow("licence");
  const before = await bonafide.flows.get(flowId);
  assert.deepEqual(before.defaultDocumentTypes, ["DRIVERS"]);
  const changes = {
    minAge: 21,
    countryOverrides: [{ countryAlpha3: "USA", restricted: true }],
    geoBlockedCountries: [{ countryAlpha2: "FR", countryName: "France" }],
  };
  const changed = await bonafide.flows.update(flowId, changes);
  assert.equal(changed.minAge, 21);
  assert.equal(changed.countryOverrides[0]?.restricted, true);
  assert.equal(changed.geoBlockedCountries[0]?.countryAlpha2, "FR");
  assert.deepEqual(changed.defaultFields, before.defaultFields);
  await assert.rejects(bonafide.flows.update(flowId, {}), { status: 400, message: "No fields to update" });
  await bonafide.flows.delete(flowId);
  assert.equal((await bonafide.flows.list()).some((one) => one.flowId === flowId), false);
});

test("Groups are created, changed and deleted", async () => {
  const flowId = flow("data-only");
  const idempotencyKey = randomUUID();
  const group = await bonafide.groups.create({ name: "Customers", flowIds: [flowId], status: "active" }, { idempotencyKey });
  assert.deepEqual(await bonafide.groups.create({ name: "Customers", flowIds: [flowId], status: "active" }, { idempotencyKey }), group);
  await assert.rejects(bonafide.groups.create({ name: "Customers", flowIds: [flowId] }), ConflictError);
  const changed = await bonafide.groups.update(group.groupId, { description: "Retail", status: "inactive" });
  assert.deepEqual([changed.description, changed.status, changed.flows[0]?.flowId], ["Retail", "inactive", flowId]);
  assert.deepEqual(await bonafide.groups.get(group.groupId), changed);
  assert.ok((await bonafide.groups.list()).some(({ groupId }) => groupId === group.groupId));
  await bonafide.groups.delete(group.groupId);
  await assert.rejects(bonafide.groups.get(group.groupId), NotFoundError);
});

test("invitations are listed in pages, reminded and revoked", async () => {
  const userId = `invited-${randomUUID()}`;
  const invite = () => bonafide.invitations.create({ userId, groupId: guests, flowId: flow("data-only") });
  const first = await invite();
  const created: InvitationWithUrl[] = [first, await invite(), await invite()];
  assert.ok(first.url.includes("invitation="));
  const list = bonafide.invitations.list({ userId, limit: 2 });
  const listed = [];
  for await (const { invitationId } of list) listed.push(invitationId);
  assert.deepEqual(listed, created.map(({ invitationId }) => invitationId).reverse());
  const page = await list.first();
  assert.equal(page.invitations.length, 2);
  const rest = await bonafide.invitations.list({ userId, before: page.next ?? "" }).first();
  assert.deepEqual([rest.invitations.length, rest.next], [1, null]);

  const reminded = await bonafide.invitations.remind(first.invitationId);
  assert.equal(reminded.reminders, 1);
  assert.notEqual(reminded.url, first.url);
  assert.equal((await bonafide.invitations.revoke(first.invitationId)).status, "revoked");
  assert.equal((await bonafide.invitations.revoke(first.invitationId)).status, "revoked");
  const detail = await bonafide.invitations.get(first.invitationId);
  assert.deepEqual([detail.status, detail.sessions], ["revoked", []]);
  await assert.rejects(bonafide.invitations.remind(first.invitationId), { name: "ConflictError", code: "invitation_ended" });
  assert.equal((await bonafide.invitations.list({ userId, status: "open" }).first()).invitations.length, 2);
});

test("addresses are screened, drawn, and their failures reported", async () => {
  const addressOf = (outcome: string) => `0x${Buffer.from(`bonafide sandbox ${outcome}`).toString("hex")}`;
  const sandbox = (outcome: string) => ({ type: "address", currency: "eth", query: addressOf(outcome) }) as const;
  const idempotencyKey = randomUUID();
  const screening = await bonafide.monitoring.screen({ ...sandbox("080"), report: "detailed", label: "order 7" }, { idempotencyKey });
  assert.deepEqual([screening.score, screening.label], [80, "order 7"]);
  assert.ok(screening.entities?.length && screening.exposures);
  const again = await bonafide.monitoring.screen({ ...sandbox("080"), report: "detailed", label: "order 7" }, { idempotencyKey });
  assert.equal(again.queryId, screening.queryId);
  assert.equal(isReplayed(), true);
  assert.ok((await bonafide.monitoring.picture(screening.queryId)).nodes.length);
  assert.match(await bonafide.monitoring.pictureAsSvg(screening.queryId), /^<svg/);
  await assert.rejects(bonafide.monitoring.screen(sandbox("404")), NotFoundError);
  const { screenings: [failed, scored] } = await bonafide.monitoring.screenings({ currency: "eth", limit: 2 }).first();
  assert.deepEqual([failed?.status, scored?.queryId], [404, screening.queryId]);
  assert.equal((await bonafide.monitoring.get(screening.queryId)).response?.["score"], 80);
  for (const status of [502, 503, 504]) {
    await assert.rejects(bonafide.monitoring.screen(sandbox(String(status)), { maxRetries: 0 }), (error: ServerError) => {
      assert.ok(error instanceof ServerError);
      assert.equal(error.status, status);
      return true;
    });
  }
  await assert.rejects(bonafide.monitoring.screen({ ...sandbox("010"), query: "a b" }), { field: "query" });
  const alerts = bonafide.monitoring.alerts({ state: "open", limit: 1 });
  for await (const { alertId } of alerts) assert.fail(`an alert of a new account: ${alertId}`);
});

test("lists are matched and searched", async () => {
  const { responses: found } = await bonafide.lists.match(
    { suspect: { schema: "Person", properties: { name: ["Zoltar Quenthabar"] } } },
    { limit: 1, topics: ["sanction"] },
  );
  const [hit] = found["suspect"]?.results ?? [];
  assert.equal(hit?.match, true);
  assert.equal((await bonafide.lists.entity(hit.id)).caption, "Zoltar Quenthabar");
  const search = bonafide.lists.search(undefined, { dataset: "demo", limit: 3 });
  const { total } = await search.first();
  const ids = new Set<string>();
  for await (const { id } of search) ids.add(id);
  assert.ok(total.value > 3);
  assert.equal(ids.size, total.value);
  assert.ok((await bonafide.lists.catalog()).datasets.some(({ name }) => name === "demo"));
  assert.ok((await bonafide.lists.algorithms()).algorithms.length);
  assert.ok((await bonafide.lists.versions()).lists.some(({ name, counts }) => name === "demo" && counts));
});

test("a permitted key reads evidence, notes, decides, exports and erases in a member's name", async () => {
  const reviewerId = await permitKey(server);
  const { attempts: [attempt] } = await bonafide.attempts.list({ externalUserId: "traveller-1" }).first();
  assert.ok(attempt);
  const { logId, facemapId } = attempt;
  await bonafide.attempts.addNote(logId, { text: "Called", reviewerId });
  const evidence = await bonafide.attempts.evidence(logId);
  assert.deepEqual([evidence.status, evidence.notes[0]?.text, evidence.notes[0]?.writtenBy], ["approved", "Called", reviewerId]);
  assert.ok(evidence.files.includes("selfie"));
  const selfie = new Uint8Array(await bonafide.attempts.file(logId, "selfie"));
  assert.deepEqual(selfie, new Uint8Array(await readFile(specimen("pass-passport-selfie"))));
  const decision = { decision: "decline", reason: "A copy", reviewerId, version: evidence.version } as const;
  const outcome = { logId, outcome: "decided", status: "declined" };
  assert.deepEqual(await bonafide.attempts.decide(logId, decision), outcome);
  await assert.rejects(
    bonafide.attempts.decide(logId, { ...decision, decision: "approve" }),
    { name: "ConflictError" },
  );
  const zip = new Uint8Array(await bonafide.applicants.export(facemapId, reviewerId));
  assert.equal(new TextDecoder().decode(zip.subarray(0, 2)), "PK");
  const { attempts } = await bonafide.applicants.erase(facemapId, reviewerId);
  assert.ok(attempts >= 1);
  await assert.rejects(bonafide.attempts.evidence(logId), NotFoundError);
});

test("the server states which images a document requires", async () => {
  assert.deepEqual(await bonafide.verifications.requirements("DEU", "ID_CARD"), {
    success: true, needsBack: true, hasOneSidedVariant: false, known: true,
  });
});

test("a call over the rate limit is repeated when the server permits it, or refused at once", async () => {
  const limited = await startServer("--rate-reads", "60");
  try {
    const once = clientOf({ maxRetries: 0 }, limited);
    const refused = await until(async () => {
      const results = await Promise.allSettled(Array.from({ length: 20 }, () => once.groups.list()));
      return results.find((result) => result.status === "rejected")?.reason as RateLimitError | undefined;
    });
    assert.ok(refused instanceof RateLimitError);
    assert.equal(responses.at(-1)?.rateLimit?.limit, 60);
    assert.ok(refused.retryAfterSeconds);
    const attempts: number[] = [];
    const patient = clientOf({ onResponse: ({ attempt }) => attempts.push(attempt) }, limited);
    await until(async () => ((await patient.groups.list()) && attempts.includes(2) ? true : undefined));
  } finally {
    await limited.stop();
  }
});

test("every operation that takes an API key was called and succeeded", () => {
  // The variant with a path is the same operation as findApplicantByExternalUserId, which takes every id.
  const unused = ["getApplicantByExternalUserId"];
  const succeeded = new Set<string>(responses.filter(({ status }) => status < 300).map(({ operation }) => operation));
  const missing = Object.keys(endpoints).filter((operation) => !succeeded.has(operation) && !unused.includes(operation));
  assert.deepEqual(missing, []);
});
