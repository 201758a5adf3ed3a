// Opens Bonafide's hosted page on a merchant's site. Types and docs are in bonafide.d.ts. It receives no
// personal data.
/// <reference path="bonafide.d.ts" />
(() => {
  "use strict";
  const PATIENCE_MS = 1500;
  const LOADING_MS = 1000;
  let isOpen = false;

  // An error in a merchant's callback must not stop this script.
  /** @param {Function | undefined} callback @param {object} [value] */
  function call(callback, value) {
    try {
      callback?.(value);
    } catch (error) {
      reportError(error);
    }
  }

  /** @param {Bonafide.Options} options @returns {Bonafide.Handle} */
  function open(options) {
    const { url, mode = "modal", returnUrl, title = "Identity verification", closeLabel = "Close" } = options;
    if (!/^https?:/.test(url) || !URL.canParse(url)) {
      throw new TypeError("Bonafide.open: url must be the url of a link or an invitation");
    }
    const page = new URL(url);
    if (mode === "redirect") {
      page.searchParams.set("returnUrl", new URL(returnUrl ?? "", location.href).href);
      location.assign(page.href);
      return { close() {}, result: new Promise(() => {}) };
    }
    if (mode !== "modal") throw new TypeError('Bonafide.open: mode must be "modal" or "redirect"');
    if (isOpen) throw new Error("Bonafide.open: a window is already open");
    if (!document.body) throw new Error("Bonafide.open: the page has no body yet");
    isOpen = true;
    page.searchParams.set("origin", location.origin);

    const before = document.activeElement;
    const root = document.documentElement;
    const { overflow } = root.style;
    let { onReady, onStep } = options;
    // The number of `load` events without their `ready`; -1 between a `ready` and its later `load`.
    let unready = 0;
    let isReady = false;
    let isTold = false;
    let patience = 0;
    let loading = 0;
    /** @type {(result: any) => void} */
    let settle;
    const result = new Promise((resolve) => (settle = resolve));
    // Without a handler of the merchant, a rejection is not an error of the page.
    result.catch(() => {});

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
      if (isTold) return;
      isTold = true;
      settle({ outcome, ...detail });
      call({ done: options.onDone, failed: options.onFailed, cancelled: options.onCancelled }[outcome], detail);
    }

    /** @param {Bonafide.ErrorCode} code @param {string} message */
    function fail(code, message) {
      if (isTold) return;
      isTold = true;
      onReady = onStep = undefined;
      const error = Object.assign(new Error(message), { name: "BonafideError", code });
      console.error(`Bonafide: ${message} (${code})`);
      settle(Promise.reject(error));
      call(options.onError, error);
    }

    function close() {
      if (!dialog.isConnected) return;
      isOpen = false;
      clearTimeout(patience);
      clearTimeout(loading);
      removeEventListener("message", heard);
      dialog.remove();
      root.style.overflow = overflow;
      if (before instanceof HTMLElement) before.focus();
      tell("cancelled", { sessionId: null, status: null });
    }

    // The hosted page shows a confirmation in the applicant's language. Without a response it is closed.
    function ask() {
      if (!isReady) return close();
      frame.contentWindow?.postMessage({ bonafide: "ask" }, page.origin);
      clearTimeout(patience);
      patience = setTimeout(close, PATIENCE_MS);
    }

    // Without `ready`, the frame shows an error of the browser: at first, or after a reload.
    function check() {
      if (unready > 0) {
        isReady = false;
        dialog.append(button);
        fail("not_loaded", `Check that ${page.origin} is reachable, that the url shows the page in a window of its own, and your Content-Security-Policy's frame-src`);
        unready = 0;
      }
    }

    /** @param {MessageEvent} event */
    function heard({ data, origin, source }) {
      if (origin !== page.origin || source !== frame.contentWindow) return;
      const { bonafide: said, close: hasButton, sessionId, status, step, n, total, code, message } = data ?? {};
      if (said === "ready") {
        unready = Math.max(unready - 1, -1);
        isReady = true;
        // The page's own close button is in the same place. Pages of older servers have none.
        if (hasButton) button.remove();
        frame.focus();
        call(onReady);
        onReady = undefined;
      }
      if (said === "step") call(onStep, { step, n, total });
      if (said === "error") fail(code, message);
      if (said === "asking") clearTimeout(patience);
      if (["done", "failed", "cancelled"].includes(said)) tell(said, { sessionId, status });
      if (said === "cancelled" || said === "close") close();
    }

    addEventListener("message", heard);
    button.onclick = ask;
    dialog.oncancel = (event) => {
      event.preventDefault();
      ask();
    };
    dialog.onclose = close;
    frame.onload = () => {
      unready++;
      clearTimeout(loading);
      loading = setTimeout(check, LOADING_MS);
    };
    frame.src = page.href;
    document.body.append(dialog);
    root.style.overflow = "hidden";
    dialog.showModal();
    frame.focus();
    return { close, result };
  }

  Object.assign(window, { Bonafide: Object.freeze({ open }) });
})();
