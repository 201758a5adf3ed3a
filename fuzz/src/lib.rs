//! Helpers of several fuzz targets. A target finds panics, hangs and excessive memory use; it asserts little
//! else.

/// Replaces the fuzzer's panic hook, which would report every panic of a decoder. `imaging` catches those
/// panics, returns a typed error and runs in its own process. The targets still find hangs, excessive memory
/// use, and uncaught panics.
#[cfg(feature = "documents")]
pub fn forgive_decoders() {
    std::panic::set_hook(Box::new(|_| {}));
}

/// Decodes bytes as a file of this format.
#[cfg(feature = "documents")]
pub fn decode(format: imaging::Format, bytes: &[u8]) {
    if imaging::sniff(bytes) != Some(format) {
        return;
    }
    let limits = imaging::Limits {
        max_pixels: 4_000_000,
        max_page_pixels: 1_000_000,
        time: std::time::Duration::from_secs(10),
        ..imaging::Limits::default()
    };
    if let Ok(decoded) = imaging::decode(bytes, &limits) {
        let picture = decoded.picture;
        assert_eq!(
            picture.pixels.len(),
            picture.width as usize * picture.height as usize * 3
        );
    }
}

/// Imports bytes as a list of this format.
#[cfg(feature = "sanctions")]
pub fn import(format: sanctions::ListFormat, bytes: &[u8]) {
    let source = sanctions::Source::new("sdn.csv", std::io::Cursor::new(bytes.to_vec()));
    let _ = sanctions::import::import(vec![source], Some(format));
}
