//! Hostile bytes to upright RGB pixels: JPEG, PNG, WEBP, BMP and the pages of a PDF.
//!
//! Every picture a stranger sends goes through [`decode`]: the format is told by the first bytes, the size is read from
//! the header and capped *before* anything is decoded, EXIF orientation is applied, transparency is laid on white, and
//! whatever cannot be decoded whole is a typed [`DecodeError`], never a half-grey picture. A server calls it in a child
//! process through [`worker`], so that a decoder that crashes costs one request its answer and nothing else.
//!
//! The crate also has the few picture operations that the engines share: crop, resize, rotate, mirror, perspective
//! [`Picture::warp`], luma and integral sums, and JPEG/PNG encoding of previews.
//!
//! It never looks for documents or faces, touches no file and no network, and knows no HTTP.

mod decode;
mod decoded;
mod encode;
mod error;
mod format;
mod geometry;
mod jpeg;
mod limits;
mod luma;
mod pdf;
mod picture;
mod raster;
mod resample;
pub mod worker;

pub use decode::decode;
pub use decoded::Decoded;
pub use encode::{encode_jpeg, encode_png};
pub use error::DecodeError;
pub use format::{Format, sniff};
pub use geometry::{Homography, Point};
pub use limits::Limits;
pub use luma::{Integral, Luma};
pub use picture::Picture;
