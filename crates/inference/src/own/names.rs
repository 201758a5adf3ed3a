//! The names of custom models and of their files.

/// A model's declaration, in its folder.
pub(super) const DECLARATION: &str = "declaration.json";
/// A model's calibration, in its folder.
pub(super) const CALIBRATION: &str = "calibration.json";
/// A model's file, in its folder.
pub(super) const MODEL: &str = "model.onnx";
/// The models in use, beside the folders.
pub(super) const SELECTION: &str = "use.json";
/// Begins the name of a folder that is not complete. No model's name begins so.
pub(super) const STAGED: &str = ".adding-";
/// The longest name of a model.
pub(super) const MAX_NAME: usize = 40;

/// Whether a text can be the name of a model, and so of its folder.
pub(super) fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= MAX_NAME
        && text.bytes().all(allowed)
        && text.starts_with(|first: char| first.is_ascii_lowercase())
}

/// Whether a golden picture may not have this name, because another file of the model has it.
pub(super) fn is_reserved(name: &str) -> bool {
    [DECLARATION, CALIBRATION, MODEL]
        .iter()
        .any(|reserved| name.eq_ignore_ascii_case(reserved))
}
