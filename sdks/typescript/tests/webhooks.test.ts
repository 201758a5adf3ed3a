// Verification of webhook messages: the published vector, messages that the reference library signed, and forgeries.
import assert from "node:assert/strict";
import { test } from "node:test";
import { verifyWebhook, WebhookVerificationError, type VerifyWebhookOptions } from "@bonafide/server";
import { Webhook } from "standardwebhooks";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDPPRjs4iDDZQ=";
const AT = 1_795_255_200;
const BODY = JSON.stringify({
  type: "verification.completed",
  timestamp: "2026-11-21T10:00:00.000Z",
  data: { externalUserId: "user-1", status: "approved", success: true, codes: [], sequence: 1 },
});

function signed(secrets: string[], body = BODY, at = AT) {
  const signatures = secrets.map((secret) => new Webhook(secret).sign("evt_1", new Date(at * 1000), body));
  return { "webhook-id": "evt_1", "webhook-timestamp": String(at), "webhook-signature": signatures.join(" ") };
}

const verified = (headers: Record<string, string>, options: VerifyWebhookOptions = {}, secrets: string | string[] = SECRET, body = BODY) =>
  verifyWebhook(body, headers, secrets, { now: AT * 1000, ...options });
const failsBecause = (reason: string) => (error: unknown) => {
  assert.ok(error instanceof WebhookVerificationError);
  assert.equal(error.reason, reason);
  return true;
};

test("the published vector of Standard Webhooks has a valid signature", async () => {
  // Its body is not an event of Bonafide, which is found only after the signature was verified.
  const headers = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  };
  const now = 1_614_265_330_000;
  await assert.rejects(verifyWebhook('{"test": 2432232314}', headers, SECRET, { now }), failsBecause("not_an_event"));
  await assert.rejects(verifyWebhook('{"test": 2432232315}', headers, SECRET, { now }), failsBecause("no_match"));
});

test("an event that the reference library signed is returned, however its parts arrive", async () => {
  const headers = signed([SECRET]);
  const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
  for (const body of [BODY, Buffer.from(BODY), new TextEncoder().encode(BODY)]) {
    for (const form of [headers, upper, new Headers(headers), { ...headers, "set-cookie": ["a", "b"] }]) {
      const event = await verifyWebhook(body, form, SECRET, { now: AT * 1000 });
      assert.equal(event.id, "evt_1");
      assert.ok(event.type === "verification.completed" && event.data.externalUserId === "user-1");
    }
  }
});

test("either of two signatures and any of several secrets counts", async () => {
  await verified(signed([OTHER, SECRET]));
  await verified(signed([SECRET, OTHER]));
  await verified(signed([SECRET]), {}, [OTHER, SECRET]);
  await assert.rejects(verified(signed([OTHER])), failsBecause("no_match"));
});

test("a changed body, id or time is refused", async () => {
  const headers = signed([SECRET]);
  await assert.rejects(verified(headers, {}, SECRET, `${BODY} `), failsBecause("no_match"));
  await assert.rejects(verified({ ...headers, "webhook-id": "evt_2" }), failsBecause("no_match"));
  await assert.rejects(verified({ ...headers, "webhook-timestamp": String(AT + 1) }), failsBecause("no_match"));
});

test("signatures of other versions and forms are refused", async () => {
  const headers = signed([SECRET]);
  const value = headers["webhook-signature"];
  const versions = ["v1a,", "v2,", ""].map((version) => value.replace("v1,", version));
  for (const forged of [...versions, "v1,", "v1,!!!!", "v1,AAAA", value.slice(0, -6), ","]) {
    await assert.rejects(verified({ ...headers, "webhook-signature": forged }), failsBecause("no_match"), forged);
  }
  const many = `${"v1,AAAA ".repeat(10_000)}${value}`;
  await assert.rejects(verified({ ...headers, "webhook-signature": many }), failsBecause("no_match"));
});

test("a message outside the time window is refused, at its exact edges", async () => {
  const headers = signed([SECRET]);
  const at = (seconds: number, toleranceSeconds?: number) =>
    verified(headers, { now: (AT + seconds) * 1000, ...(toleranceSeconds === undefined ? {} : { toleranceSeconds }) });
  await at(300);
  await at(-300);
  await assert.rejects(at(301), failsBecause("too_old"));
  await assert.rejects(at(-301), failsBecause("too_new"));
  await at(10, 10);
  await assert.rejects(at(11, 10), failsBecause("too_old"));
  await assert.rejects(verifyWebhook(BODY, signed([SECRET], BODY, 1), SECRET), failsBecause("too_old"));
});

test("missing and malformed headers are refused", async () => {
  const headers = signed([SECRET]);
  for (const name of Object.keys(headers)) {
    await assert.rejects(verified({ ...headers, [name]: "" }), failsBecause("missing_header"));
    const twice = { ...headers, [name]: ["a", "b"] };
    await assert.rejects(verifyWebhook(BODY, twice, SECRET, { now: AT * 1000 }), failsBecause("missing_header"));
  }
  for (const time of ["x", "1e9", "-5", "1795255200.5", "NaN", "9".repeat(30)]) {
    await assert.rejects(verified({ ...headers, "webhook-timestamp": time }), failsBecause("invalid_timestamp"));
  }
});

test("a signed body that is not an event is refused", async () => {
  for (const body of ["", "null", "[]", "{}", '{"type":"verification.completed"}', "{"]) {
    await assert.rejects(verified(signed([SECRET], body), {}, SECRET, body), failsBecause("not_an_event"));
  }
});

test("a wrong setting is a TypeError, not a refused message", async () => {
  const headers = signed([SECRET]);
  for (const secrets of ["", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_!", [], [SECRET, "x"]]) {
    await assert.rejects(verified(headers, {}, secrets), TypeError);
  }
  await assert.rejects(verified(headers, { toleranceSeconds: Number.NaN }), TypeError);
});
