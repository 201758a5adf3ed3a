// Entry point of the hosted page. The URL and the stored state determine the first screen.
import * as app from "./app.js";
import { boot, cleanAddress, tokens } from "./boot.js";
import { ask, button, h, icon } from "./dom.js";
import { connect, isEmbedded, leave, notify, notifyError, notifyStep } from "./embed.js";
import { dateTime, language, languages, setLanguage, t } from "./i18n.js";
import { laterScreens, NotLoaded } from "./loading.js";
import * as router from "./router.js";
import * as store from "./store.js";
import * as consent from "./screens/consent.js";
import * as end from "./screens/end.js";
import * as open from "./screens/open.js";

/** Whether the page shows that it could not load its data. The applicant can still try again. */
let isUnavailable = false;

cleanAddress(language());

router.start(
  {
    open: open.render,
    consent: consent.render,
    end: end.render,
    claim: later(({ claim }) => claim),
    number: later(({ number }) => number),
    device: later(({ device }) => device),
    document: later(({ document }) => document),
    front: later(({ renderSide }) => renderSide("front")),
    back: later(({ renderSide }) => renderSide("back")),
    details: later(({ details }) => details),
    selfie: later(({ renderSide }) => renderSide("selfie")),
    upload: later(({ upload }) => upload),
    retry: later(({ retry }) => retry),
    outcome: later(({ outcome }) => outcome),
    elsewhere: later(({ elsewhere }) => elsewhere),
  },
  app.guard,
  app.progress,
  notifyStep,
);

connect(boot, askToLeave);
drawLanguages();
drawClose();
// Paper shows where and when it was printed.
addEventListener("beforeprint", () => document.getElementById("printed")?.replaceChildren(`${location.host} · ${dateTime(Date.now())}`));
// The merchant of an earlier visit in this tab is not this one's.
if (tokens.link || tokens.invitation || tokens.handoff) store.setTab({});
app.drawTop();
store.sweep();
begin().finally(() => laterScreens().catch(() => {}));

/**
 * A screen of screens/later.js.
 * @param {(screens: import("./loading.js").Screens) => router.Render} choose @returns {router.Render}
 */
function later(choose) {
  return async (part, params) => choose(await laterScreens())(part, params);
}

async function begin() {
  isUnavailable = false;
  try {
    await first();
  } catch (error) {
    isUnavailable = true;
    // Without `retry`, a press loads the page again.
    router.show("end", { params: { kind: "failed", ...(error instanceof NotLoaded ? {} : { retry: begin }) }, replace: true });
  }
}

/** The first screen of this visit. */
async function first() {
  if (boot.rehearsal) return router.show("open", { replace: true });
  // These visits begin with a later screen, most likely.
  if (boot.state !== "open" || tokens.handoff) laterScreens().catch(() => {});
  const kept = store.tab();
  const link = tokens.link;
  if (tokens.handoff || (kept.handoff && !link && !tokens.invitation)) {
    if (tokens.handoff) store.setTab({ handoff: tokens.handoff });
    if (["invalid_token", "token_used", "token_expired"].includes(boot.state)) return endOf(boot.state);
    return router.show("claim", { replace: true });
  }
  if (link) {
    // A new link always begins a new visit in this tab.
    store.setTab({ ...(["open", "unavailable"].includes(boot.state) ? { link } : {}), merchant: app.brand() });
    if (boot.state === "open") return router.show("open", { replace: true });
    if (boot.state === "token_used" && (await open.goOn(link))) return;
    return endOf(boot.state);
  }
  if (tokens.invitation) {
    store.setTab({ invitation: { token: tokens.invitation, merchant: app.brand() } });
    if (await open.goOn(tokens.invitation)) return;
    return boot.state === "open" ? router.show("open", { replace: true }) : endOf(boot.state);
  }
  if (kept.access) {
    if (await open.goOnWith(kept.access)) return;
    return app.finish("expired");
  }
  if (kept.ended) {
    const { status, sessionId } = kept.ended;
    if (status === "expired") {
      // An invitation can still succeed.
      if (!kept.invitation) app.notifyExpired();
      return router.show("end", { params: { kind: "expired" }, replace: true });
    }
    notify(status === "failed" ? "failed" : "done", { sessionId, status });
    return router.show("outcome", { params: { result: { ...kept.ended, final: true } }, replace: true });
  }
  // After a reload before the start, the URL has no token.
  if (kept.invitation && (await open.goOn(kept.invitation.token))) return;
  if (kept.invitation || kept.link) return open.reopen();
  return endOf(boot.state);
}

/** @param {string} state */
function endOf(state) {
  isUnavailable = state === "unavailable";
  if (!isUnavailable) notifyError(state);
  return app.finish(state === "unavailable" ? "failed" : (open.KINDS[state] ?? "notoken"), { canRenew: boot.canRenew });
}

/** Shows the dialog whether to leave, for the merchant's page or the Escape key. */
async function askToLeave() {
  if (router.screen() === "end" || (router.screen() === "outcome" && !app.isRunning())) {
    const { ended, invitation } = store.tab();
    if (isUnavailable) notifyError("unavailable");
    if (invitation && ended?.status === "expired") app.notifyExpired();
    return void leave();
  }
  const yes = await ask({ title: t("page.leave.title"), body: t("page.leave.body"), yes: t("page.leave.yes"), no: t("page.leave.no") });
  if (!yes) return;
  const sessionId = app.sessionAccess()?.sessionId ?? null;
  try {
    await app.clear();
  } finally {
    notify("cancelled", { sessionId, status: null });
    leave();
  }
}

function drawLanguages() {
  const select = h(
    "select",
    {
      "aria-label": t("page.language"),
      onchange: async () => {
        try {
          await setLanguage(select.value);
        } catch {
          select.value = language();
          return;
        }
        cleanAddress(language());
        select.setAttribute("aria-label", t("page.language"));
        document.getElementById("close")?.setAttribute("aria-label", t("page.close"));
        app.drawTop();
        router.redraw();
      },
    },
    ...languages.map(({ code, name }) => h("option", { value: code, lang: code, selected: code === language() }, name)),
  );
  // The part before the script or country, such as ZH.
  const short = () => select.value.split("-")[0]?.toUpperCase() ?? "";
  const code = h("span", { "aria-hidden": "true" }, short());
  select.addEventListener("change", () => (code.textContent = short()));
  // The server reserves a place for it in the page.
  document.getElementById("languages")?.remove();
  document.getElementById("top-end")?.append(h("div", { class: "languages", id: "languages" }, icon("globe"), code, select));
}

/** Inside a merchant's page, which hides its close button when this page runs. */
function drawClose() {
  // The server reserves a place for it in frames.
  document.getElementById("close")?.remove();
  if (!isEmbedded()) return;
  const close = button("plain", "", askToLeave, "close");
  close.classList.add("close");
  close.id = "close";
  close.setAttribute("aria-label", t("page.close"));
  document.querySelector(".top")?.append(close);
}

