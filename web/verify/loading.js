// Loads the screens after the first one, with their styles, while the person reads the first one. It never shows anything.
import { ApiError } from "./api.js";
import { boot, tokens } from "./boot.js";
import { h } from "./dom.js";

const STYLES = ["./later.css", "./illustrations.css"];

/** @typedef {typeof import("./screens/later.js")} Screens */

/** The later screens could not be loaded, as a request that got no response. */
export class NotLoaded extends ApiError {
  constructor() {
    super(0, null);
  }
}

/** @type {Promise<Screens> | null} */
let loaded = null;
/** The stylesheets that are loaded, or being loaded. @type {Map<string, Promise<void>>} */
const styles = new Map();

/**
 * The later screens. After a failure, another call loads them again. But browsers may remember that a module failed
 * until the page is loaded again, so people also need a way to do that.
 * @returns {Promise<Screens>} rejects with `NotLoaded`
 */
export function laterScreens() {
  loaded ??= load().catch(() => {
    loaded = null;
    throw new NotLoaded();
  });
  return loaded;
}

/** Loads the page again with its link, which is not used up, also if nothing can be stored in this browser. */
export function reloadLink() {
  const address = new URL(location.href);
  const { origin, returnUrl } = boot.embed;
  for (const [name, value] of Object.entries({ token: tokens.link, invitation: tokens.invitation, origin, returnUrl })) {
    if (value) address.searchParams.set(name, value);
  }
  location.replace(address);
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
  const known = styles.get(path);
  if (known) return known;
  /** @type {Promise<void>} */
  const made = new Promise((resolve, reject) => {
    const link = h("link", { rel: "stylesheet", href: new URL(path, import.meta.url).href });
    link.addEventListener("load", () => resolve());
    link.addEventListener("error", () => {
      link.remove();
      styles.delete(path);
      reject(new Error(path));
    });
    document.head.append(link);
  });
  styles.set(path, made);
  return made;
}

// A connection that broke while the person was reading.
addEventListener("online", () => void laterScreens().catch(() => {}));
