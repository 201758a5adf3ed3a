// Previews PDF files without a PDF library. Scanned documents contain one JPEG per page; those are extracted
// and offered as pages to choose from. Any other PDF is sent whole, and the server uses the first page with
// a document.

/** Minimum size of a page. Smaller pictures are logos and stamps. */
const MIN_SIDE = 600;
const MAX_PAGES = 10;

/** @typedef {{pages: Blob[], count: number, locked: boolean}} Pdf pages: as pictures; count: 0 if unknown */

/** @param {Blob} file @returns {Promise<Pdf>} */
export async function inspect(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  // Latin-1 has one character per byte, so text positions are byte offsets.
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
  // Dictionaries are short, so a stream further away belongs to another object.
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
