// A search over check boxes of countries, and how many are chosen. Without it, the whole list can be scrolled.

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
  // What is typed here is no part of the form.
  search.addEventListener("change", (event) => event.stopPropagation());
  countries.addEventListener("change", () => (count.textContent = String(countries.querySelectorAll(":checked").length)));
}
