// The page in a frame that may not contain the hosted page (refused.html). It reports the reason to the script
// around it (embed/bonafide.js) and offers the hosted page in a new window. It sends no request.

/** @type {{code: string, message: string}} */
const { code, message } = JSON.parse(document.getElementById("boot")?.textContent ?? "{}");
const address = new URL(location.href);
const asked = address.searchParams.get("origin") ?? "";
address.searchParams.delete("origin");
document.getElementById("open")?.setAttribute("href", address.href);

// Every origin may receive the message, because it contains nothing about the account or the applicant.
const around = originOf(asked);
if (window.parent !== window) window.parent.postMessage({ bonafide: "error", code, message }, around);
console.error(`Bonafide: ${message} (${code})`);

/** The origin of the URL that may receive messages, or `*`. @param {string} text */
function originOf(text) {
  try {
    const { origin } = new URL(text);
    return origin === "null" ? "*" : origin;
  } catch {
    return "*";
  }
}
