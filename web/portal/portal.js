// What makes every page of the portal nicer. Nothing here is needed: each page works as plain HTML.

/** The answer to a form stands under the address of the page that it came from: reloading or coming back sends nothing twice. */
if (document.body.dataset["from"]) {
  const from = new URL(document.body.dataset["from"], location.origin);
  from.searchParams.delete("done");
  history.replaceState(null, "", from);
}

/** The menu of a narrow window begins closed. */
const menu = /** @type {HTMLDetailsElement | null} */ (document.querySelector(".menu"));
const narrow = matchMedia("(max-width: 60rem)");
const fold = () => menu && (menu.open = !narrow.matches);
fold();
narrow.addEventListener("change", fold);

/** Times in the reader's own zone. */
for (const time of document.querySelectorAll("time[datetime]")) {
  const at = new Date(time.getAttribute("datetime") ?? "");
  if (Number.isNaN(at.getTime())) continue;
  time.setAttribute("title", at.toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "medium" }));
}

/** What is wider than its place can be scrolled with the keyboard. */
const reach = () => {
  for (const box of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".table, pre"))) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
};
reach();
addEventListener("resize", reach);

/** Buttons that copy the text before them. */
for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("button[data-copy]"))) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const code = button.parentElement?.querySelector("code, input, textarea");
    await navigator.clipboard.writeText(code instanceof HTMLInputElement ? code.value : (code?.textContent ?? ""));
    const before = button.textContent;
    button.textContent = "✓";
    setTimeout(() => (button.textContent = before), 1500);
  });
}

/** Forms that cannot be undone ask once more: `data-confirm` holds the question. */
for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll("form[data-confirm]"))) {
  form.addEventListener("submit", (event) => {
    if (!confirm(form.dataset["confirm"])) event.preventDefault();
  });
}

/** A form is sent once, whatever the double click. */
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || !(event.target instanceof HTMLFormElement) || event.target.method !== "post") return;
  // What goes into a frame may go there again at once.
  if (event.submitter instanceof HTMLButtonElement && event.submitter.formTarget) return;
  const form = event.target;
  if (form.dataset["sent"]) return event.preventDefault();
  form.dataset["sent"] = "yes";
  // Coming back by the browser's Back finds it ready again.
  addEventListener("pageshow", () => delete form.dataset["sent"], { once: true });
  setTimeout(() => delete form.dataset["sent"], 5000);
});

/** Selects that lead somewhere at once: `data-auto` on a form of filters. */
for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll("form[data-auto]"))) {
  form.addEventListener("change", () => form.requestSubmit());
}
