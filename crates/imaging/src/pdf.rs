//! PDF decoding: `hayro` renders the pages one after another until one is not blank.
//!
//! Nothing in a PDF is ever run. A file with scripts or actions is refused, because other software might
//! display it differently. Sizes are calculated before rendering, because the renderer does not check them.
//!
//! The cost of a page's content stream is unknown until it is interpreted (nested forms, streams that inflate
//! a thousandfold). The worker process's limits on processor time and memory apply there.

use hayro::hayro_interpret::InterpreterSettings;
use hayro::hayro_syntax::object::{Array, Dict, MaybeRef, Name, Object, Stream};
use hayro::hayro_syntax::page::Page;
use hayro::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use hayro::vello_cpu::color::palette::css::WHITE;
use hayro::{PixmapSettings, RenderCache, RenderSettings, render};

use crate::decoded::{Decoded, check_size};
use crate::error::DecodeError;
use crate::format::Format;
use crate::limits::Limits;
use crate::origin::FileOrigin;
use crate::picture::Picture;

/// Resolution of a page whose content specifies none: enough to read 2.5 mm print.
const DOTS_PER_INCH: f64 = 300.0;
/// A4 at that resolution. Larger pages are rendered with this number of pixels, unless an image on them has
/// more.
const A4_PIXELS: f64 = 2480.0 * 3508.0;
/// A page with a shorter side, in pixels, is not legible.
const MIN_SIDE: u32 = 16;
/// The renderer counts pixels in `u16`.
const MAX_SIDE: u32 = u16::MAX as u32;
/// The smallest difference between the lightest and the darkest grey, after averaging, of a page with
/// content.
const BLANK_CONTRAST: u8 = 24;
/// Action types that run or send something (ISO 32000-1 table 198).
const RUNNING_ACTIONS: [&[u8]; 6] = [
    b"JavaScript",
    b"Launch",
    b"SubmitForm",
    b"ImportData",
    b"Rendition",
    b"RichMediaExecute",
];

/// Renders the first page, from [`Limits::from_page`] on, that is not blank.
pub(crate) fn decode(file: Vec<u8>, limits: &Limits) -> Result<Decoded, DecodeError> {
    let pdf = Pdf::new(file).map_err(error)?;
    let pages = pdf.pages();
    let count = u32::try_from(pages.len()).unwrap_or(u32::MAX);
    if count > limits.max_pages {
        return Err(DecodeError::TooManyPages);
    }
    check_objects(&pdf, limits)?;
    let cache = RenderCache::new();
    for number in limits.from_page..count {
        let Some(page) = pages.get(number as usize) else {
            break;
        };
        let (picture, source) = render_page(page, &cache, limits)?;
        if is_blank(&picture) {
            continue;
        }
        return Ok(Decoded {
            picture,
            format: Format::Pdf,
            source_width: source.0,
            source_height: source.1,
            exif_orientation: 1,
            page: Some(number),
            pages: Some(count),
            origin: FileOrigin::default(),
            luma_steps: None,
        });
    }
    Err(DecodeError::NoPage)
}

fn render_page<'a>(
    page: &'a Page<'a>,
    cache: &RenderCache<'a>,
    limits: &Limits,
) -> Result<(Picture, (u32, u32)), DecodeError> {
    let (scale, width, height) = page_size(page, limits)?;
    let settings = PixmapSettings {
        x_scale: scale,
        y_scale: scale,
        bg_color: WHITE,
    };
    let pixmap = render(
        page,
        cache,
        &InterpreterSettings::default(),
        &RenderSettings::default(),
        &settings,
    );
    // The page is opaque, because its background is white.
    let (across, down) = (u32::from(pixmap.width()), u32::from(pixmap.height()));
    let mut pixels = Vec::with_capacity(width as usize * height as usize * 3);
    pixels.extend(
        pixmap
            .data_as_u8_slice()
            .chunks_exact(4)
            .flat_map(|p| [p[0], p[1], p[2]]),
    );
    drop(pixmap);
    let picture = Picture::new(across, down, pixels).ok_or(DecodeError::PageSize)?;
    let picture = match limits.max_side {
        Some(max_side) => picture.reduced(max_side),
        None => picture,
    };
    Ok((picture, (across, down)))
}

/// The scale (pixels per point) for rendering a page, and the resulting size in pixels.
fn page_size(page: &Page<'_>, limits: &Limits) -> Result<(f32, u32, u32), DecodeError> {
    let (width, height) = page.render_dimensions();
    let (width, height) = (f64::from(width), f64::from(height));
    let area = width * height;
    if !area.is_finite() || width <= 0.0 || height <= 0.0 {
        return Err(DecodeError::PageSize);
    }
    let per_point = DOTS_PER_INCH / 72.0;
    let wanted = (area * per_point * per_point)
        .min(A4_PIXELS)
        .max(largest_image(page));
    // The factor ensures that rounding never exceeds the limit.
    let pixels = wanted.min(limits.max_page_pixels as f64 * 0.999);
    let scale = (pixels / area)
        .sqrt()
        .min(f64::from(MAX_SIDE - 1) / width.max(height)) as f32;
    let side = |points: f64| (points as f32 * scale) as u32;
    let (width, height) = (side(width), side(height));
    let sides = MIN_SIDE..=MAX_SIDE;
    if !sides.contains(&width) || !sides.contains(&height) {
        return Err(DecodeError::PageSize);
    }
    Ok((scale, width, height))
}

/// The pixels of the largest image among a page's resources: a scan or photograph, whose resolution should be
/// preserved.
fn largest_image(page: &Page<'_>) -> f64 {
    let images = &page.resources().x_objects;
    let pixels = images.keys().filter_map(|name| {
        let image = images.get::<Stream<'_>>(name.as_ref())?;
        let (width, height) = image_size(image.dict())?;
        Some(f64::from(width) * f64::from(height))
    });
    pixels.fold(0.0, f64::max)
}

/// The declared size of an image, or `None` if the stream is no image.
fn image_size(stream: &Dict<'_>) -> Option<(u32, u32)> {
    let is_image = stream
        .get::<Name<'_>>("Subtype")
        .is_some_and(|name| name.as_ref() == b"Image");
    is_image.then(|| Some((stream.get::<u32>("Width")?, stream.get::<u32>("Height")?)))?
}

/// Refuses files that contain something to run, or an image beyond the limit, anywhere in the file.
fn check_objects(pdf: &Pdf, limits: &Limits) -> Result<(), DecodeError> {
    for object in pdf.objects() {
        if let Object::Stream(stream) = &object
            && let Some((width, height)) = image_size(stream.dict())
        {
            check_size(width, height, limits)?;
        }
        if runs_something(&object) {
            return Err(DecodeError::ScriptedPdf);
        }
    }
    Ok(())
}

/// Whether an object or its direct content is a script, an action that runs something, or an XFA form.
fn runs_something(object: &Object<'_>) -> bool {
    match object {
        Object::Dict(dict) => dict_runs_something(dict),
        Object::Stream(stream) => dict_runs_something(stream.dict()),
        Object::Array(array) => array_runs_something(array),
        _ => false,
    }
}

fn dict_runs_something(dict: &Dict<'_>) -> bool {
    let action = dict.get::<Name<'_>>("S");
    action.is_some_and(|action| RUNNING_ACTIONS.contains(&action.as_ref()))
        || ["JS", "JavaScript", "XFA"]
            .iter()
            .any(|key| dict.contains_key(key))
        || dict
            .entries()
            .any(|(_, value)| matches!(value, MaybeRef::NotRef(inner) if runs_something(&inner)))
}

fn array_runs_something(array: &Array<'_>) -> bool {
    array
        .raw_iter()
        .any(|value| matches!(value, MaybeRef::NotRef(inner) if runs_something(&inner)))
}

/// Whether a page has one colour, except for noise.
fn is_blank(page: &Picture) -> bool {
    let small = page.luma();
    let scale = 256.0 / f64::from(small.width.max(small.height));
    let side = |length: u32| (f64::from(length) * scale).ceil() as u32;
    let small = small.resized(side(small.width), side(small.height)).pixels;
    let darkest = small.iter().min().copied().unwrap_or_default();
    let lightest = small.iter().max().copied().unwrap_or_default();
    lightest - darkest < BLANK_CONTRAST
}

fn error(error: LoadPdfError) -> DecodeError {
    match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => DecodeError::PasswordNeeded,
        LoadPdfError::Decryption(DecryptionError::UnsupportedAlgorithm) => DecodeError::Unsupported,
        LoadPdfError::Decryption(_) | LoadPdfError::Invalid => DecodeError::Damaged,
    }
}
