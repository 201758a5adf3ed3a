/**
 * Measures a picture: light, glare, sharpness, motion, and the position of a document in its frame.
 * Pure functions on pixels. They use neither camera nor page, and problems.js has the thresholds.
 */

/** Pixels of a canvas: four bytes each (red, green, blue, alpha).
 * @typedef {{width: number, height: number, data: Uint8ClampedArray}} Pixels */

/** A grey picture with one byte of luminance per pixel.
 * @typedef {{width: number, height: number, data: Uint8Array}} Grey */

/** A rectangle in pixels of its picture.
 * @typedef {{x: number, y: number, width: number, height: number}} Rect */

/**
 * Position of the document. Lengths are shares of the frame's; 0 is exactly on the frame.
 * @typedef {object} Place
 * @property {{top: number|null, right: number|null, bottom: number|null, left: number|null}} sides
 *   distance of each side inside the frame (negative: outside); null: not found
 * @property {boolean} present whether there are straight sides with print between them, or print everywhere
 * @property {boolean} overflows whether there is strong print but hardly a side, so it is too close
 * @property {boolean} mrz whether the bottom has the texture of a machine-readable zone
 */

/** A face, as shares of the picture's width and height. `yaw`: 0 frontal, 1 about full profile; `roll` in radians.
 * @typedef {{x: number, y: number, width: number, height: number, score: number, yaw: number, roll: number}} Face */

/**
 * @typedef {object} Measures
 * @property {number} light minimum luminance of the brightest tenth of the subject, 0–255
 * @property {number} burnt share of the subject that is overexposed
 * @property {number} ink share of the subject's middle that is clearly darker than its brightest tenth
 * @property {number} glare share of the subject under reflections
 * @property {number} sharpness fine detail relative to contrast; print in focus has 0.1 or more, a blurred picture 0
 * @property {number|null} motion mean change since the previous picture, in levels; null for a single picture
 * @property {Place|null} place position of the document; null for a selfie or a picture without a frame
 * @property {Face[]|null} faces null until a face model has responded
 * @property {Rect} frame the frame in the measured picture, as shares of its width and height
 * @property {number} aspect ratio of the measured picture's width to its height
 */

/** Size of the thumbnail for measuring motion. */
const THUMBNAIL = { width: 48, height: 36 };
/** Long side in pixels for finding the document and grouping glare. */
const SMALL = 320;

/** @param {Pixels} pixels @returns {Grey} */
export function grey({ width, height, data }) {
  const out = new Uint8Array(width * height);
  for (let i = 0, j = 0; i < out.length; i += 1, j += 4) {
    out[i] = (data[j] * 77 + data[j + 1] * 150 + data[j + 2] * 29) >> 8;
  }
  return { width, height, data: out };
}

/** Shrinks a picture by averaging; never enlarges it.
 * @param {Grey} image @param {number} width @param {number} height @returns {Grey} */
export function shrunk(image, width, height) {
  const w = Math.max(1, Math.min(image.width, Math.round(width)));
  const h = Math.max(1, Math.min(image.height, Math.round(height)));
  const out = new Uint8Array(w * h);
  for (let y = 0; y < h; y += 1) {
    const top = Math.floor((y * image.height) / h);
    const bottom = Math.max(top + 1, Math.floor(((y + 1) * image.height) / h));
    for (let x = 0; x < w; x += 1) {
      const left = Math.floor((x * image.width) / w);
      const right = Math.max(left + 1, Math.floor(((x + 1) * image.width) / w));
      let sum = 0;
      for (let v = top; v < bottom; v += 1) {
        for (let u = left; u < right; u += 1) sum += image.data[v * image.width + u];
      }
      out[y * w + x] = sum / ((bottom - top) * (right - left));
    }
  }
  return { width: w, height: h, data: out };
}

/** @param {Rect} rect @param {number} by @returns {Rect} */
const scaled = (rect, by) => ({ x: rect.x * by, y: rect.y * by, width: rect.width * by, height: rect.height * by });

/** A rectangle rounded to whole pixels inside a picture.
 * @param {Rect} rect @param {{width: number, height: number}} image @returns {Rect} */
function inside(rect, image) {
  const x = Math.min(Math.max(0, Math.round(rect.x)), image.width - 1);
  const y = Math.min(Math.max(0, Math.round(rect.y)), image.height - 1);
  return {
    x,
    y,
    width: Math.max(1, Math.min(image.width - x, Math.round(rect.width))),
    height: Math.max(1, Math.min(image.height - y, Math.round(rect.height))),
  };
}

/** Luminance of the brightest tenth, and the share of overexposed pixels.
 * @param {Grey} image @param {Rect} area @returns {{light: number, burnt: number}} */
export function light(image, area) {
  const { x, y, width, height } = inside(area, image);
  const counts = new Uint32Array(256);
  for (let v = y; v < y + height; v += 1) {
    for (let u = x; u < x + width; u += 1) counts[image.data[v * image.width + u]] += 1;
  }
  const total = width * height;
  let burnt = 0;
  for (let level = 252; level < 256; level += 1) burnt += counts[level];
  let above = 0;
  let level = 255;
  while (level > 0 && above + counts[level] < total / 10) {
    above += counts[level];
    level -= 1;
  }
  return { light: level, burnt: burnt / total };
}

/** Share of the area's middle, without what may lie around a document, that is clearly darker than `light`.
 * @param {Grey} image @param {Rect} area @param {number} light @returns {number} */
export function ink(image, area, light) {
  const middle = { x: area.x + area.width * 0.1, y: area.y + area.height * 0.1, width: area.width * 0.8, height: area.height * 0.8 };
  const { x, y, width, height } = inside(middle, image);
  let dark = 0;
  for (let v = y; v < y + height; v += 1) {
    for (let u = x; u < x + width; u += 1) if (image.data[v * image.width + u] < light * 0.6) dark += 1;
  }
  return dark / (width * height);
}

/**
 * Finds reflections: connected overexposed spots, clearly brighter than their surroundings, compact and without print.
 * Specks and the paper itself do not count.
 * @param {Grey} image @param {Rect} area @returns {number} their share of the area
 */
export function glare(image, area) {
  const { x, y, width, height } = inside(area, image);
  const total = width * height;
  const counts = new Uint32Array(256);
  for (let v = y; v < y + height; v += 1) {
    for (let u = x; u < x + width; u += 1) counts[image.data[v * image.width + u]] += 1;
  }
  let median = 0;
  for (let below = counts[0]; below < total / 2; below += counts[median]) median += 1;
  if (median > 228) return 0; // The paper itself is so bright that no reflection differs from it.
  const at = (/** @type {number} */ i) => image.data[(y + Math.floor(i / width)) * image.width + x + (i % width)];
  const seen = new Uint8Array(total);
  const bright = (/** @type {number} */ i) => seen[i] === 0 && at(i) >= 250;
  /** @type {number[]} */
  const stack = [];
  let spots = 0;
  for (let start = 0; start < total; start += 1) {
    if (!bright(start)) continue;
    let size = 0;
    /** Left and right end of the spot in each row. @type {Map<number, {left: number, right: number}>} */
    const rows = new Map();
    seen[start] = 1;
    stack.push(start);
    while (stack.length > 0) {
      const i = /** @type {number} */ (stack.pop());
      const [u, v] = [i % width, Math.floor(i / width)];
      const row = rows.get(v);
      rows.set(v, { left: Math.min(u, row?.left ?? u), right: Math.max(u, row?.right ?? u) });
      size += 1;
      for (const [next, within] of /** @type {[number, boolean][]} */ ([
        [i - 1, u > 0],
        [i + 1, u < width - 1],
        [i - width, v > 0],
        [i + width, v < height - 1],
      ])) {
        if (within && bright(next)) {
          seen[next] = 1;
          stack.push(next);
        }
      }
    }
    if (size <= 0.002 * total || size >= 0.4 * total) continue;
    // A white background has print on it; a reflection hides the print below.
    let [span, printed, widest] = [0, 0, 0];
    for (const [v, { left, right }] of rows) {
      span += right - left + 1;
      widest = Math.max(widest, right - left + 1);
      for (let u = left; u <= right; u += 1) if (at(v * width + u) < 170) printed += 1;
    }
    const compact = size > 0.6 * span && Math.min(widest, rows.size) > 0.02 * Math.min(width, height);
    if (compact && printed < 0.03 * span) spots += size;
  }
  return spots / total;
}

/**
 * Fine detail relative to contrast. Each tile of a grid has the variance of the Laplacian, less the noise of the
 * flattest tiles, divided by the variance of the luminance. The result is the value that a fifth of the tiles with
 * contrast reach. So print and eyes count; a soft background and the table do not.
 * @param {Grey} image @param {Rect} area @returns {number}
 */
export function sharpness(image, area) {
  const { x, y, width, height } = inside(area, image);
  const [columns, rows] = [12, 8];
  const [tileWidth, tileHeight] = [Math.floor(width / columns), Math.floor(height / rows)];
  if (tileWidth < 4 || tileHeight < 4) return 0;
  /** @type {{contrast: number, detail: number}[]} */
  const tiles = [];
  const { data, width: stride } = image;
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const left = Math.max(1, x + column * tileWidth);
      const top = Math.max(1, y + row * tileHeight);
      const right = Math.min(image.width - 1, x + (column + 1) * tileWidth);
      const bottom = Math.min(image.height - 1, y + (row + 1) * tileHeight);
      let [sum, squares, detail, count] = [0, 0, 0, 0];
      for (let v = top; v < bottom; v += 1) {
        for (let i = v * stride + left; i < v * stride + right; i += 1) {
          const value = data[i];
          const laplacian = 4 * value - data[i - 1] - data[i + 1] - data[i - stride] - data[i + stride];
          sum += value;
          squares += value * value;
          detail += laplacian * laplacian;
          count += 1;
        }
      }
      if (count > 0) tiles.push({ contrast: squares / count - (sum / count) ** 2, detail: detail / count });
    }
  }
  const floor = tiles.map((tile) => tile.detail).sort((a, b) => a - b)[Math.floor(tiles.length / 10)] ?? 0;
  const ratios = tiles
    .filter((tile) => tile.contrast > 60)
    .map((tile) => Math.max(0, tile.detail - floor) / tile.contrast)
    .sort((a, b) => b - a);
  if (ratios.length < 3) return 0;
  return ratios[Math.floor(ratios.length / 5)];
}

/** @param {Grey} image @returns {Grey} */
export const thumbnail = (image) => shrunk(image, THUMBNAIL.width, THUMBNAIL.height);

/** Mean absolute change between two thumbnails, without changes of the overall brightness.
 * @param {Grey} before @param {Grey} after @returns {number} levels */
export function motion(before, after) {
  if (before.width !== after.width || before.height !== after.height) return 255;
  const count = after.data.length;
  let shift = 0;
  for (let i = 0; i < count; i += 1) shift += after.data[i] - before.data[i];
  shift /= count;
  let change = 0;
  for (let i = 0; i < count; i += 1) change += Math.abs(after.data[i] - before.data[i] - shift);
  return change / count;
}

/** Minimum step in luminance of an edge, over two pixels. */
const MIN_STEP = 7;
/** Minimum share of a side that must be an edge. */
const MIN_SUPPORT = 0.6;

/**
 * Finds the outermost straight edge near one side of the frame. Lines may lean by a tenth of their length. The outermost
 * counts, because the document's edge lies outside any printed line.
 * @param {Grey} image @param {Rect} frame @param {"top"|"right"|"bottom"|"left"} side
 * @returns {number|null} distance inside the frame, as a share of its height (top, bottom) or width; negative: outside
 */
export function sideOf(image, frame, side) {
  const level = side === "top" || side === "bottom";
  const [along, across] = level
    ? [{ start: frame.x, length: frame.width }, { start: frame.y, length: frame.height, limit: image.height }]
    : [{ start: frame.y, length: frame.height }, { start: frame.x, length: frame.width, limit: image.width }];
  const inwards = side === "top" || side === "left" ? 1 : -1;
  const edge = inwards > 0 ? across.start : across.start + across.length;
  const { data, width: stride } = image;
  const step = level ? stride : 1;
  const other = level ? 1 : stride;
  const samples = 36;
  const needed = Math.ceil(MIN_SUPPORT * samples);
  /** @type {{at: number, strength: number}[]} */
  const lines = [];
  const outermost = Math.ceil(across.length * 0.14);
  const innermost = Math.floor(across.length * 0.42);
  const lean = Math.max(2, Math.round(along.length * 0.1));
  for (let offset = -outermost; offset <= innermost; offset += 1) {
    let best = 0;
    for (let slope = -lean; slope <= lean; slope += 3) {
      const votes = [0, 0];
      const strength = [0, 0];
      for (let n = 0; n < samples && Math.max(votes[0], votes[1]) + samples - n >= needed; n += 1) {
        const share = 0.12 + (0.76 * n) / (samples - 1);
        const position = Math.round(along.start + along.length * share);
        const depth = Math.round(edge + inwards * offset + slope * (share - 0.5));
        if (depth < 1 || depth >= across.limit - 1 || position < 1) continue;
        const i = level ? depth * stride + position : position * stride + depth;
        if (i - other < 0 || i + other + step >= data.length) continue;
        const change = data[i + step] - data[i - step];
        const cross = Math.abs(data[i + other] - data[i - other]);
        if (Math.abs(change) < MIN_STEP || Math.abs(change) < cross) continue;
        const sign = change > 0 ? 1 : 0;
        votes[sign] += 1;
        strength[sign] += Math.min(40, Math.abs(change));
      }
      for (const sign of [0, 1]) {
        if (votes[sign] >= needed) best = Math.max(best, strength[sign]);
      }
    }
    if (best > 0) lines.push({ at: offset, strength: best });
  }
  if (lines.length === 0) return null;
  const strongest = Math.max(...lines.map((line) => line.strength));
  const outer = lines.findIndex((line) => line.strength > strongest / 2);
  // An edge is a few pixels thick; its steepest point is its middle.
  let peak = outer;
  while (peak + 1 < lines.length && lines[peak + 1].at === lines[peak].at + 1 && lines[peak + 1].strength > lines[peak].strength) {
    peak += 1;
  }
  return lines[peak].at / across.length;
}

/** Share of the area's columns, in 32 bins, with fine horizontal steps. Print is dense; a table or a wall is not.
 * @param {Grey} image @param {Rect} area @param {number} [minStep] @returns {number} */
export function print(image, area, minStep = 16) {
  const { x, y, width, height } = inside(area, image);
  const bins = 32;
  const dense = new Uint8Array(bins);
  for (let v = y; v < y + height; v += 1) {
    for (let u = Math.max(1, x); u < Math.min(image.width - 1, x + width); u += 1) {
      const i = v * image.width + u;
      if (Math.abs(image.data[i + 1] - image.data[i - 1]) >= minStep) dense[Math.floor(((u - x) * bins) / width)] = 1;
    }
  }
  return dense.reduce((sum, bin) => sum + bin, 0) / bins;
}

/** Whether the bottom of the frame has two or three lines of dense print, like a machine-readable zone.
 * @param {Grey} image @param {Rect} frame @returns {boolean} */
export function hasMrz(image, frame) {
  let dense = 0;
  const from = Math.round(frame.y + frame.height * 0.68);
  const to = Math.min(image.height - 1, Math.round(frame.y + frame.height * 1.02));
  const area = { x: frame.x + frame.width * 0.08, width: frame.width * 0.84, height: 2 };
  for (let y = from; y < to; y += 2) {
    if (print(image, { ...area, y }, 12) > 0.7) dense += 1;
  }
  return dense * 2 > frame.height * 0.035;
}

/** Position of the document in its frame.
 * @param {Grey} image @param {Rect} frame @returns {Place} */
export function place(image, frame) {
  const sides = {
    top: sideOf(image, frame, "top"),
    right: sideOf(image, frame, "right"),
    bottom: sideOf(image, frame, "bottom"),
    left: sideOf(image, frame, "left"),
  };
  const seen = Object.values(sides).filter((side) => side !== null).length;
  const middle = {
    x: frame.x + frame.width * 0.2,
    y: frame.y + frame.height * 0.2,
    width: frame.width * 0.6,
    height: frame.height * 0.6,
  };
  const dense = print(image, middle);
  const overflows = seen <= 1 && print(image, middle, 24) > 0.5;
  return { sides, present: (seen >= 3 && dense > 0.1) || (seen === 2 && dense > 0.3) || overflows, overflows, mrz: hasMrz(image, frame) };
}

/**
 * All measures of one picture.
 * @param {Pixels} pixels
 * @param {Rect|null} frame as shares of the picture; null: the subject is the whole picture
 * @param {"document"|"selfie"} kind
 * @param {Grey|null} before the thumbnail of the previous picture
 * @returns {{measures: Measures, thumbnail: Grey}}
 */
export function measure(pixels, frame, kind, before) {
  const image = grey(pixels);
  const shares = frame ?? { x: 0, y: 0, width: 1, height: 1 };
  const area = {
    x: shares.x * image.width,
    y: shares.y * image.height,
    width: shares.width * image.width,
    height: shares.height * image.height,
  };
  const by = Math.min(1, SMALL / Math.max(image.width, image.height));
  const small = shrunk(image, image.width * by, image.height * by);
  const smallArea = scaled(area, by);
  const after = thumbnail(image);
  const bright = light(small, smallArea);
  return {
    measures: {
      ...bright,
      ink: ink(small, smallArea, bright.light),
      glare: kind === "document" ? glare(small, smallArea) : 0,
      // Print is measured at full resolution; a face at the size of a thumbnail.
      sharpness: kind === "document" ? sharpness(image, area) : sharpness(small, smallArea),
      motion: before === null ? null : motion(before, after),
      place: kind === "document" && frame !== null ? place(small, smallArea) : null,
      faces: null,
      frame: shares,
      aspect: image.width / image.height,
    },
    thumbnail: after,
  };
}
