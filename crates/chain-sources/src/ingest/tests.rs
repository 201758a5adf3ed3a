//! Compares block parsing with the `bitcoin` crate; tests hostile blocks and files, and reorganisations.

use bitcoin::absolute::LockTime;
use bitcoin::consensus::Encodable;
use bitcoin::hashes::Hash as _;
use bitcoin::transaction::Version;
use bitcoin::{
    Amount, Block, BlockHash, CompactTarget, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxMerkleNode,
    TxOut, Txid, Witness,
};
use chain::currency::Currency;
use chain::source::{Source, SourceError, Window};
use proptest::prelude::*;

use super::blk::{best_chain, frames};
use super::block::{BlockError, Header, RawBlock, hash_text, parse_transaction};
use super::load::{LoadError, follow, load};
use super::node::Node;
use crate::graph::{Graph, NewBlock};

fn bytes(value: &impl Encodable) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.consensus_encode(&mut bytes).unwrap();
    bytes
}

/// The script with which a coinbase states a height.
fn told(height: u32) -> Vec<u8> {
    match height {
        1..=16 => vec![0x50 + height as u8],
        _ => [&[4][..], &height.to_le_bytes()].concat(),
    }
}

/// A coinbase whose height makes its id unique.
fn coinbase(height: u32, fork: u8) -> Transaction {
    Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![TxIn {
            previous_output: OutPoint::null(),
            script_sig: ScriptBuf::from_bytes([&told(height)[..], &[fork]].concat()),
            sequence: Sequence::MAX,
            witness: Witness::from_slice(&[[0u8; 32]]),
        }],
        output: vec![paying(fork, 5_000_000_000)],
    }
}

fn paying(holder: u8, value: u64) -> TxOut {
    let script = [&[0x76, 0xa9, 0x14][..], &[holder; 20], &[0x88, 0xac]].concat();
    TxOut {
        value: Amount::from_sat(value),
        script_pubkey: ScriptBuf::from_bytes(script),
    }
}

fn block(previous: BlockHash, time: u32, txdata: Vec<Transaction>) -> Block {
    let mut block = Block {
        header: bitcoin::block::Header {
            version: bitcoin::block::Version::TWO,
            prev_blockhash: previous,
            merkle_root: TxMerkleNode::all_zeros(),
            time,
            bits: CompactTarget::from_consensus(0x207f_ffff),
            nonce: 7,
        },
        txdata,
    };
    if let Some(root) = block.compute_merkle_root() {
        block.header.merkle_root = root;
    }
    block
}

fn framed(blocks: &[Block]) -> Vec<u8> {
    let mut file = Vec::new();
    for block in blocks {
        let block = bytes(block);
        file.extend_from_slice(&[0xf9, 0xbe, 0xb4, 0xd9]);
        file.extend_from_slice(&u32::try_from(block.len()).unwrap().to_le_bytes());
        file.extend_from_slice(&block);
    }
    file
}

/// Consecutive blocks, each with its own coinbase.
fn row(after: BlockHash, heights: std::ops::Range<u32>, fork: u8) -> Vec<Block> {
    let mut previous = after;
    heights
        .map(|height| {
            let block = block(previous, 1_300_000_000 + height, vec![coinbase(height, fork)]);
            previous = block.block_hash();
            block
        })
        .collect()
}

fn any_transaction() -> impl Strategy<Value = Transaction> {
    let input = (
        any::<[u8; 32]>(),
        any::<u32>(),
        prop::collection::vec(any::<u8>(), 0..300),
        prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..3),
    );
    let output = (
        0u64..2_100_000_000_000_000,
        prop::collection::vec(any::<u8>(), 0..300),
    );
    (
        prop::collection::vec(input, 1..6),
        prop::collection::vec(output, 1..6),
        any::<u32>(),
    )
        .prop_map(|(inputs, outputs, lock_time)| Transaction {
            version: Version::TWO,
            lock_time: LockTime::from_consensus(lock_time),
            input: inputs
                .into_iter()
                .map(|(txid, vout, script, witness)| TxIn {
                    previous_output: OutPoint {
                        txid: Txid::from_byte_array(txid),
                        vout,
                    },
                    script_sig: ScriptBuf::from_bytes(script),
                    sequence: Sequence::MAX,
                    witness: Witness::from_slice(&witness),
                })
                .collect(),
            output: outputs
                .into_iter()
                .map(|(value, script)| TxOut {
                    value: Amount::from_sat(value),
                    script_pubkey: ScriptBuf::from_bytes(script),
                })
                .collect(),
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn blocks_are_read_as_the_bitcoin_crate_reads_them(transactions in prop::collection::vec(any_transaction(), 1..8)) {
        let made = block(BlockHash::all_zeros(), 1, transactions);
        let raw = bytes(&made);
        let read = RawBlock::parse(Currency::Btc, &raw).unwrap();
        prop_assert_eq!(hash_text(&read.header.hash), made.block_hash().to_string());
        prop_assert_eq!(read.transactions.len(), made.txdata.len());
        for (read, made) in read.transactions.iter().zip(&made.txdata) {
            prop_assert_eq!(hash_text(&read.id), made.compute_txid().to_string());
            let inputs: Vec<(String, u32)> =
                read.inputs.iter().map(|input| (hash_text(input.transaction), input.output)).collect();
            let expected: Vec<(String, u32)> =
                made.input.iter().map(|input| (input.previous_output.txid.to_string(), input.previous_output.vout)).collect();
            prop_assert_eq!(inputs, expected);
            for (read, made) in read.outputs.iter().zip(&made.output) {
                prop_assert_eq!(read.amount, made.value.to_sat());
                prop_assert_eq!(read.script, made.script_pubkey.as_bytes());
            }
        }
        for end in (0..raw.len()).step_by(7) {
            prop_assert!(RawBlock::parse(Currency::Btc, &raw[..end]).is_err());
        }
    }

    #[test]
    fn any_bytes_are_read_without_panic(noise in prop::collection::vec(any::<u8>(), 0..400), at in 0usize..200) {
        let _ = RawBlock::parse(Currency::Btc, &noise);
        let _ = RawBlock::parse(Currency::Doge, &noise);
        let _ = parse_transaction(Currency::Ltc, &noise);
        let _ = frames(Currency::Btc, &noise);
        let mut damaged = bytes(&row(BlockHash::all_zeros(), 0..1, 1)[0]);
        for (place, byte) in noise.iter().enumerate() {
            if let Some(target) = damaged.get_mut(at + place) {
                *target ^= byte;
            }
        }
        let _ = RawBlock::parse(Currency::Btc, &damaged);
    }
}

#[test]
fn forged_counts_take_no_memory_and_forged_transactions_are_noticed() {
    let made = row(BlockHash::all_zeros(), 0..1, 1).remove(0);
    let good = bytes(&made);
    let mut counted = good[..80].to_vec();
    counted.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    assert_eq!(
        RawBlock::parse(Currency::Btc, &counted),
        Err(BlockError::Count(0x7fff_ffff_ffff_ffff, 80))
    );
    let mut long = good[..80].to_vec();
    long.extend_from_slice(&[0xfd, 1, 0]);
    assert_eq!(
        RawBlock::parse(Currency::Btc, &long),
        Err(BlockError::LongCount(80))
    );
    let mut trailing = good.clone();
    trailing.push(0);
    assert_eq!(
        RawBlock::parse(Currency::Btc, &trailing),
        Err(BlockError::Trailing(1))
    );
    let mut richer = made.clone();
    richer.txdata[0].output[0].value = Amount::from_sat(1);
    assert_eq!(
        RawBlock::parse(Currency::Btc, &bytes(&richer)),
        Err(BlockError::Merkle)
    );
    let mut doubled = block(
        BlockHash::all_zeros(),
        1,
        vec![coinbase(1, 1), coinbase(2, 1), coinbase(3, 1)],
    );
    let last = doubled.txdata[2].clone();
    doubled.txdata.push(last);
    assert_eq!(
        RawBlock::parse(Currency::Btc, &bytes(&doubled)),
        Err(BlockError::Merkle),
        "the same root, CVE-2012-2459"
    );
}

#[test]
fn files_end_in_zeros_or_within_a_block() {
    let blocks = row(BlockHash::all_zeros(), 0..3, 1);
    let file = framed(&blocks);
    let whole = frames(Currency::Btc, &file).unwrap();
    assert_eq!((whole.frames.len(), whole.cut_at), (3, None));
    let cut = frames(Currency::Btc, &file[..file.len() - 1]).unwrap();
    assert_eq!(
        (cut.frames.len(), cut.cut_at),
        (2, Some(framed(&blocks[..2]).len()))
    );
    let mut roomy = file.clone();
    roomy.extend_from_slice(&[0; 1000]);
    assert_eq!(frames(Currency::Btc, &roomy).unwrap(), whole);
    let mut gap = vec![0; 16];
    gap.extend_from_slice(&file);
    assert_eq!(frames(Currency::Btc, &gap).unwrap().frames.len(), 3);
    assert!(frames(Currency::Ltc, &file).is_err());
    assert_eq!(frames(Currency::Btc, b"").unwrap().frames.len(), 0);
}

#[test]
fn the_chain_with_the_most_work_is_found_in_any_order() {
    let root = row(BlockHash::all_zeros(), 0..2, 1);
    let after = root[1].block_hash();
    let short = row(after, 2..4, 2);
    let long = row(after, 2..5, 3);
    let all: Vec<&Block> = long.iter().rev().chain(&short).chain(&root).collect();
    let headers: Vec<Header> = all
        .iter()
        .map(|block| Header::parse(&bytes(*block)).unwrap())
        .collect();
    let chain: Vec<BlockHash> = best_chain(&headers, None)
        .into_iter()
        .map(|index| all[index].block_hash())
        .collect();
    let expected: Vec<BlockHash> = root.iter().chain(&long).map(Block::block_hash).collect();
    assert_eq!(chain, expected);
    assert!(best_chain(&[], None).is_empty());
}

#[test]
fn files_from_the_middle_of_a_chain_are_numbered_as_their_blocks_say() {
    let genesis: BlockHash = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"
        .parse()
        .unwrap();
    // Before BIP 34 a coinbase could begin with anything, such as the target.
    let old = |after| {
        let mut previous = after;
        let mut made = |number| {
            let mut first = coinbase(number, 1);
            first.input[0].script_sig =
                ScriptBuf::from_bytes([&[4, 0xff, 0xff, 0, 0x1d, 1][..], &[number as u8]].concat());
            let mut block = block(previous, 1_300_000_000 + number, vec![first]);
            block.header.version = bitcoin::block::Version::ONE;
            previous = block.block_hash();
            block
        };
        (0..3).map(&mut made).collect::<Vec<Block>>()
    };
    let unseen = BlockHash::from_byte_array([9; 32]);
    let older = |after| {
        let old: Vec<Block> = old(after);
        let new = row(old[2].block_hash(), 230_003..230_005, 1);
        [old, new].concat()
    };
    let zeros = BlockHash::all_zeros();
    for (blocks, given, first, unknown) in [
        (old(zeros), None, 0, false),
        (old(genesis), None, 1, false),
        (old(unseen), None, 0, true),
        (old(unseen), Some(120_000), 120_000, false),
        (row(unseen, 700_000..700_003, 1), None, 700_000, false),
        (row(unseen, 700_000..700_003, 1), Some(700_000), 700_000, false),
        (row(unseen, 9..14, 1), None, 9, false),
        (row(unseen, 700_000..700_001, 1), None, 700_000, false),
        // The last block states a height, and the first block is older than BIP 34.
        (older(unseen), None, 230_000, false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("blk00000.dat");
        std::fs::write(&file, framed(&blocks)).unwrap();
        let graph = Graph::open(&folder.path().join("graph"), Currency::Btc).unwrap();
        let loaded = load(&graph, Currency::Btc, &file, given, |_| {}).unwrap();
        assert_eq!(
            (loaded.appended, loaded.height_unknown),
            (blocks.len() as u64, unknown)
        );
        assert_eq!(graph.newest().unwrap().height, first + blocks.len() as u64 - 1);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("blk00000.dat");
    std::fs::write(&file, framed(&row(unseen, 700_000..700_003, 1))).unwrap();
    let graph = Graph::open(&folder.path().join("graph"), Currency::Btc).unwrap();
    let refused = load(&graph, Currency::Btc, &file, Some(7), |_| {}).unwrap_err();
    assert!(matches!(
        refused,
        LoadError::Height {
            given: 7,
            told: 700_000
        }
    ));
    assert_eq!(graph.newest(), None);
}

#[test]
fn block_files_are_loaded_extended_and_reorganised() {
    let folder = tempfile::tempdir().unwrap();
    let blocks = folder.path().join("blocks");
    std::fs::create_dir(&blocks).unwrap();
    let graph = Graph::open(&folder.path().join("graph"), Currency::Btc).unwrap();
    let root = row(BlockHash::all_zeros(), 0..3, 1);
    let short = row(root[2].block_hash(), 3..6, 2);
    let long = row(root[2].block_hash(), 3..7, 3);
    // The files are masked as newer nodes do, and cut within the last block.
    let key = [1u8, 2, 3, 4, 5, 6, 7, 8];
    std::fs::write(blocks.join("xor.dat"), key).unwrap();
    let hide = |bytes: Vec<u8>| -> Vec<u8> {
        bytes
            .iter()
            .zip(key.iter().cycle())
            .map(|(byte, key)| byte ^ key)
            .collect()
    };
    let mut first = framed(&[root.clone(), short.clone()].concat());
    first.extend_from_slice(&framed(&long[..1])[..50]);
    std::fs::write(blocks.join("blk00000.dat"), hide(first)).unwrap();
    let loaded = load(&graph, Currency::Btc, &blocks, None, |_| {}).unwrap();
    assert_eq!(
        (loaded.appended, loaded.rolled_back, loaded.cut_files.len()),
        (6, 0, 1)
    );
    assert_eq!(graph.newest().unwrap().hash, short[2].block_hash().to_string());
    let again = load(&graph, Currency::Btc, &blocks, None, |_| {}).unwrap();
    assert_eq!(again.appended, 0);

    std::fs::write(blocks.join("blk00001.dat"), hide(framed(&long))).unwrap();
    let loaded = load(&graph, Currency::Btc, &blocks, None, |_| {}).unwrap();
    assert_eq!((loaded.appended, loaded.rolled_back, loaded.stale), (4, 3, 3));
    assert_eq!(graph.newest().unwrap().hash, long[3].block_hash().to_string());
    let miner =
        chain::address::Address::of_script(Currency::Btc, paying(2, 0).script_pubkey.as_bytes()).unwrap();
    let history = graph
        .history(
            &miner.canonical,
            Window {
                up_to: None,
                limit: 10,
            },
        )
        .unwrap();
    assert!(history.transactions.is_empty(), "the stale branch left nothing");
}

/// A fake node with these blocks.
struct FakeNode(Vec<Block>);

impl Node for FakeNode {
    fn height(&self) -> Result<u64, SourceError> {
        Ok(self.0.len() as u64 - 1)
    }

    fn hash_at(&self, height: u64) -> Result<Option<String>, SourceError> {
        let known = self.0.get(usize::try_from(height).unwrap());
        Ok(known.map(|block| block.block_hash().to_string()))
    }

    fn block(&self, height: u64, _hash: &str) -> Result<NewBlock, SourceError> {
        let raw = bytes(&self.0[usize::try_from(height).unwrap()]);
        let raw = RawBlock::parse(Currency::Btc, &raw).unwrap();
        Ok(NewBlock::of_raw(Currency::Btc, height, &raw))
    }
}

#[test]
fn a_node_is_followed_through_a_reorganisation_three_deep() {
    let folder = tempfile::tempdir().unwrap();
    let graph = Graph::open(folder.path(), Currency::Btc).unwrap();
    let root = row(BlockHash::all_zeros(), 0..3, 1);
    let follow = |blocks: Vec<Block>| follow(&graph, 0, &FakeNode(blocks), |_| true);
    let short = [root.clone(), row(root[2].block_hash(), 3..6, 2)].concat();
    let long = [root.clone(), row(root[2].block_hash(), 3..8, 3)].concat();
    assert_eq!(follow(short).unwrap().appended, 6);
    let moved = follow(long.clone()).unwrap();
    assert_eq!((moved.appended, moved.rolled_back), (5, 3));
    assert_eq!(graph.newest().unwrap().hash, long[7].block_hash().to_string());
    // A node that is behind on the same chain causes no change; a shorter chain that differs causes a
    // rollback.
    let behind = follow(root.clone()).unwrap();
    assert_eq!((behind.appended, behind.rolled_back), (0, 0));
    let other = [root.clone(), row(root[2].block_hash(), 3..4, 4)].concat();
    let back = follow(other.clone()).unwrap();
    assert_eq!((back.appended, back.rolled_back), (1, 5));
    assert_eq!(graph.newest().unwrap().hash, other[3].block_hash().to_string());
    let stranger = follow(row(BlockHash::all_zeros(), 0..9, 7));
    assert!(matches!(stranger, Err(LoadError::Disconnected)));
    assert_eq!(graph.newest().unwrap().hash, other[3].block_hash().to_string());
}
