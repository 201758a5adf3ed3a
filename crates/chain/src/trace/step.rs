//! One step of a trace: from a coin to the parties on its other side, on UTXO and account chains.

use std::collections::VecDeque;

use num_bigint::BigUint;
use num_traits::{One, Zero};

use super::Options;
use crate::amount::Amount;
use crate::category::Category;
use crate::cluster;
use crate::parts::{Part, Scale};
use crate::pool::{self, Event, Method};
use crate::source::{Input, Movement, Party, Source, SourceError, Transaction, Transfer, TxId, Window};

/// Money that can be traced from a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Coin {
    /// An output. Backwards: its funding. Onwards: its spending.
    Output(TxId, u32),
    /// A transfer between accounts. Backwards: the payer's pool before it. Onwards: what the payee paid with
    /// it.
    Payment(TxId, u32),
}

impl Coin {
    /// The transaction that the coin belongs to.
    pub fn transaction(&self) -> &TxId {
        match self {
            Coin::Output(transaction, _) | Coin::Payment(transaction, _) => transaction,
        }
    }
}

/// A party from which money came or to which it went.
#[derive(Clone, Debug)]
pub struct Step {
    /// The transaction between the two parties.
    pub transaction: TxId,
    /// The party, if known.
    pub party: Option<Party>,
    /// The coin with which the trace continues; `None` for newly created money, or where the path ends.
    pub next: Option<Coin>,
}

/// The other side of a coin.
pub(super) struct Expansion {
    /// The denominator of all parts.
    pub(super) whole: BigUint,
    /// The parties with their parts.
    pub(super) steps: Vec<(BigUint, Step)>,
    /// The part that does not move: unspent, burnt, or paid as a fee.
    pub(super) resting: BigUint,
    /// The part whose other side is unknown.
    pub(super) missing: BigUint,
    /// The category, name and confidence of the absorber of everything, if there is one.
    pub(super) absorbed: Option<(Category, &'static str, u8)>,
    /// Whether all steps are inputs of one holder.
    pub(super) one_spender: bool,
}

/// The confidence that a transaction with the shape of a CoinJoin is one.
const COINJOIN_CONFIDENCE: u8 = 80;

impl Expansion {
    /// A side without any steps yet.
    fn of(whole: BigUint) -> Expansion {
        Expansion {
            whole,
            steps: Vec::new(),
            resting: BigUint::zero(),
            missing: BigUint::zero(),
            absorbed: None,
            one_spender: false,
        }
    }

    fn absorbed_by(category: Category, name: &'static str, confidence: u8) -> Expansion {
        Expansion {
            absorbed: Some((category, name, confidence)),
            ..Expansion::of(BigUint::one())
        }
    }

    fn resting() -> Expansion {
        Expansion {
            resting: BigUint::one(),
            ..Expansion::of(BigUint::one())
        }
    }

    fn unknown() -> Expansion {
        Expansion {
            missing: BigUint::one(),
            ..Expansion::of(BigUint::one())
        }
    }
}

/// Whether a source has the owners and amounts of all inputs. A graph that begins in the middle of a chain
/// lacks older outputs.
///
/// # Errors
/// When the source fails.
pub(crate) fn all_known(source: &dyn Source, inputs: &[Input]) -> Result<bool, SourceError> {
    for input in inputs {
        if input.party.is_none() && input.amount.is_zero() {
            match source.transaction(&input.transaction) {
                Ok(_) => {}
                Err(SourceError::NotFound) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(true)
}

/// The parties that funded a coin.
pub(super) fn expand_backwards(
    source: &dyn Source,
    coin: &Coin,
    options: &Options,
) -> Result<Expansion, SourceError> {
    let transaction = source.transaction(coin.transaction())?;
    match (coin, &transaction.movement) {
        (
            Coin::Output(_, output),
            Movement::Outputs {
                coinbase,
                inputs,
                outputs,
            },
        ) => {
            if *coinbase {
                return Ok(Expansion::absorbed_by(Category::Mining, "coinbase", 100));
            }
            if options.heuristics && cluster::is_coinjoin(&transaction) {
                return Ok(Expansion::absorbed_by(
                    Category::Coinjoin,
                    "CoinJoin",
                    COINJOIN_CONFIDENCE,
                ));
            }
            // If one input's amount is unknown, the parts of the others are unknown too.
            if !all_known(source, inputs)? {
                return Ok(Expansion::unknown());
            }
            let paid: Vec<&Amount> = inputs.iter().map(|input| &input.amount).collect();
            let made: Vec<&Amount> = outputs.iter().map(|output| &output.amount).collect();
            let mut ends = spread(&made, *output as usize, &paid, options.method, |input| Step {
                transaction: transaction.id.clone(),
                party: inputs[input].party.clone(),
                next: Some(Coin::Output(
                    inputs[input].transaction.clone(),
                    inputs[input].output,
                )),
            });
            // A part of an output that no input funds has no known source.
            ends.missing = std::mem::take(&mut ends.resting);
            ends.one_spender = cluster::one_spender(&transaction);
            Ok(ends)
        }
        (Coin::Payment(_, transfer), Movement::Transfers(transfers)) => {
            let Some(transfer_made) = transfers.get(*transfer as usize) else {
                return Err(SourceError::NotFound);
            };
            pool_behind(source, &transaction, *transfer, transfer_made, options)
        }
        _ => Err(SourceError::NotFound),
    }
}

/// The parties to which a coin went.
pub(super) fn expand_onwards(
    source: &dyn Source,
    coin: &Coin,
    options: &Options,
) -> Result<Expansion, SourceError> {
    match coin {
        Coin::Output(made_by, output) => {
            let Some(spender) = source.spender(made_by, *output)? else {
                return Ok(Expansion::resting());
            };
            let later = options
                .up_to
                .is_some_and(|up_to| spender.position.is_none_or(|at| at > up_to));
            if later {
                return Ok(Expansion::resting());
            }
            if options.heuristics && cluster::is_coinjoin(&spender) {
                return Ok(Expansion::absorbed_by(
                    Category::Coinjoin,
                    "CoinJoin",
                    COINJOIN_CONFIDENCE,
                ));
            }
            let is_it = |input: &Input| input.transaction == *made_by && input.output == *output;
            through(source, &spender, is_it, options.method)
        }
        Coin::Payment(id, transfer) => {
            let transaction = source.transaction(id)?;
            let Movement::Transfers(transfers) = &transaction.movement else {
                return Err(SourceError::NotFound);
            };
            let Some(made) = transfers.get(*transfer as usize) else {
                return Err(SourceError::NotFound);
            };
            spent_after(source, &transaction, *transfer, made, options)
        }
    }
}

/// The parties to which one input of a transaction went.
fn through(
    source: &dyn Source,
    spender: &Transaction,
    is_it: impl Fn(&Input) -> bool,
    method: Method,
) -> Result<Expansion, SourceError> {
    let Movement::Outputs { inputs, outputs, .. } = &spender.movement else {
        return Ok(Expansion::unknown());
    };
    let Some(spent) = inputs.iter().position(is_it) else {
        return Ok(Expansion::unknown());
    };
    // Pro rata, every input goes to all outputs alike. In order, the amounts of the other inputs matter.
    let in_order = matches!(method, Method::Fifo | Method::Lifo);
    if in_order && !all_known(source, inputs)? {
        return Ok(Expansion::unknown());
    }
    let paid: Vec<&Amount> = inputs.iter().map(|input| &input.amount).collect();
    let made: Vec<&Amount> = outputs.iter().map(|output| &output.amount).collect();
    Ok(spread(&paid, spent, &made, method, |output| Step {
        transaction: spender.id.clone(),
        party: outputs[output].party.clone(),
        next: u32::try_from(output)
            .ok()
            .map(|number| Coin::Output(spender.id.clone(), number)),
    }))
}

/// Divides one amount of `from` among `to`, the two sides of a transaction. It divides by value, or matches
/// the two rows of money from the front or the back. Money without a match is a fee and rests.
fn spread(
    from: &[&Amount],
    which: usize,
    to: &[&Amount],
    method: Method,
    step: impl Fn(usize) -> Step,
) -> Expansion {
    let (whole, parts, resting) = match method {
        Method::Poison => {
            let one = |amount: &&Amount| BigUint::from(u8::from(!amount.is_zero()));
            (BigUint::one(), to.iter().map(one).collect(), BigUint::zero())
        }
        Method::Haircut => {
            let parts: Vec<BigUint> = to.iter().map(|amount| amount.units()).collect();
            (parts.iter().sum(), parts, BigUint::zero())
        }
        Method::Fifo | Method::Lifo => {
            let last_first = method == Method::Lifo;
            let Some(wanted) = from.get(which) else {
                return Expansion::unknown();
            };
            let before: Amount = from.iter().take(which).copied().sum();
            let mut row: VecDeque<(usize, Amount)> =
                to.iter().map(|amount| (*amount).clone()).enumerate().collect();
            drop(pool::take(&mut row, &before, last_first));
            let mut parts = vec![BigUint::zero(); to.len()];
            let mut rest = wanted.units();
            for (place, part) in pool::take(&mut row, wanted, last_first) {
                rest -= part.units();
                parts[place] += part.units();
            }
            (wanted.units(), parts, rest)
        }
    };
    if parts.iter().all(Zero::is_zero) {
        return Expansion::resting();
    }
    Expansion {
        steps: parts
            .into_iter()
            .enumerate()
            .map(|(place, part)| (part, step(place)))
            .collect(),
        resting,
        ..Expansion::of(whole)
    }
}

/// A transfer in an account's history.
struct AccountTransfer<'a> {
    transaction: &'a Transaction,
    number: u32,
    transfer: &'a Transfer,
}

/// An account's history in one asset, in order: `Ok` for a transfer, `Err` with the amount of a fee.
fn moves<'a>(
    transactions: &'a [std::sync::Arc<Transaction>],
    account: &'a str,
    asset: Option<&'a str>,
) -> impl Iterator<Item = Result<AccountTransfer<'a>, &'a Amount>> {
    transactions.iter().flat_map(move |transaction| {
        let transfers = match &transaction.movement {
            Movement::Transfers(transfers) => transfers.as_slice(),
            Movement::Outputs { .. } => &[],
        };
        let fee = transaction
            .fee
            .as_ref()
            .filter(|_| asset.is_none() && transaction.fee_payer.as_deref() == Some(account));
        transfers
            .iter()
            .zip(0u32..)
            .filter(move |(transfer, _)| transfer.asset.as_deref() == asset)
            .map(move |(transfer, number)| {
                Ok(AccountTransfer {
                    transaction,
                    number,
                    transfer,
                })
            })
            .chain(fee.map(Err))
    })
}

/// The sources of a payment: the payer's balance before it, replayed.
fn pool_behind(
    source: &dyn Source,
    transaction: &Transaction,
    number: u32,
    payment: &Transfer,
    options: &Options,
) -> Result<Expansion, SourceError> {
    let Some(payer) = payment.from.as_deref() else {
        return Ok(Expansion::absorbed_by(Category::Mining, "coinbase", 100));
    };
    let up_to = transaction.position.or(options.up_to);
    let history = source.trace_history(
        payer,
        Window {
            up_to,
            limit: options.max_history,
        },
    )?;
    if !history.complete {
        // The earlier balance is not known, so nothing can be stated about the mixture.
        return Ok(Expansion::unknown());
    }
    let mut lots: Vec<AccountTransfer<'_>> = Vec::new();
    let mut events = Vec::new();
    for moved in moves(&history.transactions, payer, payment.asset.as_deref()) {
        match moved {
            Ok(moved) if moved.transaction.id == transaction.id && moved.number == number => break,
            Ok(moved) => {
                let pays = moved.transfer.from.as_deref() == Some(payer);
                let is_paid = moved.transfer.to.as_deref() == Some(payer);
                if pays && !is_paid {
                    events.push(Event::Out(moved.transfer.amount.clone()));
                } else if is_paid && !pays {
                    events.push(Event::In(lots.len(), moved.transfer.amount.clone()));
                    lots.push(moved);
                }
            }
            Err(fee) => events.push(Event::Out(fee.clone())),
        }
    }
    let made = pool::compose(&events, &payment.amount, options.method);
    let steps = made
        .lots
        .into_iter()
        .filter_map(|(lot, part)| {
            let moved = lots.get(lot)?;
            let id = moved.transaction.id.clone();
            let from = moved.transfer.from.clone();
            let next = from.is_some().then(|| Coin::Payment(id.clone(), moved.number));
            Some((
                part,
                Step {
                    transaction: id,
                    party: from,
                    next,
                },
            ))
        })
        .collect();
    Ok(Expansion {
        steps,
        missing: made.missing,
        ..Expansion::of(made.whole)
    })
}

/// The payments that a payee made with a payment.
fn spent_after(
    source: &dyn Source,
    transaction: &Transaction,
    number: u32,
    payment: &Transfer,
    options: &Options,
) -> Result<Expansion, SourceError> {
    let Some(payee) = payment.to.as_deref() else {
        return Ok(Expansion::resting());
    };
    let history = source.trace_history(
        payee,
        Window {
            up_to: options.up_to,
            limit: options.max_history,
        },
    )?;
    if !history.complete {
        return Ok(Expansion::unknown());
    }
    let mut purse = TrackedBalance::new(options.method);
    let mut steps: Vec<(Part, Step)> = Vec::new();
    let mut fees = purse.scale.nothing();
    for moved in moves(&history.transactions, payee, payment.asset.as_deref()) {
        let moved = match moved {
            Ok(moved) => moved,
            Err(fee) => {
                let part = purse.pay(fee);
                purse.scale.add(&mut fees, &part);
                continue;
            }
        };
        let pays = moved.transfer.from.as_deref() == Some(payee);
        let is_paid = moved.transfer.to.as_deref() == Some(payee);
        if is_paid && !pays {
            let is_it = moved.transaction.id == transaction.id && moved.number == number;
            purse.receive(&moved.transfer.amount, is_it);
        } else if pays && !is_paid {
            let part = purse.pay(&moved.transfer.amount);
            if !part.is_zero() {
                let id = moved.transaction.id.clone();
                let next = Some(Coin::Payment(id.clone(), moved.number));
                let step = Step {
                    transaction: id,
                    party: moved.transfer.to.clone(),
                    next,
                };
                steps.push((part, step));
            }
        }
    }
    if !purse.received {
        return Ok(Expansion::unknown());
    }
    let TrackedBalance { scale, left, .. } = purse;
    Ok(Expansion {
        steps: steps
            .into_iter()
            .map(|(part, step)| (scale.numerator(&part), step))
            .collect(),
        resting: scale.numerator(&left) + scale.numerator(&fees),
        ..Expansion::of(scale.whole().clone())
    })
}

/// A balance in which one payment is tracked.
struct TrackedBalance {
    method: Method,
    scale: Scale,
    received: bool,
    value: Amount,
    /// Lots, each with whether it is the tracked payment. Haircut uses only the balance.
    lots: VecDeque<(bool, Amount)>,
    balance: Amount,
    /// The part of the tracked payment that is still in the balance.
    left: Part,
}

impl TrackedBalance {
    fn new(method: Method) -> TrackedBalance {
        let scale = Scale::default();
        TrackedBalance {
            method,
            received: false,
            value: Amount::default(),
            lots: VecDeque::new(),
            balance: Amount::default(),
            left: scale.nothing(),
            scale,
        }
    }

    fn receive(&mut self, amount: &Amount, watched: bool) {
        self.balance += amount;
        self.lots.push_back((watched, amount.clone()));
        if watched {
            self.received = true;
            self.value = amount.clone();
            self.left = self.scale.one();
        }
    }

    /// Pays an amount out and returns the part of the tracked payment that went with it.
    fn pay(&mut self, amount: &Amount) -> Part {
        let before = self.balance.clone();
        self.balance = before.saturating_sub(amount);
        match self.method {
            Method::Fifo | Method::Lifo => {
                let taken = pool::take(&mut self.lots, amount, self.method == Method::Lifo);
                let gone: Amount = taken
                    .iter()
                    .filter(|(watched, _)| *watched)
                    .map(|(_, part)| part)
                    .sum();
                let kept: Amount = self
                    .lots
                    .iter()
                    .filter(|(watched, _)| *watched)
                    .map(|(_, part)| part)
                    .sum();
                let one = self.scale.one();
                self.cut(&one, &gone, &kept, &self.value.clone())
            }
            Method::Haircut => {
                let left = self.left.clone();
                let gone = amount.clone().min(before.clone());
                self.cut(&left, &gone, &self.balance.clone(), &before)
            }
            Method::Poison => {
                let gone = !self.left.is_zero();
                if self.balance.is_zero() {
                    self.left = self.scale.nothing();
                }
                if gone {
                    self.scale.one()
                } else {
                    self.scale.nothing()
                }
            }
        }
    }

    /// Divides a part into what leaves and what stays.
    fn cut(&mut self, part: &Part, gone: &Amount, kept: &Amount, of: &Amount) -> Part {
        let mut pieces = self
            .scale
            .split(part, &[&gone.units(), &kept.units()], &of.units());
        self.left = pieces.pop().unwrap_or_else(|| self.scale.nothing());
        pieces.pop().unwrap_or_else(|| self.scale.nothing())
    }
}
