// Enhancements for every page of the portal. Each page also works as plain HTML without them.

/** Shows a form's response under the URL of its page, so that reload and Back send nothing twice. */
if (document.body.dataset["from"]) {
  const from = new URL(document.body.dataset["from"], location.origin);
  from.searchParams.delete("done");
  history.replaceState(null, "", from);
}

/** Closes the menu of a narrow window at first. */
const menu = /** @type {HTMLDetailsElement | null} */ (document.querySelector(".menu"));
const narrow = matchMedia("(max-width: 60rem)");
const fold = () => menu && (menu.open = !narrow.matches);
fold();
narrow.addEventListener("change", fold);

/** Shows times in the reader's time zone. */
for (const time of document.querySelectorAll("time[datetime]")) {
  const at = new Date(time.getAttribute("datetime") ?? "");
  if (Number.isNaN(at.getTime())) continue;
  time.setAttribute("title", at.toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "medium" }));
}

/** Makes content wider than its container scrollable with the keyboard. */
const reach = () => {
  for (const box of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".table, pre"))) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
};
reach();
addEventListener("resize", reach);

/** Makes buttons copy the text before them. */
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

/** Confirms forms that cannot be undone; `data-confirm` has the question. */
for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll("form[data-confirm]"))) {
  form.addEventListener("submit", (event) => {
    if (!confirm(form.dataset["confirm"])) event.preventDefault();
  });
}

/** Sends a form only once, even on a double click. */
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || !(event.target instanceof HTMLFormElement) || event.target.method !== "post") return;
  // A form that targets a frame may be sent again at once.
  if (event.submitter instanceof HTMLButtonElement && event.submitter.formTarget) return;
  const form = event.target;
  if (form.dataset["sent"]) return event.preventDefault();
  form.dataset["sent"] = "yes";
  // After the browser's Back, the form can be sent again.
  addEventListener("pageshow", () => delete form.dataset["sent"], { once: true });
  setTimeout(() => delete form.dataset["sent"], 5000);
});

/** Submits a form of filters (`data-auto`) as soon as a select changes. */
for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll("form[data-auto]"))) {
  form.addEventListener("change", () => form.requestSubmit());
}
