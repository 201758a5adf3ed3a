//! Other people's words for what an address is, in ours: GraphSense's and INTERPOL's taxonomies, Etherscan's word clouds.

use crate::category::Category;

/// Our categories of a word; `None` for one that says nothing about risk that we know of.
pub(super) fn category(word: &str) -> Option<Category> {
    let word = word.trim().to_ascii_lowercase().replace([' ', '-'], "_");
    if let Ok(category) = word.parse() {
        return Some(category);
    }
    Some(match word.as_str() {
        "sanction" | "sanctioned" => Category::Sanctions,
        "terrorism" | "terrorist_financing" | "terrorist" => Category::TerrorismFinancing,
        "csam" | "child_abuse" | "child_sexual_abuse" | "child_sexual_abuse_material" => {
            Category::ChildExploitation
        }
        "ransom" => Category::Ransomware,
        "service_hack" | "hack" | "hacks" | "theft" | "stolen" | "cyber_security_service_hack" => {
            Category::StolenFunds
        }
        "darknet" | "dark_web" | "darkweb" | "darknet_marketplace" | "darknet_service" | "darknet_crime" => {
            Category::DarknetMarket
        }
        "phishing" | "ponzi_scheme" | "pyramid_scheme" | "scamming" | "fraud" | "extortion"
        | "sextortion" | "investment_fraud" | "romance_scam" | "impersonation" | "giveaway" | "rug_pull"
        | "honeypot" | "phish_hack" | "false_advertising" => Category::Scam,
        "mixing_service" | "mixing" | "tumbler" => Category::Mixer,
        "coin_join" | "shared_custody_wallet_coinjoin" => Category::Coinjoin,
        "casino" | "lottery" | "betting" => Category::Gambling,
        "high_risk_exchange" | "exchange_no_kyc" | "no_kyc_exchange" | "p2p_exchange_no_kyc" => {
            Category::ExchangeHighRisk
        }
        "bridge" | "cross_chain_bridge" => Category::DefiBridge,
        "exchanges" | "cex" | "hosted_exchange" | "atm" | "otc" | "broker" => Category::Exchange,
        "miner" | "mining_service" | "mining_pool" | "miners" => Category::Mining,
        "" => return None,
        _ => Category::Other,
    })
}

/// The categories of a label that may say two things at once: whom it belongs to, and what crime it is part of.
/// Never empty.
pub(super) fn categories<'a>(words: impl IntoIterator<Item = &'a str>, text: &str) -> Vec<Category> {
    let mut found: Vec<Category> = words.into_iter().filter_map(category).collect();
    if text.to_ascii_lowercase().contains("sanction") {
        found.push(Category::Sanctions);
    }
    if found.iter().any(|category| *category != Category::Other) {
        found.retain(|category| !matches!(category, Category::Other | Category::Unattributed));
    }
    found.sort();
    found.dedup();
    if found.is_empty() {
        found.push(Category::Other);
    }
    found
}

/// How sure GraphSense's words for the origin of a tag are, in percent; [`UNKNOWN_ORIGIN`] for an unknown one.
pub(super) fn confidence(word: &str) -> u8 {
    match word.trim() {
        "ownership" | "proven" => 100,
        "manual_transaction" => 80,
        "service_api" => 70,
        "authority_data" => 60,
        "service_data" | "forensic" | "trusted_provider" => 50,
        "untrusted_transaction" | "forensic_investigation" => 40,
        "web_crawl" => 20,
        "heuristic" => 10,
        _ => UNKNOWN_ORIGIN,
    }
}

/// The confidence of a tag whose pack does not say where it comes from.
pub(super) const UNKNOWN_ORIGIN: u8 = 5;

/// The chain that a currency's or network's name means, native currencies only: a token's holder is told by syntax.
pub(super) fn chain(word: &str) -> Option<crate::currency::Currency> {
    use crate::currency::Currency;
    let word = word.trim().to_ascii_lowercase();
    if let Ok(currency) = word.parse() {
        return Some(currency);
    }
    Some(match word.as_str() {
        "xbt" | "bitcoin" => Currency::Btc,
        "ethereum" | "erc20" => Currency::Eth,
        "litecoin" => Currency::Ltc,
        "bcc" | "bitcoin cash" | "bitcoin_cash" => Currency::Bch,
        "ripple" => Currency::Xrp,
        "stellar" => Currency::Xlm,
        "dogecoin" => Currency::Doge,
        "zcash" => Currency::Zec,
        "bep20" | "binance smart chain" => Currency::Bsc,
        "cardano" => Currency::Ada,
        "stacks" => Currency::Stx,
        "xinfin" => Currency::Xdc,
        "syscoin" => Currency::Sys,
        "solana" => Currency::Sol,
        "tron" | "trc20" => Currency::Trx,
        _ => return None,
    })
}

/// Tokens that live on several chains, so that only the address says on which.
pub(super) fn is_token(word: &str) -> bool {
    matches!(
        word.trim().to_ascii_uppercase().as_str(),
        "USDT" | "USDC" | "BUSD" | "DAI" | "TUSD" | "WBTC"
    )
}
