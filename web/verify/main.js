// Entry point of the hosted page. The URL and the stored state determine the first screen.
import * as app from "./app.js";
import { boot, cleanAddress, tokens } from "./boot.js";
import { ask, h, icon } from "./dom.js";
import { connect, leave, notify } from "./embed.js";
import { language, LANGUAGES, setLanguage, t } from "./i18n.js";
import * as router from "./router.js";
import * as store from "./store.js";
import * as claim from "./screens/claim.js";
import * as consent from "./screens/consent.js";
import * as details from "./screens/details.js";
import * as device from "./screens/device.js";
import * as documentScreen from "./screens/document.js";
import * as elsewhere from "./screens/elsewhere.js";
import * as end from "./screens/end.js";
import * as open from "./screens/open.js";
import * as outcome from "./screens/outcome.js";
import { renderSide } from "./screens/picture.js";
import * as upload from "./screens/upload.js";

cleanAddress(language());

router.start(
  {
    open: open.render,
    claim: claim.render,
    number: claim.renderNumber,
    consent: consent.render,
    device: device.render,
    details: details.render,
    document: documentScreen.render,
    front: renderSide("front"),
    back: renderSide("back"),
    selfie: renderSide("selfie"),
    upload: upload.render,
    retry: upload.renderRetry,
    outcome: outcome.render,
    end: end.render,
    elsewhere: elsewhere.render,
  },
  app.guard,
  app.progress,
);

connect(boot, askToLeave);
drawLanguages();
// The merchant of an earlier visit in this tab is not this one's.
if (tokens.link || tokens.invitation || tokens.handoff) store.setTab({});
app.drawTop();
store.sweep();
begin();

async function begin() {
  try {
    await first();
  } catch {
    router.show("end", { params: { kind: "failed", retry: begin }, replace: true });
  }
}

/** The first screen of this visit. */
async function first() {
  if (boot.rehearsal) return router.show("open", { replace: true });
  const kept = store.tab();
  const link = tokens.link;
  if (tokens.handoff || (kept.handoff && !link && !tokens.invitation)) {
    if (tokens.handoff) store.setTab({ handoff: tokens.handoff });
    if (["invalid_token", "token_used", "token_expired"].includes(boot.state)) return endOf(boot.state);
    return router.show("claim", { replace: true });
  }
  if (link) {
    // A new link always begins a new visit in this tab.
    store.setTab(boot.state === "open" ? { link } : {});
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
    return kept.ended.status === "expired"
      ? router.show("end", { params: { kind: "expired" }, replace: true })
      : router.show("outcome", { params: { result: { ...kept.ended, final: true } }, replace: true });
  }
  // After a reload before the start, the URL has no token.
  if (kept.invitation && (await open.goOn(kept.invitation.token))) return;
  if (kept.invitation || kept.link) return open.reopen();
  return endOf(boot.state);
}

/** @param {string} state */
function endOf(state) {
  return app.finish(state === "unavailable" ? "failed" : (open.KINDS[state] ?? "notoken"), { canRenew: boot.canRenew });
}

/** Shows the dialog whether to leave, for the merchant's page or the Escape key. */
async function askToLeave() {
  if (["end", "outcome"].includes(router.screen())) {
    const { ended, invitation } = store.tab();
    if (invitation && ended?.status === "expired") app.notifyExpired();
    return void leave();
  }
  const yes = await ask({ title: t("page.leave.title"), body: t("page.leave.body"), yes: t("page.leave.yes"), no: t("page.leave.no") });
  if (!yes) return;
  const sessionId = app.sessionAccess()?.sessionId ?? null;
  await app.clear();
  notify("cancelled", { sessionId, status: null });
  leave();
}

function drawLanguages() {
  const offered = (boot.languages?.length ? boot.languages : Object.keys(LANGUAGES)).filter((code) => code in LANGUAGES);
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
        app.drawTop();
        router.redraw();
      },
    },
    ...offered.map((code) => h("option", { value: code, lang: code, selected: code === language() }, /** @type {Record<string, string>} */ (LANGUAGES)[code] ?? code)),
  );
  const code = h("span", { "aria-hidden": "true" }, language().toUpperCase());
  select.addEventListener("change", () => (code.textContent = select.value.toUpperCase()));
  // The server reserves a place for it in the page.
  document.getElementById("languages")?.remove();
  document.getElementById("top-end")?.append(h("div", { class: "languages", id: "languages" }, icon("globe"), code, select));
}

