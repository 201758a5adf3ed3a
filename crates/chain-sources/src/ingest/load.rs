//! Loads the graph from folders of block files, and follows the tip of a node's chain with reorganisations.

use std::collections::VecDeque;
use std::path::Path;

use chain::currency::Currency;
use chain::source::{SourceError, Tip};

use super::blk::{BlkError, BlockFiles, LocatedBlock, begins_chain, best_chain};
use super::block::{Header, RawBlock, hash_of, hash_text};
use super::node::Node;
use crate::graph::{Graph, GraphError, NewBlock};

/// The number of files in memory: a node writes blocks into its files slightly out of order.
const OPEN_FILES: usize = 3;
/// The deepest reorganisation that is followed, in blocks.
const DEEPEST: u64 = 1000;

/// Why loading stopped. The graph has all whole blocks before that point.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A block file failed.
    #[error(transparent)]
    Files(#[from] BlkError),
    /// The graph failed.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The node failed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The blocks belong to another chain than the graph's, or to a fork that is too deep.
    #[error("the blocks do not connect to the graph's")]
    Disconnected,
    /// The files' first block has another height than the one given.
    #[error(
        "the blocks say that the first one's height is {told}, not {given}: omit --first-height, or name the right files"
    )]
    Height {
        /// The given height.
        given: u64,
        /// The height that the blocks state.
        told: u64,
    },
}

/// The progress of loading.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadReport {
    /// Blocks appended.
    pub appended: u64,
    /// Blocks rolled back.
    pub rolled_back: u64,
    /// Blocks of the files that are not on the best chain.
    pub stale: u64,
    /// Files that end within a block.
    pub cut_files: Vec<String>,
    /// Whether the height of the files' first block is unknown, because neither the blocks nor the caller
    /// stated it. Blocks are then numbered from 0.
    pub height_unknown: bool,
}

/// Appends the best chain among block files that connects to the graph. An empty graph takes the files' first
/// block at the height that the blocks state, or at `first_height`.
///
/// # Errors
/// The first failure; another call continues after the blocks that were appended.
pub fn load(
    graph: &Graph,
    currency: Currency,
    path: &Path,
    first_height: Option<u64>,
    mut progress: impl FnMut(&LoadReport),
) -> Result<LoadReport, LoadError> {
    let files = BlockFiles::open(currency, path)?;
    let mut loaded = LoadReport::default();
    let mut found: Vec<LocatedBlock> = Vec::new();
    for file in 0..files.paths().len() {
        let bytes = files.read(file)?;
        let (blocks, cut) = files.blocks(file, &bytes)?;
        found.extend(blocks);
        if cut.is_some() {
            loaded.cut_files.push(files.paths()[file].display().to_string());
        }
    }
    let headers: Vec<Header> = found.iter().map(|block| block.header).collect();
    let chain = best_chain(&headers, None);
    loaded.stale = (found.len() - chain.len()) as u64;
    let (skip, mut height) = match graph.newest() {
        Some(tip) => connect(graph, &tip, &headers, &chain, &mut loaded)?,
        None => {
            let told = told_height(currency, &files, &found, &chain)?;
            if let (Some(given), Some(told)) = (first_height, told)
                && given != told
            {
                return Err(LoadError::Height { given, told });
            }
            let known = told.or(first_height);
            loaded.height_unknown = known.is_none() && !chain.is_empty();
            (0, known.unwrap_or(0))
        }
    };
    let mut open: VecDeque<(usize, Vec<u8>)> = VecDeque::new();
    for index in chain.into_iter().skip(skip) {
        let block = &found[index];
        if !open.iter().any(|(file, _)| *file == block.file) {
            open.truncate(OPEN_FILES - 1);
            open.push_front((block.file, files.read(block.file)?));
        }
        let bytes = open
            .iter()
            .find(|(file, _)| *file == block.file)
            .map_or(&[][..], |(_, bytes)| bytes);
        let end = block.frame.start + block.frame.length;
        let bytes = bytes.get(block.frame.start..end).unwrap_or_default();
        let raw = RawBlock::parse(currency, bytes)
            .map_err(|bad| BlkError::Block(files.paths()[block.file].clone(), block.frame.start, bad))?;
        graph.append(&NewBlock::of_raw(currency, height, &raw))?;
        height += 1;
        loaded.appended += 1;
        if loaded.appended % 1000 == 0 {
            progress(&loaded);
        }
    }
    graph.persist()?;
    Ok(loaded)
}

/// The height of a chain's first block, as far as the blocks state it. It is the chain's first or second
/// block, or the last block's coinbase states its height and the first block's does not contradict it.
fn told_height(
    currency: Currency,
    files: &BlockFiles,
    found: &[LocatedBlock],
    chain: &[usize],
) -> Result<Option<u64>, LoadError> {
    let (Some(first), Some(last)) = (chain.first(), chain.last()) else {
        return Ok(None);
    };
    let first = &found[*first];
    let previous = hash_text(&first.header.previous);
    if let Some(height) = (0..2).find(|height| begins_chain(currency, *height, &previous)) {
        return Ok(Some(height));
    }
    let height = |block: &LocatedBlock| -> Result<Option<u64>, LoadError> {
        let bytes = files.read(block.file)?;
        let end = block.frame.start + block.frame.length;
        let block = RawBlock::parse(currency, bytes.get(block.frame.start..end).unwrap_or_default());
        // A block that cannot be parsed causes an error when it is appended.
        Ok(block.ok().and_then(|block| block.height()))
    };
    // The last block's height determines the first one's, even if the first is older than BIP 34.
    let apart = chain.len() as u64 - 1;
    let Some(told) = height(&found[*last])?.and_then(|end| end.checked_sub(apart)) else {
        return Ok(None);
    };
    let is_contradicted = height(first)?.is_some_and(|height| height != told);
    Ok(Some(told).filter(|_| !is_contradicted))
}

/// Rolls the graph back to the last block that it shares with the chain. Returns the number of the chain's
/// blocks that the graph already has, and the height of the next one.
fn connect(
    graph: &Graph,
    tip: &Tip,
    headers: &[Header],
    chain: &[usize],
    loaded: &mut LoadReport,
) -> Result<(usize, u64), LoadError> {
    for depth in 0..=DEEPEST.min(tip.height) {
        let height = tip.height - depth;
        let Some(hash) = graph.hash_at(height)?.as_deref().and_then(hash_of) else {
            break;
        };
        let after = chain
            .iter()
            .position(|index| headers[*index].hash == hash)
            .map(|place| place + 1);
        let before = chain
            .first()
            .is_some_and(|first| headers[*first].previous == hash)
            .then_some(0);
        if let Some(skip) = after.or(before) {
            // A chain that merely ends below the tip is older, not better.
            if skip < chain.len() {
                for _ in 0..depth {
                    graph.roll_back()?;
                    loaded.rolled_back += 1;
                }
            }
            return Ok((skip, height + 1));
        }
    }
    Err(LoadError::Disconnected)
}

/// Follows a node: appends the blocks after the tip up to the node's newest, and rolls back where the node's
/// chain differs from ours. Nothing happens while the node's chain merely ends below our tip, because such a
/// node is synchronising again.
///
/// `go_on` is called after each block and ends the loop by returning false.
///
/// # Errors
/// The first failure; another call continues after the blocks that were appended.
pub fn follow(
    graph: &Graph,
    first_height: u64,
    node: &dyn Node,
    mut go_on: impl FnMut(&LoadReport) -> bool,
) -> Result<LoadReport, LoadError> {
    let mut loaded = LoadReport::default();
    loop {
        let tip = graph.newest();
        let height = tip.as_ref().map_or(first_height, |tip| tip.height + 1);
        let hash = node.hash_at(height)?;
        let next = hash.map(|hash| node.block(height, &hash)).transpose()?;
        let follows = match (&tip, &next) {
            (None, _) => true,
            (Some(tip), Some(next)) => next.previous == tip.hash,
            (Some(tip), None) => node.hash_at(tip.height)?.is_some_and(|hash| hash == tip.hash),
        };
        match (tip, next) {
            (_, Some(next)) if follows => {
                graph.append(&next)?;
                loaded.appended += 1;
            }
            (Some(tip), _) if !follows => {
                if !leave(graph, tip.height, node, &mut loaded)? {
                    break;
                }
            }
            _ => break,
        }
        if !go_on(&loaded) {
            break;
        }
    }
    graph.persist()?;
    Ok(loaded)
}

/// Rolls back to the last block that the node's chain shares. Returns whether there is another block to
/// append.
fn leave(graph: &Graph, tip: u64, node: &dyn Node, loaded: &mut LoadReport) -> Result<bool, LoadError> {
    for depth in 0..=DEEPEST.min(tip) {
        let height = tip - depth;
        let Some(ours) = graph.hash_at(height)? else {
            break;
        };
        if node.hash_at(height)? != Some(ours) {
            continue;
        }
        // The node has no next block yet, or its chain changed meanwhile; the next round decides.
        if depth == 0 || node.hash_at(height + 1)?.is_none() {
            return Ok(false);
        }
        for _ in 0..depth {
            graph.roll_back()?;
            loaded.rolled_back += 1;
        }
        return Ok(true);
    }
    Err(LoadError::Disconnected)
}
