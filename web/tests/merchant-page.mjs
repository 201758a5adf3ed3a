// A merchant's page on a separate origin that embeds the hosted page; for tests only.
import { createServer } from "node:http";

/** @param {string} bonafide the origin of the Bonafide server */
export async function startMerchantPage(bonafide) {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Shop</title>
<link rel="icon" href="data:,"><script src="${bonafide}/bonafide.js"></script>
<main style="height:300vh"><h1>Shop</h1><button id="verify">Verify</button> <a href="#elsewhere">Elsewhere</a><output id="log"></output></main>
<script>
  const log = document.querySelector("#log");
  const told = (kind) => (detail) => { log.textContent += kind + " " + JSON.stringify(detail) + "\\n"; };
  const { link, mode } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  document.querySelector("#verify").onclick = () => {
    window.handle = Bonafide.open({ url: link, mode, onDone: told("done"), onFailed: told("failed"), onCancelled: told("cancelled") });
  };
</script></html>`;
  const server = createServer((_, answer) => {
    answer.setHeader("content-type", "text/html; charset=utf-8");
    answer.end(html);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", () => ready(null)));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const origin = `http://127.0.0.1:${address.port}`;
  return {
    origin,
    host: `127.0.0.1:${address.port}`,
    /** The page that opens `link`. @param {string} link @param {"modal" | "redirect"} mode */
    address: (link, mode) => `${origin}/shop#${new URLSearchParams({ link, mode })}`,
    stop: () => server.close(),
  };
}
