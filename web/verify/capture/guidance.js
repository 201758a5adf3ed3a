/**
 * Which one hint to show, and when to release the shutter: a state machine over problems and time. It knows no picture, no
 * text and no element.
 */

/** A hint stays at least this long, so that it can be read. */
export const HOLD_MS = 1000;
/** A new hint must be wanted this long before it is shown. */
export const SETTLE_MS = 250;
/** Good for this long, the shutter is released. */
export const STEADY_MS = 800;
/** After so long without a picture the steady time begins anew. */
const GAP_MS = 1000;

/** Nothing is wrong. */
export const STEADY = "steady";

/** @typedef {{hint: string, progress: number}} Advice
 * what to say (a problem's code or `steady`), and how long all has been well, as a share of what the shutter wants */

export function createGuide() {
  let shown = /** @type {string|null} */ (null);
  let shownAt = 0;
  let wanted = /** @type {string|null} */ (null);
  let wantedAt = 0;
  let goodSince = /** @type {number|null} */ (null);
  let last = 0;

  return {
    /**
     * Takes the problems of the latest picture, most urgent first.
     * @param {readonly string[]} problems
     * @param {number} now milliseconds
     * @returns {Advice}
     */
    update(problems, now) {
      const next = problems[0] ?? STEADY;
      if (next !== wanted) [wanted, wantedAt] = [next, now];
      const settled = now - wantedAt >= SETTLE_MS && now - shownAt >= HOLD_MS;
      if (shown === null || (shown !== wanted && settled)) [shown, shownAt] = [next, now];

      if (problems.length > 0) goodSince = null;
      else if (goodSince === null || now - last > GAP_MS) goodSince = now;
      last = now;
      const progress = goodSince === null ? 0 : Math.min(1, (now - goodSince) / STEADY_MS);
      return { hint: shown, progress };
    },

    /** Begins anew: after a shot, another camera, a turned screen. */
    reset() {
      goodSince = null;
      shown = null;
      wanted = null;
    },
  };
}
