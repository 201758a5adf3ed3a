//! Translates other words for categories into ours: the taxonomies of GraphSense and INTERPOL, Etherscan's
//! word clouds.

use crate::category::Category;

/// Our category for a word; case, spaces, hyphens and a plural s do not matter. `None` for an unknown word.
pub(super) fn category(word: &str) -> Option<Category> {
    let word: String = word
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    one(&word).or_else(|| one(word.strip_suffix('s')?))
}

/// The same for a word in lower case without separators.
fn one(word: &str) -> Option<Category> {
    let ours = Category::ALL
        .into_iter()
        .find(|category| category.as_str().bytes().filter(|b| *b != b'_').eq(word.bytes()));
    ours.or_else(|| others(word))
}

fn others(word: &str) -> Option<Category> {
    Some(match word {
        "sanction" | "sanctioned" => Category::Sanctions,
        "terrorism" | "terroristfinancing" | "terrorist" => Category::TerrorismFinancing,
        "csam" | "childabuse" | "childsexualabuse" | "childsexualabusematerial" => {
            Category::ChildExploitation
        }
        "ransom" => Category::Ransomware,
        "servicehack" | "hack" | "theft" | "stolen" | "cybersecurityservicehack" => Category::StolenFunds,
        "darknet" | "darkweb" | "darknetmarketplace" | "darknetservice" | "darknetcrime" => {
            Category::DarknetMarket
        }
        "phishing" | "ponzischeme" | "pyramidscheme" | "scamming" | "fraud" | "extortion" | "sextortion"
        | "investmentfraud" | "romancescam" | "impersonation" | "giveaway" | "rugpull" | "honeypot"
        | "phishhack" | "falseadvertising" => Category::Scam,
        "mixingservice" | "mixing" | "tumbler" => Category::Mixer,
        "sharedcustodywalletcoinjoin" => Category::Coinjoin,
        "casino" | "lottery" | "betting" => Category::Gambling,
        "highriskexchange" | "exchangenokyc" | "nokycexchange" | "p2pexchangenokyc" => {
            Category::ExchangeHighRisk
        }
        "bridge" | "crosschainbridge" => Category::DefiBridge,
        "cex" | "hostedexchange" | "atm" | "otc" | "broker" => Category::Exchange,
        "miner" | "miningservice" | "miningpool" => Category::Mining,
        // Known, but not a risk in itself.
        "alternativefunding"
        | "charity"
        | "custodian"
        | "defi"
        | "defidex"
        | "defilending"
        | "dex"
        | "donation"
        | "extremism"
        | "faucet"
        | "hosting"
        | "hostedwallet"
        | "individual"
        | "market"
        | "marketplace"
        | "merchant"
        | "organization"
        | "organisation"
        | "paymentprocessor"
        | "paymentservice"
        | "service"
        | "shop"
        | "smartcontract"
        | "stablecoinblacklist"
        | "tokencontract"
        | "unknown"
        | "unnamedservice"
        | "user"
        | "vpn"
        | "wallet"
        | "walletservice" => Category::Other,
        _ => return None,
    })
}

/// The categories of a label, which may state both the owner and a crime. Never empty.
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

/// The confidence of GraphSense's words for a tag's origin, in percent; [`UNKNOWN_ORIGIN`] for an unknown
/// word.
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

/// The confidence of a tag whose pack does not state its origin, in percent.
pub(super) const UNKNOWN_ORIGIN: u8 = 5;

/// The chain of a currency's or network's name. It has native currencies only; for tokens the address's
/// syntax decides.
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

/// Tokens that exist on several chains, so that only the address determines the chain.
pub(super) fn is_token(word: &str) -> bool {
    matches!(
        word.trim().to_ascii_uppercase().as_str(),
        "USDT" | "USDC" | "BUSD" | "DAI" | "TUSD" | "WBTC"
    )
}
