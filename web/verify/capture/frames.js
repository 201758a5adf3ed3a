/**
 * The body of a request with frames of the liveness challenge: numbered JPEGs and a hash chain that begins with the
 * nonce. It encodes bytes and decides nothing.
 *
 * Big-endian: nonce (16 bytes), chain (32), then for each frame its number (4), the milliseconds since the nonce's first
 * frame (4), the number of the instruction on the screen (2), the JPEG's length (2) and the JPEG.
 */

/** @typedef {{number: number, captured: number, instruction: number, jpeg: Uint8Array}} Frame */

/** Maximum number of frames in one body. */
export const MAX_FRAMES = 30;
/** Maximum size of a frame's JPEG in bytes. */
export const MAX_JPEG_BYTES = 15_000;

const NONCE_BYTES = 16;
const HASH_BYTES = 32;
const HEAD_BYTES = 12;

/** The bytes of a base64url text without padding. @param {string} text @returns {Uint8Array<ArrayBuffer>} */
export function fromBase64Url(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
}

/** @param {Uint8Array<ArrayBuffer>} bytes @returns {Promise<Uint8Array<ArrayBuffer>>} */
const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

/** Writes a frame and returns the position after it. @param {Uint8Array} into @param {number} at @param {Frame} frame */
function write(into, at, { number, captured, instruction, jpeg }) {
  const view = new DataView(into.buffer, into.byteOffset + at);
  view.setUint32(0, number);
  view.setUint32(4, captured);
  view.setUint16(8, instruction);
  view.setUint16(10, jpeg.length);
  into.set(jpeg, at + HEAD_BYTES);
  return at + HEAD_BYTES + jpeg.length;
}

/**
 * The bodies for one nonce, in order.
 * @param {string} nonce base64url of 16 bytes
 */
export function createPacker(nonce) {
  const bytes = fromBase64Url(nonce);
  if (bytes.length !== NONCE_BYTES) throw new Error("nonce");
  /** @type {Uint8Array<ArrayBuffer> | null} */
  let chain = null;

  return {
    /** Call it once for each body, and wait for it before the next call. @param {readonly Frame[]} frames @returns {Promise<Uint8Array<ArrayBuffer>>} */
    async pack(frames) {
      let hash = chain ?? (await sha256(bytes));
      const length = frames.reduce((sum, { jpeg }) => sum + HEAD_BYTES + jpeg.length, NONCE_BYTES + HASH_BYTES);
      const body = new Uint8Array(length);
      body.set(bytes);
      let at = NONCE_BYTES + HASH_BYTES;
      for (const frame of frames) {
        const end = write(body, at, frame);
        const link = new Uint8Array(HASH_BYTES + end - at);
        link.set(hash);
        link.set(body.subarray(at, end), HASH_BYTES);
        hash = await sha256(link);
        at = end;
      }
      body.set(hash, NONCE_BYTES);
      chain = hash;
      return body;
    },
  };
}
