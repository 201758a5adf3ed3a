// Loads the screens after the first one, with their styles, while the person reads the first one. It never shows anything.
import { ApiError } from "./api.js";
import { boot } from "./boot.js";
import { h } from "./dom.js";

const STYLES = ["./later.css", "./illustrations.css"];

/** @typedef {typeof import("./screens/later.js")} Screens */

/** @type {Promise<Screens> | null} */
let loaded = null;

/**
 * The later screens. After a failure, another call loads them again.
 * @returns {Promise<Screens>} rejects with an `ApiError` of status 0, as a request without a response does
 */
export function laterScreens() {
  loaded ??= load().catch(() => {
    loaded = null;
    throw new ApiError(0, null);
  });
  return loaded;
}

async function load() {
  /** @type {string[]} */
  const modules = boot.assets["later"]?.splice(0) ?? [];
  // All at once. Otherwise, the browser would discover imports only one level at a time.
  document.head.append(...modules.map((href) => h("link", { rel: "modulepreload", href })));
  const [screens] = await Promise.all([import("./screens/later.js"), ...STYLES.map(style)]);
  return screens;
}

/** @param {string} path of a stylesheet, which is loaded once @returns {Promise<void>} */
function style(path) {
  const { href } = new URL(path, import.meta.url);
  if (document.head.querySelector(`link[rel=stylesheet][href="${href}"]`)) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const link = h("link", { rel: "stylesheet", href });
    link.addEventListener("load", () => resolve());
    link.addEventListener("error", () => {
      link.remove();
      reject(new Error(path));
    });
    document.head.append(link);
  });
}

// A connection that broke while the person was reading.
addEventListener("online", () => void laterScreens().catch(() => {}));
