//! Barcodes in a picture: finding, deskewing and decoding. Never understands a payload: that is `aamva`'s.
