// Creates elements without a framework. Texts are always text nodes; nothing here parses HTML.

import { boot } from "./boot.js";

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * Creates an element. `on…` members are listeners, `true` sets an empty attribute, `false`/`null` set none.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any> | null} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") /** @type {any} */ (element).value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(.../** @type {(Node | string)[]} */ (children.filter((child) => child || child === "")));
  return element;
}

/** One of the page's icons (symbols in page.html); decoration only. @param {string} name @param {string} [className] */
export function icon(name, className = "icon") {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", className);
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

/** The big picture at the top of a screen. @param {string} name @param {string} [tone] good, wait or bad */
export function hero(name, tone = "") {
  return h("div", { class: `hero ${tone}` }, icon(name, "hero-icon"));
}

/** The screen's heading, which gets the focus. @param {string} text */
export const heading = (text) => h("h1", { tabindex: "-1" }, text);

/** @param {string} text */
export const lead = (text) => h("p", { class: "lead" }, text);

/**
 * @param {"primary" | "secondary" | "plain"} kind
 * @param {string} text
 * @param {(event: MouseEvent) => void} onclick
 * @param {string} [iconName]
 */
export function button(kind, text, onclick, iconName) {
  return h("button", { class: kind, type: "button", onclick }, iconName ? icon(iconName) : null, text);
}

/**
 * A link to another website that looks like a button. Out of a frame, it opens in place of the page around the frame.
 * @param {"primary" | "secondary"} kind @param {string} text @param {string} address @param {() => void} [onclick]
 */
export const wayOut = (kind, text, address, onclick) => h("a", { class: kind, href: address, target: wayOutTarget(), rel: "noopener", ...(onclick ? { onclick } : {}) }, text);

// The preview is a frame of the portal, which must stay.
const wayOutTarget = () => (boot.rehearsal ? "_blank" : window.parent === window ? null : "_top");

/** Measures bars of buttons when their size changes. In the next frame, because a new class may change it again. */
const sized = new ResizeObserver((entries) => requestAnimationFrame(() => entries.forEach(({ target }) => measure(target))));
addEventListener("resize", () => document.querySelectorAll(".actions").forEach(measure));

/** Keeps a bar in view only while it covers at most a third of the window. @param {Element} bar */
function measure(bar) {
  if (!bar.isConnected) sized.unobserve(bar);
  bar.classList.toggle("tall", bar.getBoundingClientRect().height > innerHeight / 3);
}

/** The container of a screen's buttons, which is at the bottom on phones. @param {...Child} children */
export function actions(...children) {
  const bar = h("div", { class: "actions" }, ...children);
  sized.observe(bar);
  return bar;
}

/** A short notice. @param {"info" | "warn" | "bad"} tone @param {...Child} children */
export function note(tone, ...children) {
  const name = { info: "lock", warn: "alert", bad: "alert" }[tone];
  return h("div", { class: `note ${tone}` }, icon(name), h("div", null, ...children));
}

/** A list with an icon on each row. @param {[string, string][]} rows icon and text */
export function rows(rows) {
  return h("ul", { class: "needs" }, ...rows.map(([name, text]) => h("li", null, icon(name), h("span", null, text))));
}

/**
 * Shows a dialog with a question. Resolves with the choice; `false` if it was dismissed.
 * @param {{title: string, body: string, yes: string, no: string}} texts
 * @returns {Promise<boolean>}
 */
export function ask({ title, body, yes, no }) {
  return new Promise((resolve) => {
    const id = `ask-${Math.random().toString(36).slice(2)}`;
    /** @param {boolean} answer */
    const answer = (answer) => {
      dialog.close();
      dialog.remove();
      resolve(answer);
    };
    const dialog = h(
      "dialog",
      { class: "ask", "aria-labelledby": id },
      h("h2", { id }, title),
      h("p", null, body),
      h("div", { class: "ask-actions" }, button("primary", no, () => answer(false)), button("secondary", yes, () => answer(true))),
    );
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      answer(false);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

const live = () => document.getElementById("live");

/** Announces a text to screen readers (polite). @param {string} text */
export function announce(text) {
  const region = live();
  if (!region) return;
  region.textContent = "";
  setTimeout(() => (region.textContent = text), 60);
}

/** Clears the announcement when the screen changes. */
export function hush() {
  const region = live();
  if (region) region.textContent = "";
}

/** Shows a notice at the top of the page, or of the full-screen view, until it is removed. @param {string} id @param {"info" | "warn"} tone @param {string} text */
export function notice(id, tone, text) {
  dismiss(id);
  const box = note(tone, text);
  box.id = `notice-${id}`;
  (document.querySelector("main .notices") ?? document.getElementById("notices"))?.append(box);
  announce(text);
}

/**
 * Moves the notices into a full-screen view, which covers the page.
 * @param {HTMLElement} place an element of the class `notices` in the view
 * @returns {() => void} moves them back
 */
export function moveNotices(place) {
  const home = document.getElementById("notices");
  place.append(...(home?.children ?? []));
  return () => home?.append(...place.children);
}

/** @param {string} id */
export function dismiss(id) {
  document.getElementById(`notice-${id}`)?.remove();
}

/** Removes a notice some time after the person could see it: the page may be scrolled down. @param {string} id @param {number} ms */
export function dismissAfter(id, ms) {
  const box = document.getElementById(`notice-${id}`);
  if (!box) return;
  const seen = new IntersectionObserver(
    (entries) => {
      // A notice that is gone is reported as not intersecting.
      if (!box.isConnected) return seen.disconnect();
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      seen.disconnect();
      setTimeout(() => box.remove(), ms);
    },
    { threshold: 0.5 },
  );
  seen.observe(box);
}
