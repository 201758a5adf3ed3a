// Checks whether everything fits on a screen of the hosted page, in its current layout and in any browser.

/**
 * What is cut, overlaps or sticks out on the current screen.
 * @param {{evaluate: (script: () => Promise<string[]>) => Promise<string[]>}} page of Playwright, or of webdriver.mjs
 */
export const misfits = (page) =>
  page.evaluate(async () => {
    /** @type {string[]} */
    const faults = [];
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) faults.push(`${root.scrollWidth - root.clientWidth} px wider than the window`);
    const name = (/** @type {Element} */ element) => `<${element.tagName.toLowerCase()} class="${element.className}"> ${element.textContent?.trim().slice(0, 60)}`;
    const isShown = (/** @type {Element} */ element) =>
      element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !element.closest(".quiet, .skip, .ghost, noscript, select, svg, [aria-hidden=true]");
    const all = [...document.querySelectorAll("body *")].filter(isShown);
    const written = all.filter((element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim()));
    /** @param {Element} element */
    const lines = (element) => {
      const range = document.createRange();
      range.selectNodeContents(element);
      return [...range.getClientRects()].filter((line) => line.width > 1 && line.height > 1);
    };
    for (const element of written) {
      for (const line of lines(element)) {
        if (line.left < -1 || line.right > innerWidth + 1) faults.push(`sticks out: ${name(element)}`);
        // A scrolling box shows everything; one that hides what is too much cuts it.
        for (let box = /** @type {Element | null} */ (element); box && box !== document.body; box = box.parentElement) {
          const { overflowX, overflowY } = getComputedStyle(box);
          const edge = box.getBoundingClientRect();
          if (["hidden", "clip"].includes(overflowX) && (line.left < edge.left - 1 || line.right > edge.right + 1)) faults.push(`cut at its side: ${name(element)}`);
          if (["hidden", "clip"].includes(overflowY) && (line.top < edge.top - 2 || line.bottom > edge.bottom + 2)) faults.push(`cut below: ${name(element)}`);
        }
        const control = element.closest("button, a.primary, a.secondary, .chip")?.getBoundingClientRect();
        if (control && (line.left < control.left - 1 || line.right > control.right + 1 || line.top < control.top - 2 || line.bottom > control.bottom + 2)) faults.push(`longer than its button: ${name(element)}`);
      }
    }
    const bar = document.querySelector("main > .actions");
    const isTooTall = () => bar && getComputedStyle(bar).position === "sticky" && bar.getBoundingClientRect().height > innerHeight / 3;
    // The page measures its bar some frames after a change of size.
    for (let frame = 0; frame < 60 && isTooTall(); frame += 1) await new Promise(requestAnimationFrame);
    if (isTooTall()) faults.push("the buttons cover more than a third of the window");
    // The bar of actions lies over what scrolls below it.
    const isOver = (/** @type {Element} */ element) => element.closest(".actions, #notices, dialog") !== null;
    const controls = all.filter((element) => element.matches("button, a[href], input, h1, h2, .chip, .brand > *, #steps > *, p") && !element.matches("[type=file]"));
    for (const [index, one] of controls.entries()) {
      for (const other of controls.slice(index + 1)) {
        if (one.contains(other) || other.contains(one) || isOver(one) !== isOver(other)) continue;
        // The button to clear a field is inside its border.
        if (one.matches("input") && other.matches(".clear")) continue;
        const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 2 && down > 2) faults.push(`overlap: ${name(one)} and ${name(other)}`);
      }
    }
    return [...new Set(faults)];
  });
