// Firefox and WebKitGTK for tests, as Debian packages them. Playwright controls only its own builds of these engines.
// WebKitGTK's driver takes WebDriver commands over HTTP. Firefox takes the same commands over TCP, in Mozilla's protocol
// Marionette. A page has the methods of Playwright's that `person.mjs` calls, so one applicant serves every engine.
// This module never downloads an engine: `scripts/prepare engines` installs them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { phone } from "./browser.mjs";

/** Reference to an element, as WebDriver sends it. @typedef {Record<string, string>} Reference */
/**
 * The WebDriver commands that a page needs. `run` awaits a promise that the script returns.
 * @typedef {object} Driver
 * @property {string} version
 * @property {(url: string) => Promise<unknown>} navigate
 * @property {(script: string, args: unknown[]) => Promise<any>} run
 * @property {(element: Reference) => Promise<unknown>} click
 * @property {(element: Reference, text: string) => Promise<unknown>} type into an element, or choose a file
 * @property {(element: Reference | null) => Promise<unknown>} enter a frame, or leave all of them
 * @property {() => Promise<string>} screenshot as base64 of a PNG
 * @property {() => Promise<string[]>} faults that the engine has reported since its start
 * @property {() => Promise<void>} stop
 */
/** `hasCamera`: one that shows a moving pattern, and may be used. @typedef {{isDark?: boolean, hasCamera?: boolean}} Options */
/** @typedef {"firefox" | "webkit"} EngineName */

/** An engine's answer that a command failed. */
class CommandError extends Error {
  /** @param {string} command @param {{error: string, message: string}} answer */
  constructor(command, { error, message }) {
    super(`${command}: ${error}: ${message}`);
    this.code = error;
  }
}

const FIREFOX = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
const WEBKIT_DRIVER = "/usr/bin/WebKitWebDriver";
const XVFB = "/usr/bin/Xvfb";

/** What each engine needs on this machine. @type {Record<EngineName, {files: string[], start: (run: typeof runProgram, options: Options) => Promise<Driver>}>} */
export const engines = {
  firefox: { files: [FIREFOX], start: startFirefox },
  webkit: { files: [WEBKIT_DRIVER, XVFB], start: startWebKit },
};

/** Programs that are missing for an engine. @param {EngineName} name */
export const missing = (name) => engines[name].files.filter((file) => !existsSync(file));

/**
 * Waits for a condition: until `attempt` returns something. The timeout is long, because a slow machine must not fail
 * a test.
 * @template T
 * @param {string} what @param {() => T | Promise<T>} attempt @param {number} [timeout]
 * @returns {Promise<NonNullable<T>>}
 */
async function until(what, attempt, timeout = 90_000) {
  const end = Date.now() + timeout;
  /** @type {unknown} */
  let cause;
  do {
    try {
      const result = await attempt();
      if (result) return result;
    } catch (error) {
      if (!(error instanceof CommandError && PASSING.test(`${error.code}: ${error.message}`))) throw error;
      cause = error;
    }
    await sleep(50);
  } while (Date.now() < end);
  throw new Error(`waited ${timeout / 1000} s for ${what}`, { cause });
}
/** Failures while a screen is replaced, moves or is covered; the next attempt can succeed. */
const PASSING = /stale element reference|element not interactable|element click intercepted|no such element|unloaded|no such frame/;

/**
 * Starts a program whose output goes to `log`.
 * @param {string} program @param {string[]} args @param {NodeJS.ProcessEnv} [env]
 */
function runProgram(program, args, env = {}) {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((done) => child.once("close", done));
  const running = { log: "", ended, stop: () => (child.kill(), ended) };
  child.on("error", (error) => (running.log += error.message));
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (running.log += chunk));
  return running;
}

/** @type {(typeof engines)[EngineName]["start"]} */
async function startFirefox(runProgram, { isDark = false, hasCamera = false }) {
  const profile = await mkdtemp(join(tmpdir(), "bonafide-firefox-"));
  const preferences = {
    // Firefox chooses a free port and writes it into its profile.
    "marionette.port": 0,
    "intl.accept_languages": "en-GB",
    // The pointer is a finger, and scroll bars need no space, as on a phone.
    "media.navigator.streams.fake": hasCamera,
    "media.navigator.permission.disabled": hasCamera,
    "ui.primaryPointerCapabilities": 1,
    "ui.allPointerCapabilities": 1,
    "ui.useOverlayScrollbars": 1,
    "layout.css.prefers-color-scheme.content-override": isDark ? 0 : 1,
    "ui.prefersReducedMotion": 1,
  };
  const lines = Object.entries(preferences).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`);
  await writeFile(join(profile, "user.js"), lines.join(""));
  // System access lets the test read the console and set the size of the page, as an extension could.
  const firefox = runProgram(FIREFOX, ["--headless", "--no-remote", "--marionette", "--remote-allow-system-access", "--profile", profile]);
  const portFile = join(profile, "MarionetteActivePort");
  const port = await until("Firefox to start", () => (existsSync(portFile) ? Number(readFileSync(portFile, "utf8")) : 0));
  const send = await marionette(port);
  const { capabilities } = await send("WebDriver:NewSession", { capabilities: { alwaysMatch: {} } });
  const id = (/** @type {Reference} */ element) => Object.values(element)[0];
  const run = async (/** @type {string} */ script, /** @type {unknown[]} */ args) => (await send("WebDriver:ExecuteScript", { script, args })).value;

  /** Runs a script with the rights of the browser. @param {string} script @param {unknown[]} args */
  async function runInBrowser(script, args) {
    await send("Marionette:SetContext", { value: "chrome" });
    const value = await run(script, args);
    await send("Marionette:SetContext", { value: "content" });
    return value;
  }
  // A window of Firefox cannot be as narrow as a phone, but the page in it can.
  await runInBrowser(
    `const { style } = gBrowser.selectedBrowser;
    for (const edge of ["min", "max"]) {
      style.setProperty(edge + "-width", arguments[0] + "px");
      style.setProperty(edge + "-height", arguments[1] + "px");
    }`,
    [phone.width, phone.height],
  );

  return {
    version: `Firefox ${capabilities.browserVersion}`,
    run,
    navigate: (url) => send("WebDriver:Navigate", { url }),
    click: (element) => send("WebDriver:ElementClick", { id: id(element) }),
    type: (element, text) => send("WebDriver:ElementSendKeys", { id: id(element), text }),
    enter: (element) => send("WebDriver:SwitchToFrame", { element: element && id(element) }),
    screenshot: async () => (await send("WebDriver:TakeScreenshot", { full: false })).value,
    async faults() {
      // The page's own listeners miss what happens before they are added. Flag 1 marks a warning. Messages about
      // Firefox's own files do not concern the page.
      return runInBrowser(
        `return Services.console.getMessageArray()
          .filter((message) => message instanceof Ci.nsIScriptError && !(message.flags & 1) && /^http/.test(message.sourceName))
          .map(({ errorMessage, sourceName, lineNumber }) => errorMessage + " (" + sourceName + ":" + lineNumber + ")")`,
        [],
      );
    },
    async stop() {
      await send("Marionette:Quit", { flags: ["eForceQuit"] });
      await firefox.ended;
      await rm(profile, { recursive: true, force: true });
    },
  };
}

/** Connects to Firefox and returns the sender of commands. A message is its length in bytes, a colon and JSON. @param {number} port */
async function marionette(port) {
  const socket = connect(port, "127.0.0.1");
  /** @type {Map<number, {command: string, done: (result: any) => void, fail: (error: Error) => void}>} */
  const waiting = new Map();
  let received = Buffer.alloc(0);
  let count = 0;
  await new Promise((greeted, fail) => {
    socket.once("error", fail);
    socket.once("close", () => waiting.forEach(({ command, fail }) => fail(new Error(`${command}: Firefox ended`))));
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      for (let colon = received.indexOf(":"); colon > 0; colon = received.indexOf(":")) {
        const end = colon + 1 + Number(received.subarray(0, colon));
        if (received.length < end) return;
        const message = JSON.parse(received.toString("utf8", colon + 1, end));
        received = received.subarray(end);
        // The first message is a greeting.
        if (Array.isArray(message)) finish(message);
        else greeted(message);
      }
    });
  });

  /** @param {any[]} answer */
  function finish([, id, error, result]) {
    const sent = waiting.get(id);
    waiting.delete(id);
    if (error) sent?.fail(new CommandError(sent.command, error));
    else sent?.done(result);
  }

  /** @param {string} command @param {object} [parameters] @returns {Promise<any>} */
  return (command, parameters = {}) =>
    new Promise((done, fail) => {
      const text = JSON.stringify([0, ++count, command, parameters]);
      waiting.set(count, { command, done, fail });
      socket.write(`${Buffer.byteLength(text)}:${text}`);
    });
}

/** A TCP port that is free. @returns {Promise<number>} */
const freePort = () =>
  new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => done(address && typeof address === "object" ? address.port : 0));
    });
  });

/** @type {(typeof engines)[EngineName]["start"]} */
async function startWebKit(runProgram, { isDark = false, hasCamera = false }) {
  const folder = await mkdtemp(join(tmpdir(), "bonafide-webkit-"));
  // Without these rules of GTK, the toolbar of the window would be wider than a phone.
  const settings = join(folder, "gtk-3.0");
  await mkdir(settings);
  await writeFile(join(settings, "settings.ini"), "[Settings]\ngtk-enable-animations=0\n");
  await writeFile(join(settings, "gtk.css"), "* { min-width: 0; margin: 0; border-width: 0; padding: 0; font-size: 1px; } image { -gtk-icon-transform: scale(0.1); }\n");
  // The page offers to continue on a phone if the screen is as wide as a desktop's.
  const xvfb = runProgram(XVFB, ["-displayfd", "1", "-screen", "0", `${2 * phone.width}x${2 * phone.height}x24`, "-nolisten", "tcp"]);
  const display = await until("Xvfb to start", () => xvfb.log.match(/^(\d+)\n/m)?.[1]);
  const port = await freePort();
  const driver = runProgram(WEBKIT_DRIVER, [`--port=${port}`, "--host=127.0.0.1"], { DISPLAY: `:${display}`, XDG_CONFIG_HOME: folder, GDK_BACKEND: "x11" });

  /** @param {string} method @param {string} path @param {object} [body] @returns {Promise<any>} */
  async function send(method, path, body) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, body: body && JSON.stringify(body), headers: { "content-type": "application/json" } });
    const { value } = /** @type {any} */ (await answer.json());
    if (!answer.ok) throw new CommandError(`${method} ${path}`, value);
    return value;
  }
  await until("WebKit's driver to start", () => send("GET", "/status").catch(() => false));
  const args = ["--automation", `--enable-mock-capture-devices=${hasCamera}`, ...(isDark ? ["--dark-mode"] : [])];
  const { sessionId, capabilities } = await send("POST", "/session", {
    capabilities: { alwaysMatch: { "webkitgtk:browserOptions": { args } } },
  });
  const session = `/session/${sessionId}`;
  const run = (/** @type {string} */ script, /** @type {unknown[]} */ args) => send("POST", `${session}/execute/sync`, { script, args });
  const element = (/** @type {Reference} */ reference) => `${session}/element/${Object.values(reference)[0]}`;
  // The window's height contains its toolbar.
  await send("POST", `${session}/window/rect`, phone);
  await send("POST", `${session}/window/rect`, { ...phone, height: 2 * phone.height - (await run("return innerHeight", [])) });

  return {
    version: `WebKitGTK ${capabilities.browserVersion}`,
    run,
    navigate: (url) => send("POST", `${session}/url`, { url }),
    click: (reference) => send("POST", `${element(reference)}/click`, {}),
    type: (reference, text) => send("POST", `${element(reference)}/value`, { text }),
    enter: (reference) => send("POST", `${session}/frame`, { id: reference }),
    screenshot: () => send("GET", `${session}/screenshot`),
    // Its console is not available while a driver controls it; the page's own listeners report.
    faults: async () => [],
    async stop() {
      // The driver sometimes closes the connection before it has answered.
      await send("DELETE", session).catch((error) => assert.ok(!(error instanceof CommandError), error));
      await Promise.all([driver.stop(), xvfb.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Reports what goes wrong in the current document from now on. Runs in the page. */
const WATCH = `
  if (window.faultsOfTest) return;
  const faults = (window.faultsOfTest = []);
  addEventListener("error", ({ message, filename, lineno }) => faults.push(message + " (" + filename + ":" + lineno + ")"));
  addEventListener("unhandledrejection", ({ reason }) => faults.push("unhandled: " + reason + " " + reason?.stack));
  document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => faults.push("policy: " + violatedDirective + " " + blockedURI));
  const { error } = console;
  console.error = (...all) => { faults.push("console: " + all.join(" ")); error.apply(console, all); };`;

/** Elements with a role and an accessible name. Runs in the page. */
const BY_ROLE = `const [role, name] = arguments;
  const tag = { button: "button", link: "a[href]", heading: "h1, h2, h3" }[role];
  return [...document.querySelectorAll(tag + ", [role=" + role + "]")]
    .filter((element) => (element.getAttribute("aria-label") ?? element.textContent).trim().replace(/\\s+/g, " ") === name)`;

/** Waits until an element is at the same place in two frames, because a click at its earlier place would miss it. Runs in the page. */
const UNTIL_STILL = `const [element] = arguments;
  const place = () => JSON.stringify(element.getBoundingClientRect());
  return new Promise((done) => {
    const compare = (before) => requestAnimationFrame(() => (place() === before ? done(true) : compare(place())));
    compare("");
  });`;

const IS_VISIBLE = "element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0";

/**
 * Starts an engine with a new profile, the size of a phone, and no animations.
 * @param {EngineName} name @param {Options} [options]
 */
export async function startEngine(name, options = {}) {
  /** @type {ReturnType<typeof runProgram>[]} */
  const programs = [];
  /** @type {typeof runProgram} */
  const run = (...command) => {
    const program = runProgram(...command);
    programs.push(program);
    return program;
  };
  const stopPrograms = () => Promise.all(programs.map((program) => program.stop()));
  const driver = await engines[name].start(run, options).catch(async (error) => {
    await stopPrograms();
    throw new Error(`${name} did not start:\n${programs.map(({ log }) => log).join("")}`, { cause: error });
  });

  /** @param {string} what @param {string} script returns the elements @param {unknown[]} args */
  const located = (what, script, args) => {
    /** The elements for which a condition on `element` holds. @param {string} condition @returns {Promise<Reference[]>} */
    const all = async (condition) => {
      // An arrow function has no arguments of its own, so the script reads those of the command.
      const found = await driver.run(`const found = (() => { ${script} })(); return found.filter((element) => ${condition})`, args);
      // Firefox answers null for a document that is being replaced.
      return found ?? [];
    };
    const one = (condition = IS_VISIBLE) => until(what, async () => (await all(condition))[0]);
    /** @param {(element: Reference) => Promise<unknown>} command @param {string} [condition] @param {number} [timeout] */
    const act = (command, condition, timeout) =>
      until(what, async () => {
        const [element] = await all(condition ?? `${IS_VISIBLE} && !element.disabled`);
        return element && (await command(element), true);
      }, timeout);
    const locator = {
      count: async () => (await all("true")).length,
      first: () => locator,
      /** @param {{state?: "visible" | "detached", timeout?: number}} [options] */
      waitFor: ({ state = "visible", timeout } = {}) =>
        until(`${what} to be ${state}`, async () => (await all(state === "visible" ? IS_VISIBLE : "true")).length > 0 === (state === "visible"), timeout),
      /** @param {{timeout?: number}} [options] */
      click: ({ timeout } = {}) => act(async (element) => {
        await driver.run(UNTIL_STILL, [element]);
        await driver.click(element);
      }, undefined, timeout),
      /** Replaces the text of an entry. @param {string} text */
      fill: (text) => act(async (entry) => {
        await driver.run("arguments[0].focus(); arguments[0].select()", [entry]);
        await driver.type(entry, text);
      }),
      /** @param {"Enter" | "Escape"} key */
      press: (key) => act((entry) => driver.type(entry, { Enter: "\uE007", Escape: "\uE00C" }[key])),
      /** @param {string} path */
      setInputFiles: (path) => act((entry) => driver.type(entry, path), "true"),
      /** @param {string} value */
      selectOption: async (value) => {
        const select = await one();
        const option = await driver.run("return [...arguments[0].options].find(({ value }) => value === arguments[1])", [select, value]);
        await driver.click(option);
      },
      /** @param {string} attribute @returns {Promise<string | null>} */
      getAttribute: async (attribute) => driver.run("return arguments[0].getAttribute(arguments[1])", [await one(), attribute]),
      /** @returns {Promise<string>} */
      innerText: async () => driver.run("return arguments[0].innerText", [await one()]),
    };
    return locator;
  };

  /** @param {string} selector */
  const locator = (selector) => located(selector, "return [...document.querySelectorAll(arguments[0])]", [selector]);

  /**
   * Runs a function in the page.
   * @template Result, Argument
   * @param {(argument: Argument) => Result} script @param {Argument} [argument]
   * @returns {Promise<Awaited<Result>>}
   */
  const evaluate = (script, argument) => driver.run(`return (${script}).apply(null, arguments)`, argument === undefined ? [] : [argument]);

  /** Of documents that were left since. @type {string[]} */
  const earlier = [];
  const watch = () => driver.run(WATCH, []);
  const collect = async () => {
    /** @type {string[]} */
    const faults = await driver.run("return window.faultsOfTest?.splice(0) ?? []", []).catch((error) => {
      // The page may have removed the frame.
      if (!/no such (frame|window)/.test(String(error))) throw error;
      return [];
    });
    earlier.push(...faults);
  };
  /** The selector of the frame to which the methods are directed. @type {string | undefined} */
  let current;
  /** @param {string} frame */
  const enter = async (frame) =>
    driver.enter(await until(frame, async () => (await driver.run("return [...document.querySelectorAll(arguments[0])]", [frame]))[0]));

  return {
    version: driver.version,
    locator,
    evaluate,
    /** @param {string} role @param {{name: string, exact?: boolean}} options always exact */
    getByRole: (role, { name }) => located(`${role} "${name}"`, BY_ROLE, [role, name]),
    /**
     * @template Argument
     * @param {(argument: Argument) => unknown} condition @param {Argument} [argument] @param {{timeout?: number}} [options]
     */
    waitForFunction: (condition, argument, { timeout } = {}) => until(String(condition), () => evaluate(condition, argument), timeout),
    /** @param {string} url */
    async goto(url) {
      await collect();
      await driver.navigate(url);
      await watch();
    },
    /** Directs all methods to a frame, whose document has an element with this selector. @param {string} frame @param {string} inside */
    async enter(frame, inside) {
      await enter(frame);
      current = frame;
      await locator(inside).waitFor();
      await watch();
    },
    /** Directs all methods to the page again that contains the frame. */
    async leave() {
      await collect();
      current = undefined;
      await driver.enter(null);
    },
    /** What the window shows, as a PNG in base64. With a path, it is also written there. @param {string} [path] */
    async screenshot(path) {
      // WebKitGTK would return the picture of the screen before.
      await driver.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))", []);
      // Firefox takes no picture of another site's frame alone.
      if (current) await driver.enter(null);
      const picture = await driver.screenshot();
      if (current) await enter(current);
      if (path) {
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, Buffer.from(picture, "base64"));
      }
      return picture;
    },
    /** What went wrong since the start. */
    async faults() {
      await collect();
      return [...earlier, ...(await driver.faults())];
    },
    stop: () => driver.stop().finally(stopPrograms),
  };
}

/** @typedef {Awaited<ReturnType<typeof startEngine>>} EnginePage */
