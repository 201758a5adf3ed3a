//! PDF pages, rendered.

use crate::decode::Decoded;
use crate::error::DecodeError;
use crate::limits::Limits;

pub(crate) fn decode(_file: Vec<u8>, _limits: &Limits) -> Result<Decoded, DecodeError> {
    Err(DecodeError::Unsupported)
}
