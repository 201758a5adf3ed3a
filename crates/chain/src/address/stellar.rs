//! Stellar's strkeys (SEP-23): accounts, muxed accounts, contracts, claimable balances and liquidity pools.

use stellar_strkey::{ClaimableBalance, DecodeError, Strkey, ed25519};

use super::form::{Address, AddressError, Kind};
use crate::currency::Currency;

pub(super) fn parse(text: &str) -> Result<Address, AddressError> {
    let address = |kind, payload: &[u8]| Ok(Address::new(Currency::Xlm, kind, text, payload));
    match Strkey::from_string(text) {
        Ok(Strkey::PublicKeyEd25519(key)) => address(Kind::Account, &key.0),
        Ok(Strkey::MuxedAccountEd25519(muxed)) => {
            let account = ed25519::PublicKey(muxed.ed25519);
            let payload = [muxed.ed25519.as_slice(), &muxed.id.to_be_bytes()].concat();
            let canonical = account.to_string();
            Ok(Address::new(
                Currency::Xlm,
                Kind::Muxed,
                canonical.as_str(),
                payload,
            ))
        }
        Ok(Strkey::Contract(contract)) => address(Kind::Contract, &contract.0),
        Ok(Strkey::LiquidityPool(pool)) => address(Kind::LiquidityPool, &pool.0),
        Ok(Strkey::ClaimableBalance(ClaimableBalance::V0(id))) => {
            address(Kind::ClaimableBalance, &[&[0], id.as_slice()].concat())
        }
        Ok(Strkey::PreAuthTx(_)) => Err(AddressError::Form(
            "is a pre-authorised transaction, not an address",
        )),
        Ok(Strkey::HashX(_)) => Err(AddressError::Form("is a signer's hash, not an address")),
        Ok(Strkey::SignedPayloadEd25519(_)) => Err(AddressError::Form("is a signed payload, not an address")),
        Ok(_) => Err(AddressError::Form("is of a kind that cannot be screened")),
        Err(DecodeError::ChecksumMismatch) => Err(AddressError::Checksum),
        Err(_) => Err(AddressError::Form("is no Stellar address (G…, M…, C…, B… or L…)")),
    }
}

/// The text of the address of a public key.
pub(super) fn account(key: &[u8; 32]) -> String {
    ed25519::PublicKey(*key).to_string().as_str().to_owned()
}
