/**
 * Finds faces with WebAssembly, outside the page's main thread. It is a classic worker, because the runtime consists of
 * classic scripts. If any part is missing it reports that once, and the page continues without it.
 */

/* The used part of the runtime, which has no types that a page without a build step can load. */
/** @typedef {{dispose(): void, data(): Promise<Float32Array>}} Tensor */
/** @typedef {{execute(input: Tensor, outputs: string[]): Tensor[]}} Model */
/** @typedef {{
 *   wasm: {setWasmPaths(folder: string): void},
 *   setBackend(name: string): Promise<boolean>,
 *   enableProdMode(): void,
 *   loadGraphModel(url: string): Promise<Model>,
 *   tensor4d(values: Float32Array, shape: number[]): Tensor,
 * }} Tensorflow */

(() => {
  const scope = /** @type {{tf: Tensorflow, importScripts(...urls: string[]): void, postMessage(message: unknown): void}} */ (
    /** @type {unknown} */ (self)
  );

  /** Side of BlazeFace's input picture in pixels. */
  const SIZE = 256;
  /** Minimum score of a face. */
  const MIN_SCORE = 0.65;
  /** Boxes whose intersection exceeds this share of their union are one face. */
  const SAME_FACE = 0.3;
  /** Anchor grids: cells per side, anchors per cell, and the outputs with their scores and boxes. */
  const GRIDS = [
    { cells: 16, anchors: 2, scores: "Identity", boxes: "Identity_2" },
    { cells: 8, anchors: 6, scores: "Identity_1", boxes: "Identity_3" },
  ];

  /** @type {Promise<Model>|null} */
  let model = null;

  /** @param {string} folder folder of the runtime and the model, ending with a slash */
  async function load(folder) {
    for (const file of ["tf-core.min.js", "tf-converter.min.js", "tf-backend-wasm.min.js"]) scope.importScripts(folder + file);
    const { tf } = scope;
    tf.enableProdMode();
    tf.wasm.setWasmPaths(folder);
    if (!(await tf.setBackend("wasm"))) throw new Error("no WebAssembly");
    const loaded = await tf.loadGraphModel(`${folder}blazeface.json`);
    // The first run prepares the weights and must not count as a slow picture.
    await find(loaded, new Uint8ClampedArray(SIZE * SIZE * 4));
    return loaded;
  }

  /**
   * @param {Model} graph
   * @param {Uint8ClampedArray} pixels RGBA of SIZE × SIZE
   * @returns {Promise<import('./measures.js').Face[]>} in shares of the picture, best first
   */
  async function find(graph, pixels) {
    const values = new Float32Array(SIZE * SIZE * 3);
    for (let i = 0, j = 0; j < values.length; i += 4, j += 3) {
      values[j] = pixels[i] / 127.5 - 1;
      values[j + 1] = pixels[i + 1] / 127.5 - 1;
      values[j + 2] = pixels[i + 2] / 127.5 - 1;
    }
    const input = scope.tf.tensor4d(values, [1, SIZE, SIZE, 3]);
    const outputs = graph.execute(input, GRIDS.flatMap((grid) => [grid.scores, grid.boxes]));
    const data = await Promise.all(outputs.map((output) => output.data()));
    for (const tensor of [input, ...outputs]) tensor.dispose();
    const faces = GRIDS.flatMap(({ cells, anchors }, n) => decode(data[2 * n], data[2 * n + 1], cells, anchors));
    faces.sort((a, b) => b.score - a.score);
    /** @type {import("./measures.js").Face[]} */
    const kept = [];
    for (const face of faces) if (!kept.some((better) => overlap(better, face) > SAME_FACE)) kept.push(face);
    return kept;
  }

  /**
   * @param {Float32Array} scores before their sigmoid
   * @param {Float32Array} boxes sixteen numbers each: centre, size and six points, pixels relative to the anchor
   * @param {number} cells @param {number} anchors
   */
  function decode(scores, boxes, cells, anchors) {
    /** @type {import("./measures.js").Face[]} */
    const faces = [];
    scores.forEach((raw, row) => {
      const score = 1 / (1 + Math.exp(-raw));
      if (!(score >= MIN_SCORE)) return;
      const cell = Math.floor(row / anchors);
      const centre = [((cell % cells) + 0.5) / cells, (Math.floor(cell / cells) + 0.5) / cells];
      const at = (/** @type {number} */ n, /** @type {number} */ axis) => boxes[row * 16 + n + axis] / SIZE + centre[axis];
      const side = Math.max(boxes[row * 16 + 2], boxes[row * 16 + 3]) / SIZE;
      const [rightEye, leftEye, nose] = [4, 6, 8].map((n) => ({ x: at(n, 0), y: at(n, 1) }));
      const [dx, dy] = [leftEye.x - rightEye.x, leftEye.y - rightEye.y];
      const between = Math.hypot(dx, dy) || 1e-6;
      // Distance of the nose from the midpoint of the eyes, along the line of the eyes, relative to their distance.
      const off = ((nose.x - (leftEye.x + rightEye.x) / 2) * dx + (nose.y - (leftEye.y + rightEye.y) / 2) * dy) / between ** 2;
      faces.push({
        x: at(0, 0) - side / 2,
        y: at(0, 1) - side / 2,
        width: side,
        height: side,
        score,
        yaw: off * 2,
        roll: Math.atan2(dy, dx),
      });
    });
    return faces;
  }

  /** @param {import("./measures.js").Rect} a @param {import("./measures.js").Rect} b */
  function overlap(a, b) {
    const width = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
    const height = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
    if (width <= 0 || height <= 0) return 0;
    const shared = width * height;
    return shared / Math.min(a.width * a.height, b.width * b.height, a.width * a.height + b.width * b.height - shared);
  }

  self.onmessage = async (/** @type {MessageEvent} */ { data }) => {
    try {
      if (data.folder !== undefined) {
        model = load(data.folder);
        await model;
        scope.postMessage({ ready: true });
        return;
      }
      if (model === null) return;
      const graph = await model;
      const start = performance.now();
      const faces = await find(graph, new Uint8ClampedArray(data.buffer));
      scope.postMessage({ id: data.id, faces, ms: performance.now() - start });
    } catch {
      scope.postMessage({ failed: true });
    }
  };
})();
