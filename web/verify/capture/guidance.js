/**
 * Decides which single hint to show and when to release the shutter: a state machine over problems and time. It uses
 * neither pictures nor texts nor elements.
 */

/** Minimum duration of a hint in milliseconds, so that it can be read. */
export const HOLD_MS = 1000;
/** How long in milliseconds a new hint must be due before it is shown. */
export const SETTLE_MS = 250;
/** After this many milliseconds without problems, the shutter is released. */
export const STEADY_MS = 800;
/** After this many milliseconds without a picture, the steady time restarts. */
const GAP_MS = 1000;

/** The hint without problems. */
export const STEADY = "steady";

/** @typedef {{hint: string, progress: number}} Advice
 * `hint`: a problem's code or `steady`; `progress`: time without problems as a share of the time that the shutter needs */

export function createGuide() {
  let shown = /** @type {string|null} */ (null);
  let shownAt = 0;
  let wanted = /** @type {string|null} */ (null);
  let wantedAt = 0;
  let goodSince = /** @type {number|null} */ (null);
  let last = 0;

  return {
    /**
     * Processes the problems of the latest picture, most urgent first.
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

    /** Restarts after a shot, a change of camera or a rotation. */
    reset() {
      goodSince = null;
      shown = null;
      wanted = null;
    },
  };
}
