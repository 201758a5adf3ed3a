// Opens Bonafide's hosted page on a merchant's site. Types and docs are in bonafide.d.ts. It receives no
// personal data.
/// <reference path="bonafide.d.ts" />
(() => {
  "use strict";
  const PATIENCE_MS = 1500;
  let isOpen = false;

  /** @param {Bonafide.Options} options */
  function open(options) {
    const { url, mode = "modal", returnUrl, title = "Identity verification", closeLabel = "Close" } = options;
    if (!/^https?:/.test(url) || !URL.canParse(url)) {
      throw new TypeError("Bonafide.open: url must be the url of a link or an invitation");
    }
    const page = new URL(url);
    page.searchParams.set("origin", location.origin);
    if (mode === "redirect") {
      page.searchParams.set("returnUrl", new URL(returnUrl ?? "", location.href).href);
      location.assign(page.href);
      return { close() {} };
    }
    if (mode !== "modal") throw new TypeError('Bonafide.open: mode must be "modal" or "redirect"');
    if (isOpen) throw new Error("Bonafide.open: it is open already");
    isOpen = true;

    const before = document.activeElement;
    const root = document.documentElement;
    const overflow = root.style.overflow;
    let ready = false;
    let told = false;
    /** @type {number | undefined} */
    let patience;

    const dialog = document.createElement("dialog");
    dialog.ariaLabel = title;
    dialog.style.cssText =
      "position:fixed;inset:0;width:100vw;height:100dvh;max-width:none;max-height:none;margin:0;border:0;padding:0;" +
      "display:grid;place-items:center;background:rgb(0 0 0/.6)";
    const frame = document.createElement("iframe");
    frame.title = title;
    frame.allow = "camera";
    frame.referrerPolicy = "no-referrer";
    frame.style.cssText = "width:min(100%,520px);height:min(100%,900px);border:0;background:Canvas";
    const button = document.createElement("button");
    button.textContent = "✕";
    button.ariaLabel = closeLabel;
    button.style.cssText =
      "position:fixed;inset-block-start:8px;inset-inline-end:8px;width:44px;height:44px;border:0;border-radius:22px;" +
      "font:20px/1 system-ui;color:#111;background:#fff;cursor:pointer";
    dialog.append(frame, button);

    /** @param {Bonafide.Outcome} outcome @param {Bonafide.Detail} detail */
    function tell(outcome, detail) {
      if (told) return;
      told = true;
      const { onDone, onFailed, onCancelled } = options;
      ({ done: onDone, failed: onFailed, cancelled: onCancelled })[outcome]?.(detail);
    }

    function close() {
      if (!dialog.isConnected) return;
      isOpen = false;
      clearTimeout(patience);
      removeEventListener("message", heard);
      dialog.remove();
      root.style.overflow = overflow;
      if (before instanceof HTMLElement) before.focus();
      tell("cancelled", { sessionId: null, status: null });
    }

    // The hosted page shows a confirmation in the applicant's language. Without a response it is closed.
    function ask() {
      if (!ready) return close();
      frame.contentWindow?.postMessage({ bonafide: "ask" }, page.origin);
      clearTimeout(patience);
      patience = setTimeout(close, PATIENCE_MS);
    }

    /** @param {MessageEvent} event */
    function heard({ data, origin, source }) {
      if (origin !== page.origin || source !== frame.contentWindow) return;
      const said = data?.bonafide;
      if (said === "ready") ready = true;
      if (said === "asking") clearTimeout(patience);
      if (["done", "failed", "cancelled"].includes(said)) {
        tell(said, { sessionId: data.sessionId ?? null, status: data.status ?? null });
      }
      if (said === "cancelled" || said === "close") close();
    }

    addEventListener("message", heard);
    button.onclick = ask;
    dialog.oncancel = (event) => {
      event.preventDefault();
      ask();
    };
    dialog.onclose = close;
    frame.src = page.href;
    document.body.append(dialog);
    root.style.overflow = "hidden";
    dialog.showModal();
    frame.focus();
    return { close };
  }

  Object.assign(window, { Bonafide: Object.freeze({ open }) });
})();
