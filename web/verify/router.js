// Shows one screen at a time, moves the focus to its heading, and keeps the browser's Back working.
import { button, h, hush } from "./dom.js";
import { t } from "./i18n.js";

/**
 * The parts of a screen.
 * @typedef {{body: (Node | null | false)[], cleanup?: () => void, shown?: () => unknown}} Screen
 * @typedef {(part: string, params: any) => Screen | Promise<Screen>} Render
 */

/** @type {Record<string, Render>} */
let screens = {};
/** @type {{id: string, part: string, params: any}} */
let now = { id: "", part: "", params: null };
/** @type {(() => void) | undefined} */
let cleanup;
let turn = 0;
/** The last screen that was completely shown. */
let shown = "";
/** @type {(id: string, part: string) => {id: string, part: string} | null} */
let guard = () => null;
/** @type {() => {n: number, total: number} | null} */
let progress = () => null;
/** @type {(id: string, progress: {n: number, total: number} | null) => void} */
let onScreen = () => {};

/**
 * @param {Record<string, Render>} map
 * @param {typeof guard} onBack the target of Back; null: stay
 * @param {typeof progress} onProgress
 * @param {typeof onScreen} onNewScreen called when another screen is shown, but not for its parts
 */
export function start(map, onBack, onProgress, onNewScreen) {
  screens = map;
  guard = onBack;
  progress = onProgress;
  onScreen = onNewScreen;
  addEventListener("popstate", ({ state }) => {
    const wanted = guard(state?.screen ?? "", state?.part ?? "");
    if (wanted) render(wanted.id, wanted.part, null).catch(showFailure);
    else history.pushState({ screen: now.id, part: now.part, index: index() + 1 }, "");
  });
}

const index = () => Number(history.state?.index ?? 0);

/** The current screen. */
export const screen = () => now.id;

/**
 * @param {string} id
 * @param {{part?: string, params?: any, replace?: boolean}} [options] replace: the new screen replaces the current one in the history
 */
export async function show(id, { part = "", params = null, replace = false } = {}) {
  const state = { screen: id, part, index: replace ? index() : index() + 1 };
  history[replace ? "replaceState" : "pushState"](state, "");
  await render(id, part, params);
}

/** Shows that a screen could not be loaded. A press there loads the page again. */
export const showFailure = () => show("end", { params: { kind: "failed" }, replace: true });

/** Renders the screen again, for example after a change of language. @param {boolean} [refocus] what it shows is new */
export function redraw(refocus = false) {
  if (refocus) now = { ...now, part: now.part === "trouble" || now.part === "file" ? "" : now.part };
  return render(now.id, now.part === "camera" ? "" : now.part, now.params, refocus);
}

/** @param {string} id @param {string} part @param {any} params @param {boolean} [refocus] */
async function render(id, part, params, refocus = false) {
  const mine = ++turn;
  cleanup?.();
  cleanup = undefined;
  const isSame = now.id === id && now.part === part;
  const before = now;
  now = { id, part, params };
  const main = /** @type {HTMLElement} */ (document.getElementById("main"));
  /** @type {Screen} */
  let screen;
  try {
    screen = await /** @type {Render} */ (screens[id])(part, params);
  } catch (error) {
    // The screen before is still shown.
    if (mine === turn) now = before;
    throw error;
  }
  // Another screen was requested meanwhile.
  if (mine !== turn) return screen.cleanup?.();
  cleanup = screen.cleanup;
  if (!isSame) hush();
  const wasOnStart = document.activeElement?.id === "start";
  main.dataset["screen"] = part ? `${id}-${part}` : id;
  main.replaceChildren(.../** @type {Node[]} */ (screen.body.filter(Boolean)));
  drawSteps();
  const title = main.querySelector("h1");
  document.title = title ? `${title.textContent} · ${t("page.title")}` : t("page.title");
  // If the server-rendered button has the focus, the working button takes it over.
  if (wasOnStart) /** @type {HTMLElement | null} */ (main.querySelector(".primary"))?.focus();
  // The first screen takes no focus, so that screen readers begin at the top of the page.
  if (mine > 1 && (!isSame || refocus)) {
    scrollTo(0, 0);
    title?.focus({ preventScroll: true });
  }
  if (shown !== id) onScreen(id, progress());
  shown = id;
  screen.shown?.();
}

function drawSteps() {
  const bar = /** @type {HTMLElement} */ (document.getElementById("steps"));
  bar.setAttribute("aria-label", t("page.progress"));
  const where = progress();
  const back = index() > 0 && where ? button("plain", "", () => history.back(), "next") : null;
  back?.classList.add("back");
  back?.setAttribute("aria-label", t("page.back"));
  const label = where ? t("page.step", { n: where.n, total: where.total }) : "";
  bar.replaceChildren(
    ...[
      back,
      where &&
        h(
          "div",
          { class: "segments", role: "img", "aria-label": label },
          ...Array.from({ length: where.total }, (_, i) => h("span", { class: i < where.n - 1 ? "done" : i === where.n - 1 ? "now" : "" })),
        ),
      where && h("span", { class: "step-label", "aria-hidden": "true" }, label),
    ].filter((part) => part !== null),
  );
}

