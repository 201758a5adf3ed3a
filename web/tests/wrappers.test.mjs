// The code in the documentation of embedding: it compiles, and the React hook, the Vue composable and the example
// page work in a browser, on a site with the policies that the documentation requires.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { desktop, newVisitor, startBrowser } from "./browser.mjs";
import { person, t } from "./person.mjs";
import { root, specimen, startServer } from "./server.mjs";

const web = fileURLToPath(new URL("..", import.meta.url));
const PAGES = ["embedding", "react-and-vue"];
const FRAMEWORKS = /** @type {const} */ (["react", "vue"]);
/** @typedef {typeof FRAMEWORKS[number]} Framework */
/** The server in the documentation. */
const SERVER = "https://verify.example.com";
/** What a sample without a file name may use. */
const GIVEN = 'declare const url: string;\nexport {};\n';

/** @typedef {{language: string, name: string | undefined, text: string}} Sample */
/** @type {Sample[]} */ let samples;
/** A project of an integrator: the code of the documentation, and the apps of this test. @type {string} */ let project;
/** @type {import("./server.mjs").Server} */ let server;
/** @type {import("./browser.mjs").Browser} */ let browser;
/** @type {Awaited<ReturnType<typeof startShop>>} */ let shop;
/** @type {Awaited<ReturnType<typeof startShop>>} */ let stranger;

before(async () => {
  const [texts] = await Promise.all([
    Promise.all(PAGES.map((page) => readFile(join(root, `docs/integrators/${page}.md`), "utf8"))),
    mkdir(join(root, ".cache"), { recursive: true }),
  ]);
  samples = texts.flatMap(samplesOf);
  project = await mkdtemp(join(root, ".cache/wrappers-"));
  [server, browser] = await Promise.all([startServer(), startBrowser(), writeProject()]);
  const bundles = Object.fromEntries(await Promise.all(FRAMEWORKS.map(async (name) => [name, await bundle(name)])));
  [shop, stranger] = await Promise.all([startShop(bundles), startShop(bundles)]);
  await server.cli("merchant", "set", server.merchantId, `allowedOrigins=${JSON.stringify([shop.origin])}`);
});
after(async () => {
  shop.stop();
  stranger.stop();
  await Promise.all([browser.close(), server.stop(), rm(project, { recursive: true, force: true })]);
});

/** The code blocks of a page. Those that are files begin with a comment that names the file. @param {string} text @returns {Sample[]} */
function samplesOf(text) {
  return [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language = "", code = ""]) => ({
    language,
    name: /^\/\/ ([\w-]+\.tsx?)\n/.exec(code)?.[1],
    text: code,
  }));
}

/** The scripts inside a sample of HTML. @param {Sample} sample */
const scriptsOf = (sample) => [...sample.text.matchAll(/<script>\n([^]*?)<\/script>/g)].map(([, code = ""]) => code);

/** Writes every sample and the apps as files. */
async function writeProject() {
  await Promise.all([
    cp(join(web, "tests/wrappers"), project, { recursive: true }),
    cp(join(web, "embed/bonafide.d.ts"), join(project, "bonafide.d.ts")),
    symlink(join(web, "node_modules"), join(project, "node_modules")),
    ...samples.flatMap((sample, n) => {
      if (sample.name) return [writeFile(join(project, sample.name), sample.text)];
      if (/^tsx?$/.test(sample.language)) return [writeFile(join(project, `sample-${n}.${sample.language}`), GIVEN + sample.text)];
      if (sample.language === "html") return scriptsOf(sample).map((code, m) => writeFile(join(project, `sample-${n}-${m}.js`), code));
      return [];
    }),
  ]);
}

/** The faults that TypeScript finds in the files, as an integrator's project would be checked. @param {string[]} include @param {object} options */
async function faultsIn(include, options) {
  const file = join(project, `tsconfig.${include.length}.json`);
  const compilerOptions = {
    target: "ES2022", module: "ESNext", moduleResolution: "bundler", lib: ["ES2022", "DOM", "DOM.Iterable"], jsx: "react-jsx",
    types: [], noEmit: true, skipLibCheck: true, ...options,
  };
  await writeFile(file, JSON.stringify({ compilerOptions, include: [...include, "bonafide.d.ts"] }));
  return promisify(execFile)(join(web, "node_modules/.bin/tsc"), ["--project", file]).then(
    () => "",
    (error) => error.stdout + error.stderr,
  );
}

/** An app that uses a wrapper, with the server's address in place of the documentation's. @param {Framework} name */
async function bundle(name) {
  const { outputFiles } = await build({
    stdin: { contents: `import "./${name}-app";`, resolveDir: project },
    bundle: true,
    write: false,
    format: "esm",
    jsx: "automatic",
    // React's StrictMode mounts twice in development only.
    define: {
      "process.env.NODE_ENV": '"development"',
      __VUE_OPTIONS_API__: "false",
      __VUE_PROD_DEVTOOLS__: "false",
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "false",
    },
    logLevel: "silent",
  });
  const text = outputFiles[0]?.text ?? "";
  assert.ok(text.includes(SERVER));
  return text.replaceAll(SERVER, server.baseUrl);
}

/** An integrator's website: the apps, and the example page. @param {Record<string, string>} bundles */
async function startShop(bundles) {
  const example = samples.find(({ text }) => text.includes("<button>"))?.text.replaceAll(SERVER, server.baseUrl);
  assert.ok(example);
  let nextLink = "";
  const site = createServer((request, answer) => {
    const path = request.url ?? "";
    const name = path.slice(1).replace(".js", "");
    /** @param {string} type @param {string} body */
    const send = (type, body) => answer.setHeader("content-type", `${type}; charset=utf-8`).end(body);
    if (path === "/identity-link" && request.method === "POST") return send("application/json", JSON.stringify({ url: nextLink }));
    if (path === "/example") return send("text/html", `<!doctype html><title>Shop</title><link rel="icon" href="data:,">${example}`);
    if (path.endsWith(".js")) return send("text/javascript", bundles[name] ?? "");
    answer.setHeader("content-security-policy",
      `default-src 'self'; img-src data:; script-src 'self' ${server.baseUrl}; frame-src ${server.baseUrl}`);
    answer.setHeader("permissions-policy", `camera=(self "${server.baseUrl}")`);
    return send("text/html", `<!doctype html><html lang="en"><meta charset="utf-8"><title>Shop</title><link rel="icon" href="data:,">
<main><h1>Shop</h1><div id="app"></div><pre id="log"></pre></main><script type="module" src="/${name}.js"></script></html>`);
  });
  await new Promise((ready) => site.listen(0, "127.0.0.1", () => ready(null)));
  const address = site.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    origin: `http://127.0.0.1:${address.port}`,
    host: `127.0.0.1:${address.port}`,
    /** The link that the example page gets. @param {string} link */
    offer: (link) => (nextLink = link),
    stop: () => site.close(),
  };
}

/**
 * Visits the app of a framework with a new link.
 * @param {Framework} name
 * @param {{at?: typeof shop, automatic?: boolean}} [how]
 */
async function visit(name, { at = shop, automatic = false } = {}) {
  const watched = await newVisitor(browser, { viewport: desktop, hosts: [at.host, new URL(server.baseUrl).host] });
  const { page } = watched;
  const link = await server.link(await server.flow({ defaultFields: {} }));
  const dialog = page.locator("dialog");
  return {
    ...watched,
    dialog,
    /** Opens the app. */
    start: () => watched.open(`${at.origin}/${name}#${new URLSearchParams({ link, ...(automatic && { automatic: "1" }) })}`),
    press: () => page.locator("#verify").click(),
    /** Mounts or unmounts the component. @param {boolean} isShown */
    show: (isShown) => page.evaluate((isShown) => /** @type {any} */ (window).show(isShown), isShown),
    /** Renders again, with functions that log this number. @param {number} count */
    rerender: (count) => page.evaluate((count) => /** @type {any} */ (window).rerender(count), count),
    /** Waits for a line of the log that begins with this text. @param {string} text */
    told: (text) => page.locator("#log").getByText(new RegExp(`^${text}`, "m")).waitFor(),
    /** The lines of the log, without the screens. */
    log: async () => (await page.locator("#log").innerText()).split("\n").filter((line) => line && !line.startsWith("step ")),
    /** The applicant in the window, at the first screen. */
    async applicant() {
      const frame = await (await page.waitForSelector("dialog iframe")).contentFrame();
      assert.ok(frame);
      const me = person(frame, await specimen("pass-data-only"));
      await me.at("open");
      return { frame, me };
    },
  };
}

test("the TypeScript in the documentation compiles with every strict option", async () => {
  const options = { strict: true, noUnusedLocals: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true };
  assert.equal(samples.filter(({ language }) => /^tsx?$/.test(language)).length, 6);
  assert.equal(await faultsIn(["*.ts", "*.tsx"], options), "");
});

test("the scripts of the example page compile", async () => {
  assert.equal(samples.filter(({ language }) => language === "html").flatMap(scriptsOf).length, 1);
  assert.equal(await faultsIn(["*.js"], { allowJs: true, checkJs: true, strict: false }), "");
});

for (const name of FRAMEWORKS) {
  test(`${name}: the outcome is told once, to the function of the latest rendering`, async () => {
    const { page, start, press, rerender, told, log, dialog, applicant, close } = await visit(name);
    await start();
    assert.equal(await page.locator("script[src$='bonafide.js']").count(), 0);
    await press();
    const { me } = await applicant();
    await told("ready 0");
    await told("step open");
    await rerender(1);
    assert.equal(await me.toOutcome(), t("outcome.approved.title"));
    await told("done 1 ");
    await told("step outcome");
    await me.button("page.return", { merchant: "Demo merchant" }).click();
    await dialog.waitFor({ state: "detached" });
    const [ready, done, ...more] = await log();
    assert.equal(ready, "ready 0");
    const { sessionId, status } = JSON.parse(done?.slice("done 1 ".length) ?? "");
    assert.equal(status, "approved");
    assert.equal((await server.poll(sessionId)).status, "success");
    assert.deepEqual(more, []);
    await close(server);
  });

  test(`${name}: leaving is told as cancelled`, async () => {
    const { page, start, press, told, log, dialog, applicant, close } = await visit(name);
    await start();
    await press();
    const { frame, me } = await applicant();
    await me.to("details");
    await page.keyboard.press("Escape");
    await frame.getByRole("dialog").getByRole("button", { name: t("page.leave.yes") }).click();
    await dialog.waitFor({ state: "detached" });
    await told("cancelled 0");
    assert.equal((await log()).length, 2);
    await close(server);
  });

  test(`${name}: unmounting closes the window and calls nothing; the script is loaded once`, async () => {
    const { page, context, requests, start, press, show, log, dialog, applicant } = await visit(name);
    await start();
    for (let openings = 1; openings <= 2; openings++) {
      await press();
      await applicant();
      await show(false);
      await dialog.waitFor({ state: "detached" });
      assert.equal(await page.evaluate(() => document.documentElement.style.overflow), "");
      await show(true);
      await page.locator("#verify").waitFor();
      assert.deepEqual(await log(), Array(openings).fill("ready 0"));
    }
    assert.equal(await page.locator("script[src$='bonafide.js']").count(), 1);
    assert.equal(requests.filter(({ url }) => url.endsWith("/bonafide.js")).length, 1);
    await context.close();
  });

  test(`${name}: unmounting before the script has loaded opens no window`, async () => {
    const { page, start, press, show, log, dialog, close } = await visit(name);
    let letGo = () => {};
    const held = new Promise((resolve) => (letGo = () => resolve(null)));
    await page.route("**/bonafide.js", (route) => held.then(() => route.continue()));
    await start();
    await press();
    await press();
    await show(false);
    letGo();
    await page.waitForFunction(() => "Bonafide" in window);
    // The waiting `open` continues before a new task.
    await page.evaluate(() => new Promise((done) => setTimeout(done)));
    assert.equal(await dialog.count(), 0);
    assert.deepEqual(await log(), []);
    await close(server);
  });

  test(`${name}: a script that cannot be loaded is told, and loaded again`, async () => {
    const { page, context, start, press, told, log, applicant } = await visit(name);
    await page.route("**/bonafide.js", (route) => route.abort());
    await start();
    await press();
    await told("error 0 BonafideError not_loaded");
    await page.unroute("**/bonafide.js");
    await press();
    await applicant();
    assert.deepEqual(await log(), ["error 0 BonafideError not_loaded", "ready 0"]);
    await context.close();
  });

  test(`${name}: a site that is not allowed is told`, async () => {
    const { context, start, press, show, told, log, dialog } = await visit(name, { at: stranger });
    await start();
    await press();
    await told("error 0 BonafideError origin_not_allowed");
    await show(false);
    await dialog.waitFor({ state: "detached" });
    assert.equal((await log()).length, 1);
    await context.close();
  });

  test(`${name}: a window that is opened when the component is mounted opens once`, async () => {
    const { page, start, log, dialog, applicant, close } = await visit(name, { automatic: true });
    await start();
    await applicant();
    assert.equal(await dialog.count(), 1);
    assert.deepEqual(await log(), ["ready 0"]);
    assert.equal(await page.locator("dialog").getAttribute("aria-label"), "Identity");
    await close(server);
  });
}

test("the example page opens the window with a link of its server", async () => {
  const watched = await newVisitor(browser, { viewport: desktop, hosts: [shop.host, new URL(server.baseUrl).host] });
  const { page } = watched;
  shop.offer(await server.link(await server.flow({ defaultFields: {} })));
  await page.goto(`${shop.origin}/example`);
  const told = page.waitForEvent("console", (message) => message.text().startsWith("passed or under review"));
  await page.getByRole("button", { name: "Verify my identity" }).click();
  const frame = await (await page.waitForSelector("dialog iframe")).contentFrame();
  assert.ok(frame);
  const me = person(frame, await specimen("pass-data-only"));
  await me.at("open");
  assert.equal(await me.toOutcome(), t("outcome.approved.title"));
  const [, sessionId] = (await told).args();
  assert.equal((await server.poll(await sessionId?.jsonValue())).status, "success");
  await watched.close(server);
});
