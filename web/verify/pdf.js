// What can honestly be shown of a PDF without a PDF library. Scanned documents hold one JPEG a page: those are taken out and
// offered as pages to choose from. Anything else is sent whole; the server then uses the first page with a document.

/** Smaller pictures are logos and stamps, not pages. */
const MIN_SIDE = 600;
const MAX_PAGES = 10;

/** @typedef {{pages: Blob[], count: number, locked: boolean}} Pdf pages: as pictures; count: 0 when it cannot be told */

/** @param {Blob} file @returns {Promise<Pdf>} */
export async function inspect(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  // Latin-1 keeps one character a byte, so that positions are offsets.
  const text = new TextDecoder("latin1").decode(bytes);
  if (/\/Encrypt[\s/<\d]/.test(text)) return { pages: [], count: 0, locked: true };
  const count = (text.match(/\/Type\s*\/Page(?![a-zA-Z])/g) ?? []).length;
  /** @type {Blob[]} */
  const pages = [];
  for (const found of text.matchAll(/\/DCTDecode\b/g)) {
    if (pages.length === MAX_PAGES) break;
    const picture = pictureAt(text, bytes, found.index);
    if (picture && (await isPage(picture))) pages.push(picture);
  }
  return { pages, count, locked: false };
}

/** The JPEG whose dictionary names its filter at `at`. @param {string} text @param {Uint8Array<ArrayBuffer>} bytes @param {number} at */
function pictureAt(text, bytes, at) {
  const stream = text.indexOf("stream", at);
  // Dictionaries are short: a stream further away belongs to something else.
  if (stream < 0 || stream - at > 4096 || text.slice(at, stream).includes("endobj")) return null;
  const from = text.startsWith("\r\n", stream + 6) ? stream + 8 : stream + 7;
  const to = text.indexOf("endstream", from);
  if (to < 0 || bytes[from] !== 0xff || bytes[from + 1] !== 0xd8) return null;
  return new Blob([bytes.subarray(from, to)], { type: "image/jpeg" });
}

/** @param {Blob} picture */
async function isPage(picture) {
  try {
    const bitmap = await createImageBitmap(picture);
    const isLarge = Math.max(bitmap.width, bitmap.height) >= MIN_SIDE;
    bitmap.close();
    return isLarge;
  } catch {
    return false;
  }
}
