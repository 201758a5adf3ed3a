//! The contract's words for outcomes: the status of an attempt, a reviewer's decision, the status of a Group.
//! `verification` decides with them and `store` writes them into rows. This module contains no rules.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A text that is not a word of the enum. The error never contains the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown {enumeration}")]
pub struct UnknownWord {
    /// What the text should have been, such as `attempt status`.
    pub enumeration: &'static str,
}

/// Defines an enum whose values are the contract's words, with the conversions from and to text.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident ($enumeration:literal) {
        $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum $name { $($(#[$variant_meta])* $variant,)+ }

        impl $name {
            /// Every value, in the order of the contract.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The contract's word for it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<Self, UnknownWord> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(UnknownWord { enumeration: $enumeration }),
                }
            }
        }
    };
}

words! {
    /// The outcome of one attempt; a registration has the same, or none.
    AttemptStatus("attempt status") {
        /// Passed, or approved by a reviewer.
        Approved = "approved",
        /// Declined by a reviewer.
        Declined = "declined",
        /// Rejected by the pipeline.
        Failed = "failed",
        /// Awaiting review.
        Pending = "pending",
    }
}

words! {
    /// What a reviewer can decide about an attempt.
    Decision("decision") {
        /// The attempt passes.
        Approve = "approve",
        /// The attempt does not pass; a reason is required.
        Decline = "decline",
        /// The attempt must be reviewed again.
        Reopen = "reopen",
    }
}

words! {
    /// Whether a Group is shown as active.
    #[derive(Default)]
    GroupStatus("group status") {
        /// The default.
        #[default]
        Active = "active",
        /// The Group continues to work and is only shown as inactive.
        Inactive = "inactive",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that every conversion uses the value's one word and that any other text is an error.
    macro_rules! check {
        ($name:ident, $enumeration:literal, [$(($value:ident, $word:literal)),+ $(,)?]) => {{
            assert_eq!($name::ALL, [$($name::$value),+]);
            for (value, word) in [$(($name::$value, $word)),+] {
                assert_eq!(value.as_str(), word);
                assert_eq!(value.to_string(), word);
                assert_eq!(word.parse(), Ok(value));
                assert_eq!(serde_json::to_value(value).expect("a word"), word);
                assert_eq!(serde_json::from_value::<$name>(word.into()).expect("a word"), value);
            }
            let first = $name::ALL[0].as_str();
            for text in ["", "unknown", &first.to_uppercase(), &format!(" {first}"), &format!("{first}\0")] {
                let unknown = UnknownWord { enumeration: $enumeration };
                assert_eq!(text.parse::<$name>(), Err(unknown), "{text:?}");
                assert!(serde_json::from_value::<$name>(text.into()).is_err(), "{text:?}");
            }
        }};
    }

    #[test]
    fn every_status_has_one_word() {
        check!(
            AttemptStatus,
            "attempt status",
            [
                (Approved, "approved"),
                (Declined, "declined"),
                (Failed, "failed"),
                (Pending, "pending"),
            ]
        );
        check!(
            Decision,
            "decision",
            [(Approve, "approve"), (Decline, "decline"), (Reopen, "reopen")]
        );
        check!(
            GroupStatus,
            "group status",
            [(Active, "active"), (Inactive, "inactive")]
        );
        assert_eq!(GroupStatus::default(), GroupStatus::Active);
    }
}
