//! The files that the hosted page loads to detect faces before a picture is taken: TensorFlow.js on
//! WebAssembly and BlazeFace, unchanged from their packages. The server provides them under
//! `/verify/assets/guidance/`. The page works without them.

use std::path::PathBuf;

use super::packages::{self, Package, Packages};

/// The folder of these files within the models' folder.
pub(crate) const FOLDER: &str = "web";

/// A file that is copied unchanged.
pub(crate) struct WebFile {
    pub(crate) name: &'static str,
    pub(crate) from: PathBuf,
    pub(crate) package: Package,
}

/// The runtime's files in the order in which the page's worker loads them, then the model.
pub(crate) fn files(packages: &Packages) -> Vec<WebFile> {
    let tensorflow = |package: Package, name| WebFile {
        name,
        from: packages.npm_package(package).join("dist").join(name),
        package,
    };
    let model = |name| WebFile {
        name,
        from: packages.human().join("models").join(name),
        package: packages::HUMAN,
    };
    vec![
        tensorflow(packages::TFJS_CORE, "tf-core.min.js"),
        tensorflow(packages::TFJS_CONVERTER, "tf-converter.min.js"),
        tensorflow(packages::TFJS_WASM, "tf-backend-wasm.min.js"),
        tensorflow(packages::TFJS_WASM, "tfjs-backend-wasm-simd.wasm"),
        tensorflow(packages::TFJS_WASM, "tfjs-backend-wasm.wasm"),
        model("blazeface.json"),
        model("blazeface.bin"),
    ]
}
