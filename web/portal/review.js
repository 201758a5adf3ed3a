// Keyboard shortcuts and the picture viewer for reviewers. Every decision, link and form also works without it.

const OFF = "review-keys-off";
const isOff = () => localStorage.getItem(OFF) === "yes";

/** @template {Element} T @param {string} selector @returns {T | null} */
const one = (selector) => /** @type {T | null} */ (document.querySelector(selector));

/** Whether the focus is in a text field, where keys type letters. */
const typing = () => {
  const at = document.activeElement;
  return at instanceof HTMLTextAreaElement || at instanceof HTMLSelectElement || (at instanceof HTMLInputElement && at.type !== "checkbox");
};

/* The review queue: j and k move, Enter opens. */
const rows = /** @type {HTMLTableRowElement[]} */ ([...document.querySelectorAll("table[data-rows] tbody tr")]);
let chosen = -1;
/** @param {number} to */
function choose(to) {
  if (!rows.length) return;
  chosen = Math.max(0, Math.min(rows.length - 1, to));
  rows.forEach((row, index) => row.classList.toggle("is-current", index === chosen));
  const link = /** @type {HTMLAnchorElement | null} */ (rows[chosen]?.querySelector("a.row-link") ?? null);
  link?.focus();
  rows[chosen]?.scrollIntoView({ block: "nearest" });
}

/* Selecting a stored reason fills the text field next to it, where it can be edited. */
for (const select of /** @type {NodeListOf<HTMLSelectElement>} */ (document.querySelectorAll("select[data-fills]"))) {
  select.addEventListener("change", () => {
    const field = /** @type {HTMLInputElement | null} */ (document.getElementById(select.dataset["fills"] ?? ""));
    if (!field || !select.value) return;
    field.value = select.selectedOptions[0]?.textContent ?? "";
    field.focus();
  });
}

/* The viewer. */
const viewer = /** @type {HTMLDialogElement | null} */ (one("#viewer"));
const viewport = /** @type {HTMLElement | null} */ (one(".viewport"));
const stages = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("a[data-zoom]")]);
const ZOOMS = [0, 1, 1.5, 2, 3, 4, 6];
let shown = 0;
let zoom = 0;
let turns = 0;

function draw() {
  const frame = /** @type {HTMLElement | null} */ (viewport?.querySelector(".frame") ?? null);
  const image = frame?.querySelector("img");
  if (!viewport || !frame || !image || !image.naturalWidth) return;
  const sideways = turns % 2 === 1;
  const [width, height] = [image.naturalWidth, image.naturalHeight];
  const fits = Math.min(viewport.clientWidth / (sideways ? height : width), viewport.clientHeight / (sideways ? width : height), 1);
  // The first step fits the window; the others multiply it.
  const scale = fits * (zoom === 0 ? 1 : (ZOOMS[zoom] ?? 1));
  image.style.width = `${width * scale}px`;
  frame.style.transform = `rotate(${turns * 90}deg)`;
  // A rotated picture gets the space that it needs, so that it can be scrolled.
  const room = ((width - height) * scale) / 2;
  frame.style.margin = sideways ? `${room}px ${-room}px` : "";
}

/** @param {number} index */
function show(index) {
  if (!viewer || !viewport || !stages.length) return;
  shown = (index + stages.length) % stages.length;
  const frame = stages[shown]?.querySelector(".frame");
  if (!frame) return;
  zoom = 0;
  turns = 0;
  viewport.replaceChildren(frame.cloneNode(true));
  const image = viewport.querySelector("img");
  image?.addEventListener("load", draw);
  if (!viewer.open) viewer.showModal();
  viewport.focus();
  draw();
}

/** @param {string} what */
function view(what) {
  if (what === "in") zoom = Math.min(ZOOMS.length - 1, Math.max(1, zoom) + 1);
  if (what === "out") zoom = zoom <= 2 ? 0 : zoom - 1;
  if (what === "rotate") turns = (turns + 1) % 4;
  if (what === "other") return show(shown + 1);
  if (what === "close") return viewer?.close();
  if (what === "overlay") {
    const hidden = document.body.classList.toggle("no-overlay");
    one("[data-view=overlay]")?.setAttribute("aria-pressed", String(!hidden));
  }
  draw();
}

stages.forEach((stage, index) =>
  stage.addEventListener("click", (event) => {
    event.preventDefault();
    show(index);
  }),
);
for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("[data-view]"))) {
  button.addEventListener("click", () => view(button.dataset["view"] ?? ""));
}
viewer?.addEventListener("close", () => stages[shown]?.focus());
addEventListener("resize", draw);

/* Help, and the switch for single keys (WCAG 2.1.4). */
const help = /** @type {HTMLDialogElement | null} */ (one("#keys"));
const helpButton = /** @type {HTMLButtonElement | null} */ (one("[data-help]"));
if (help && helpButton) {
  helpButton.hidden = false;
  helpButton.addEventListener("click", () => help.showModal());
}
const toggle = /** @type {HTMLInputElement | null} */ (one("#keys-on"));
if (toggle) {
  toggle.checked = !isOff();
  toggle.addEventListener("change", () => localStorage.setItem(OFF, toggle.checked ? "no" : "yes"));
}

/** Focuses the target of a key (`data-key`). The keys n and c also click it. @param {string} key */
function go(key) {
  const target = /** @type {HTMLElement | null} */ (one(`[data-key="${key}"]`));
  if (!target) return false;
  target.focus();
  target.scrollIntoView({ block: "nearest" });
  if (key === "n" || key === "c") target.click();
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || typing() || isOff()) return;
  const key = event.key;
  /** @type {Record<string, () => unknown>} */
  const viewing = { "+": () => view("in"), "=": () => view("in"), "-": () => view("out"), r: () => view("rotate"), o: () => view("overlay"), z: () => view("other") };
  /** @type {Record<string, () => unknown>} */
  const reading = {
    a: () => go("a"),
    d: () => go("d"),
    h: () => go("h"),
    n: () => go("n"),
    c: () => go("c"),
    z: () => show(0),
    o: () => view("overlay"),
    u: () => /** @type {HTMLAnchorElement | null} */ (one(".crumbs a"))?.click(),
    j: () => choose(chosen + 1),
    k: () => choose(chosen - 1),
    "?": () => help?.showModal(),
  };
  const dialog = document.querySelector("dialog[open]");
  const action = dialog ? (dialog === viewer ? viewing[key] : undefined) : reading[key];
  if (!action) return;
  event.preventDefault();
  action();
});
