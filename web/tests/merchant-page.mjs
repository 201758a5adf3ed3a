// A merchant's page on a separate origin that embeds the hosted page; for tests only.
import { createServer } from "node:http";

/** @param {string} bonafide the origin of the Bonafide server @param {{policy?: string}} [options] policy: of the page */
export async function startMerchantPage(bonafide, { policy = "" } = {}) {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Shop</title>
<link rel="icon" href="data:,"><script src="${bonafide}/bonafide.js"></script>
<main style="height:300vh"><h1>Shop</h1><button id="verify">Verify</button> <a href="#elsewhere">Elsewhere</a><output id="log" style="white-space:pre"></output></main>
<script>
  const log = document.querySelector("#log");
  const told = (kind) => (detail) => { log.textContent += kind + " " + JSON.stringify(detail ?? null) + "\\n"; };
  const failed = (kind) => ({ name, code, message }) => told(kind)({ name, code, message });
  const { link, mode, throws } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const callbacks = { onReady: told("ready"), onStep: told("step"), onError: failed("error"), onDone: told("done"), onFailed: told("failed"), onCancelled: told("cancelled") };
  if (throws) {
    for (const [name, callback] of Object.entries(callbacks)) {
      callbacks[name] = (detail) => { callback(detail); throw new Error("a fault in " + name); };
    }
  }
  document.addEventListener("load", ({ target }) => { target.dataset.loaded = ""; }, true);
  document.querySelector("#verify").onclick = () => {
    window.handle = Bonafide.open({ url: link, mode, ...callbacks });
    // Without throws, the page also uses the promise.
    if (!throws) handle.result.then(told("resolved"), failed("rejected"));
  };
</script></html>`;
  const server = createServer((_, answer) => {
    answer.setHeader("content-type", "text/html; charset=utf-8");
    if (policy) answer.setHeader("content-security-policy", policy);
    answer.end(html);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", () => ready(null)));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const origin = `http://127.0.0.1:${address.port}`;
  return {
    origin,
    host: `127.0.0.1:${address.port}`,
    /** The page that opens `link`. @param {string} link @param {"modal" | "redirect"} mode @param {{throws?: boolean}} [options] throws: every callback does */
    address: (link, mode, { throws = false } = {}) => `${origin}/shop#${new URLSearchParams({ link, mode, ...(throws && { throws: "1" }) })}`,
    stop: () => server.close(),
  };
}
