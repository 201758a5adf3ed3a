//! AES-256-GCM-SIV over whole buffers. It creates no keys and no nonces, and stores nothing.
//!
//! The cipher is generic code, which the compiler builds in the crate that uses it. This crate exists so that
//! development builds can optimise the cipher alone (`profile.dev.package` in `Cargo.toml`).

use aes_gcm_siv::aead::{Aead as _, Payload};
use aes_gcm_siv::{Aes256GcmSiv, KeyInit as _, Nonce};

/// Sealing failed because the bytes are longer than 64 GiB; or opening failed because key, nonce or
/// associated data differ from those of sealing, or the bytes were changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealingError;

/// A key that is ready for use. It is wiped from memory on drop.
pub struct Cipher(Aes256GcmSiv);

impl Cipher {
    /// Bytes of a key.
    pub const KEY: usize = 32;
    /// Bytes of a nonce.
    pub const NONCE: usize = 12;
    /// Bytes that sealing adds.
    pub const TAG: usize = 16;

    /// Creates a cipher for one key.
    #[must_use]
    pub fn new(key: &[u8; Self::KEY]) -> Self {
        Self(Aes256GcmSiv::new(key.into()))
    }

    /// Seals `plain`: returns its ciphertext and a tag, which also covers `associated`.
    pub fn seal(
        &self,
        nonce: [u8; Self::NONCE],
        associated: &[u8],
        plain: &[u8],
    ) -> Result<Vec<u8>, SealingError> {
        let payload = Payload {
            msg: plain,
            aad: associated,
        };
        self.0
            .encrypt(&Nonce::from(nonce), payload)
            .map_err(|_| SealingError)
    }

    /// Opens bytes that were sealed under the same key, nonce and associated data.
    pub fn open(
        &self,
        nonce: [u8; Self::NONCE],
        associated: &[u8],
        sealed: &[u8],
    ) -> Result<Vec<u8>, SealingError> {
        let payload = Payload {
            msg: sealed,
            aad: associated,
        };
        self.0
            .decrypt(&Nonce::from(nonce), payload)
            .map_err(|_| SealingError)
    }
}

impl std::fmt::Debug for Cipher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cipher")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8452, appendix C.2: a plaintext of 8 bytes and associated data of one byte.
    #[test]
    fn the_standards_vector_is_reproduced() {
        let mut key = [0; Cipher::KEY];
        key[0] = 1;
        let mut nonce = [0; Cipher::NONCE];
        nonce[0] = 3;
        let plain = [2, 0, 0, 0, 0, 0, 0, 0];
        let cipher = Cipher::new(&key);
        let sealed = cipher.seal(nonce, &[1], &plain).unwrap();
        let expected = [
            0x1d, 0xe2, 0x29, 0x67, 0x23, 0x7a, 0x81, 0x32, 0x91, 0x21, 0x3f, 0x26, 0x7e, 0x3b, 0x45, 0x2f,
            0x02, 0xd0, 0x1a, 0xe3, 0x3e, 0x4e, 0xc8, 0x54,
        ];
        assert_eq!(sealed, expected);
        assert_eq!(cipher.open(nonce, &[1], &sealed).unwrap(), plain);
        assert_eq!(
            cipher.open(nonce, &[2], &sealed),
            Err(SealingError),
            "other associated data"
        );
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(cipher.open(nonce, &[1], &changed), Err(SealingError), "byte {at}");
        }
        assert_eq!(cipher.open(nonce, &[1], &sealed[..15]), Err(SealingError));
    }
}
