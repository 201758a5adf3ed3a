// Passkeys (WebAuthn): creates one, or answers with one, and sends the answer with the page's form. The server makes the
// options and checks the response; this file decides nothing. Without it, passwords and codes still work.

/** @param {ArrayBuffer} bytes */
const toText = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

/** @param {string} text in base64url @returns {Uint8Array<ArrayBuffer>} */
const toBytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));

/** @param {{ id: string }[] | undefined} list */
const descriptors = (list) => (list ?? []).map((one) => ({ ...one, id: toBytes(one.id) }));

/** The members that both kinds of answers have. @param {PublicKeyCredential} credential */
const common = (credential) => ({
  id: credential.id,
  rawId: credential.id,
  type: credential.type,
  authenticatorAttachment: credential.authenticatorAttachment,
  clientExtensionResults: {},
});

/** Creates a passkey. @param {any} options @returns {Promise<object>} */
async function create(options) {
  const publicKey = {
    ...options,
    challenge: toBytes(options.challenge),
    user: { ...options.user, id: toBytes(options.user.id) },
    excludeCredentials: descriptors(options.excludeCredentials),
  };
  const credential = /** @type {PublicKeyCredential} */ (await navigator.credentials.create({ publicKey }));
  const response = /** @type {AuthenticatorAttestationResponse} */ (credential.response);
  return {
    ...common(credential),
    response: {
      clientDataJSON: toText(response.clientDataJSON),
      attestationObject: toText(response.attestationObject),
      transports: response.getTransports?.() ?? [],
    },
  };
}

/** Answers with a passkey. @param {any} options @returns {Promise<object>} */
async function use(options) {
  const publicKey = {
    ...options,
    challenge: toBytes(options.challenge),
    allowCredentials: descriptors(options.allowCredentials),
  };
  const credential = /** @type {PublicKeyCredential} */ (await navigator.credentials.get({ publicKey }));
  const response = /** @type {AuthenticatorAssertionResponse} */ (credential.response);
  return {
    ...common(credential),
    response: {
      clientDataJSON: toText(response.clientDataJSON),
      authenticatorData: toText(response.authenticatorData),
      signature: toText(response.signature),
      userHandle: response.userHandle ? toText(response.userHandle) : null,
    },
  };
}

/**
 * Fills a form's empty field with an answer before the form is sent.
 * @param {HTMLFormElement} form
 * @param {HTMLInputElement} field
 * @param {() => Promise<object>} answer
 */
function answerBefore(form, field, answer) {
  const failed = /** @type {HTMLElement | null} */ (form.querySelector("[data-passkey-failed]"));
  const elsewhere = /** @type {HTMLElement | null} */ (form.querySelector("[data-passkey-elsewhere]"));
  const name = form.elements.namedItem("name");
  let asking = false;
  form.addEventListener("submit", async (event) => {
    // The server refuses a passkey without a name, so the browser should not create it.
    if (field.value || (name instanceof HTMLInputElement && !name.value.trim())) return;
    event.preventDefault();
    if (asking) return;
    asking = true;
    for (const note of [failed, elsewhere]) if (note) note.hidden = true;
    const button = event.submitter;
    try {
      const text = JSON.stringify(await answer());
      // The response is not meant for the user, so the field is hidden.
      field.type = "hidden";
      field.value = text;
      form.requestSubmit(button instanceof HTMLButtonElement ? button : undefined);
    } catch (error) {
      // The browser's word for a page whose host is not the passkeys'.
      const isElsewhere = error instanceof DOMException && error.name === "SecurityError";
      const note = isElsewhere ? elsewhere : failed;
      if (note) note.hidden = false;
    } finally {
      asking = false;
    }
  });
}

const supported = "PublicKeyCredential" in window && Boolean(navigator.credentials);
for (const note of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-passkey-unsupported]"))) note.hidden = supported;

if (supported) {
  /* A new passkey: the page has the question. */
  for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll("form[data-passkey-new]"))) {
    const { passkeyNew, ceremony } = form.dataset;
    const field = /** @type {HTMLInputElement} */ (form.elements.namedItem("answer"));
    answerBefore(form, field, async () => ({ ceremony, credential: await create(JSON.parse(passkeyNew ?? "")) }));
  }

  /* A passkey instead of a code: the form names the field that stays empty. */
  for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll("form[data-passkey]"))) {
    const field = /** @type {HTMLInputElement} */ (form.elements.namedItem(form.dataset["passkey"] ?? ""));
    answerBefore(form, field, async () => {
      const { options, ceremony } = await (await fetch("/portal/passkey/options")).json();
      return { ceremony, credential: await use(options) };
    });
    for (const shown of /** @type {NodeListOf<HTMLElement>} */ (form.querySelectorAll("[data-passkey-shown]"))) shown.hidden = false;
    for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (form.querySelectorAll("button[data-passkey-button]"))) {
      button.addEventListener("click", () => (field.value = ""));
    }
  }
}
