// One window per session: the window that takes a session over locks it, and the lock notifies the previous
// window. A new window asks the applicant first. Locks are the browser's, so nothing waits for a slow or closed
// window. In old browsers without locks, every window continues.

const ASK_AGAIN_MS = 100;
/** Number of checks within which a reloading window releases its lock. */
const QUESTIONS = 5;

/** @param {string} sessionId */
const nameOf = (sessionId) => `bonafide:${sessionId}`;

let turn = 0;
let letGo = () => {};
/** The session whose lock this window has, or requested. */
let ours = "";

/** Takes the session's lock; every other window loses it. @param {string} sessionId @param {() => void} taken called when another window takes it */
export function hold(sessionId, taken) {
  release();
  const mine = ++turn;
  ours = sessionId;
  navigator.locks
    ?.request(nameOf(sessionId), { steal: true }, () => (mine === turn ? new Promise((resolve) => (letGo = () => resolve(undefined))) : undefined))
    // A lock is also refused if storage is blocked. Only a lock that was granted can be lost.
    .catch((error) => {
      if (error.name !== "AbortError" || mine !== turn) return;
      ours = "";
      taken();
    });
}

export function release() {
  turn++;
  ours = "";
  letGo();
}

/** Whether another window has the session's lock. @param {string} sessionId @returns {Promise<boolean>} */
export async function isHeldElsewhere(sessionId) {
  if (ours === sessionId) return false;
  for (let question = 0; question < QUESTIONS; question++) {
    const { held = [] } = (await navigator.locks?.query().catch(() => null)) ?? {};
    if (!held.some(({ name }) => name === nameOf(sessionId))) return false;
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
  }
  return true;
}
