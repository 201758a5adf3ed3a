//! Submitted data held against what documents say.
