/** Detects a file's type and, where possible, its size in pixels from its first bytes. It decodes nothing. */

/** @typedef {"jpeg"|"png"|"webp"|"gif"|"heic"|"avif"|"pdf"} FileType */

/** @param {Uint8Array} bytes @param {number} from @param {number} to */
const text = (bytes, from, to) => String.fromCharCode(...bytes.subarray(from, to));

/** @param {Uint8Array} bytes @param {number} at */
const u16 = (bytes, at) => ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);

/** The size in a JPEG's frame header. @param {Uint8Array} bytes */
function jpegSize(bytes) {
  for (let at = 2; at + 9 <= bytes.length; ) {
    if (bytes[at] !== 0xff) break;
    const marker = bytes[at + 1];
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { height: u16(bytes, at + 5), width: u16(bytes, at + 7) };
    at += marker === 0xff ? 1 : 2 + Math.max(2, u16(bytes, at + 2));
  }
  return { width: 0, height: 0 };
}

/** @param {Uint8Array} bytes the file's beginning @returns {{type: FileType|null, width: number, height: number}} 0: unknown */
export function sniff(bytes) {
  const none = { width: 0, height: 0 };
  if (bytes[0] === 0xff && bytes[1] === 0xd8) return { type: "jpeg", ...jpegSize(bytes) };
  if (text(bytes, 1, 4) === "PNG") {
    return { type: "png", width: u16(bytes, 16) * 65_536 + u16(bytes, 18), height: u16(bytes, 20) * 65_536 + u16(bytes, 22) };
  }
  if (text(bytes, 0, 4) === "RIFF" && text(bytes, 8, 12) === "WEBP") return { type: "webp", ...none };
  if (text(bytes, 0, 4) === "GIF8") return { type: "gif", ...none };
  if (text(bytes, 0, 1024).includes("%PDF-")) return { type: "pdf", ...none };
  if (text(bytes, 4, 8) === "ftyp") {
    const brand = text(bytes, 8, 12);
    if (/^(?:hei[cxms]|hev[cxms]|mif1|msf1)$/.test(brand)) return { type: "heic", ...none };
    if (/^avi[fs]$/.test(brand)) return { type: "avif", ...none };
  }
  return { type: null, ...none };
}
