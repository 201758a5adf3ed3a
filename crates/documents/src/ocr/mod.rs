//! Optical character recognition: pictures of lines to text with probabilities.
