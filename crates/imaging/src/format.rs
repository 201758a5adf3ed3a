//! The supported file formats, detected by their first bytes. File names and declared content types are never
//! trusted.

use serde::{Deserialize, Serialize};

/// A file format that [`crate::decode`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// JPEG (ISO 10918-1): baseline, extended, progressive.
    Jpeg,
    /// PNG.
    Png,
    /// WEBP, lossy or lossless; the first frame of an animation.
    Webp,
    /// Windows bitmap.
    Bmp,
    /// PDF (ISO 32000).
    Pdf,
}

impl Format {
    /// The media type, such as `image/jpeg`.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Webp => "image/webp",
            Self::Bmp => "image/bmp",
            Self::Pdf => "application/pdf",
        }
    }
}

/// The largest offset at which `%PDF-` may begin (ISO 32000-1 annex H, note 13).
const PDF_HEADER_WITHIN: usize = 1024;

/// Detects the format of a file by its first bytes. Returns `None` if the format is not supported.
///
/// A file that begins like an image *is* that image, regardless of the following bytes (polyglots). A PDF may
/// begin with up to 1,024 bytes of other data, unless those begin like an image.
pub fn sniff(bytes: &[u8]) -> Option<Format> {
    if bytes.starts_with(&[0xFF, 0xD8, 0xFF]) {
        Some(Format::Jpeg)
    } else if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some(Format::Png)
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some(Format::Webp)
    } else if is_bmp(bytes) {
        Some(Format::Bmp)
    } else {
        let head = &bytes[..bytes.len().min(PDF_HEADER_WITHIN + 5)];
        head.windows(5)
            .any(|window| window == b"%PDF-")
            .then_some(Format::Pdf)
    }
}

/// Many texts begin with `BM`, so the size of the second header must also be one that exists.
fn is_bmp(bytes: &[u8]) -> bool {
    const DIB_HEADER_SIZES: [u8; 7] = [12, 16, 40, 52, 56, 108, 124];
    bytes.starts_with(b"BM")
        && matches!(bytes.get(14..18), Some([size, 0, 0, 0]) if DIB_HEADER_SIZES.contains(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        let bmp = [b"BM".as_slice(), &[0; 12], &[40, 0, 0, 0]].concat();
        let late_pdf = [vec![b' '; PDF_HEADER_WITHIN], b"%PDF-1.4".to_vec()].concat();
        let too_late_pdf = [vec![b' '; PDF_HEADER_WITHIN + 1], b"%PDF-1.4".to_vec()].concat();
        let cases: [(&[u8], Option<Format>); 12] = [
            (b"\xFF\xD8\xFF\xE0", Some(Format::Jpeg)),
            (b"\x89PNG\r\n\x1a\n", Some(Format::Png)),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some(Format::Webp)),
            (&bmp, Some(Format::Bmp)),
            (b"%PDF-1.7", Some(Format::Pdf)),
            (&late_pdf, Some(Format::Pdf)),
            (&too_late_pdf, None),
            (b"\xFF\xD8\xFF\xE0 %PDF-1.4", Some(Format::Jpeg)),
            (b"BMW is a car, not a picture", None),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"GIF89a", None),
            (b"", None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(sniff(bytes), expected, "{:?}", &bytes[..bytes.len().min(16)]);
        }
    }
}
