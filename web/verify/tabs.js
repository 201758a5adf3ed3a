// One window at a time: whoever takes a session over tells the others, and a newcomer asks first.

const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("bonafide") : null;
const ANSWER_MS = 200;

let held = "";
/** @type {() => void} */
let onTaken = () => {};

/** Begins to hold a session; every other window lets it go. @param {string} sessionId @param {() => void} taken called when another window takes it */
export function hold(sessionId, taken) {
  held = sessionId;
  onTaken = taken;
  channel?.postMessage({ say: "taken", session: sessionId });
}

export function release() {
  held = "";
}

/** Whether another window holds it. @param {string} sessionId @returns {Promise<boolean>} */
export function isHeldElsewhere(sessionId) {
  if (!channel) return Promise.resolve(false);
  return new Promise((resolve) => {
    const timer = setTimeout(() => done(false), ANSWER_MS);
    /** @param {MessageEvent} event */
    const heard = ({ data }) => data?.say === "held" && data.session === sessionId && done(true);
    /** @param {boolean} answer */
    const done = (answer) => {
      clearTimeout(timer);
      channel.removeEventListener("message", heard);
      resolve(answer);
    };
    channel.addEventListener("message", heard);
    channel.postMessage({ say: "who", session: sessionId });
  });
}

channel?.addEventListener("message", ({ data }) => {
  if (!held || data?.session !== held) return;
  if (data.say === "who") channel.postMessage({ say: "held", session: held });
  if (data.say === "taken") {
    held = "";
    onTaken();
  }
});
