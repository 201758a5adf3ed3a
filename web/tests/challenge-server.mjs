// The endpoints of the liveness challenge for tests without the real ones: it reads and checks every byte that the page
// sends, and answers as the test says.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";

/** @typedef {import("../verify/capture/challenge.js").Answer} Answer */
/** @typedef {{number: number, captured: number, instruction: number, jpeg: Buffer}} Frame */

/** @param {Buffer} bytes a body with frames */
export function readBody(bytes) {
  const frames = /** @type {Frame[]} */ ([]);
  let at = 48;
  while (at < bytes.length) {
    const length = bytes.readUInt16BE(at + 10);
    const jpeg = bytes.subarray(at + 12, at + 12 + length);
    assert.equal(jpeg.length, length, "a frame is cut off");
    frames.push({ number: bytes.readUInt32BE(at), captured: bytes.readUInt32BE(at + 4), instruction: bytes.readUInt16BE(at + 8), jpeg });
    at += 12 + length;
  }
  return { nonce: bytes.subarray(0, 16).toString("base64url"), chain: bytes.subarray(16, 48), frames };
}

/** Width and height of a JPEG. @param {Buffer} jpeg */
export function jpegSize(jpeg) {
  assert.equal(jpeg.readUInt16BE(0), 0xffd8);
  for (let at = 2; at < jpeg.length; at += 2 + jpeg.readUInt16BE(at + 2)) {
    const marker = jpeg[at + 1] ?? 0;
    if (marker >= 0xc0 && marker <= 0xc2) return { height: jpeg.readUInt16BE(at + 5), width: jpeg.readUInt16BE(at + 7) };
  }
  throw new Error("a JPEG without a size");
}

const sha256 = (/** @type {Uint8Array[]} */ ...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();

/** @param {number} number @param {string} show @param {Partial<Answer> & {move?: string, colour?: string}} [more] @returns {Partial<Answer>} */
export const step = (number, show, { move, colour, ...more } = {}) => ({ state: "running", instruction: { number, show, move: move ?? null, colour: colour ?? null }, hint: null, progress: 0, ...more });

/**
 * @typedef {object} Wanted
 * @property {(call: {route: string, restart: boolean, count: number}) => Partial<Answer> | number} open an answer, or a status
 * @property {(call: {frames: Frame[], all: Frame[], count: number}) => Partial<Answer> | number | "cut" | Promise<Partial<Answer>>} frames
 */

/**
 * Answers the challenge's requests of a page. A running answer gets the current nonce and the next frame's number.
 * @param {import("playwright-core").Page} page @param {Wanted} wanted
 */
export async function mockChallenge(page, wanted) {
  const opened = /** @type {{route: string, restart: boolean, camera: Partial<import("../verify/capture/camera.js").CameraDescription> | null}[]} */ ([]);
  /** Accepted frames of all nonces, by number. @type {Map<number, Frame>} */
  const all = new Map();
  let nonce = Buffer.alloc(16);
  /** @type {Buffer} */
  let chain = sha256(nonce);
  let next = 0;
  /** The last body of a nonce and its answer: the same again is answered again. */
  let before = { bytes: /** @type {Buffer} */ (Buffer.alloc(0)), body: /** @type {any} */ (null) };
  let count = 0;
  let busy = 0;

  /** @param {Partial<Answer>} answer */
  const complete = (answer) => ({ place: null, waitSeconds: null, hint: null, progress: 0, reason: null, triesLeft: 2, selfieFrame: null, instruction: null,
    nonce: answer.state === "running" ? nonce.toString("base64url") : null, nextFrame: answer.state === "running" ? next : null, ...answer });

  await page.route("**/v2/sdk/session/challenge", async (route) => {
    const call = route.request().postDataJSON();
    opened.push(call);
    const answer = wanted.open({ ...call, count: opened.length - 1 });
    if (typeof answer === "number") return route.fulfill({ status: answer, json: { error: "refused", message: "" } });
    nonce = sha256(Buffer.from([opened.length])).subarray(0, 16);
    chain = sha256(nonce);
    before.bytes = Buffer.alloc(0);
    return route.fulfill({ json: complete(answer) });
  });
  /** Takes a body of frames, and returns what answers it. @param {import("playwright-core").Route} route */
  async function taken(route) {
    const request = route.request();
    assert.equal(request.headers()["content-type"], "application/octet-stream");
    assert.match(request.headers()["authorization"] ?? "", /^Bearer ./);
    const bytes = request.postDataBuffer() ?? Buffer.alloc(0);
    if (bytes.equals(before.bytes)) return () => route.fulfill({ json: before.body });
    const body = readBody(bytes);
    assert.equal(body.nonce, nonce.toString("base64url"));
    assert.ok(body.frames.length >= 1 && body.frames.length <= 30);
    for (const frame of body.frames) {
      const { number, captured, instruction, jpeg } = frame;
      assert.equal(number, next++);
      assert.ok(jpeg.length <= 15_000, `${jpeg.length} bytes`);
      const head = Buffer.alloc(12);
      head.writeUInt32BE(number, 0);
      head.writeUInt32BE(captured, 4);
      head.writeUInt16BE(instruction, 8);
      head.writeUInt16BE(jpeg.length, 10);
      chain = sha256(chain, head, jpeg);
      all.set(number, frame);
    }
    assert.deepEqual(body.chain, chain);
    const answer = await wanted.frames({ frames: body.frames, all: [...all.values()], count: count++ });
    if (answer === "cut") {
      before = { bytes, body: complete(step(body.frames.at(-1)?.instruction ?? 0, "look")) };
      return () => route.abort();
    }
    if (typeof answer === "number") return () => route.fulfill({ status: answer, json: { error: "challenge_out_of_step", message: "" } });
    const json = complete(answer);
    return () => route.fulfill({ json });
  }

  await page.route("**/v2/sdk/session/challenge/frames", async (route) => {
    assert.equal(++busy, 1, "two requests at once");
    /** @type {() => Promise<void>} */
    let reply;
    try {
      reply = await taken(route);
    } finally {
      // Before the reply, because the page may send its next request before this side knows that the reply has arrived.
      busy -= 1;
    }
    await reply();
  });
  return { opened, all };
}
