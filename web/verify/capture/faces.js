/**
 * The page's interface to the face model. It loads the model once, sends it one picture at a time, and returns null if
 * there is no model. Nothing waits for it, and nothing fails without it.
 */

/** @import { Face } from "./measures.js" */

/** Side of the model's input picture in pixels. */
const SIZE = 256;

/** @type {Worker|null} */
let worker = null;
/** @type {Promise<boolean>|null} */
let loading = null;
let ready = false;
let asked = 0;
/** @type {Map<number, (faces: Face[]|null) => void>} */
const waiting = new Map();
/** @type {CanvasRenderingContext2D|null} */
let context = null;

/** The URL folder of the runtime and the model. */
const folder = () => {
  const here = import.meta.url;
  return `${here.slice(0, here.indexOf("/assets/") + "/assets/".length)}guidance/`;
};

function giveUp() {
  ready = false;
  worker?.terminate();
  worker = null;
  for (const answer of waiting.values()) answer(null);
  waiting.clear();
}

/** Loads the model; only after consent, when the camera starts. @returns {Promise<boolean>} whether it is available */
export function loadFaces() {
  loading ??= new Promise((resolve) => {
    try {
      worker = new Worker(new URL("./face-worker.js", import.meta.url));
    } catch {
      resolve(false);
      return;
    }
    worker.onerror = () => {
      giveUp();
      resolve(false);
    };
    worker.onmessage = ({ data }) => {
      if (data.failed) {
        giveUp();
        resolve(false);
      } else if (data.ready) {
        ready = true;
        resolve(true);
      } else {
        waiting.get(data.id)?.(data.faces);
        waiting.delete(data.id);
      }
    };
    worker.postMessage({ folder: folder() });
  });
  return loading;
}

/** Whether the model is ready. */
export const facesReady = () => ready;

/**
 * The faces in a picture, as shares of its width and height.
 * @param {CanvasImageSource} source
 * @param {number} width @param {number} height of the source
 * @returns {Promise<Face[]|null>} null: no model
 */
export async function findFaces(source, width, height) {
  if (!ready || worker === null) return null;
  if (context === null) {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [SIZE, SIZE];
    context = canvas.getContext("2d", { willReadFrequently: true });
  }
  if (context === null) return null;
  // Draws the whole picture centred in a square.
  const scale = SIZE / Math.max(width, height);
  const [w, h] = [width * scale, height * scale];
  const [x, y] = [(SIZE - w) / 2, (SIZE - h) / 2];
  context.fillStyle = "#000";
  context.fillRect(0, 0, SIZE, SIZE);
  context.drawImage(source, x, y, w, h);
  const { buffer } = context.getImageData(0, 0, SIZE, SIZE).data;
  const id = (asked += 1);
  const found = await new Promise((/** @type {(faces: Face[]|null) => void} */ resolve) => {
    waiting.set(id, resolve);
    worker?.postMessage({ id, buffer }, [buffer]);
  });
  return (
    found?.map((face) => ({
      ...face,
      x: (face.x * SIZE - x) / w,
      y: (face.y * SIZE - y) / h,
      width: (face.width * SIZE) / w,
      height: (face.height * SIZE) / h,
    })) ?? null
  );
}
