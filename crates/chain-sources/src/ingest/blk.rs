//! Reads the block files of Bitcoin-like nodes (`blk00000.dat`, …): finds blocks, unmasks bytes and orders
//! headers.
//!
//! A file may end within a block, which the node was writing, or in zeros, which the node allocated in
//! advance. Neither is an error.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use chain::currency::Currency;
use rustc_hash::FxHashMap;

use super::block::{BlockError, Hash, Header};

/// A larger file is no block file: nodes begin a new file at 128 MiB and never split a block.
const LARGEST_FILE: u64 = 4 << 30;

/// Why block files cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BlkError {
    /// The file system reported an error.
    #[error("{0}: {1}")]
    Io(PathBuf, std::io::Error),
    /// The file is not a block file of this chain.
    #[error("{0}: not a block file of this chain: bytes {2:02x?} at {1} are not its magic")]
    Magic(PathBuf, usize, [u8; 4]),
    /// The file is too large.
    #[error("{0}: larger than any block file")]
    TooLarge(PathBuf),
    /// The folder contains no `blk*.dat`.
    #[error("{0}: holds no blk*.dat")]
    NoFiles(PathBuf),
    /// A block cannot be parsed.
    #[error("{0}: block at byte {1}: {2}")]
    Block(PathBuf, usize, BlockError),
}

/// The four bytes before each block, for the main, test and regtest networks.
fn magics(currency: Currency) -> &'static [[u8; 4]] {
    match currency {
        Currency::Btc => &[
            [0xf9, 0xbe, 0xb4, 0xd9],
            [0x0b, 0x11, 0x09, 0x07],
            [0xfa, 0xbf, 0xb5, 0xda],
            [0x1c, 0x16, 0x3f, 0x28],
            [0x0a, 0x03, 0xcf, 0x40],
        ],
        Currency::Bch => &[
            [0xe3, 0xe1, 0xf3, 0xe8],
            [0xf9, 0xbe, 0xb4, 0xd9],
            [0xda, 0xb5, 0xbf, 0xfa],
            [0xfa, 0xbf, 0xb5, 0xda],
        ],
        Currency::Bsv => &[
            [0xe3, 0xe1, 0xf3, 0xe8],
            [0xf9, 0xbe, 0xb4, 0xd9],
            [0xda, 0xb5, 0xbf, 0xfa],
        ],
        Currency::Ltc => &[
            [0xfb, 0xc0, 0xb6, 0xdb],
            [0xfd, 0xd2, 0xc8, 0xf1],
            [0xfa, 0xbf, 0xb5, 0xda],
        ],
        Currency::Doge => &[
            [0xc0, 0xc0, 0xc0, 0xc0],
            [0xfc, 0xc1, 0xb7, 0xdc],
            [0xfa, 0xbf, 0xb5, 0xda],
        ],
        Currency::Dash => &[
            [0xbf, 0x0c, 0x6b, 0xbd],
            [0xce, 0xe2, 0xca, 0xff],
            [0xfc, 0xc1, 0xb7, 0xdc],
        ],
        Currency::Sys => &[
            [0xce, 0xe2, 0xca, 0xff],
            [0xce, 0xe2, 0xca, 0xfe],
            [0xfa, 0xbf, 0xb5, 0xda],
        ],
        _ => &[],
    }
}

/// Whether this module can read the block files of the chain's nodes.
pub fn is_supported(currency: Currency) -> bool {
    !magics(currency).is_empty()
}

/// The hashes of first blocks: of the main chain, and of its test networks where they are known.
fn first_blocks(currency: Currency) -> &'static [&'static str] {
    match currency {
        Currency::Btc | Currency::Bch | Currency::Bsv => &[
            "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f",
            "000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943",
            "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206",
        ],
        Currency::Ltc => &["12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2"],
        Currency::Doge => &["1a91e3dace36e2be3bf030a65679fe821aa1d6ef92e7c9902eb318182c355691"],
        Currency::Dash => &["00000ffd590b1485b3caadc19b22e6379c733355108f107a430458cdf3407ab6"],
        _ => &[],
    }
}

/// Whether a graph that begins with this block has the whole chain, given the hash of the previous block.
/// That is true for the first block and the second, since the first block's output was never spent.
pub fn begins_chain(currency: Currency, height: u64, previous: &str) -> bool {
    match height {
        0 => previous
            .trim_start_matches("0x")
            .bytes()
            .all(|digit| digit == b'0'),
        1 => first_blocks(currency).contains(&previous),
        _ => false,
    }
}

/// The location of a block in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The offset of the first byte.
    pub start: usize,
    /// The number of bytes.
    pub length: usize,
}

/// The blocks in a file's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frames {
    /// Whole blocks, in the file's order.
    pub frames: Vec<Frame>,
    /// The offset at which the file ends within a block, if it does.
    pub cut_at: Option<usize>,
}

/// Finds the blocks of a file's bytes.
///
/// # Errors
/// The offset and four bytes there, when they are neither zeros nor the chain's magic.
pub fn frames(currency: Currency, bytes: &[u8]) -> Result<Frames, (usize, [u8; 4])> {
    let mut found = Frames {
        frames: Vec::new(),
        cut_at: None,
    };
    let mut at = 0;
    while at < bytes.len() {
        let Some(magic) = bytes
            .get(at..at + 4)
            .and_then(|magic| <[u8; 4]>::try_from(magic).ok())
        else {
            if bytes[at..].iter().any(|byte| *byte != 0) {
                found.cut_at = Some(at);
            }
            break;
        };
        if magic == [0; 4] {
            // The zeros were allocated in advance; the next block begins with the next byte that is not zero.
            match bytes[at..].iter().position(|byte| *byte != 0) {
                Some(zeros) => at += zeros,
                None => break,
            }
            continue;
        }
        if !magics(currency).contains(&magic) {
            return Err((at, magic));
        }
        let length = bytes
            .get(at + 4..at + 8)
            .and_then(|length| <[u8; 4]>::try_from(length).ok());
        let Some(length) = length.map(|length| u32::from_le_bytes(length) as usize) else {
            found.cut_at = Some(at);
            break;
        };
        if bytes.len() - at - 8 < length {
            found.cut_at = Some(at);
            break;
        }
        found.frames.push(Frame {
            start: at + 8,
            length,
        });
        at += 8 + length;
    }
    Ok(found)
}

/// One node's block files.
pub struct BlockFiles {
    currency: Currency,
    files: Vec<PathBuf>,
    key: Vec<u8>,
}

/// A block in one of the files.
#[derive(Clone, Debug, PartialEq)]
pub struct LocatedBlock {
    /// The index of the file.
    pub file: usize,
    /// The location in the file.
    pub frame: Frame,
    /// Its header.
    pub header: Header,
}

impl BlockFiles {
    /// Opens a folder of `blk*.dat`, with the `xor.dat` by which newer nodes mask them, or a single file.
    ///
    /// # Errors
    /// When the folder cannot be read or has no block files.
    pub fn open(currency: Currency, path: &Path) -> Result<BlockFiles, BlkError> {
        let io = |error| BlkError::Io(path.to_owned(), error);
        if path.is_file() {
            return Ok(BlockFiles {
                currency,
                files: vec![path.to_owned()],
                key: Vec::new(),
            });
        }
        let mut files = Vec::new();
        for entry in std::fs::read_dir(path).map_err(io)? {
            let file = entry.map_err(io)?.path();
            let name = file
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if name.starts_with("blk") && name.ends_with(".dat") {
                files.push(file);
            }
        }
        if files.is_empty() {
            return Err(BlkError::NoFiles(path.to_owned()));
        }
        files.sort();
        let key = match std::fs::read(path.join("xor.dat")) {
            Ok(key) => key,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(io(error)),
        };
        Ok(BlockFiles { currency, files, key })
    }

    /// The files, in order.
    pub fn paths(&self) -> &[PathBuf] {
        &self.files
    }

    /// Reads a whole file and unmasks it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(&self, file: usize) -> Result<Vec<u8>, BlkError> {
        let path = &self.files[file];
        let io = |error| BlkError::Io(path.clone(), error);
        let opened = File::open(path).map_err(io)?;
        let length = opened.metadata().map_err(io)?.len();
        if length > LARGEST_FILE {
            return Err(BlkError::TooLarge(path.clone()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        opened.take(LARGEST_FILE).read_to_end(&mut bytes).map_err(io)?;
        uncover(&mut bytes, &self.key);
        Ok(bytes)
    }

    /// The blocks of a file's bytes, and the offset at which the file ends within a block, if it does.
    ///
    /// # Errors
    /// When it is no block file of this chain, or a block has no whole header.
    pub fn blocks(&self, file: usize, bytes: &[u8]) -> Result<(Vec<LocatedBlock>, Option<usize>), BlkError> {
        let path = &self.files[file];
        let found =
            frames(self.currency, bytes).map_err(|(at, magic)| BlkError::Magic(path.clone(), at, magic))?;
        let mut blocks = Vec::with_capacity(found.frames.len());
        for frame in found.frames {
            let header = Header::parse(&bytes[frame.start..frame.start + frame.length])
                .map_err(|bad| BlkError::Block(path.clone(), frame.start, bad))?;
            blocks.push(LocatedBlock { file, frame, header });
        }
        Ok((blocks, found.cut_at))
    }
}

/// Nodes since 2024 combine their files with a random key by XOR.
fn uncover(bytes: &mut [u8], key: &[u8]) {
    if key.iter().any(|byte| *byte != 0) {
        for (byte, key) in bytes.iter_mut().zip(key.iter().cycle()) {
            *byte ^= key;
        }
    }
}

/// The chain with the most work among headers in any order, as indices from its first block on. Its first
/// block is one whose previous block is not among the headers. With `after`, that previous block must be
/// `after`.
pub fn best_chain(headers: &[Header], after: Option<Hash>) -> Vec<usize> {
    let mut by_hash: FxHashMap<Hash, usize> = FxHashMap::default();
    for (index, header) in headers.iter().enumerate() {
        by_hash.entry(header.hash).or_insert(index);
    }
    let mut work: Vec<Option<f64>> = vec![None; headers.len()];
    let mut rooted: Vec<bool> = vec![false; headers.len()];
    for start in 0..headers.len() {
        // Walks back to the nearest block whose work is known, then forward again. This needs no recursion
        // for any order.
        let mut way = Vec::new();
        let mut at = start;
        let (mut sum, is_rooted) = loop {
            if let Some(known) = work[at] {
                break (known, rooted[at]);
            }
            way.push(at);
            match by_hash.get(&headers[at].previous) {
                // Hashes cannot form a cycle.
                Some(before) => at = *before,
                None => break (0.0, after.is_none_or(|after| after == headers[at].previous)),
            }
        };
        for index in way.into_iter().rev() {
            sum += headers[index].work();
            work[index] = Some(sum);
            rooted[index] = is_rooted;
        }
    }
    let best = (0..headers.len()).filter(|index| rooted[*index]).max_by(|a, b| {
        work[*a]
            .unwrap_or(0.0)
            .total_cmp(&work[*b].unwrap_or(0.0))
            .then(b.cmp(a))
    });
    let mut chain = Vec::new();
    let mut at = best;
    while let Some(index) = at {
        chain.push(index);
        if chain.len() > headers.len() || after == Some(headers[index].previous) {
            break;
        }
        at = by_hash.get(&headers[index].previous).copied();
    }
    chain.reverse();
    chain
}
