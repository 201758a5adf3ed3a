//! One step of a trace: from a coin to the parties on its other side, on chains of outputs and of accounts.

use std::collections::VecDeque;

use num_traits::{One, Zero};

use super::{Options, Share};
use crate::amount::Amount;
use crate::category::Category;
use crate::cluster;
use crate::pool::{self, Event, Method};
use crate::source::{Movement, Party, Source, SourceError, Transaction, Transfer, TxId, Window};

/// Money that can be followed from a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Coin {
    /// An output. Backwards: what funded it. Onwards: what it was spent on.
    Output(TxId, u32),
    /// A transfer between accounts. Backwards: the payer's pool before it. Onwards: what the payee did with it.
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

/// A party that money came from or went to.
#[derive(Clone, Debug)]
pub struct Step {
    /// The transaction between.
    pub transaction: TxId,
    /// The party, if known.
    pub party: Option<Party>,
    /// What part of the coin.
    pub weight: Share,
    /// Where the trace would go on; `None`: newly made money, or nowhere.
    pub next: Option<Coin>,
}

/// What lies on the other side of a coin.
#[derive(Default)]
pub(super) struct Ends {
    pub(super) steps: Vec<Step>,
    /// What part stays where it is: unspent, burnt, paid as a fee.
    pub(super) resting: Share,
    /// Everything is absorbed by this.
    pub(super) absorbed: Option<(Category, &'static str, u8)>,
    /// Whether all steps are inputs that one holder signed for.
    pub(super) one_spender: bool,
}

/// How sure it is that a transaction of a CoinJoin's shape is one.
const COINJOIN_CONFIDENCE: u8 = 80;

impl Ends {
    fn absorbed_by(category: Category, name: &'static str, confidence: u8) -> Ends {
        Ends {
            absorbed: Some((category, name, confidence)),
            ..Ends::default()
        }
    }

    fn resting() -> Ends {
        Ends {
            resting: Share::one(),
            ..Ends::default()
        }
    }
}

/// Who funded a coin.
pub(super) fn back(source: &dyn Source, coin: &Coin, options: &Options) -> Result<Ends, SourceError> {
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
                return Ok(Ends::absorbed_by(Category::Mining, "coinbase", 100));
            }
            if options.heuristics && cluster::is_coinjoin(&transaction) {
                return Ok(Ends::absorbed_by(
                    Category::Coinjoin,
                    "CoinJoin",
                    COINJOIN_CONFIDENCE,
                ));
            }
            // An input from before the source's first block: nobody knows what part of the money it was.
            for input in inputs {
                if input.party.is_none() && input.amount.is_zero() {
                    source.transaction(&input.transaction)?;
                }
            }
            let paid: Vec<&Amount> = inputs.iter().map(|input| &input.amount).collect();
            let made: Vec<&Amount> = outputs.iter().map(|output| &output.amount).collect();
            let weights = spread(&made, *output as usize, &paid, options.method);
            let steps = inputs
                .iter()
                .zip(weights)
                .map(|(input, weight)| Step {
                    transaction: transaction.id.clone(),
                    party: input.party.clone(),
                    weight,
                    next: Some(Coin::Output(input.transaction.clone(), input.output)),
                })
                .collect();
            let one_spender = cluster::one_spender(&transaction);
            Ok(Ends {
                steps,
                one_spender,
                ..Ends::default()
            })
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

/// Where a coin went.
pub(super) fn on(source: &dyn Source, coin: &Coin, options: &Options) -> Result<Ends, SourceError> {
    match coin {
        Coin::Output(made_by, output) => {
            let spends = source.spends(made_by)?;
            let Some(Some(spender)) = spends.get(*output as usize) else {
                return Ok(Ends::resting());
            };
            let spender = source.transaction(spender)?;
            let later = options
                .up_to
                .is_some_and(|up_to| spender.position.is_none_or(|at| at > up_to));
            if later {
                return Ok(Ends::resting());
            }
            if options.heuristics && cluster::is_coinjoin(&spender) {
                return Ok(Ends::absorbed_by(
                    Category::Coinjoin,
                    "CoinJoin",
                    COINJOIN_CONFIDENCE,
                ));
            }
            Ok(through(
                &spender,
                |input| input.transaction == *made_by && input.output == *output,
                options.method,
            ))
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

/// Where one input of a transaction went.
fn through(spender: &Transaction, is_it: impl Fn(&crate::source::Input) -> bool, method: Method) -> Ends {
    let Movement::Outputs { inputs, outputs, .. } = &spender.movement else {
        return Ends::default();
    };
    let Some(spent) = inputs.iter().position(is_it) else {
        return Ends::default();
    };
    let paid: Vec<&Amount> = inputs.iter().map(|input| &input.amount).collect();
    let made: Vec<&Amount> = outputs.iter().map(|output| &output.amount).collect();
    let weights = spread(&paid, spent, &made, method);
    let steps: Vec<Step> = outputs
        .iter()
        .zip(0u32..)
        .zip(weights)
        .map(|((output, number), weight)| Step {
            transaction: spender.id.clone(),
            party: output.party.clone(),
            weight,
            next: Some(Coin::Output(spender.id.clone(), number)),
        })
        .collect();
    // In the order of arrival, part of an input may be the miner's fee.
    let resting = match method {
        Method::Fifo | Method::Lifo => Share::one() - steps.iter().map(|step| &step.weight).sum::<Share>(),
        Method::Haircut | Method::Poison => Share::zero(),
    };
    Ends {
        steps,
        resting,
        ..Ends::default()
    }
}

/// How one of `from` is spread over `to`, both being the sides of one transaction: by value, or by matching the two rows
/// of money from the front (or the back).
fn spread(from: &[&Amount], which: usize, to: &[&Amount], method: Method) -> Vec<Share> {
    match method {
        Method::Poison => to
            .iter()
            .map(|amount| {
                if amount.is_zero() {
                    Share::zero()
                } else {
                    Share::one()
                }
            })
            .collect(),
        Method::Haircut => {
            let whole: Amount = to.iter().copied().sum();
            to.iter().map(|amount| amount.part_of(&whole)).collect()
        }
        Method::Fifo | Method::Lifo => {
            let last_first = method == Method::Lifo;
            let Some(wanted) = from.get(which) else {
                return vec![Share::zero(); to.len()];
            };
            let before: Amount = from.iter().take(which).copied().sum();
            let mut row: VecDeque<(usize, Amount)> =
                to.iter().map(|amount| (*amount).clone()).enumerate().collect();
            drop(pool::take(&mut row, &before, last_first));
            let mut weights = vec![Share::zero(); to.len()];
            for (index, part) in pool::take(&mut row, wanted, last_first) {
                weights[index] += part.part_of(wanted);
            }
            weights
        }
    }
}

/// A transfer in an account's history.
struct Moved<'a> {
    transaction: &'a Transaction,
    number: u32,
    transfer: &'a Transfer,
}

/// An account's history in one asset, in order: transfers, and `None` with an amount for a fee.
fn moves<'a>(
    transactions: &'a [std::sync::Arc<Transaction>],
    account: &'a str,
    asset: Option<&'a str>,
) -> impl Iterator<Item = Result<Moved<'a>, &'a Amount>> {
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
                Ok(Moved {
                    transaction,
                    number,
                    transfer,
                })
            })
            .chain(fee.map(Err))
    })
}

/// What a payment consisted of: the payer's balance before it, replayed.
fn pool_behind(
    source: &dyn Source,
    transaction: &Transaction,
    number: u32,
    payment: &Transfer,
    options: &Options,
) -> Result<Ends, SourceError> {
    let Some(payer) = payment.from.as_deref() else {
        return Ok(Ends::absorbed_by(Category::Mining, "coinbase", 100));
    };
    let up_to = transaction.position.or(options.up_to);
    let history = source.history(
        payer,
        Window {
            up_to,
            limit: options.max_history,
        },
    )?;
    if !history.complete {
        // What the balance held before is not known, so nothing can be said about the mixture.
        return Ok(Ends::default());
    }
    let mut lots: Vec<Moved<'_>> = Vec::new();
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
        .filter_map(|(lot, weight)| {
            let moved = lots.get(lot)?;
            let id = moved.transaction.id.clone();
            Some(Step {
                transaction: id.clone(),
                party: moved.transfer.from.clone(),
                weight,
                next: moved
                    .transfer
                    .from
                    .is_some()
                    .then_some(Coin::Payment(id, moved.number)),
            })
        })
        .collect();
    Ok(Ends {
        steps,
        ..Ends::default()
    })
}

/// What a payee did with a payment afterwards.
fn spent_after(
    source: &dyn Source,
    transaction: &Transaction,
    number: u32,
    payment: &Transfer,
    options: &Options,
) -> Result<Ends, SourceError> {
    let Some(payee) = payment.to.as_deref() else {
        return Ok(Ends::resting());
    };
    let history = source.history(
        payee,
        Window {
            up_to: options.up_to,
            limit: options.max_history,
        },
    )?;
    if !history.complete {
        return Ok(Ends::default());
    }
    let mut purse = Purse::new(options.method);
    let mut steps = Vec::new();
    let mut resting = Share::zero();
    for moved in moves(&history.transactions, payee, payment.asset.as_deref()) {
        let moved = match moved {
            Ok(moved) => moved,
            Err(fee) => {
                resting += purse.pay(fee);
                continue;
            }
        };
        let pays = moved.transfer.from.as_deref() == Some(payee);
        let is_paid = moved.transfer.to.as_deref() == Some(payee);
        if is_paid && !pays {
            let is_it = moved.transaction.id == transaction.id && moved.number == number;
            purse.receive(&moved.transfer.amount, is_it);
        } else if pays && !is_paid {
            let weight = purse.pay(&moved.transfer.amount);
            if !weight.is_zero() {
                let id = moved.transaction.id.clone();
                let next = Some(Coin::Payment(id.clone(), moved.number));
                steps.push(Step {
                    transaction: id,
                    party: moved.transfer.to.clone(),
                    weight,
                    next,
                });
            }
        }
    }
    if !purse.received {
        return Ok(Ends::default());
    }
    resting += purse.left();
    Ok(Ends {
        steps,
        resting,
        ..Ends::default()
    })
}

/// A balance in which one payment is watched.
struct Purse {
    method: Method,
    received: bool,
    value: Amount,
    /// Lots, watched or not; for haircut only the balance counts.
    lots: VecDeque<(bool, Amount)>,
    balance: Amount,
    left: Share,
}

impl Purse {
    fn new(method: Method) -> Purse {
        Purse {
            method,
            received: false,
            value: Amount::default(),
            lots: VecDeque::new(),
            balance: Amount::default(),
            left: Share::zero(),
        }
    }

    fn receive(&mut self, amount: &Amount, watched: bool) {
        self.balance += amount;
        self.lots.push_back((watched, amount.clone()));
        if watched {
            self.received = true;
            self.value = amount.clone();
            self.left = Share::one();
        }
    }

    /// Takes an amount out; answers what part of the watched payment went with it.
    fn pay(&mut self, amount: &Amount) -> Share {
        let before = self.balance.clone();
        self.balance = before.saturating_sub(amount);
        match self.method {
            Method::Fifo | Method::Lifo => {
                let taken = pool::take(&mut self.lots, amount, self.method == Method::Lifo);
                let part: Share = taken
                    .iter()
                    .filter(|(watched, _)| *watched)
                    .map(|(_, part)| part.part_of(&self.value))
                    .sum();
                self.left -= &part;
                part
            }
            Method::Haircut => {
                let part = if *amount >= before {
                    self.left.clone()
                } else {
                    &self.left * amount.part_of(&before)
                };
                let part = pool::tame(part);
                self.left -= &part;
                part
            }
            Method::Poison => {
                let part = if self.left.is_zero() {
                    Share::zero()
                } else {
                    Share::one()
                };
                if self.balance.is_zero() {
                    self.left = Share::zero();
                }
                part
            }
        }
    }

    fn left(&self) -> Share {
        self.left.clone()
    }
}
