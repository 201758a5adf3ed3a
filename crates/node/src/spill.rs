//! Buffers uploaded bytes until they are processed. Small uploads stay in memory. Larger ones go to an
//! unlinked temporary file, sealed under a key that exists only in memory, so a crash leaves nothing readable
//! behind.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use sealing::Cipher;
use zeroize::Zeroizing;

/// The bytes that stay in memory; also the size of a chunk in the file.
const IN_MEMORY: usize = 64 * 1024;

/// A write-once, read-many buffer of unknown length.
pub struct Spill {
    head: Vec<u8>,
    file: Option<Sealed>,
    len: u64,
}

struct Sealed {
    file: File,
    cipher: Cipher,
    chunks: u64,
}

impl Spill {
    /// An empty buffer.
    pub fn new() -> Self {
        Spill {
            head: Vec::new(),
            file: None,
            len: 0,
        }
    }

    /// Bytes written.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends bytes. What exceeds the memory limit is sealed and written to a file in `dir`.
    pub fn write(&mut self, bytes: &[u8], dir: &Path) -> io::Result<()> {
        self.head.extend_from_slice(bytes);
        self.len += bytes.len() as u64;
        while self.head.len() > IN_MEMORY {
            let rest = self.head.split_off(IN_MEMORY);
            let chunk = std::mem::replace(&mut self.head, rest);
            self.file.get_or_insert_with_result(dir)?.append(&chunk)?;
        }
        Ok(())
    }

    /// All bytes, in order.
    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut all = Vec::with_capacity(self.len as usize);
        if let Some(sealed) = &mut self.file {
            sealed.read_into(&mut all)?;
        }
        all.extend_from_slice(&self.head);
        Ok(all)
    }

    /// The first bytes, from which the format is recognised.
    pub fn first(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut first = match &mut self.file {
            Some(sealed) => sealed.chunk(0)?,
            None => self.head.clone(),
        };
        first.truncate(count);
        Ok(first)
    }
}

impl Default for Spill {
    fn default() -> Self {
        Self::new()
    }
}

/// `get_or_insert_with` for a constructor that can fail.
trait OpenOnce {
    fn get_or_insert_with_result(&mut self, dir: &Path) -> io::Result<&mut Sealed>;
}

impl OpenOnce for Option<Sealed> {
    fn get_or_insert_with_result(&mut self, dir: &Path) -> io::Result<&mut Sealed> {
        if self.is_none() {
            *self = Some(Sealed::open(dir)?);
        }
        self.as_mut().ok_or_else(|| io::Error::other("no spill file"))
    }
}

impl Sealed {
    fn open(dir: &Path) -> io::Result<Self> {
        let key = Zeroizing::new(rand::random::<[u8; 32]>());
        Ok(Sealed {
            file: tempfile::tempfile_in(dir)?,
            cipher: Cipher::new(&key),
            chunks: 0,
        })
    }

    /// The chunk's number is its nonce. The key seals one file only, so no nonce repeats.
    fn nonce(chunk: u64) -> [u8; Cipher::NONCE] {
        let mut nonce = [0; Cipher::NONCE];
        nonce[..8].copy_from_slice(&chunk.to_le_bytes());
        nonce
    }

    fn append(&mut self, chunk: &[u8]) -> io::Result<()> {
        let sealed = self
            .cipher
            .seal(Self::nonce(self.chunks), &[], chunk)
            .map_err(|_| io::Error::other("sealing failed"))?;
        self.file.seek(SeekFrom::End(0))?;
        self.file.write_all(&sealed)?;
        self.chunks += 1;
        Ok(())
    }

    fn chunk(&mut self, number: u64) -> io::Result<Vec<u8>> {
        let mut sealed = vec![0; IN_MEMORY + Cipher::TAG];
        self.file.seek(SeekFrom::Start(number * sealed.len() as u64))?;
        self.file.read_exact(&mut sealed)?;
        self.cipher
            .open(Self::nonce(number), &[], &sealed)
            .map_err(|_| io::Error::other("the spill file was changed"))
    }

    fn read_into(&mut self, all: &mut Vec<u8>) -> io::Result<()> {
        for number in 0..self.chunks {
            all.extend_from_slice(&self.chunk(number)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_at_any_length() {
        let dir = tempfile::tempdir().unwrap();
        for len in [0, 1, IN_MEMORY, IN_MEMORY + 1, 3 * IN_MEMORY, 3 * IN_MEMORY + 17] {
            let bytes: Vec<u8> = (0..len).map(|i| (i * 31 % 251) as u8).collect();
            let mut spill = Spill::new();
            for part in bytes.chunks(10_007) {
                spill.write(part, dir.path()).unwrap();
            }
            assert_eq!(spill.len(), len as u64);
            assert_eq!(spill.read().unwrap(), bytes);
            assert_eq!(spill.first(16).unwrap(), bytes[..len.min(16)]);
        }
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            0,
            "no file has a name"
        );
    }
}
