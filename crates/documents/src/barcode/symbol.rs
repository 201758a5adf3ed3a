//! Decoding of a symbol that stands upright, by `rxing`. Never searches.

use std::panic::{AssertUnwindSafe, catch_unwind};

use imaging::Luma;
use rxing::common::{GlobalHistogramBinarizer, HybridBinarizer};
use rxing::pdf417::PDF417Reader;
use rxing::{Binarizer, BinaryBitmap, Luma8Source, Reader};

/// Decodes the PDF417 symbol in a picture, optionally with its rows in reverse order; `None` when there is none.
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

/// A panic of the library, which a picture made for it might provoke, is a symbol that cannot be read: the last line of
/// defence, since pictures are decoded where a server runs. Nothing the closure touches is used afterwards.
fn read<B: Binarizer>(binarizer: B) -> Option<String> {
    let attempt = || PDF417Reader::new().decode(&mut BinaryBitmap::new(binarizer));
    let result = catch_unwind(AssertUnwindSafe(attempt)).ok()?.ok()?;
    Some(result.getText().to_owned())
}
