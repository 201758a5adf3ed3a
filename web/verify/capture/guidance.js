/**
 * Decides which single hint to show and when to release the shutter: a state machine over problems and time. It uses
 * neither pictures nor texts nor elements.
 */

/** Minimum duration of a hint in milliseconds, so that it can be read. */
export const HOLD_MS = 1000;
/** How long in milliseconds a new hint must be due before it is shown. */
export const SETTLE_MS = 250;
/**
 * After this many milliseconds without problems, the shutter is released. Problems shorter than SETTLE_MS only pause it:
 * a measure that is near its limit flickers in a moving hand, and the finished picture is checked again.
 */
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
  /** Milliseconds without problems. */
  let good = 0;
  let flawedSince = /** @type {number|null} */ (null);
  let last = /** @type {number|null} */ (null);

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

      const gap = last === null ? Infinity : now - last;
      const hasLasted = flawedSince !== null && last !== null && last - flawedSince >= SETTLE_MS;
      flawedSince = problems.length > 0 ? (flawedSince ?? now) : null;
      last = now;
      if (gap > GAP_MS || (flawedSince !== null && now - flawedSince >= SETTLE_MS)) good = 0;
      else if (flawedSince === null && !hasLasted) good += gap;
      // Nothing is released on a flawed picture.
      return { hint: shown, progress: Math.min(flawedSince === null ? 1 : 0.99, good / STEADY_MS) };
    },

    /** Restarts after a shot, a change of camera or a rotation. */
    reset() {
      last = null;
      flawedSince = null;
      good = 0;
      shown = null;
      wanted = null;
    },
  };
}
