//! Appends and rolls back blocks, each in one atomic batch. Nothing here answers queries.

use chain::amount::Amount;
use chain::coinjoin;
use chain::source::{Input, Movement, Output, Party, Position, Tip, Transaction, TxId};
use fjall::OwnedWriteBatch as Batch;
use rustc_hash::{FxHashMap, FxHashSet};

use super::entries::{Entries, id_key, party_entry, party_key, sides, spend_key};
use super::record::{Damaged, Record, Visit};
use super::{Block, Graph, GraphError, NewBlock, NewMovement, NewTransaction, State};
use crate::ingest::blk::begins_chain;

impl Graph {
    /// Appends the block that follows the tip; the first block may have any height.
    ///
    /// # Errors
    /// [`GraphError::NotNext`] when the block does not follow the tip. Otherwise the store failed and nothing
    /// was changed.
    pub fn append(&self, block: &NewBlock) -> Result<(), GraphError> {
        let mut state = self.state();
        if let Some((height, tip)) = &state.tip
            && (block.height != height + 1 || block.previous != tip.hash)
        {
            return Err(GraphError::NotNext);
        }
        let appended = self.append_to(&mut state, block);
        if appended.is_err() {
            state.forget();
        }
        state.outputs.turn();
        state.totals.turn();
        appended
    }

    fn append_to(&self, state: &mut State, block: &NewBlock) -> Result<(), GraphError> {
        let mut entries = Entries::of(block.transactions.len());
        let first = state.next;
        let mut fresh: FxHashMap<TxId, u64> = FxHashMap::default();
        for (number, (new, index)) in (first..).zip(block.transactions.iter().zip(0u32..)) {
            let hides = match fresh.get(&new.id) {
                Some(number) => Some(*number),
                None => self.number(&new.id)?,
            };
            let movement = self.resolve(state, &mut entries, number, new)?;
            let mut transaction = match movement {
                Movement::Outputs { inputs, outputs, .. } => {
                    Transaction::of_outputs(new.id.clone(), inputs, outputs)
                }
                Movement::Transfers(transfers) => Transaction::of_transfers(new.id.clone(), transfers),
            };
            transaction.position = Some(Position {
                height: block.height,
                index,
            });
            transaction.time = block.time;
            transaction.fee = new.fee.clone().or(transaction.fee);
            transaction.fee_payer.clone_from(&new.fee_payer);
            transaction.extra.clone_from(&new.extra);
            self.count(state, &mut entries, number, &transaction)?;
            fresh.insert(new.id.clone(), number);
            entries.records.push(Record { transaction, hides }.write());
        }
        let ids = fresh.into_iter();
        entries.ids.extend(ids.map(|(id, number)| (id_key(&id), number)));
        let count = block.transactions.len() as u64;
        let remembered = Block {
            hash: block.hash.clone(),
            previous: block.previous.clone(),
            time: block.time,
            first,
            count,
        };
        let text = serde_json::to_vec(&remembered).map_err(|_| Damaged)?;
        let mut batch = self.database.batch();
        entries.write(self, first, &mut batch);
        batch.insert(&self.blocks, block.height.to_be_bytes(), text);
        batch.commit()?;
        if state.tip.is_none() {
            state.first_height = block.height;
            state.from_first = begins_chain(self.currency, block.height, &block.previous);
        }
        state.tip = Some((block.height, remembered));
        state.next = first + count;
        Ok(())
    }

    /// Adds a transaction to the history of every party in it.
    fn count(
        &self,
        state: &mut State,
        entries: &mut Entries,
        number: u64,
        transaction: &Transaction,
    ) -> Result<(), GraphError> {
        let spenders: FxHashSet<&Party> = coinjoin::spenders(transaction).into_iter().collect();
        let only_tokens = transaction.only_tokens();
        for (party, side) in sides(transaction) {
            let key = party_key(party);
            let before = match state.totals.take(&key) {
                Some(known) => Some(known),
                None => self.totals(&key)?,
            };
            if before.is_none() {
                entries.parties.push(key);
            }
            let mut totals = before.unwrap_or_default();
            totals += &side;
            let visit = Visit {
                together: spenders.contains(party),
                totals,
            };
            let visits = match only_tokens.contains(party) {
                true => &mut entries.tokens,
                false => &mut entries.visits,
            };
            visits.push((party_entry(&key, number), visit.write()));
            state.totals.put(key, visit.totals);
        }
        Ok(())
    }

    /// Resolves a transaction's inputs, records its spends, and caches its outputs.
    fn resolve(
        &self,
        state: &mut State,
        entries: &mut Entries,
        number: u64,
        new: &NewTransaction,
    ) -> Result<Movement, GraphError> {
        let (mut inputs, made) = match &new.movement {
            NewMovement::OutputsWithInputs(told, made) => (told.clone(), made),
            // A graph that begins in the middle of a chain lacks older outputs, so their owners and amounts
            // are unknown.
            NewMovement::Outputs(spent, made) => {
                let unknown = |(id, output): &(TxId, u32)| Input {
                    transaction: id.clone(),
                    output: *output,
                    party: None,
                    amount: Amount::default(),
                };
                (spent.iter().map(unknown).collect::<Vec<Input>>(), made)
            }
            NewMovement::Transfers(transfers) => return Ok(Movement::Transfers(transfers.clone())),
        };
        for input in &mut inputs {
            let known = match state.outputs.take(&(input.transaction.clone(), input.output)) {
                Some(known) => Some(known),
                None => self.output(&input.transaction, input.output)?,
            };
            if let Some((maker, known)) = known {
                entries.spends.push((spend_key(maker, input.output), number));
                input.party = known.party;
                input.amount = known.amount;
            }
        }
        for (output, place) in made.iter().zip(0u32..) {
            state
                .outputs
                .put((new.id.clone(), place), (number, output.clone()));
        }
        let coinbase = inputs.is_empty();
        Ok(Movement::Outputs {
            coinbase,
            inputs,
            outputs: made.clone(),
        })
    }

    fn output(&self, id: &str, output: u32) -> Result<Option<(u64, Output)>, GraphError> {
        let mut maker = self.number(id)?;
        while let Some(number) = maker {
            let Record { transaction, hides } = self.record(number)?;
            if let Movement::Outputs { outputs, .. } = transaction.movement
                && let Some(output) = outputs.into_iter().nth(output as usize)
            {
                return Ok(Some((number, output)));
            }
            // The id belonged to another transaction before.
            maker = hides;
        }
        Ok(None)
    }

    /// Removes the newest block, which restores the earlier state exactly. Returns the new tip.
    ///
    /// # Errors
    /// When the store fails; nothing was changed then.
    pub fn roll_back(&self) -> Result<Option<Tip>, GraphError> {
        let mut state = self.state();
        let Some((height, block)) = state.tip.clone() else {
            return Ok(None);
        };
        let mut batch = self.database.batch();
        for number in (block.first..block.first + block.count).rev() {
            let Record { transaction, hides } = self.record(number)?;
            if let Movement::Outputs { inputs, .. } = &transaction.movement {
                for input in inputs {
                    if let Some(spend) = self.spend_by(input, number)? {
                        batch.remove(&self.spends, spend);
                    }
                }
            }
            let only_tokens = transaction.only_tokens();
            for party in sides(&transaction).into_keys() {
                let key = party_key(party);
                let entry = party_entry(&key, number);
                let visits = match only_tokens.contains(party) {
                    true => &self.tokens,
                    false => &self.visits,
                };
                let visit = Visit::read(&visits.get(entry)?.ok_or(Damaged)?)?;
                batch.remove(visits, entry);
                if visit.totals.transactions == 1 {
                    batch.remove(&self.parties, key);
                }
            }
            match hides {
                Some(older) if older < block.first => {
                    batch.insert(&self.ids, id_key(&transaction.id), older.to_be_bytes());
                }
                _ => batch.remove(&self.ids, id_key(&transaction.id)),
            }
            batch.remove(&self.records, number.to_be_bytes());
        }
        batch.remove(&self.blocks, height.to_be_bytes());
        batch.commit()?;
        state.forget();
        state.next = block.first;
        state.tip = match height.checked_sub(1) {
            Some(before) => self.block(before)?.map(|block| (before, block)),
            None => None,
        };
        drop(state);
        Ok(self.newest())
    }

    /// The key of a transaction's spend. The spent id may belong to another transaction now.
    fn spend_by(&self, input: &Input, spender: u64) -> Result<Option<[u8; 12]>, GraphError> {
        let mut maker = self.number(&input.transaction)?;
        while let Some(made) = maker {
            let key = spend_key(made, input.output);
            if self
                .spends
                .get(key)?
                .is_some_and(|by| *by == spender.to_be_bytes())
            {
                return Ok(Some(key));
            }
            maker = self.record(made)?.hides;
        }
        Ok(None)
    }
}

impl Entries {
    /// Adds the entries to a batch; the records are numbered from `first`.
    fn write(mut self, graph: &Graph, first: u64, batch: &mut Batch) {
        self.ids.sort_unstable();
        self.parties.sort_unstable();
        self.visits.sort_unstable();
        self.tokens.sort_unstable();
        self.spends.sort_unstable();
        for (number, record) in (first..).zip(self.records) {
            batch.insert(&graph.records, number.to_be_bytes(), record);
        }
        for (id, number) in self.ids {
            batch.insert(&graph.ids, id, number.to_be_bytes());
        }
        for party in self.parties {
            batch.insert(&graph.parties, party, []);
        }
        for (key, visit) in self.visits {
            batch.insert(&graph.visits, key, visit);
        }
        for (key, visit) in self.tokens {
            batch.insert(&graph.tokens, key, visit);
        }
        for (spend, number) in self.spends {
            batch.insert(&graph.spends, spend, number.to_be_bytes());
        }
    }
}
