//! The error text for a user who sent a secret. It never repeats the secret.

/// A key that cannot move money but reveals every address of its wallet.
pub(super) const EXTENDED_PUBLIC_KEY: &str =
    "an extended public key, which shows every address of its wallet";

/// Why a field's text is refused; the text follows the field's name.
pub fn refusal(kind: &str) -> String {
    if kind == EXTENDED_PUBLIC_KEY {
        return format!("is {kind}: send one of those addresses, and keep the key to yourself");
    }
    format!(
        "is a secret or holds one ({kind}): never send it to anybody; move what it guards to a new key, for this one has \
         left its wallet"
    )
}
