//! The binary format of a transaction in the graph: one self-contained record, in which inputs have their
//! owners and amounts. A trace thus reads one record per step.

use chain::amount::Amount;
use chain::source::{Input, Movement, Output, Position, Totals, Transaction, Transfer, TxId};
use num_bigint::BigUint;

use crate::ingest::block::{Hash, hash_of};

/// A record that this program did not write, or that was damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a record of the graph is damaged")]
pub struct Damaged;

/// A transaction and the graph's own data about it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    pub(super) transaction: Transaction,
    /// The number of an earlier transaction with the same id, which this one hides (BIP 30).
    pub(super) hides: Option<u64>,
}

const OUTPUTS: u8 = 0;
const COINBASE: u8 = 1;
const TRANSFERS: u8 = 2;

/// Writes a number in groups of seven bits, the lowest first.
fn number(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

fn signed(into: &mut Vec<u8>, value: i64) {
    number(into, ((value << 1) ^ (value >> 63)).cast_unsigned());
}

fn bytes(into: &mut Vec<u8>, value: &[u8]) {
    number(into, value.len() as u64);
    into.extend_from_slice(value);
}

fn optional<T>(into: &mut Vec<u8>, value: Option<T>, write: impl FnOnce(&mut Vec<u8>, T)) {
    match value {
        None => into.push(0),
        Some(value) => {
            into.push(1);
            write(into, value);
        }
    }
}

fn amount(into: &mut Vec<u8>, value: &Amount) {
    match value.to_u64() {
        Some(units) => {
            let used = (u64::BITS - units.leading_zeros()).div_ceil(8) as usize;
            bytes(into, &units.to_le_bytes()[..used]);
        }
        None => bytes(into, &value.units().to_bytes_le()),
    }
}

/// The hash that an id represents, if the hash's text equals the id.
pub(super) fn exact_hash(id: &str) -> Option<Hash> {
    hash_of(id).filter(|_| !id.bytes().any(|letter| letter.is_ascii_uppercase()))
}

/// Writes an id: 32 bytes when it is a hash, otherwise its text.
fn id(into: &mut Vec<u8>, value: &str) {
    match exact_hash(value) {
        Some(hash) => {
            into.push(0);
            into.extend_from_slice(&hash);
        }
        None => {
            into.push(1);
            bytes(into, value.as_bytes());
        }
    }
}

fn party(into: &mut Vec<u8>, value: Option<&str>) {
    bytes(into, value.unwrap_or_default().as_bytes());
}

/// A transaction's entry in a party's history.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Visit {
    /// Whether the party spent together with others, all of whom count as one holder.
    pub(super) together: bool,
    /// The party's counters after this transaction, so that a long history need not be counted.
    pub(super) totals: Totals,
}

impl Visit {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut visit = Vec::with_capacity(24);
        visit.push(u8::from(self.together));
        number(&mut visit, self.totals.transactions);
        amount(&mut visit, &self.totals.received);
        amount(&mut visit, &self.totals.sent);
        visit
    }

    pub(super) fn read(visit: &[u8]) -> Result<Visit, Damaged> {
        let mut reader = Reader(visit);
        Ok(Visit {
            together: reader.byte()? == 1,
            totals: Totals {
                transactions: reader.number()?,
                received: reader.amount()?,
                sent: reader.amount()?,
            },
        })
    }
}

impl Record {
    pub(super) fn write(&self) -> Vec<u8> {
        let transaction = &self.transaction;
        let mut record = Vec::with_capacity(256);
        let into = &mut record;
        id(into, &transaction.id);
        let position = transaction.position.unwrap_or(Position { height: 0, index: 0 });
        number(into, position.height);
        number(into, u64::from(position.index));
        optional(into, transaction.time, signed);
        optional(into, transaction.fee.as_ref(), amount);
        party(into, transaction.fee_payer.as_deref());
        optional(into, self.hides, number);
        match &transaction.movement {
            Movement::Outputs {
                coinbase,
                inputs,
                outputs,
            } => {
                into.push(if *coinbase { COINBASE } else { OUTPUTS });
                number(into, inputs.len() as u64);
                for input in inputs {
                    id(into, &input.transaction);
                    number(into, u64::from(input.output));
                    party(into, input.party.as_deref());
                    amount(into, &input.amount);
                }
                number(into, outputs.len() as u64);
                for output in outputs {
                    party(into, output.party.as_deref());
                    amount(into, &output.amount);
                }
            }
            Movement::Transfers(transfers) => {
                into.push(TRANSFERS);
                number(into, transfers.len() as u64);
                for transfer in transfers {
                    party(into, transfer.from.as_deref());
                    party(into, transfer.to.as_deref());
                    amount(into, &transfer.amount);
                    party(into, transfer.asset.as_deref());
                }
            }
        }
        let extra = if transaction.extra.is_empty() {
            Vec::new()
        } else {
            serde_json::to_vec(&transaction.extra).unwrap_or_default()
        };
        bytes(into, &extra);
        record
    }

    /// Reads only the id.
    pub(super) fn read_id(record: &[u8]) -> Result<TxId, Damaged> {
        Reader(record).id()
    }

    pub(super) fn read(record: &[u8]) -> Result<Record, Damaged> {
        let mut reader = Reader(record);
        let id = reader.id()?;
        let position = Position {
            height: reader.number()?,
            index: reader.small()?,
        };
        let time = reader.optional(Reader::signed)?;
        let fee = reader.optional(Reader::amount)?;
        let fee_payer = reader.party()?;
        let hides = reader.optional(Reader::number)?;
        let movement = match reader.byte()? {
            kind @ (OUTPUTS | COINBASE) => {
                let inputs = reader.many(|reader| {
                    Ok(Input {
                        transaction: reader.id()?,
                        output: reader.small()?,
                        party: reader.party()?,
                        amount: reader.amount()?,
                    })
                })?;
                let outputs = reader.many(|reader| {
                    Ok(Output {
                        party: reader.party()?,
                        amount: reader.amount()?,
                    })
                })?;
                Movement::Outputs {
                    coinbase: kind == COINBASE,
                    inputs,
                    outputs,
                }
            }
            TRANSFERS => Movement::Transfers(reader.many(|reader| {
                Ok(Transfer {
                    from: reader.party()?,
                    to: reader.party()?,
                    amount: reader.amount()?,
                    asset: reader.party()?,
                })
            })?),
            _ => return Err(Damaged),
        };
        let extra = reader.bytes()?;
        let extra = if extra.is_empty() {
            serde_json::Map::new()
        } else {
            serde_json::from_slice(extra).map_err(|_| Damaged)?
        };
        let transaction = Transaction {
            id,
            position: Some(position),
            time,
            fee,
            fee_payer,
            movement,
            extra,
        };
        Ok(Record { transaction, hides })
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Damaged> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Damaged> {
        self.take(1).map(|byte| byte[0])
    }

    fn number(&mut self) -> Result<u64, Damaged> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Damaged)
    }

    fn small(&mut self) -> Result<u32, Damaged> {
        self.number()?.try_into().map_err(|_| Damaged)
    }

    fn signed(&mut self) -> Result<i64, Damaged> {
        let value = self.number()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn bytes(&mut self) -> Result<&'a [u8], Damaged> {
        let length = usize::try_from(self.number()?).map_err(|_| Damaged)?;
        self.take(length)
    }

    fn text(&mut self) -> Result<&'a str, Damaged> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Damaged)
    }

    fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Damaged>,
    ) -> Result<Option<T>, Damaged> {
        match self.byte()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            _ => Err(Damaged),
        }
    }

    fn amount(&mut self) -> Result<Amount, Damaged> {
        let units = self.bytes()?;
        let mut short = [0; 8];
        Ok(match short.get_mut(..units.len()) {
            Some(start) => {
                start.copy_from_slice(units);
                Amount::from(u64::from_le_bytes(short))
            }
            None => Amount::from(BigUint::from_bytes_le(units)),
        })
    }

    fn id(&mut self) -> Result<std::sync::Arc<str>, Damaged> {
        match self.byte()? {
            0 => {
                let mut hash: [u8; 32] = self.take(32)?.try_into().map_err(|_| Damaged)?;
                hash.reverse();
                let mut text = [0; 64];
                hex::encode_to_slice(hash, &mut text).map_err(|_| Damaged)?;
                std::str::from_utf8(&text).map(Into::into).map_err(|_| Damaged)
            }
            1 => self.text().map(Into::into),
            _ => Err(Damaged),
        }
    }

    fn party(&mut self) -> Result<Option<std::sync::Arc<str>>, Damaged> {
        let text = self.text()?;
        Ok((!text.is_empty()).then(|| text.into()))
    }

    fn many<T>(&mut self, read: impl Fn(&mut Self) -> Result<T, Damaged>) -> Result<Vec<T>, Damaged> {
        let count = usize::try_from(self.number()?).map_err(|_| Damaged)?;
        if count > self.0.len() {
            return Err(Damaged);
        }
        (0..count).map(|_| read(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn records_are_read_back() {
        let large = Amount::from_hex(&format!("0x{}", "f".repeat(64))).unwrap();
        let outputs = vec![Output {
            party: None,
            amount: Amount::default(),
        }];
        let inputs = vec![Input {
            transaction: "ab".repeat(32).into(),
            output: u32::MAX,
            party: Some("bc1q".into()),
            amount: large.clone(),
        }];
        let mut first = Transaction::of_outputs("AB".repeat(32).as_str().into(), inputs, outputs);
        first.position = Some(Position {
            height: u64::MAX,
            index: 7,
        });
        first.time = Some(-5);
        let mut second = Transaction::of_transfers(
            "signature".into(),
            vec![Transfer {
                from: None,
                to: Some("T".into()),
                amount: large,
                asset: Some("usdt".into()),
            }],
        );
        second.position = Some(Position { height: 0, index: 0 });
        second
            .extra
            .insert("listSigner".to_owned(), serde_json::json!(["a"]));
        for (transaction, hides) in [(first, None), (second, Some(9))] {
            let record = Record { transaction, hides };
            let written = record.write();
            assert_eq!(Record::read(&written), Ok(record));
            for end in 0..written.len() {
                assert_eq!(Record::read(&written[..end]), Err(Damaged));
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Record::read(&bytes);
        }
    }
}
