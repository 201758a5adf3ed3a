/**
 * Replaces a page's camera with the films of `bonafide eval challenge --camera`: rendered people who follow the challenge,
 * and attacks.
 */

import { spawn } from "node:child_process";
import { program, root } from "./server.mjs";
import { join } from "node:path";

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {{at: number, show: string, move: string | null, colour: string | null, hint: string | null}} View */

/** Starts the program that renders. @param {string[]} args of `bonafide eval challenge` */
export function startFilms(args) {
  const child = spawn(program, ["eval", "challenge", "--camera", "--models", join(root, "models"), ...args], { stdio: ["pipe", "pipe", "inherit"] });
  let received = Buffer.alloc(0);
  /** @type {{resolve: (answer: Buffer) => void, reject: (error: Error) => void}[]} */
  const waiting = [];
  /** @type {Error | null} */
  let failure = null;
  /** @param {Error} error */
  const fail = (error) => {
    failure ??= error;
    for (const { reject } of waiting.splice(0)) reject(failure);
  };
  child.on("error", fail);
  child.stdin.on("error", fail);
  child.on("exit", (code) => fail(new Error(`the program that renders films ended with ${code}`)));
  child.stdout.on("data", (/** @type {Buffer} */ chunk) => {
    received = Buffer.concat([received, chunk]);
    while (received.length >= 4 && received.length >= 4 + received.readUInt32BE(0)) {
      const end = 4 + received.readUInt32BE(0);
      waiting.shift()?.resolve(received.subarray(4, end));
      received = received.subarray(end);
    }
  });
  /** @param {object} order @returns {Promise<Buffer>} */
  const answer = (order) =>
    new Promise((resolve, reject) => {
      if (failure) return reject(failure);
      waiting.push({ resolve, reject });
      child.stdin.write(JSON.stringify(order) + "\n");
    });
  return {
    /** Begins a film. @param {number} film @param {number} run @returns {Promise<{person: number, kind: string | null} | null>} null after the last */
    async begin(film, run) {
      const started = await answer({ film, run });
      return started.length ? JSON.parse(started.toString()) : null;
    },
    /** The frame that the camera takes now. @param {View} view */
    frame: async (view) => (await answer(view)).toString("base64"),
    stop: () => child.stdin.end(),
  };
}

/** @typedef {ReturnType<typeof startFilms>} Films */

/** Replaces the page's camera. Runs in the page. @param {{width: number, height: number, interval: number}} camera */
/* c8 ignore start */
function install({ width, height, interval }) {
  const page = /** @type {{filmBegin: () => Promise<void>, filmFrame: (view: View) => Promise<string>}} */ (/** @type {unknown} */ (window));
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const first = { number: -1, show: "look", move: null, colour: null };
  /** The server's instructions, the newest last. @type {any[]} */
  let instructions = [];
  /** @type {string | null} */
  let hint = null;
  const original = window.fetch;
  window.fetch = async (...args) => {
    const response = await original(...args);
    if (String(args[0]).includes("/challenge")) {
      const answer = await response.clone().json().catch(() => null);
      if (answer?.instruction) {
        instructions.push(answer.instruction);
        hint = answer.hint ?? null;
      }
    }
    return response;
  };

  /** The newest instruction whose colour is on the screen: the page delays changes of colour. */
  function onScreen() {
    const screen = /** @type {HTMLElement | null} */ (document.querySelector(".challenge"));
    const colour = screen?.hasAttribute("data-flash") ? screen.style.getPropertyValue("--flash") : null;
    return instructions.findLast((instruction) => (instruction.colour ?? null) === colour) ?? first;
  }

  let began = 0;
  let run = 0;
  async function film(/** @type {number} */ mine) {
    const image = new Image();
    while (mine === run) {
      const now = performance.now();
      const { show, move, colour } = onScreen();
      const view = { at: Math.round(now - began), show, move: move ?? null, colour: colour ?? null, hint };
      image.src = `data:image/jpeg;base64,${await page.filmFrame(view)}`;
      await image.decode();
      context.drawImage(image, 0, 0);
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, now + interval - performance.now())));
    }
  }
  async function camera() {
    const mine = (run += 1);
    instructions = [];
    hint = null;
    await page.filmBegin();
    began = performance.now();
    film(mine);
    return canvas.captureStream(30);
  }
  Object.defineProperty(navigator.mediaDevices, "getUserMedia", { value: camera });
  Object.defineProperty(navigator.mediaDevices, "enumerateDevices", {
    value: async () => [{ kind: "videoinput", deviceId: "film", groupId: "", label: "Film", toJSON: () => ({}) }],
  });
}
/* c8 ignore stop */

/**
 * Replaces a page's camera with a film. `run()` is the number of the try.
 * @param {Page} page @param {Films} films @param {number} film @param {() => number} run
 */
export async function before(page, films, film, run) {
  await page.exposeFunction("filmBegin", async () => void (await films.begin(film, run())));
  await page.exposeFunction("filmFrame", films.frame);
  await page.addInitScript(install, { width: 360, height: 480, interval: 80 });
}
