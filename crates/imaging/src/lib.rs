//! Decodes untrusted files into upright RGB pixels: JPEG, PNG, WEBP, BMP and the pages of a PDF.
//!
//! Every untrusted picture is decoded by [`decode`]. The first bytes decide the format, and the size in the
//! header is checked *before* anything is decoded. EXIF orientation is applied, and transparency becomes
//! white. A file that does not give a whole picture gives a typed [`DecodeError`], never a half-grey picture.
//! A server decodes in the engine process (`engine-process`), so a crash of the decoder affects only one
//! request.
//!
//! The crate also has the picture operations that the engines share: crop, resize, rotate, mirror,
//! perspective [`Picture::warp`], a [`Pyramid`] of reductions, luma and integral sums, power spectra, and encoding as JPEG and PNG.
//!
//! It never detects documents or faces, and uses no files, network or HTTP.

pub mod block_transform;
mod decode;
mod decoded;
mod encode;
mod error;
mod format;
mod geometry;
mod interpolation;
mod jpeg;
mod limits;
mod luma;
mod origin;
mod pdf;
mod perceptual;
mod picture;
mod pyramid;
mod raster;
mod reducible;
pub mod spectrum;

pub use decode::decode;
pub use decoded::Decoded;
pub use encode::{encode_jpeg, encode_png};
pub use error::DecodeError;
pub use format::{Format, sniff};
pub use geometry::{Homography, Point};
pub use limits::Limits;
pub use luma::{Integral, Luma};
pub use origin::FileOrigin;
pub use perceptual::PerceptualHash;
pub use picture::Picture;
pub use pyramid::Pyramid;
pub use reducible::Reducible;
