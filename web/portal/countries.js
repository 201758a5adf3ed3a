// Searches the check boxes of countries and counts the chosen ones. Without scripts, the list scrolls.

const countries = document.getElementById("geo");
const search = /** @type {HTMLElement | null | undefined} */ (countries?.querySelector("[data-search]"));
const count = countries?.querySelector("[data-count]");

/** @param {string} text */
const plain = (text) => text.normalize("NFD").replace(/\p{Diacritic}/gu, "").toLowerCase();

if (countries && search && count) {
  search.hidden = false;
  search.addEventListener("input", (event) => {
    const wanted = plain(/** @type {HTMLInputElement} */ (event.target).value.trim());
    for (const label of /** @type {NodeListOf<HTMLElement>} */ (countries.querySelectorAll(".checks label"))) {
      label.hidden = !plain(label.textContent ?? "").includes(wanted);
    }
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
  // The search text is not part of the form.
  search.addEventListener("change", (event) => event.stopPropagation());
  countries.addEventListener("change", () => (count.textContent = String(countries.querySelectorAll(":checked").length)));
}
