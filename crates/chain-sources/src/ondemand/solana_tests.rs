//! A fake Solana node with a few transactions: balances become exact transfers, and each bad response has its
//! error.

use std::sync::atomic::AtomicUsize;

use chain::amount::Amount;
use chain::category::Category;
use chain::currency::Currency;
use chain::labels::{Label, Labels};
use chain::profile::Profile;
use chain::screen::{Request, Subject, screen_address, screen_transaction};
use chain::source::Movement;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::tests::told;
use super::*;
use crate::rpc::Rpc;

fn holder(number: u8) -> String {
    bs58::encode([number; 32]).into_string()
}

fn signature(number: u8) -> String {
    bs58::encode([number; 64]).into_string()
}

/// A transaction with its accounts' balances before and after; the first account pays the fee.
#[derive(Clone)]
struct FakeTransaction {
    slot: u64,
    accounts: Vec<(u8, u64, u64)>,
    fee: u64,
    tokens: Value,
}

fn paying(slot: u64, from: u8, to: u8, amount: u64) -> FakeTransaction {
    FakeTransaction {
        slot,
        accounts: vec![
            (from, 10_000_000, 10_000_000 - amount - 5000),
            (to, 7, 7 + amount),
        ],
        fee: 5000,
        tokens: json!([[], []]),
    }
}

struct FakeNode {
    /// From oldest to newest; numbered from 1.
    made: Vec<FakeTransaction>,
    requests: AtomicUsize,
}

impl FakeNode {
    fn transaction(&self, id: &str) -> Value {
        let place = (0..self.made.len()).find(|place| signature(u8::try_from(place + 1).unwrap()) == id);
        let Some(place) = place else {
            return Value::Null;
        };
        let made = &self.made[place];
        let keys: Vec<String> = made
            .accounts
            .iter()
            .map(|(account, ..)| holder(*account))
            .collect();
        let before: Vec<u64> = made.accounts.iter().map(|(_, before, _)| *before).collect();
        let after: Vec<u64> = made.accounts.iter().map(|(.., after)| *after).collect();
        // The last account comes from an address lookup table.
        let (own, loaded) = keys.split_at(keys.len() - 1);
        json!({"slot": made.slot, "blockTime": 1_700_000_000 + made.slot, "version": 0, "unknown": [1],
            "transaction": {"signatures": [id], "message": {"accountKeys": own, "instructions": [],
                "header": {"numRequiredSignatures": 1, "numReadonlySignedAccounts": 0}}},
            "meta": {"err": null, "fee": made.fee, "preBalances": before, "postBalances": after,
                "preTokenBalances": made.tokens[0], "postTokenBalances": made.tokens[1],
                "loadedAddresses": {"writable": loaded, "readonly": []}}})
    }

    fn result(&self, call: &Value) -> Value {
        let text = call["params"][0].as_str().unwrap_or_default();
        match call["method"].as_str().unwrap() {
            "getLatestBlockhash" => {
                json!({"context": {"slot": 900}, "value": {"blockhash": "tip", "lastValidBlockHeight": 1}})
            }
            "getTransaction" => self.transaction(text),
            "getSignaturesForAddress" => {
                let concerned =
                    self.made.iter().enumerate().rev().filter(|(_, made)| {
                        made.accounts.iter().any(|(account, ..)| holder(*account) == text)
                    });
                let ids = concerned.map(|(place, _)| signature(u8::try_from(place + 1).unwrap()));
                let before = call["params"][1]["before"].as_str();
                let after: Vec<String> = match before {
                    None => ids.collect(),
                    Some(before) => ids.skip_while(|id| id != before).skip(1).collect(),
                };
                after
                    .iter()
                    .map(|id| json!({"signature": id, "slot": 1, "err": null}))
                    .collect()
            }
            other => panic!("{other}"),
        }
    }
}

impl Transport for FakeNode {
    fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let body: Value = serde_json::from_str(request.body.as_ref().unwrap()).unwrap();
        let reply = |call: &Value| json!({"jsonrpc": "2.0", "id": call["id"], "result": self.result(call)});
        let answer = match &body {
            Value::Array(calls) => calls.iter().map(reply).collect(),
            call => reply(call),
        };
        Ok(HttpResponse {
            status: 200,
            body: answer.to_string().into_bytes(),
        })
    }
}

struct OneLabel;

impl Labels for OneLabel {
    fn labels(&self, _chain: Currency, address: &str, _at: i64) -> Vec<Label> {
        let label = Label {
            name: "Mixer".to_owned(),
            category: Category::Mixer,
            source: "test".to_owned(),
            confidence: 90,
            valid_from: None,
            valid_to: None,
            authority: false,
        };
        if address == holder(1) {
            vec![label]
        } else {
            Vec::new()
        }
    }

    fn version(&self) -> String {
        "test".to_owned()
    }
}

fn index(made: Vec<FakeTransaction>) -> OnDemand {
    let played = Arc::new(FakeNode {
        made,
        requests: AtomicUsize::new(0),
    });
    OnDemand::new(
        Box::new(Solana::new(Rpc::new("http://node"))),
        played,
        Budget::default(),
    )
}

#[test]
fn money_is_followed_and_the_contracts_members_are_there() {
    let token = |place: usize, owner: u8, amount: &str| {
        json!({"accountIndex": place, "mint": holder(9), "owner": holder(owner), "programId": "p",
            "uiTokenAmount": {"amount": amount, "decimals": 2, "uiAmount": 1.0, "uiAmountString": "1"}})
    };
    let mut last = paying(30, 3, 4, 1_000_000);
    last.tokens = json!([
        [token(0, 3, "340282366920938463463374607431768211456")],
        [token(1, 4, "340282366920938463463374607431768211456")]
    ]);
    // The mixer pays 2, 2 pays 3 in the same slot, and 3 pays 4.
    let index = index(vec![
        paying(20, 1, 2, 5_000_000),
        paying(20, 2, 3, 4_000_000),
        last,
    ]);
    let profile = Profile::built_in();
    let address = holder(4);
    let request = Request::new(Currency::Sol, Subject::Address(&address));
    let detail = told(&screen_address(&index.screening().unwrap(), &OneLabel, &profile, &request).unwrap());
    assert_eq!(detail["receivedAmount"], "0.001");
    assert_eq!(detail["exposures"]["entity"][0]["name"], "Mixer", "{detail}");
    assert_eq!(detail["exposures"]["entity"][0]["minHops"], 3);
    assert_eq!(detail["exposures"]["asOfBlock"], 900);

    let id = signature(3);
    let request = Request::new(Currency::Sol, Subject::Transaction(&id));
    let detail =
        told(&screen_transaction(&index.screening().unwrap(), &OneLabel, &profile, &request).unwrap());
    assert_eq!(detail["fees"], "0.000005");
    assert_eq!(detail["listSigner"], json!([holder(3)]));
    assert_eq!(
        detail["solBalChange"],
        json!([{"address": holder(3), "change": "-0.001"}, {"address": holder(4), "change": "0.001"}])
    );
    let tokens = detail["tokenBalChange"].as_array().unwrap();
    assert_eq!(tokens[1]["change"], "3402823669209384634633746074317682114.56");
    assert_eq!(tokens[0]["mint"], holder(9));
    let unknown = index.screening().unwrap().transaction(&signature(77));
    assert_eq!(unknown, Err(SourceError::NotFound));
}

#[test]
fn a_history_beyond_the_limit_says_so() {
    let index = index((0..5).map(|slot| paying(slot, 1, 2, 10)).collect());
    let source = index.screening().unwrap();
    let window = |limit| Window { up_to: None, limit };
    let part = source.history(&holder(2), window(4)).unwrap();
    assert!(!part.complete && part.totals.is_none());
    let whole = source.history(&holder(2), window(5)).unwrap();
    assert_eq!((whole.complete, whole.transactions.len()), (true, 5));
}

proptest! {
    #[test]
    fn what_was_lost_was_gained_to_the_last_lamport(balances in prop::collection::vec((0u64..1_000_000, 0u64..1_000_000), 1..9)) {
        let accounts: Vec<(u8, u64, u64)> = (1u8..).zip(&balances).map(|(number, (before, after))| (number, *before, *after)).collect();
        let index = index(vec![FakeTransaction { slot: 1, accounts: accounts.clone(), fee: 0, tokens: json!([null, null]) }]);
        let made = index.screening().unwrap().transaction(&signature(1)).unwrap();
        let Movement::Transfers(transfers) = &made.movement else { unreachable!() };
        for (number, before, after) in accounts {
            let party = holder(number);
            let sum = |side: fn(&chain::source::Transfer) -> &Option<chain::source::Party>| -> Amount {
                transfers.iter().filter(|transfer| side(transfer).as_deref() == Some(&*party)).map(|transfer| &transfer.amount).sum()
            };
            prop_assert_eq!(sum(|transfer| &transfer.from), Amount::from(before.saturating_sub(after)));
            prop_assert_eq!(sum(|transfer| &transfer.to), Amount::from(after.saturating_sub(before)));
        }
        prop_assert!(transfers.iter().all(|transfer| !transfer.amount.is_zero()));
    }
}

/// Answers every request with the same value.
struct Always(Value);

impl Transport for Always {
    fn send(&self, _request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        Ok(HttpResponse {
            status: 200,
            body: json!({"id": 0, "result": self.0}).to_string().into_bytes(),
        })
    }
}

#[test]
fn bad_answers_are_told_apart() {
    let good = FakeNode {
        made: vec![paying(1, 1, 2, 10)],
        requests: AtomicUsize::new(0),
    }
    .transaction(&signature(1));
    let changed = |pointer: &str, value: Value| {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed
    };
    for (answer, expected) in [
        (json!(7), "a member is missing or of another type"),
        (
            changed("/transaction/signatures", json!(["other"])),
            "another transaction",
        ),
        (changed("/meta", Value::Null), "without its balances"),
        (
            changed("/meta/preBalances", json!([1])),
            "not one balance for each account",
        ),
        (
            changed("/meta/fee", json!(-1)),
            "a member is missing or of another type",
        ),
        (
            changed(
                "/meta/preBalances",
                serde_json::from_str("[18446744073709551616, 1]").unwrap(),
            ),
            "a member is missing or of another type",
        ),
        (
            changed(
                "/meta/preTokenBalances",
                json!([{"accountIndex": 7, "mint": "m", "uiTokenAmount": {"amount": "1", "decimals": 0}}]),
            ),
            "not among the accounts",
        ),
        (
            changed(
                "/meta/preTokenBalances",
                json!([{"accountIndex": 0, "mint": "m", "uiTokenAmount": {"amount": "1.5", "decimals": 0}}]),
            ),
            "no whole number",
        ),
    ] {
        let transport = Always(answer);
        let calls = Calls::new(&transport, Budget::default());
        let provider = Solana::new(Rpc::new("http://node"));
        let error = provider.transaction(&calls, &signature(1)).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}
