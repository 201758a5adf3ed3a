//! What several fuzz targets share. A target finds panics, hangs and floods of memory; it asserts little else.

/// Lets decoders panic: `imaging` catches that, answers with a typed error, and runs in a process of its own. What is
/// left to find are hangs, floods of memory, and panics outside that net, which still end the process.
#[cfg(feature = "documents")]
pub fn forgive_decoders() {
    std::panic::set_hook(Box::new(|_| {}));
}

/// Decodes bytes that claim the format.
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

/// Imports bytes as a list of the format.
#[cfg(feature = "sanctions")]
pub fn import(format: sanctions::ListFormat, bytes: &[u8]) {
    let source = sanctions::Source::new("sdn.csv", std::io::Cursor::new(bytes.to_vec()));
    let _ = sanctions::import::import(vec![source], Some(format));
}
