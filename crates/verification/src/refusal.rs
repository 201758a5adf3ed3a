//! Why a request is refused before anything is verified: a message and texts of the contract (§7), and the kind of
//! refusal, which the server maps to an HTTP status.

/// What kind of refusal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The request's content breaks a rule: 400.
    Invalid,
    /// A restricted jurisdiction: 403.
    Restricted,
    /// A document of a country that cannot be verified: 501.
    NotSupported,
}

/// A request that goes no further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What kind of refusal it is.
    pub reason: Reason,
    /// One sentence.
    pub message: String,
    /// Every fault of the stage, for bodies that carry `errors`.
    pub errors: Vec<String>,
}

impl Refusal {
    /// Message of faulty fields.
    pub const VALIDATION_FAILED: &str = "Validation failed";
    /// Message of unmet requirements of a Flow.
    pub const REQUIRED_FIELDS_MISSING: &str = "Required fields missing";
    /// Message of faulty files.
    pub const FILE_VALIDATION_FAILED: &str = "File validation failed";

    pub(crate) fn new(reason: Reason, message: impl Into<String>, errors: Vec<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            errors,
        }
    }

    /// 400 with `Validation failed`.
    pub fn validation(errors: Vec<String>) -> Self {
        Self::new(Reason::Invalid, Self::VALIDATION_FAILED, errors)
    }

    /// `Ok` when nothing is wrong, else 400 with the message.
    pub(crate) fn unless_empty(message: &str, errors: Vec<String>) -> Result<(), Self> {
        if errors.is_empty() {
            Ok(())
        } else {
            Err(Self::new(Reason::Invalid, message, errors))
        }
    }
}
