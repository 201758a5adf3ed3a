//! Whether a file's metadata name an image editor, a screenshot or a generator of pictures.
//!
//! Metadata are easily removed, so a file without any proves nothing. Cameras' firmware and programs that only convert
//! or turn pictures are no sign.

use imaging::FileOrigin;

use crate::fraud_signs::{FraudKind, FraudSign};

/// The measure is 1 with such metadata, otherwise 0.
const LIMIT: f32 = 1.0;

/// The names of programs that change or generate pictures, or take pictures of a screen: whole words of a
/// stated name.
const PROGRAMS: [&str; 57] = [
    "acdsee",
    "affinity",
    "airbrush",
    "beautyplus",
    "befunky",
    "canva",
    "capture one",
    "comfyui",
    "corel",
    "coreldraw",
    "dall-e",
    "darktable",
    "faceapp",
    "facetune",
    "faststone",
    "firefly",
    "flameshot",
    "fotor",
    "gimp",
    "gnome-screenshot",
    "greenshot",
    "illustrator",
    "indesign",
    "inkscape",
    "irfanview",
    "krita",
    "ksnip",
    "lightroom",
    "lightshot",
    "luminar",
    "meitu",
    "midjourney",
    "novelai",
    "paint shop",
    "paint.net",
    "paintshop",
    "photo editor",
    "photofiltre",
    "photopea",
    "photoscape",
    "photoshop",
    "picmonkey",
    "picsart",
    "pixelmator",
    "pixlr",
    "polarr",
    "procreate",
    "rawtherapee",
    "remini",
    "screenshot",
    "sharex",
    "snagit",
    "snapseed",
    "spectacle",
    "stable diffusion",
    "vsco",
    "xnview",
];

/// The sign of a file: the value is the program's name, or what the file says that it is.
pub(super) fn sign(origin: &FileOrigin) -> FraudSign {
    let named = origin.programs.iter().find(|program| {
        let words = words(program);
        PROGRAMS.iter().any(|known| words.contains(&format!(" {known} ")))
    });
    let stated = [
        (origin.is_generated, "generated picture"),
        (origin.is_screenshot, "screenshot"),
    ];
    let value = named.cloned().or_else(|| {
        let says = stated.iter().find(|(is_stated, _)| *is_stated);
        says.map(|(_, what)| (*what).to_owned())
    });
    let measure = f32::from(u8::from(value.is_some()));
    FraudSign {
        value,
        ..FraudSign::of(FraudKind::Origin, measure, LIMIT)
    }
}

/// A name's words in lower case, with a space around each.
fn words(name: &str) -> String {
    let words = name
        .to_lowercase()
        .replace(|c: char| !c.is_alphanumeric() && !"-.".contains(c), " ");
    format!(" {} ", words.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editors_screenshots_and_generators_are_signs() {
        let origin = |programs: &[&str], is_screenshot, is_generated| FileOrigin {
            programs: programs.iter().map(|name| (*name).to_owned()).collect(),
            is_screenshot,
            is_generated,
        };
        let cases = [
            (origin(&[], false, false), None),
            (origin(&["HDR+ 1.0.585804376zd"], false, false), None),
            (origin(&["17.5.1"], false, false), None),
            (origin(&["HTML Canvas"], false, false), None),
            (
                origin(&["Canva (Renderer)"], false, false),
                Some("Canva (Renderer)"),
            ),
            (
                origin(&["gnome-screenshot"], false, false),
                Some("gnome-screenshot"),
            ),
            (
                origin(&["PaintShop Pro 23,00"], false, false),
                Some("PaintShop Pro 23,00"),
            ),
            (
                origin(&["Microsoft Windows Photo Viewer 6.1"], false, false),
                None,
            ),
            (
                origin(&["17.5.1", "Adobe Photoshop 25.1 (Macintosh)"], false, false),
                Some("Adobe Photoshop 25.1 (Macintosh)"),
            ),
            (
                origin(&["Created with GIMP"], false, false),
                Some("Created with GIMP"),
            ),
            (origin(&["17.5.1"], true, false), Some("screenshot")),
            (origin(&[], false, true), Some("generated picture")),
        ];
        for (origin, expected) in cases {
            let sign = sign(&origin);
            assert_eq!(
                (sign.raised, sign.value.as_deref()),
                (expected.is_some(), expected),
                "{origin:?}"
            );
        }
    }

    #[test]
    fn names_are_compared_in_lower_case() {
        assert!(PROGRAMS.is_sorted(), "programs are listed by name");
        assert!(PROGRAMS.iter().all(|name| *name == name.to_lowercase()));
    }
}
