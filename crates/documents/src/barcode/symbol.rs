//! Decodes an upright symbol with `rxing`. It never searches for symbols.

use std::panic::{AssertUnwindSafe, catch_unwind};

use imaging::Luma;
use rxing::common::{GlobalHistogramBinarizer, HybridBinarizer};
use rxing::pdf417::PDF417Reader;
use rxing::{Binarizer, BinaryBitmap, Luma8Source, Reader};

/// Decodes the PDF417 symbol in a picture, optionally with its rows in reverse order. Returns `None` if none
/// is decoded.
pub(super) fn decode(luma: &Luma, flip: bool) -> Option<String> {
    let flipped: Vec<u8>;
    let pixels = if flip {
        flipped = (0..luma.height)
            .rev()
            .flat_map(|y| luma.row(y))
            .copied()
            .collect();
        &flipped
    } else {
        &luma.pixels
    };
    let source = Luma8Source::new_with_slice(pixels, luma.width, luma.height).ok()?;
    read(HybridBinarizer::new(source.clone())).or_else(|| read(GlobalHistogramBinarizer::new(source)))
}

/// Treats a panic of the library, which a crafted picture might cause, as an unreadable symbol. The server
/// decodes untrusted pictures in its process. `AssertUnwindSafe` is sound because nothing that the closure
/// uses is used afterwards.
fn read<B: Binarizer>(binarizer: B) -> Option<String> {
    let attempt = || PDF417Reader::new().decode(&mut BinaryBitmap::new(binarizer));
    let result = catch_unwind(AssertUnwindSafe(attempt)).ok()?.ok()?;
    Some(result.getText().to_owned())
}
