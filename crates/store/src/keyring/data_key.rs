//! Data keys: they seal bytes for one context, and they wrap one another.

use rand::TryRng as _;
use sealing::Cipher;
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::error::Error;

/// The version of the format of sealed bytes.
const VERSION: u8 = 1;
const NONCE_LEN: usize = Cipher::NONCE;
const HEADER_LEN: usize = 1 + 4 + NONCE_LEN;
pub(super) const KEY_LEN: usize = Cipher::KEY;
/// Bytes of one key inside a wrapped key: its id and the key.
const ENTRY_LEN: usize = 4 + KEY_LEN;

/// Fills an array from the operating system's random source.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    #[expect(
        clippy::expect_used,
        reason = "without the system's random source no key may be made at all"
    )]
    rand::rngs::SysRng
        .try_fill_bytes(&mut bytes)
        .expect("the operating system has random bytes");
    bytes
}

/// `N` random letters and digits (5 bits each), without those that look alike.
pub(crate) fn random_text<const N: usize>() -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    random::<N>()
        .iter()
        .map(|byte| char::from(ALPHABET[usize::from(byte & 31)]))
        .collect()
}

/// The context of sealed bytes: the row or object that contains them. They open only there.
#[derive(Clone, Copy, Debug)]
pub struct SealContext<'a> {
    /// The merchant account; nil for data without an account.
    pub merchant_id: Uuid,
    /// The table and column, or the type of object.
    pub what: &'a str,
    /// The row, or the object's path.
    pub id: &'a [u8],
}

impl SealContext<'_> {
    fn associated_data(&self) -> Vec<u8> {
        // The length prefix ensures that two contexts never give the same bytes.
        let mut data = Vec::with_capacity(16 + 8 + self.what.len() + self.id.len());
        data.extend_from_slice(self.merchant_id.as_bytes());
        data.extend_from_slice(&(self.what.len() as u64).to_be_bytes());
        data.extend_from_slice(self.what.as_bytes());
        data.extend_from_slice(self.id);
        data
    }
}

/// A 256-bit key and the id by which sealed bytes name it, with the keys that were in its place before. The newest
/// key seals; the earlier ones only open. All are wiped when dropped and never printed.
#[derive(Clone)]
pub struct DataKey {
    pub(super) id: u32,
    pub(super) bytes: Zeroizing<[u8; KEY_LEN]>,
    /// Newest first.
    earlier: Vec<(u32, Zeroizing<[u8; KEY_LEN]>)>,
}

impl std::fmt::Debug for DataKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DataKey({:08x})", self.id)
    }
}

impl DataKey {
    /// A new random key.
    #[must_use]
    pub fn generate() -> Self {
        Self::of(u32::from_be_bytes(random()), Zeroizing::new(random()))
    }

    pub(super) fn of(id: u32, bytes: Zeroizing<[u8; KEY_LEN]>) -> Self {
        let earlier = Vec::new();
        Self { id, bytes, earlier }
    }

    /// A new random key in the place of this one: it seals, and still opens what this one and the earlier ones
    /// sealed.
    #[must_use]
    pub(crate) fn renewed(self) -> Self {
        let mut new = Self::generate();
        // Sealed bytes name only the id, so two keys with one id would be ambiguous.
        while new.id == self.id || self.earlier.iter().any(|(id, _)| *id == new.id) {
            new = Self::generate();
        }
        new.earlier = vec![(self.id, self.bytes)];
        new.earlier.extend(self.earlier);
        new
    }

    /// The id of the key that seals, as sealed bytes contain it: bytes 2 to 5, counted from 1, as SQL does.
    pub(crate) fn id_bytes(&self) -> Vec<u8> {
        self.id.to_be_bytes().to_vec()
    }

    /// Seals bytes for one context. Sealing the same bytes twice gives different ciphertexts.
    #[must_use]
    pub fn seal(&self, context: &SealContext<'_>, plain: &[u8]) -> Vec<u8> {
        let nonce: [u8; NONCE_LEN] = random();
        #[expect(
            clippy::expect_used,
            reason = "fails only above 64 GiB, far beyond what fits in memory here"
        )]
        let sealed = Cipher::new(&self.bytes)
            .seal(nonce, &context.associated_data(), plain)
            .expect("shorter than 64 GiB");
        let mut bytes = Vec::with_capacity(HEADER_LEN + sealed.len());
        bytes.push(VERSION);
        bytes.extend_from_slice(&self.id.to_be_bytes());
        bytes.extend_from_slice(&nonce);
        bytes.extend_from_slice(&sealed);
        bytes
    }

    /// Opens bytes that [`DataKey::seal`] sealed for this context.
    ///
    /// # Errors
    /// [`Error::Sealed`] for anything else.
    pub fn open(&self, context: &SealContext<'_>, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let bytes = match sealing_key_id(sealed)? {
            id if id == self.id => &self.bytes,
            id => {
                let found = self.earlier.iter().find(|(earlier, _)| *earlier == id);
                found.map(|(_, bytes)| bytes).ok_or(Error::Sealed)?
            }
        };
        let (header, message) = sealed.split_at(HEADER_LEN);
        let nonce: [u8; NONCE_LEN] = header[5..].try_into().map_err(|_| Error::Sealed)?;
        let plain = Cipher::new(bytes)
            .open(nonce, &context.associated_data(), message)
            .map_err(|_| Error::Sealed)?;
        Ok(Zeroizing::new(plain))
    }

    /// Opens sealed UTF-8 text.
    ///
    /// # Errors
    /// [`Error::Sealed`] if the bytes do not open or are not UTF-8.
    pub fn open_text(&self, context: &SealContext<'_>, sealed: &[u8]) -> Result<String, Error> {
        let plain = self.open(context, sealed)?;
        std::str::from_utf8(&plain)
            .map(str::to_owned)
            .map_err(|_| Error::Sealed)
    }

    /// Seals another key under this one, with the keys that were in that key's place before.
    #[must_use]
    pub fn wrap(&self, context: &SealContext<'_>, key: &Self) -> Vec<u8> {
        let mut plain = Zeroizing::new(Vec::with_capacity(ENTRY_LEN * (1 + key.earlier.len())));
        plain.extend_from_slice(&key.id.to_be_bytes());
        plain.extend_from_slice(key.bytes.as_slice());
        for (id, bytes) in &key.earlier {
            plain.extend_from_slice(&id.to_be_bytes());
            plain.extend_from_slice(bytes.as_slice());
        }
        self.seal(context, &plain)
    }

    /// Opens a key that this one wrapped.
    ///
    /// # Errors
    /// [`Error::Sealed`] for anything else.
    pub fn unwrap_key(&self, context: &SealContext<'_>, wrapped: &[u8]) -> Result<Self, Error> {
        let plain = self.open(context, wrapped)?;
        let (entries, rest) = plain.as_chunks::<ENTRY_LEN>();
        if !rest.is_empty() {
            return Err(Error::Sealed);
        }
        let mut keys = Vec::with_capacity(entries.len());
        for entry in entries {
            let (id, bytes) = entry.split_first_chunk::<4>().ok_or(Error::Sealed)?;
            let bytes = bytes.try_into().map_err(|_| Error::Sealed)?;
            keys.push((u32::from_be_bytes(*id), Zeroizing::new(bytes)));
        }
        let mut keys = keys.into_iter();
        let (id, bytes) = keys.next().ok_or(Error::Sealed)?;
        let earlier = keys.collect();
        Ok(Self { id, bytes, earlier })
    }
}

/// The id of the key that sealed these bytes.
pub(super) fn sealing_key_id(sealed: &[u8]) -> Result<u32, Error> {
    match sealed {
        [VERSION, a, b, c, d, ..] if sealed.len() > HEADER_LEN => Ok(u32::from_be_bytes([*a, *b, *c, *d])),
        _ => Err(Error::Sealed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(id: &[u8]) -> SealContext<'_> {
        SealContext {
            merchant_id: Uuid::nil(),
            what: "test",
            id,
        }
    }

    #[test]
    fn opens_only_in_its_place_under_its_key_and_unchanged() {
        let key = DataKey::generate();
        let sealed = key.seal(&place(b"1"), b"secret");
        assert_eq!(key.open(&place(b"1"), &sealed).unwrap().as_slice(), b"secret");
        assert!(matches!(key.open(&place(b"2"), &sealed), Err(Error::Sealed)));
        assert!(matches!(
            DataKey::generate().open(&place(b"1"), &sealed),
            Err(Error::Sealed)
        ));
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(
                matches!(key.open(&place(b"1"), &changed), Err(Error::Sealed)),
                "byte {at}"
            );
            assert!(
                matches!(key.open(&place(b"1"), &sealed[..at]), Err(Error::Sealed)),
                "cut at {at}"
            );
        }
    }

    #[test]
    fn a_renewed_key_opens_what_earlier_ones_sealed() {
        let first = DataKey::generate();
        let second = first.clone().renewed();
        let third = second.clone().renewed();
        let keys = [&first, &second, &third];
        let sealed: Vec<_> = keys.iter().map(|key| key.seal(&place(b"1"), b"secret")).collect();
        let wrapped = DataKey::generate();
        let third = wrapped
            .unwrap_key(&place(b"2"), &wrapped.wrap(&place(b"2"), &third))
            .unwrap();
        for sealed in &sealed {
            assert_eq!(third.open(&place(b"1"), sealed).unwrap().as_slice(), b"secret");
        }
        // An earlier key opens nothing of a later one.
        assert!(second.open(&place(b"1"), &sealed[1]).is_ok());
        assert!(matches!(
            second.open(&place(b"1"), &sealed[2]),
            Err(Error::Sealed)
        ));
        assert!(matches!(first.open(&place(b"1"), &sealed[1]), Err(Error::Sealed)));
        // A wrapped key that was cut is none.
        for length in [0, 4, 35, 37, 71] {
            let cut = wrapped.seal(&place(b"2"), &vec![7; length]);
            assert!(
                matches!(wrapped.unwrap_key(&place(b"2"), &cut), Err(Error::Sealed)),
                "{length}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_open_to_an_error(bytes: Vec<u8>) {
            let key = DataKey::generate();
            let _ = key.open(&place(b"1"), &bytes).unwrap_err();
            // Also with a header that names this very key.
            let mut sealed = key.seal(&place(b"1"), b"");
            sealed.truncate(HEADER_LEN);
            sealed.extend_from_slice(&bytes);
            let _ = key.open(&place(b"1"), &sealed).unwrap_err();
        }

        #[test]
        fn any_bytes_come_back(bytes: Vec<u8>, id: Vec<u8>) {
            let key = DataKey::generate();
            let sealed = key.seal(&place(&id), &bytes);
            let opened = key.open(&place(&id), &sealed).unwrap();
            proptest::prop_assert_eq!(opened.as_slice(), bytes.as_slice());
        }
    }
}
