// The Flow editor: what follows and the preview keep up with the form. Without this file, buttons do it.

const form = /** @type {HTMLFormElement} */ (document.getElementById("flow-form"));
const outlook = /** @type {HTMLElement} */ (document.getElementById("outlook"));
const preview = /** @type {HTMLButtonElement} */ (form.querySelector("[data-preview]"));
const look = /** @type {HTMLButtonElement} */ (form.querySelector("[data-look]"));
const WAIT_MS = 400;

/** @type {number | undefined} */
let timer;
/** @type {AbortController | undefined} */
let asking;

/** Asks what follows from the form as it stands. */
async function refresh() {
  asking?.abort();
  asking = new AbortController();
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (typeof value === "string") body.append(name, value);
  try {
    const answer = await fetch("/portal/flows/outlook", { method: "POST", body, signal: asking.signal });
    // Signed out meanwhile: saving will say so.
    if (answer.ok && !answer.redirected) outlook.innerHTML = await answer.text();
  } catch {
    return;
  }
  show();
}

/** Shows the form in the frame. A new frame's first page adds nothing to the browser's history. */
function show() {
  const frame = /** @type {HTMLIFrameElement} */ (form.querySelector("iframe.preview"));
  frame.replaceWith(frame.cloneNode(false));
  form.requestSubmit(preview);
}

/** The page's own buttons are for browsers without scripts. */
look.hidden = true;
form.addEventListener("change", () => {
  clearTimeout(timer);
  timer = window.setTimeout(refresh, WAIT_MS);
});

/** What was changed and not saved is not lost by a slip. */
let isChanged = form.querySelector(".error") !== null;
form.addEventListener("input", () => (isChanged = true));
form.addEventListener("submit", (event) => {
  if (event.submitter !== preview) isChanged = false;
});
addEventListener("beforeunload", (event) => {
  if (isChanged) event.preventDefault();
});

show();
