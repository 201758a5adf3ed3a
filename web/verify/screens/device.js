// On a desktop: continue on the phone, whose camera is better, or stay. The desktop then follows the phone.
import * as api from "../api.js";
import * as app from "../app.js";
import { actions, announce, button, h, heading, icon, lead, note } from "../dom.js";
import { track } from "../events.js";
import * as flow from "../flow.js";
import { t } from "../i18n.js";
import * as router from "../router.js";

const POLL_MS = 2000;

/** The code that was shown last. Another one would invalidate its link, which may be in a message already. @type {{sessionId: string | null, made: {url: string, number: string, qrSvg: string, expiresAt: string | number}, until: number} | null} */
let kept = null;

/** The session's code: the one that was shown last while it works, or a new one. @param {boolean} isRenewal */
async function code(isRenewal) {
  const sessionId = app.sessionAccess()?.sessionId ?? null;
  if (isRenewal || !kept || kept.sessionId !== sessionId || kept.until < Date.now() + 20_000) {
    const made = await api.handoff();
    const { expiresAt } = made;
    const until = typeof expiresAt === "number" ? (expiresAt < 1e12 ? expiresAt * 1000 : expiresAt) : Date.parse(expiresAt);
    kept = { sessionId, made, until };
  }
  return kept;
}

/** @type {router.Render} */
export function render(part, params) {
  if (part === "follow") return follow();
  const isLink = part === "link";
  const qr = h("div", { class: "qr" }, h("span", { class: "spinner" }));
  const number = h("output", { class: "number" }, "··");
  const status = h("p", { class: "status", role: "status" }, isLink ? "" : t("device.waiting"));
  // It takes up space while invisible, so the screen does not move when the code arrives.
  const others = h("details", { class: "others ghost" }, h("summary", null, t("device.others")));
  /** @type {number | undefined} */
  let renewal;

  async function renew(isRenewal = true) {
    clearTimeout(renewal);
    try {
      const { made, until } = await code(isRenewal);
      const { url, number: text, qrSvg } = made;
      number.textContent = text;
      if (isLink) qr.replaceChildren(copyBox(url, "primary", t("device.copied")));
      else {
        qr.replaceChildren(h("img", { src: `data:image/svg+xml,${encodeURIComponent(qrSvg)}`, alt: t("device.qr"), width: 216, height: 216 }));
        const how = t("device.others.lead");
        others.replaceChildren(
          h("summary", null, t("device.others")),
          h("p", { class: "hint" }, how),
          copyBox(url, "secondary", t("device.others.copied"), mailLink(t("device.title"), `${how}\r\n\r\n${url}`)),
        );
        others.classList.remove("ghost");
      }
      renewal = window.setTimeout(expire, Math.max(20_000, until - Date.now()));
    } catch (error) {
      const text = app.problemText(error);
      if (text) qr.replaceChildren(note("bad", text), button("secondary", t("page.retry"), () => renew()));
    }
  }

  function expire() {
    kept = null;
    const again = button("secondary", t("device.renew"), () => {
      again.disabled = true;
      return renew();
    });
    qr.replaceChildren(h("p", null, t("device.new")), again);
    if (others.contains(document.activeElement)) again.focus();
    others.classList.add("ghost");
  }

  const stop = poll((current) => {
    if (current.handoff?.state !== "claimed") return;
    kept = null;
    track("device", "completed");
    router.show("device", { part: "follow", replace: true });
  });
  renew(false);
  track("device", "reached");
  return {
    body: [
      heading(t(isLink ? "trouble.otherbrowser" : "device.title")),
      lead(t(isLink ? "device.copylead" : "device.lead")),
      h("div", { class: "handoff" }, qr, h("div", { class: "match" }, h("p", null, t("device.number")), number, status)),
      isLink ? null : others,
      actions(
        params?.from || isLink
          ? button("plain", t("page.back"), () => history.back())
          : button("secondary", t("device.here"), stayHere),
      ),
    ],
    cleanup: () => {
      stop();
      clearTimeout(renewal);
    },
  };
}

async function stayHere() {
  app.currentWork().device = "here";
  track("device", "completed");
  await app.next();
}

/**
 * The link with a button that copies it.
 * @param {string} url @param {"primary" | "secondary"} kind @param {string} copied the button's text afterwards
 * @param {...Node} more below the button
 */
function copyBox(url, kind, copied, ...more) {
  const copy = button(kind, t("device.copy"), async () => {
    try {
      await navigator.clipboard.writeText(url);
    } catch {
      field.focus();
      field.select();
      document.execCommand("copy");
    }
    copy.textContent = copied;
    announce(copied);
  });
  const field = h("input", { type: "text", readonly: true, value: url, "aria-label": t("device.copy"), dir: "ltr" });
  return h("div", { class: "copy" }, field, copy, ...more);
}

/** Opens a message in the person's own mail program, or in another tab. The server learns no address. @param {string} subject @param {string} body */
const mailLink = (subject, body) =>
  h("a", { class: "secondary", href: `mailto:?subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(body)}`, target: "_blank", rel: "noopener noreferrer" }, t("device.mail"));

/** @returns {router.Screen} */
function follow() {
  const facts = app.facts();
  const ids = [...flow.steps(facts, app.currentWork()).map(({ id }) => id).filter((id) => id !== "consent" && id !== "device"), "upload"];
  let at = -1;
  const list = h("ol", { class: "follow" });

  /** @param {string | null} step */
  function draw(step) {
    const reached = ids.indexOf(step === "liveness" ? "selfie" : (step ?? ""));
    // Camera and review are shown as the step of their picture.
    if (reached < 0 || reached === at) {
      if (at >= 0) return;
    } else at = reached;
    list.replaceChildren(
      ...ids.map((id, i) => {
        const state = i < at ? "done" : i === at ? "now" : "";
        return h("li", { class: state, "aria-current": state === "now" ? "step" : null }, state === "done" ? icon("check") : h("span", { class: "dot" }), h("span", null, t(`step.${id}`)), state ? h("span", { class: "quiet" }, t(`step.${state}`)) : null);
      }),
    );
    const now = ids[at];
    if (now) announce(`${t(`step.${now}`)}: ${t("step.now")}`);
  }

  const stop = poll((current) => {
    if (app.openOutcome()) return app.next();
    draw(current.handoff?.step ?? null);
    if (!current.handoff) router.show("device", { replace: true });
  });
  draw(facts.current.handoff?.step ?? null);
  return {
    body: [
      h("div", { class: "hero" }, icon("phone", "hero-icon")),
      heading(t("device.follow.title")),
      lead(t("device.follow.lead")),
      list,
      actions(button("plain", t("device.here"), stayHere)),
    ],
    cleanup: stop,
  };
}

/** Polls the session every two seconds. @param {(current: api.Current) => void} heard @returns {() => void} stops polling */
function poll(heard) {
  let isStopped = false;
  const timer = setInterval(async () => {
    if (document.visibilityState === "hidden") return;
    try {
      const current = await app.refresh();
      if (!isStopped && app.isSpent()) return void (await app.finish("expired"));
      if (!isStopped) heard(current);
    } catch (error) {
      if (!isStopped && error instanceof api.ApiError && error.status === 401) app.finish("expired");
      // Other failures may be over at the next poll.
    }
  }, POLL_MS);
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}
