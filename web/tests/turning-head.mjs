/**
 * A person before the camera who follows the liveness challenge: the specimen's head, drawn in many poses, turns and nods
 * as the page asks and reflects the colours of its screen. Or an attacker, who does not.
 */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./server.mjs";

/**
 * @typedef {object} Behaviour
 * @property {"follow"|"still"|"loop"|"other-light"|"wrong-way"} [does] what the person, or the film before the camera, does
 * @property {number} [reaction] ms until a move begins
 * @property {number} [speed] degrees a second
 */

/** The time before a person begins to move, in ms, and the speed of the move, in degrees a second. */
export const REACTION_MS = 500;
export const SPEED = 55;
/** The colours of the screen. */
export const CHALLENGE_COLOURS = ["#ff5050", "#50ff50", "#5050ff", "#ffff50", "#ff50ff", "#50ffff"];
/** Where each move leads: degrees about an axis. @type {Record<string, [string, number]>} */
export const GOALS = { turn_left: ["yaw", 26], turn_right: ["yaw", -26], nod_up: ["pitch", -16], nod_down: ["pitch", 16] };

/** The views of the head: degrees and data URL. */
export async function views() {
  const folder = join(root, "specimens");
  const names = (await readdir(folder)).filter((name) => /^head-(yaw|pitch)-.*\.jpg$/.test(name));
  if (names.length === 0) throw new Error("no views of a head: run `make specimens`");
  return Promise.all(
    names.map(async (name) => {
      const [, axis, degrees] = /** @type {RegExpMatchArray} */ (name.match(/^head-(yaw|pitch)-(-?\d+)\.jpg$/));
      return { axis, degrees: Number(degrees), url: `data:image/jpeg;base64,${(await readFile(join(folder, name))).toString("base64")}` };
    }),
  );
}

/** What the camera sees. @typedef {{image: HTMLImageElement, shift: [number, number], colour: string, noise: boolean}} View */

/* c8 ignore start */
/**
 * Draws a view of the head, 360 × 480. Runs in the page.
 * @param {CanvasRenderingContext2D} context @param {CanvasRenderingContext2D} light of the same size, to work on @param {View} view
 */
export function paintHead(context, light, { image, shift: [dx, dy], colour, noise }) {
  const { canvas } = context;
  context.drawImage(image, dx - 3, dy - 3, 366, 486);
  if (colour) {
    light.globalCompositeOperation = "copy";
    light.filter = "blur(14px)";
    light.fillStyle = "#000";
    light.fillRect(0, 0, 360, 480);
    light.globalCompositeOperation = "source-over";
    light.beginPath();
    light.ellipse(180, 235, 85, 120, 0, 0, 7);
    light.fillStyle = "#fff";
    light.fill();
    light.filter = "none";
    light.globalCompositeOperation = "multiply";
    light.drawImage(canvas, 0, 0);
    light.fillStyle = colour;
    light.fillRect(0, 0, 360, 480);
    context.globalCompositeOperation = "lighter";
    context.globalAlpha = 0.22;
    context.drawImage(light.canvas, 0, 0);
    context.globalAlpha = 1;
    context.globalCompositeOperation = "source-over";
  }
  // Camera noise.
  if (noise) {
    for (let i = 0; i < 60; i += 1) {
      context.fillStyle = `rgb(${Math.random() < 0.5 ? "0 0 0" : "255 255 255"} / 0.05)`;
      context.fillRect(Math.random() * 360, Math.random() * 480, 3, 3);
    }
  }
}

/** Replaces the page's camera by the head. Runs in the page. */
function install(/** @type {{shots: {axis: string, degrees: number, url: string}[], behaviour: Required<Behaviour>, goals: typeof GOALS, colours: string[]}} */ { shots, behaviour, goals, colours }) {
  const { does, reaction, speed } = behaviour;
  const paint = /** @type {{paintHead: typeof paintHead}} */ (/** @type {unknown} */ (globalThis)).paintHead;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [360, 480];
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const lit = document.createElement("canvas");
  [lit.width, lit.height] = [360, 480];
  const light = /** @type {CanvasRenderingContext2D} */ (lit.getContext("2d"));
  const images = shots.map(({ axis, degrees, url }) => {
    const image = new Image();
    image.src = url;
    return { axis, degrees, image };
  });
  let [axis, angle, goal] = ["yaw", 0, 0];
  let asked = "";
  let nextAxis = "yaw";
  let nextGoal = 0;
  let moveAt = Infinity;
  let last = performance.now();

  function step() {
    const now = performance.now();
    const passed = (now - last) / 1000;
    last = now;
    const screen = document.querySelector(".challenge");
    const move = /** @type {HTMLElement|null} */ (screen?.querySelector(".challenge-arrow"))?.dataset["move"] ?? "";
    const reacts = does === "follow" || does === "other-light" || does === "wrong-way";
    if (reacts && move !== asked) {
      asked = move;
      [nextAxis, nextGoal] = goals[move] ?? [axis, 0];
      if (does === "wrong-way") nextGoal = -nextGoal;
      moveAt = now + reaction;
    } else if (does === "loop") {
      [axis, goal] = /** @type {[string, number]} */ ([["yaw", 26], ["yaw", 0], ["yaw", -26], ["yaw", 0]][Math.floor(now / 1200) % 4]);
    }
    if (now >= moveAt) {
      if (nextAxis !== axis && Math.abs(angle) > 1) goal = 0;
      else [axis, goal, moveAt] = [nextAxis, nextGoal, Infinity];
    }
    const most = speed * passed;
    angle += Math.max(-most, Math.min(most, goal - angle));
    const nearest = images
      .filter((shot) => shot.axis === axis)
      .reduce((best, shot) => (Math.abs(shot.degrees - angle) < Math.abs(best.degrees - angle) ? shot : best));
    if (nearest.image.complete && nearest.image.naturalWidth > 0) {
      // A hand never holds a phone still.
      const shift = /** @type {[number, number]} */ (does === "still" ? [0, 0] : [1.2 * Math.sin(now / 400), 0.9 * Math.cos(now / 300)]);
      const shown = /** @type {HTMLElement|null} */ (screen)?.hasAttribute("data-flash") ? /** @type {HTMLElement} */ (screen).style.getPropertyValue("--flash") : "";
      const colour = does === "other-light" ? colours[Math.floor(now / 450) * 5 % 6] : does === "still" || does === "loop" ? "" : shown;
      paint(context, light, { image: nearest.image, shift, colour: colour ?? "", noise: does !== "still" });
    }
    setTimeout(step, 25);
  }
  step();
  const stream = () => canvas.captureStream(30);
  Object.defineProperty(navigator.mediaDevices, "getUserMedia", { value: async () => stream() });
  Object.defineProperty(navigator.mediaDevices, "enumerateDevices", {
    value: async () => [{ kind: "videoinput", deviceId: "head", groupId: "", label: "Head", toJSON: () => ({}) }],
  });
}
/* c8 ignore stop */

/** Puts the head before the camera of every page of a visitor. @param {import("playwright-core").Page} page @param {Behaviour} behaviour */
export async function before(page, behaviour) {
  await page.addInitScript(`globalThis.paintHead = ${paintHead}`);
  /** @type {Required<Behaviour>} */
  const whole = { does: "follow", reaction: REACTION_MS, speed: SPEED, ...behaviour };
  await page.addInitScript(install, { shots: await views(), behaviour: whole, goals: GOALS, colours: CHALLENGE_COLOURS });
}
