//! Parses raw blocks of Bitcoin-like chains in place: transactions with ids, inputs and outputs, without
//! copies.
//!
//! A count is accepted only if the remaining bytes can contain as many items, so that a forged count
//! allocates no memory. Proof of work and signatures are not checked, because a node did so. Zcash's blocks
//! are not parsed here; they come as JSON.

use chain::currency::Currency;
use sha2::{Digest, Sha256};

/// A hash in the byte order of blocks; texts reverse it.
pub type Hash = [u8; 32];

/// What is wrong with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// The block ends early.
    #[error("the block ends early, at byte {0}")]
    Truncated(usize),
    /// A count is larger than the remaining bytes allow.
    #[error("a count of {0} at byte {1} is more than the block can hold")]
    Count(u64, usize),
    /// A count is not in its shortest form, which no node accepts.
    #[error("a count at byte {0} is not in its shortest form")]
    LongCount(usize),
    /// The flags of a transaction's serialisation are unknown.
    #[error("unknown transaction flags {0:#04x} at byte {1}")]
    Flags(u8, usize),
    /// Bytes follow the last transaction.
    #[error("{0} bytes after the last transaction")]
    Trailing(usize),
    /// The transactions are not those that the header commits to.
    #[error("the transactions do not make the header's Merkle root")]
    Merkle,
    /// The block has no transaction.
    #[error("the block holds no transaction")]
    Empty,
}

/// A spent output that refers to the block's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawInput<'a> {
    /// The transaction that created the output; all zero for newly mined money.
    pub transaction: &'a Hash,
    /// The output's number in that transaction.
    pub output: u32,
}

/// A created output that refers to the block's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawOutput<'a> {
    /// The amount in the smallest unit.
    pub amount: u64,
    /// The script that locks the output.
    pub script: &'a [u8],
}

/// A transaction that refers to the block's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawTransaction<'a> {
    /// Its id.
    pub id: Hash,
    /// The outputs that it spends.
    pub inputs: Vec<RawInput<'a>>,
    /// The outputs that it creates.
    pub outputs: Vec<RawOutput<'a>>,
    /// The first input's script; a coinbase's script begins with the block's height.
    pub first_script: &'a [u8],
}

impl RawTransaction<'_> {
    /// Whether the transaction creates new money.
    pub fn is_coinbase(&self) -> bool {
        matches!(self.inputs.as_slice(), [only] if *only.transaction == [0; 32] && only.output == u32::MAX)
    }
}

/// A block's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The block's hash.
    pub hash: Hash,
    /// The hash of the previous block.
    pub previous: Hash,
    /// The Merkle root of the transactions' ids.
    pub merkle_root: Hash,
    /// The miner's time, in seconds since 1970.
    pub time: u32,
    /// The target in compact form, which determines the block's work.
    pub bits: u32,
    /// The version, a signed number by the chains' rules.
    pub version: i32,
}

/// A block that refers to the raw bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawBlock<'a> {
    /// Its header.
    pub header: Header,
    /// Its transactions.
    pub transactions: Vec<RawTransaction<'a>>,
}

/// Writes a hash as text.
pub fn hash_text(hash: &Hash) -> String {
    let mut backwards = *hash;
    backwards.reverse();
    hex::encode(backwards)
}

/// Parses a hash from its text; `None` unless it has 64 hexadecimal digits.
pub fn hash_of(text: &str) -> Option<Hash> {
    let mut hash = [0; 32];
    hex::decode_to_slice(text, &mut hash).ok()?;
    hash.reverse();
    Some(hash)
}

fn twice(parts: &[&[u8]]) -> Hash {
    let mut once = Sha256::new();
    for part in parts {
        once.update(part);
    }
    Sha256::digest(once.finalize()).into()
}

/// Bytes, and the position of the next one to read.
#[derive(Clone, Copy)]
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], BlockError> {
        let end = self
            .at
            .checked_add(length)
            .ok_or(BlockError::Truncated(self.at))?;
        let taken = self
            .bytes
            .get(self.at..end)
            .ok_or(BlockError::Truncated(self.bytes.len()))?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], BlockError> {
        let end = self.bytes.len();
        self.take(N)?.try_into().map_err(|_| BlockError::Truncated(end))
    }

    fn u32(&mut self) -> Result<u32, BlockError> {
        self.array().map(|bytes| u32::from_le_bytes(*bytes))
    }

    fn u64(&mut self) -> Result<u64, BlockError> {
        self.array().map(|bytes| u64::from_le_bytes(*bytes))
    }

    fn compact(&mut self) -> Result<u64, BlockError> {
        let start = self.at;
        let (value, least) = match self.array::<1>()?[0] {
            0xfd => (u64::from(u16::from_le_bytes(*self.array()?)), 0xfd),
            0xfe => (u64::from(self.u32()?), 0x1_0000),
            0xff => (self.u64()?, 0x1_0000_0000),
            small => return Ok(u64::from(small)),
        };
        if value < least {
            Err(BlockError::LongCount(start))
        } else {
            Ok(value)
        }
    }

    /// A count of items that need at least `smallest` bytes each.
    fn count(&mut self, smallest: usize) -> Result<usize, BlockError> {
        let start = self.at;
        let count = self.compact()?;
        match usize::try_from(count) {
            Ok(few) if few <= self.left() / smallest => Ok(few),
            _ => Err(BlockError::Count(count, start)),
        }
    }

    fn bytes(&mut self) -> Result<&'a [u8], BlockError> {
        let length = self.count(1)?;
        self.take(length)
    }

    fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.at]
    }
}

/// The smallest input: outpoint, empty script, sequence.
const SMALLEST_INPUT: usize = 32 + 4 + 1 + 4;
/// The smallest output: amount, empty script.
const SMALLEST_OUTPUT: usize = 8 + 1;
/// The smallest transaction: version, two counts, lock time.
const SMALLEST_TRANSACTION: usize = 4 + 1 + 1 + 4;

impl Header {
    fn read<'a>(reader: &mut Reader<'a>) -> Result<(Header, &'a [u8; 80]), BlockError> {
        let bytes: &[u8; 80] = reader.array()?;
        let mut fields = Reader { bytes, at: 0 };
        let header = Header {
            version: fields.u32()?.cast_signed(),
            hash: twice(&[bytes]),
            previous: *fields.array()?,
            merkle_root: *fields.array()?,
            time: fields.u32()?,
            bits: fields.u32()?,
        };
        Ok((header, bytes))
    }

    /// Parses the header at the beginning of a block.
    ///
    /// # Errors
    /// When there are fewer than 80 bytes.
    pub fn parse(block: &[u8]) -> Result<Header, BlockError> {
        Header::read(&mut Reader { bytes: block, at: 0 }).map(|(header, _)| header)
    }

    /// The work of the header's target, roughly 2^256 / (target + 1). It only serves to compare sums.
    pub fn work(&self) -> f64 {
        let size = i32::try_from(self.bits >> 24).unwrap_or(0);
        let mantissa = f64::from(self.bits & 0x007f_ffff);
        if mantissa == 0.0 {
            0.0
        } else {
            2f64.powi(256 - 8 * (size - 3)) / mantissa
        }
    }
}

impl<'a> RawBlock<'a> {
    /// The height in the block's coinbase, which the chains' rules require since version 2 (BIP 34). Older
    /// blocks may have anything there.
    pub fn height(&self) -> Option<u64> {
        let coinbase = self.transactions.first().filter(|first| first.is_coinbase())?;
        if self.header.version < 2 {
            return None;
        }
        match coinbase.first_script.split_first()? {
            // The numbers 1 to 16 have their own opcodes.
            (small @ 0x51..=0x60, _) => Some(u64::from(small - 0x50)),
            (length @ 1..=4, script) => {
                let digits = script.get(..usize::from(*length))?;
                let number = |height, digit: &u8| height << 8 | u64::from(*digit);
                Some(digits.iter().rev().fold(0, number))
            }
            _ => None,
        }
    }

    /// Parses a whole block of a chain, and checks the header's Merkle root against the transactions.
    ///
    /// # Errors
    /// What is wrong, and at which byte.
    pub fn parse(currency: Currency, bytes: &'a [u8]) -> Result<RawBlock<'a>, BlockError> {
        let mut reader = Reader { bytes, at: 0 };
        let (header, raw_header) = Header::read(&mut reader)?;
        let merged = matches!(currency, Currency::Doge | Currency::Sys) && raw_header[1] & 1 == 1;
        if merged {
            skip_merged_mining(&mut reader)?;
        }
        let count = reader.count(SMALLEST_TRANSACTION)?;
        let mut transactions = Vec::with_capacity(count);
        let mut extended = false;
        for _ in 0..count {
            let (transaction, flags) = transaction(&mut reader, currency)?;
            extended = flags & 8 != 0;
            transactions.push(transaction);
        }
        // Litecoin's extension block follows the transaction that pays into it; its amounts are hidden.
        if reader.left() > 0 && !extended {
            return Err(BlockError::Trailing(reader.left()));
        }
        let block = RawBlock { header, transactions };
        block.check()?;
        Ok(block)
    }

    fn check(&self) -> Result<(), BlockError> {
        let mut row: Vec<Hash> = self
            .transactions
            .iter()
            .map(|transaction| transaction.id)
            .collect();
        if row.is_empty() {
            return Err(BlockError::Empty);
        }
        while row.len() > 1 {
            // A row that ends in two equal hashes has the same root as the row without the second one
            // (CVE-2012-2459).
            if row.chunks_exact(2).any(|pair| pair[0] == pair[1]) {
                return Err(BlockError::Merkle);
            }
            row = row
                .chunks(2)
                .map(|pair| twice(&[&pair[0], pair.last().unwrap_or(&pair[0])]))
                .collect();
        }
        if row[0] == self.header.merkle_root {
            Ok(())
        } else {
            Err(BlockError::Merkle)
        }
    }
}

/// Skips the proof of merged mining, which is another chain's work for this block.
fn skip_merged_mining(reader: &mut Reader<'_>) -> Result<(), BlockError> {
    transaction(reader, Currency::Btc)?;
    reader.take(32)?;
    for _ in 0..2 {
        let hashes = reader.count(32)?;
        reader.take(hashes * 32 + 4)?;
    }
    reader.take(80)?;
    Ok(())
}

/// Parses one transaction and returns it with its flags.
fn transaction<'a>(
    reader: &mut Reader<'a>,
    currency: Currency,
) -> Result<(RawTransaction<'a>, u8), BlockError> {
    let start = reader.at;
    let version = *reader.array::<4>()?;
    let mut flags = 0;
    let witness_chain = !matches!(
        currency,
        Currency::Bch | Currency::Bsv | Currency::Doge | Currency::Dash
    );
    if witness_chain && reader.bytes.get(reader.at) == Some(&0) {
        flags = reader.array::<2>()?[1];
        if flags == 0 || flags & !9 != 0 || (flags & 8 != 0 && currency != Currency::Ltc) {
            return Err(BlockError::Flags(flags, reader.at - 1));
        }
    }
    let body = reader.at;
    let count = reader.count(SMALLEST_INPUT)?;
    let mut inputs = Vec::with_capacity(count);
    let mut first_script: &[u8] = &[];
    for _ in 0..count {
        let transaction = reader.array()?;
        let output = reader.u32()?;
        let script = reader.bytes()?;
        if inputs.is_empty() {
            first_script = script;
        }
        reader.take(4)?;
        inputs.push(RawInput { transaction, output });
    }
    let count = reader.count(SMALLEST_OUTPUT)?;
    let mut outputs = Vec::with_capacity(count);
    for _ in 0..count {
        outputs.push(RawOutput {
            amount: reader.u64()?,
            script: reader.bytes()?,
        });
    }
    let body = reader.since(body);
    if flags & 1 != 0 {
        for _ in 0..inputs.len() {
            for _ in 0..reader.count(1)? {
                reader.bytes()?;
            }
        }
    }
    if flags & 8 != 0 && reader.array::<1>()?[0] != 0 {
        return Err(BlockError::Flags(flags, reader.at - 1));
    }
    let tail = reader.at;
    reader.take(4)?;
    let special = u16::from_le_bytes([version[2], version[3]]);
    if currency == Currency::Dash && special != 0 && u16::from_le_bytes([version[0], version[1]]) >= 3 {
        reader.bytes()?;
    }
    let id = if flags == 0 {
        twice(&[reader.since(start)])
    } else {
        twice(&[&version, body, reader.since(tail)])
    };
    let transaction = RawTransaction {
        id,
        inputs,
        outputs,
        first_script,
    };
    Ok((transaction, flags))
}

/// Parses a single transaction, such as an index sends it.
///
/// # Errors
/// What is wrong, and at which byte.
pub fn parse_transaction(currency: Currency, bytes: &[u8]) -> Result<RawTransaction<'_>, BlockError> {
    let mut reader = Reader { bytes, at: 0 };
    let (transaction, _) = transaction(&mut reader, currency)?;
    if reader.left() > 0 {
        Err(BlockError::Trailing(reader.left()))
    } else {
        Ok(transaction)
    }
}
