//! Base64 for the `Authorization` header of requests.

/// Base64 (RFC 4648, with padding) as HTTP Basic needs it.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().enumerate().fold(0u32, |bits, (place, byte)| {
            bits | u32::from(*byte) << (16 - 8 * place)
        });
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            encoded.push(if place <= chunk.len() {
                char::from(letter)
            } else {
                '='
            });
        }
    }
    encoded
}
