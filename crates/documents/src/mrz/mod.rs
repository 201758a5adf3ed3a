//! Machine-readable zones: lines to fields, and uncertain lines to the one reading that the rules allow.
