//! Why a request is refused before verification: a message and texts of the contract (§7), and the kind of
//! refusal. The server maps the kind to an HTTP status.

/// The kind of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The request's content breaks a rule: 400.
    Invalid,
    /// A restricted jurisdiction: 403.
    Restricted,
    /// Documents of this country and type cannot be verified: 501.
    NotSupported,
}

/// The refusal of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The kind of refusal.
    pub reason: RefusalKind,
    /// One sentence.
    pub message: String,
    /// Every fault of the stage, for responses with `errors`.
    pub errors: Vec<String>,
}

impl Refusal {
    /// Message for invalid fields.
    pub const VALIDATION_FAILED: &str = "Validation failed";
    /// Message for unmet requirements of a Flow.
    pub const REQUIRED_FIELDS_MISSING: &str = "Required fields missing";
    /// Message for invalid files.
    pub const FILE_VALIDATION_FAILED: &str = "File validation failed";

    pub(crate) fn new(reason: RefusalKind, message: impl Into<String>, errors: Vec<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            errors,
        }
    }

    /// 400 with `Validation failed`.
    pub fn validation(errors: Vec<String>) -> Self {
        Self::new(RefusalKind::Invalid, Self::VALIDATION_FAILED, errors)
    }

    /// `Ok` without faults, otherwise 400 with the message.
    pub(crate) fn unless_empty(message: &str, errors: Vec<String>) -> Result<(), Self> {
        if errors.is_empty() {
            Ok(())
        } else {
            Err(Self::new(RefusalKind::Invalid, message, errors))
        }
    }
}
