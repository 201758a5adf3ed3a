// How to allow the camera in the browser at hand, and the moment at which it is allowed.
import { h } from "../dom.js";
import { has, t } from "../i18n.js";

/** The browsers' own apps on iOS. All other pages of an iOS browser are Safari's. @type {[RegExp, string][]} */
const IOS_APPS = [[/\bCriOS\//, "Chrome"], [/\bFxiOS\//, "Firefox"], [/\bEdgiOS\//, "Edge"], [/\bOPT\/|\bOPiOS\//, "Opera"], [/\bDuckDuckGo\//, "DuckDuckGo"]];

/** @typedef {{agent: string, platform: string, brands: string[], isTouch: boolean}} Device `platform` and `brands`: the User-Agent Client Hints */

/** @returns {Device} */
function device() {
  const { platform = "", brands = [] } = /** @type {any} */ (navigator).userAgentData ?? {};
  return {
    agent: navigator.userAgent,
    platform,
    brands: brands.map((/** @type {{brand: string}} */ { brand }) => brand),
    isTouch: matchMedia("(pointer: coarse)").matches,
  };
}

/**
 * Whose instructions apply: the word in the keys of the texts, and the app that has the permission on iOS.
 * @param {Device} device
 * @param {string | null} inApp the in-app browser
 * @returns {{browser: string, app: string}}
 */
export function helpFor({ agent, platform, brands, isTouch }, inApp) {
  // Safari of an iPad says that it is a Mac's.
  if (/iPhone|iPad|iPod/.test(agent) || (/Macintosh/.test(agent) && isTouch)) {
    const app = inApp ?? IOS_APPS.find(([pattern]) => pattern.test(agent))?.[1];
    return app ? { browser: "iosapp", app } : { browser: "ios", app: "" };
  }
  const isFirefox = /\bFirefox\//.test(agent);
  if (platform === "Android" || /Android/.test(agent)) {
    if (isFirefox) return { browser: "androidfirefox", app: "" };
    return { browser: brands.includes("Samsung Internet") || /\bSamsungBrowser\//.test(agent) ? "samsung" : "android", app: "" };
  }
  if (isFirefox) return { browser: "firefox", app: "" };
  return { browser: brands.includes("Chromium") || /\bChrome\//.test(agent) ? "chrome" : "safari", app: "" };
}

/** The numbered steps in the browser at hand. @param {string | null} inApp */
export function cameraHelp(inApp) {
  const { browser, app } = helpFor(device(), inApp);
  const steps = [];
  for (let n = 1; has(`trouble.help.${browser}.${n}`); n += 1) steps.push(h("li", null, t(`trouble.help.${browser}.${n}`, { app })));
  const other = `trouble.help.${browser}.else`;
  return h(
    "div",
    { class: "panel help" },
    h("h2", { class: "small" }, t("trouble.help.title")),
    h("ol", null, ...steps),
    h("p", { class: "fine" }, t("trouble.help.then")),
    has(other) ? h("p", { class: "fine" }, t(other)) : null,
  );
}

/**
 * Calls `onAllowed` once, when the permission for the camera changes so that it can be requested again and the person
 * sees the page. Some browsers never report that.
 * @param {() => void} onAllowed
 * @returns {() => void} stops watching
 */
export function watchPermission(onAllowed) {
  const ended = new AbortController();
  const { signal } = ended;
  const watch = async () => {
    const status = await navigator.permissions.query({ name: /** @type {PermissionName} */ ("camera") });
    let known = status.state;
    const look = () => {
      // The settings of the device hide the page.
      if (signal.aborted || document.visibilityState !== "visible" || status.state === known) return;
      known = status.state;
      if (known === "denied") return;
      ended.abort();
      onAllowed();
    };
    status.addEventListener("change", look, { signal });
    document.addEventListener("visibilitychange", look, { signal });
  };
  // Browsers without the permission's name reject, those without permissions throw.
  watch().catch(() => {});
  return () => ended.abort();
}
