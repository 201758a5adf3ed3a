// The Flow editor: updates consequences and preview when the form changes. Without scripts, buttons do so.

const form = /** @type {HTMLFormElement} */ (document.getElementById("flow-form"));
const outlook = /** @type {HTMLElement} */ (document.getElementById("outlook"));
const preview = /** @type {HTMLButtonElement} */ (form.querySelector("[data-preview]"));
const look = /** @type {HTMLButtonElement} */ (form.querySelector("[data-look]"));
const WAIT_MS = 400;

/** @type {number | undefined} */
let timer;
/** @type {AbortController | undefined} */
let asking;

/** Loads the consequences of the form's current values. */
async function refresh() {
  asking?.abort();
  asking = new AbortController();
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (typeof value === "string") body.append(name, value);
  try {
    const answer = await fetch("/portal/flows/outlook", { method: "POST", body, signal: asking.signal });
    // The member was signed out meanwhile; saving will report it.
    if (answer.ok && !answer.redirected) outlook.innerHTML = await answer.text();
  } catch {
    return;
  }
  show();
}

/** Shows the preview of the form in a new frame, because its first page adds nothing to the browser's history. */
function show() {
  const frame = /** @type {HTMLIFrameElement} */ (form.querySelector("iframe.preview"));
  frame.replaceWith(frame.cloneNode(false));
  form.requestSubmit(preview);
}

/** Hides the buttons for browsers without scripts. */
look.hidden = true;
form.addEventListener("change", () => {
  clearTimeout(timer);
  timer = window.setTimeout(refresh, WAIT_MS);
});

/** Warns before unsaved changes are lost. */
let isChanged = form.querySelector(".error") !== null;
form.addEventListener("input", () => (isChanged = true));
form.addEventListener("submit", (event) => {
  if (event.submitter !== preview) isChanged = false;
});
addEventListener("beforeunload", (event) => {
  if (isChanged) event.preventDefault();
});

show();
