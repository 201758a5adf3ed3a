//! Measures block parsing from `blk` framing, with ids and the Merkle root checked, and the `bitcoin` crate's
//! parser in the same run: `cargo bench -p chain-sources --bench blocks -- BLOCK…` (raw blocks of Bitcoin, or
//! `blk*.dat`).
//!
//! Without files it uses a generated block.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use bitcoin::consensus::Decodable;
use bitcoin::hashes::Hash;
use chain::currency::Currency;
use chain_sources::ingest::blk::frames;
use chain_sources::ingest::block::RawBlock;

/// The time for which each parser runs.
const RUN: Duration = Duration::from_secs(3);

fn main() {
    let files: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let mut data = Vec::new();
    for file in &files {
        let bytes = std::fs::read(file).unwrap_or_else(|error| panic!("{file}: {error}"));
        if bytes.starts_with(&[0xf9, 0xbe, 0xb4, 0xd9]) {
            data.extend_from_slice(&bytes);
        } else {
            frame(&mut data, &bytes);
        }
    }
    if files.is_empty() {
        frame(&mut data, &made());
    }
    // The data must not fit into the processor's caches.
    let once = data.clone();
    while data.len() < 64 << 20 {
        data.extend_from_slice(&once);
    }
    measure("chain, ids and Merkle root", &data, |block| {
        RawBlock::parse(Currency::Btc, block).map_or(0, |block| block.transactions.len())
    });
    measure("bitcoin crate, ids and Merkle root", &data, |block| {
        let block = bitcoin::Block::consensus_decode_from_finite_reader(&mut &block[..]);
        block.map_or(0, |block| {
            let ids: Vec<bitcoin::Txid> = block
                .txdata
                .iter()
                .map(bitcoin::Transaction::compute_txid)
                .collect();
            black_box(bitcoin::merkle_tree::calculate_root(
                ids.iter().map(|id| id.to_raw_hash()),
            ));
            ids.len()
        })
    });
    measure("bitcoin crate, parsing alone", &data, |block| {
        bitcoin::Block::consensus_decode_from_finite_reader(&mut &block[..])
            .map_or(0, |block| block.txdata.len())
    });
}

fn measure(name: &str, data: &[u8], parse: impl Fn(&[u8]) -> usize) {
    let start = Instant::now();
    let (mut bytes, mut transactions, mut blocks) = (0, 0, 0);
    while start.elapsed() < RUN {
        let found = frames(Currency::Btc, data)
            .map(|found| found.frames)
            .unwrap_or_default();
        for frame in found {
            let parsed = parse(&data[frame.start..frame.start + frame.length]);
            assert!(parsed > 0, "a block was not read");
            transactions += black_box(parsed);
            bytes += frame.length + 8;
            blocks += 1;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{name}: {:.0} MB/s, {:.0} transactions/s ({blocks} blocks in {seconds:.1} s)",
        bytes as f64 / 1e6 / seconds,
        transactions as f64 / seconds
    );
}

fn frame(into: &mut Vec<u8>, block: &[u8]) {
    into.extend_from_slice(&[0xf9, 0xbe, 0xb4, 0xd9]);
    into.extend_from_slice(&u32::try_from(block.len()).unwrap_or(u32::MAX).to_le_bytes());
    into.extend_from_slice(block);
}

/// A block of 2,000 payments, each with one input, a witness, and two outputs.
fn made() -> Vec<u8> {
    use bitcoin::consensus::Encodable;
    let payment = |number: u32| bitcoin::Transaction {
        version: bitcoin::transaction::Version::TWO,
        lock_time: bitcoin::absolute::LockTime::from_consensus(number),
        input: vec![bitcoin::TxIn {
            previous_output: bitcoin::OutPoint {
                txid: bitcoin::Txid::hash(&number.to_le_bytes()),
                vout: 0,
            },
            script_sig: bitcoin::ScriptBuf::new(),
            sequence: bitcoin::Sequence::MAX,
            witness: bitcoin::Witness::from_slice(&[vec![1u8; 72], vec![2; 33]]),
        }],
        output: (0..2)
            .map(|_| bitcoin::TxOut {
                value: bitcoin::Amount::from_sat(100_000),
                script_pubkey: bitcoin::ScriptBuf::from_bytes([&[0, 20][..], &[7; 20]].concat()),
            })
            .collect(),
    };
    let mut block = bitcoin::Block {
        header: bitcoin::block::Header {
            version: bitcoin::block::Version::TWO,
            prev_blockhash: bitcoin::BlockHash::all_zeros(),
            merkle_root: bitcoin::TxMerkleNode::all_zeros(),
            time: 1,
            bits: bitcoin::CompactTarget::from_consensus(0x207f_ffff),
            nonce: 0,
        },
        txdata: (0..2000).map(payment).collect(),
    };
    if let Some(root) = block.compute_merkle_root() {
        block.header.merkle_root = root;
    }
    let mut bytes = Vec::new();
    block
        .consensus_encode(&mut bytes)
        .unwrap_or_else(|error| panic!("{error}"));
    bytes
}
