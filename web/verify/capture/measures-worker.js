/** Measures pictures outside the page's main thread: one picture in, its measures out. */

import { measure } from "./measures.js";

/** @type {import("./measures.js").Grey|null} */
let before = null;
const send = /** @type {(message: unknown) => void} */ (/** @type {unknown} */ (self.postMessage.bind(self)));

self.onmessage = (/** @type {MessageEvent} */ { data: { width, height, buffer, frame, kind } }) => {
  const result = measure({ width, height, data: new Uint8ClampedArray(buffer) }, frame, kind, before);
  before = result.thumbnail;
  send({ measures: result.measures });
};
