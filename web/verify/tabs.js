// One window at a time: whoever takes a session over locks it, which tells the window that had it; a newcomer asks first. Locks are the
// browser's own, so nothing waits for a window that is slow, asleep or gone. Without them (old browsers) every window goes on.

const ASK_AGAIN_MS = 100;
/** A window that is just being reloaded gives its lock up within this many questions. */
const QUESTIONS = 5;

/** @param {string} sessionId */
const nameOf = (sessionId) => `bonafide:${sessionId}`;

let turn = 0;
let letGo = () => {};

/** Begins to hold a session; every other window lets it go. @param {string} sessionId @param {() => void} taken called when another window takes it */
export function hold(sessionId, taken) {
  release();
  const mine = ++turn;
  navigator.locks
    ?.request(nameOf(sessionId), { steal: true }, () => new Promise((resolve) => (letGo = () => resolve(undefined))))
    // Refused where storage is blocked, too: only a lock that was had can be taken.
    .catch((error) => error.name === "AbortError" && mine === turn && taken());
}

export function release() {
  turn++;
  letGo();
}

/** Whether another window holds it. @param {string} sessionId @returns {Promise<boolean>} */
export async function isHeldElsewhere(sessionId) {
  for (let question = 0; question < QUESTIONS; question++) {
    const { held = [] } = (await navigator.locks?.query().catch(() => null)) ?? {};
    if (!held.some(({ name }) => name === nameOf(sessionId))) return false;
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
  }
  return true;
}
