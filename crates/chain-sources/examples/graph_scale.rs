//! Measures memory, disk and latency of the graph as a chain grows. It appends generated transactions block
//! by block and screens addresses at every checkpoint.
//!
//! Run `cargo run --release -p chain-sources --example graph_scale -- FOLDER [CHECKPOINT…]`. A checkpoint is
//! a number of transactions, such as `100000 1000000 5000000`. FOLDER needs about 500 bytes per transaction.
//! A folder with a part of the chain is continued.
//!
//! Its features make tracing hard: wallets that spend several coins together, change, services with a third
//! of all payments, and reused addresses. A few addresses and most services have labels.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement, run by hand"
)]

use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chain::amount::Amount;
use chain::category::Category;
use chain::currency::Currency;
use chain::labels::{Label, LabelIndex};
use chain::parts;
use chain::profile::Profile;
use chain::screen::{Request, Subject, screen_address};
use chain::source::{Output, TxId};
use chain_sources::graph::{Graph, NewBlock, NewMovement, NewTransaction};

/// The number of transactions in a block.
const BLOCK: u64 = 2_500;
/// The number of services' addresses, and below how many of a thousand payments go to a service.
const SERVICES: u64 = 400;
const SERVED: u64 = 350;
/// The limit of unspent coins; beyond it a new coin replaces one that is then never spent.
const COINS: usize = 400_000;
/// The number of screens at a checkpoint.
const SCREENS: usize = 1_000;

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }
}

fn address(number: u64) -> Arc<str> {
    format!("bc1q{:016x}{number:022x}", Chance(number).next()).into()
}

fn id(number: u64) -> TxId {
    let mut chance = Chance(!number);
    (0..4)
        .map(|_| format!("{:016x}", chance.next()))
        .collect::<String>()
        .into()
}

struct Coin {
    transaction: u64,
    output: u32,
    party: u64,
    amount: u64,
}

struct Maker {
    chance: Chance,
    transactions: u64,
    people: u64,
    coins: Vec<Coin>,
    /// The addresses to screen, a uniform sample of all that were paid.
    sample: Vec<u64>,
    paid: u64,
}

impl Maker {
    fn somebody(&mut self) -> u64 {
        if self.chance.below(1000) < SERVED {
            // The first services have the most customers.
            let (a, b) = (self.chance.below(SERVICES), self.chance.below(SERVICES));
            return a * b / SERVICES;
        }
        if self.chance.below(10) == 0 && self.people > 0 {
            return SERVICES + self.chance.below(self.people);
        }
        self.people += 1;
        SERVICES + self.people
    }

    fn pay(&mut self, outputs: &mut Vec<Output>, party: u64, amount: u64) {
        let output = outputs.len() as u32;
        outputs.push(Output {
            party: Some(address(party)),
            amount: Amount::from(amount),
        });
        let coin = Coin {
            transaction: self.transactions,
            output,
            party,
            amount,
        };
        if self.coins.len() < COINS {
            self.coins.push(coin);
        } else {
            let place = self.chance.below(COINS as u64) as usize;
            self.coins[place] = coin;
        }
        self.paid += 1;
        if self.sample.len() < SCREENS {
            self.sample.push(party);
        } else if self.chance.below(self.paid) < SCREENS as u64 {
            let place = self.chance.below(SCREENS as u64) as usize;
            self.sample[place] = party;
        }
    }

    fn transaction(&mut self, mined: bool) -> NewTransaction {
        let mut spent = Vec::new();
        let mut outputs = Vec::new();
        if mined {
            let miner = self.somebody();
            self.pay(&mut outputs, miner, 5_000_000_000);
        } else {
            let inputs = 1 + self.chance.below(3).min(self.chance.below(3));
            let (mut whole, mut payer) = (0, 0);
            for _ in 0..inputs {
                if self.coins.is_empty() {
                    break;
                }
                // Young coins are spent more often than old ones.
                let young = self.coins.len() as u64 / 8 + 1;
                let back = if self.chance.below(2) == 0 {
                    self.chance.below(young)
                } else {
                    self.chance.below(self.coins.len() as u64)
                };
                let coin = self.coins.swap_remove(self.coins.len() - 1 - back as usize);
                whole += coin.amount;
                payer = coin.party;
                spent.push((id(coin.transaction), coin.output));
            }
            let whole = whole.saturating_sub(300 + self.chance.below(3_000)).max(1);
            let payee = self.somebody();
            let payment = 1 + self.chance.below(whole);
            self.pay(&mut outputs, payee, payment);
            if payment < whole {
                let change = if self.chance.below(3) == 0 {
                    payer
                } else {
                    self.somebody()
                };
                self.pay(&mut outputs, change, whole - payment);
            }
        }
        let transaction = NewTransaction {
            id: id(self.transactions),
            movement: NewMovement::Outputs(spent, outputs),
            fee: None,
            fee_payer: None,
            extra: serde_json::Map::new(),
        };
        self.transactions += 1;
        transaction
    }

    fn block(&mut self, height: u64, first: i64) -> NewBlock {
        let transactions = (0..BLOCK).map(|place| self.transaction(place < 25)).collect();
        NewBlock {
            hash: id(u64::MAX - height).to_string(),
            previous: id((u64::MAX - height).wrapping_add(1)).to_string(),
            height,
            time: Some(first + height as i64 * 600_000),
            transactions,
        }
    }
}

fn labels() -> LabelIndex {
    let categories = [
        Category::Exchange,
        Category::Exchange,
        Category::Gambling,
        Category::Mixer,
        Category::Scam,
        Category::DarknetMarket,
        Category::StolenFunds,
        Category::Sanctions,
    ];
    // Labels nine tenths of the services and one in 500 of the other addresses.
    let services = (0..SERVICES * 9 / 10).chain((0..10_000).map(|number| SERVICES + number * 500));
    LabelIndex::new(services.map(|number| {
        let label = Label {
            name: format!("Entity {number}"),
            category: categories[number as usize % categories.len()],
            source: "made up".to_owned(),
            confidence: 80,
            valid_from: None,
            valid_to: None,
            authority: false,
        };
        (Currency::Btc, address(number).to_string(), label)
    }))
}

/// The resident memory of the process in bytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1))
        .and_then(|kilobytes| kilobytes.parse::<u64>().ok())
        .unwrap_or_default()
        * 1024
}

/// The processor time of this thread, which other programs' work does not affect.
fn worked() -> Duration {
    // Yielding updates the figure, which the kernel otherwise updates only at its timer ticks.
    std::thread::yield_now();
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = spent.split_whitespace().next().and_then(|text| text.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

/// Screens all parties and prints the times; a party that was never paid is skipped.
fn screens(what: &str, graph: &Graph, labels: &LabelIndex, parties: &[u64]) {
    let profile = Profile::built_in();
    let (mut walls, mut works) = (Vec::new(), Vec::new());
    let (mut coins, mut most) = (0, 0);
    let mut answers = std::hash::DefaultHasher::new();
    for party in parties {
        let address = address(*party);
        let request = Request::new(Currency::Btc, Subject::Address(&address));
        let before = worked();
        let begun = Instant::now();
        let Ok(screen) = screen_address(graph, labels, &profile, &request) else {
            continue;
        };
        walls.push(begun.elapsed());
        works.push(worked() - before);
        let detail = serde_json::to_string(&screen.detail).unwrap();
        (parts::lowest(&screen.score.exact).to_string(), detail).hash(&mut answers);
        let followed: usize = screen.traces.iter().map(|trace| trace.expansions).sum();
        coins += followed;
        most = most.max(followed);
    }
    println!(
        "    {what}: {} screens, {} coins followed on average, {most} at most; answers {:016x}",
        walls.len(),
        coins / walls.len().max(1),
        answers.finish()
    );
    for (kind, mut times) in [("processor", works), ("wall", walls)] {
        times.sort();
        let at = |percent: usize| {
            let place = times.len().saturating_sub(1) * percent / 100;
            times.get(place).map_or(0.0, |time| time.as_secs_f64() * 1e3)
        };
        println!(
            "        {kind}: p50 {:.2} ms, p90 {:.2} ms, p99 {:.2} ms, longest {:.2} ms",
            at(50),
            at(90),
            at(99),
            at(100)
        );
    }
}

/// Screens along a transaction with 20,000 inputs from as many parties.
fn large(folder: &Path, labels: &LabelIndex) {
    let _ = std::fs::remove_dir_all(folder);
    let graph = Graph::open(folder, Currency::Btc).unwrap();
    let inputs = 20_000;
    let coin = |number| made(number, Vec::new(), &[(number, 10_000 + number)]);
    let spent = (0..inputs).map(|number| (id(number), 0)).collect();
    let (payer, payee) = (inputs + 1, inputs + 2);
    let blocks = [
        (0..inputs).map(coin).collect(),
        vec![made(inputs, spent, &[(payer, 150_000_000), (payer, 200_000_000)])],
        vec![made(payer, vec![(id(inputs), 0)], &[(payee, 150_000_000)])],
    ];
    for (height, transactions) in (0u64..).zip(blocks) {
        let block = NewBlock {
            hash: height.to_string(),
            previous: height.wrapping_sub(1).to_string(),
            height,
            time: Some(0),
            transactions,
        };
        graph.append(&block).unwrap();
    }
    println!("a transaction of {inputs} inputs");
    screens("its payee", &graph, labels, &[payer; 20]);
    screens("the payee's payee", &graph, labels, &[payee; 20]);
}

fn made(number: u64, spent: Vec<(TxId, u32)>, outputs: &[(u64, u64)]) -> NewTransaction {
    let outputs = outputs.iter().map(|(party, amount)| Output {
        party: Some(address(*party)),
        amount: Amount::from(*amount),
    });
    NewTransaction {
        id: id(number),
        movement: NewMovement::Outputs(spent, outputs.collect()),
        fee: None,
        fee_payer: None,
        extra: serde_json::Map::new(),
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = std::path::PathBuf::from(arguments.next().unwrap_or_else(|| "graph-scale".to_owned()));
    let mut checkpoints: Vec<u64> = arguments.map(|text| text.parse().unwrap()).collect();
    if checkpoints.is_empty() {
        checkpoints = vec![100_000, 1_000_000];
    }
    std::fs::create_dir_all(&folder).unwrap();
    let labels = labels();
    large(&folder.join("large"), &labels);
    let graph = Graph::open(&folder.join("growing"), Currency::Btc).unwrap();
    let held = graph.newest().map_or(0, |tip| tip.height + 1);
    let mut maker = Maker {
        chance: Chance(7),
        transactions: 0,
        people: 0,
        coins: Vec::new(),
        sample: Vec::new(),
        paid: 0,
    };
    // The chain is the same in every run, so that the answers of two builds can be compared.
    let first = 1_700_000_000_000;
    let (mut height, mut ingest) = (0, Duration::ZERO);
    for checkpoint in checkpoints {
        let (mut appended, begun) = (0, ingest);
        while maker.transactions < checkpoint {
            let block = maker.block(height, first);
            if height >= held {
                let start = Instant::now();
                graph.append(&block).unwrap();
                ingest += start.elapsed();
                appended += BLOCK;
            }
            height += 1;
        }
        let start = Instant::now();
        graph.persist().unwrap();
        ingest += start.elapsed();
        let status = graph.status().unwrap();
        println!(
            "{} transactions: {:.0} transactions/s since the last checkpoint, {:.1} GB on disk, {:.0} MB of memory",
            maker.transactions,
            appended as f64 / (ingest - begun).as_secs_f64(),
            status.disk_bytes as f64 / 1e9,
            memory() as f64 / 1e6
        );
        let people: Vec<u64> = maker
            .sample
            .iter()
            .copied()
            .filter(|party| *party >= SERVICES)
            .collect();
        screens("people", &graph, &labels, &people);
        let services: Vec<u64> = (0..SERVICES).step_by(8).collect();
        screens("services", &graph, &labels, &services);
        println!("    {:.0} MB of memory after the screens", memory() as f64 / 1e6);
    }
}
