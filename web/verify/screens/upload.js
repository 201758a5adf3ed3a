// Sends the attempt. Every try has the same Idempotency-Key, so a try whose response was lost counts once.
import * as api from "../api.js";
import * as app from "../app.js";
import { actions, announce, button, h, heading, hero, lead, note, rows } from "../dom.js";
import { track } from "../events.js";
import * as flow from "../flow.js";
import { percent, t } from "../i18n.js";
import * as router from "../router.js";

const WAITS_MS = [1000, 2000, 4000, 8000, 15_000, 15_000];

/** @type {router.Render} */
export function render() {
  const titleText = t(flow.asksDocument(app.facts(), app.currentWork()) ? "upload.title" : "upload.title.details");
  const title = heading(titleText);
  const text = lead(t("upload.lead"));
  const fill = h("span");
  const bar = h("div", { class: "bar", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100, "aria-label": t("step.upload") }, fill);
  const part = h("p", { class: "status" }, t("upload.progress", { percent: percent(0) }));
  const what = h("div", null, part);
  const more = h("div", { class: "problem" });
  let isGone = false;

  /** @param {number} sent 0–1 */
  function progress(sent) {
    const isSent = sent >= 1;
    fill.style.inlineSize = `${Math.round(sent * 100)}%`;
    part.textContent = t("upload.progress", { percent: percent(sent) });
    if (isSent) bar.removeAttribute("aria-valuenow");
    else bar.setAttribute("aria-valuenow", String(Math.round(sent * 100)));
    if (isSent === bar.classList.contains("checking")) return;
    bar.classList.toggle("checking", isSent);
    title.textContent = isSent ? t("upload.checking") : titleText;
    text.textContent = t(isSent ? "upload.checking.lead" : "upload.lead");
    what.replaceChildren(isSent ? checks() : part);
    if (isSent) announce(t("upload.checking"));
  }

  const run = async () => {
    app.setSending(true);
    try {
      await send(progress, (key) => {
        if (key) progress(0);
        if (!isGone) more.replaceChildren(...(key ? [note("warn", t(key))] : []));
        if (key) announce(t(key));
      });
    } finally {
      app.setSending(false);
    }
  };
  track("upload", "reached");
  return { body: [hero("file"), title, text, bar, what, more], shown: run, cleanup: () => (isGone = true) };
}

/** The list of checks. It has no ticks, because the server reports no progress. */
function checks() {
  const asks = flow.asksDocument(app.facts(), app.currentWork());
  const list = rows([...(asks ? /** @type {[string, string][]} */ ([["card", t("upload.check.document")], ["face", t("upload.check.face")]]) : []), ["person", t("upload.check.details")]]);
  list.classList.add("checks");
  return list;
}

/**
 * @param {(sent: number) => void} progress
 * @param {(key: string) => void} say key of the message while sending is blocked, "" after that
 */
async function send(progress, say) {
  const work = app.currentWork();
  work.key ||= newKey();
  work.ready = true;
  await app.saveNow();
  let form = compose(app.facts(), work);
  for (let attempt = 0; ; attempt += 1) {
    try {
      progress(0);
      await api.verify(form, work.key, progress);
      track("upload", "completed");
      return arrived();
    } catch (error) {
      if (!(error instanceof api.ApiError)) throw error;
      const { status } = error;
      if (status === 400 && forgetReadings(work, error.body)) {
        await app.saveNow();
        form = compose(app.facts(), work);
        continue;
      }
      const passes = status === 0 || status === 409 || status === 429 || status === 502 || status === 503 || status === 504;
      if (!passes || attempt >= WAITS_MS.length) return refused(error);
      track("upload", "retried", navigator.onLine ? undefined : "offline");
      say(status === 0 ? "upload.cut" : "problem.busy");
      await wait(Math.max(WAITS_MS[attempt] ?? 0, error.retryAfter * 1000));
      say("");
    }
  }
}

/** A unique key, also without a secure context. */
function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The form of the contract (§4.6). The access token determines Group and session. @param {flow.Facts} facts @param {flow.Work} work */
function compose(facts, work) {
  const form = new FormData();
  for (const field of flow.fieldsFor(facts, work)) {
    const value = work.details[field];
    if (value) form.append(field, value);
  }
  form.append("externalUserId", facts.current.userId);
  form.append("flowId", facts.current.flowId);
  if (!flow.asksDocument(facts, work)) return form;
  form.append("documentTypes", work.type);
  form.append("documentCountry", work.country);
  const withBack = flow.chosenType(facts, work)?.needsBack && !work.noBack;
  /** @type {string[]} */
  const readings = [];
  for (const side of /** @type {flow.Side[]} */ (["front", "back", "selfie"])) {
    const picture = work.pictures[side];
    if (!picture || (side === "back" && !withBack)) continue;
    // The server has the pictures that it read.
    if (picture.reading?.readingId && picture.reading.file === flow.fileField(work.type, side)) {
      readings.push(picture.reading.readingId);
      continue;
    }
    const field = flow.fileField(work.type, side);
    form.append(field, picture.blob, `${field}.${picture.blob.type === "application/pdf" ? "pdf" : "jpg"}`);
  }
  if (readings.length) form.append("readings", readings.join(","));
  return form;
}

/**
 * If the server does not have a picture that was named by its reading, the pictures are sent instead. A server of an
 * earlier version misses the file. Returns whether that is the refusal's cause.
 * @param {flow.Work} work @param {any} body
 */
function forgetReadings(work, body) {
  const named = Object.values(work.pictures).flatMap(({ reading }) => (reading?.readingId ? [reading] : []));
  const missing = ["readings ", ...named.map(({ file }) => `${file} `)];
  const errors = Array.isArray(body?.errors) ? body.errors.map(String) : [];
  if (!named.length || !errors.some((/** @type {string} */ text) => missing.some((beginning) => text.startsWith(beginning)))) return false;
  for (const reading of named) reading.readingId = "";
  work.key = newKey();
  return true;
}

/** @param {number} ms maximum; ends early when the connection returns */
function wait(ms) {
  if (!navigator.onLine) return new Promise((resolve) => addEventListener("online", resolve, { once: true }));
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
    addEventListener("online", resolve, { once: true });
  });
}

/** Reads the outcome of a made attempt from the session. */
async function arrived() {
  for (const ms of [0, 1000, 2000, 4000]) {
    await new Promise((resolve) => setTimeout(resolve, ms));
    try {
      await app.refresh();
      break;
    } catch {
      // The server stores the outcome, so it can be requested again.
    }
  }
  if (app.openOutcome()) return router.show("outcome", { replace: true });
  return failed("server");
}

/** @param {api.ApiError} error */
async function refused(error) {
  const work = app.currentWork();
  const { status, body } = error;
  track("upload", "failed");
  if (status === 401) {
    // The session ended meanwhile, on another device or by a try whose response was lost.
    const current = await app.refresh().catch(() => null);
    if (current && app.openOutcome()) return router.show("outcome", { replace: true });
    return app.finish("expired");
  }
  if (status === 422) {
    // The key belongs to other content, so the changed content becomes a new attempt.
    work.key = newKey();
    return failed("server");
  }
  work.key = "";
  /** @type {string[]} */
  const errors = Array.isArray(body.errors) ? body.errors.map(String) : [String(body.message ?? "")];
  const redo = new Set();
  for (const text of errors) {
    const named = /^(\w+)/.exec(text)?.[1] ?? "";
    if (flow.FIELDS.includes(named)) {
      work.refused[named] = text.includes("required") ? "error.required" : "error.refused";
      redo.add("details");
    } else if (/^Social Security/.test(text)) {
      work.refused["ssn"] = "error.required";
      redo.add("details");
    } else if (/^country of residence/.test(text)) {
      work.refused["country"] = "error.restricted";
      redo.add("details");
    } else if (/^nationality/.test(text)) {
      work.refused["nationality"] = "error.restricted";
      redo.add("details");
    } else if (status === 501 || /^document/.test(text) || / of [A-Z]{3} is not yet supported/.test(text)) redo.add("document");
    else {
      const side = flow.sideOfField(named);
      if (side) redo.add(side);
    }
  }
  if (!redo.size || status >= 500 && status !== 501) return failed("server");
  flow.reopen(app.facts(), work, [.../** @type {Set<string>} */ (redo)]);
  await app.saveNow();
  return router.show("retry", { params: { kind: "refused" }, replace: true });
}

/** @param {"server" | "network"} kind */
const failed = (kind) => router.show("retry", { params: { kind }, replace: true });

/** The attempt could not be sent, or the server refused its content. @type {router.Render} */
export function renderRetry(_part, params) {
  const kind = params?.kind ?? "server";
  const isRefused = kind === "refused";
  return {
    body: [
      hero(isRefused ? "alert" : "offline", "wait"),
      heading(t(isRefused ? "upload.refused.title" : "upload.failed.title")),
      lead(t(isRefused ? "upload.refused.body" : navigator.onLine ? "upload.failed.server" : "upload.failed.body")),
      actions(button("primary", t(isRefused ? "page.continue" : "page.retry"), () => app.next({ replace: !isRefused }))),
    ],
  };
}
