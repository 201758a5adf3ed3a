//! Generates `crates/reference/data/country-names.tsv`: the names of every country in every language of CLDR,
//! and the names of `common-names.tsv`.
//!
//! It runs npm for one pinned package, without scripts. It writes only that table and `.cache/cldr`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use reference::{countries, normalise_name};

const PACKAGE_JSON: &str = include_str!("../packages-cldr/package.json");
const PACKAGE_LOCK: &str = include_str!("../packages-cldr/package-lock.json");
const COMMON_NAMES: &str = include_str!("../../crates/reference/data/common-names.tsv");

/// Normalised name → the alpha-2 codes of the countries with that name.
type Names = BTreeMap<String, BTreeSet<&'static str>>;

/// Writes the table. With `check`, fails if the committed table differs instead.
pub(crate) fn run(check: bool) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("");
    let mut names = Names::new();
    let locales = add_cldr(&mut names, &fetch(&root)?)?;
    add_common(&mut names)?;

    let mut table = String::new();
    for (name, codes) in &names {
        let codes: Vec<_> = codes.iter().copied().collect();
        writeln!(table, "{name}\t{}", codes.join(","))?;
    }
    let path = root.join("crates/reference/data/country-names.tsv");
    if check {
        let committed = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        ensure!(
            committed == table,
            "{} is not what CLDR gives: run `cargo run -p xtask -- country-names`",
            path.display()
        );
    } else {
        fs::write(&path, &table).with_context(|| format!("writing {}", path.display()))?;
    }
    eprintln!(
        "country-names: {} names from {locales} locales{}",
        names.len(),
        if check { ", as committed" } else { "" }
    );
    Ok(())
}

/// The package's folder of locales. npm downloads it into `.cache/cldr` unless the pinned version is already
/// there.
fn fetch(root: &Path) -> Result<PathBuf> {
    let dir = root.join(".cache/cldr");
    fs::create_dir_all(&dir).with_context(|| format!("creating {}", dir.display()))?;
    let locales = dir.join("node_modules/cldr-localenames-full/main");
    let lock = dir.join("package-lock.json");
    if locales.is_dir() && fs::read_to_string(&lock).is_ok_and(|text| text == PACKAGE_LOCK) {
        return Ok(locales);
    }
    fs::write(dir.join("package.json"), PACKAGE_JSON).context("writing package.json")?;
    fs::write(&lock, PACKAGE_LOCK).context("writing package-lock.json")?;
    let status = Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"])
        .current_dir(&dir)
        .status()
        .context("starting npm: is it installed?")?;
    if !status.success() {
        // Without the lock file, the next run does not mistake an incomplete folder for a complete one.
        fs::remove_file(&lock).context("removing package-lock.json")?;
        bail!("npm ci failed in {}", dir.display());
    }
    Ok(locales)
}

/// Adds the names of every locale, with CLDR's variants and short forms. Returns the number of locales.
fn add_cldr(names: &mut Names, main: &Path) -> Result<usize> {
    let mut locales = 0;
    for entry in fs::read_dir(main).with_context(|| format!("reading {}", main.display()))? {
        let file = entry?.path().join("territories.json");
        if !file.is_file() {
            continue;
        }
        let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        let json: serde_json::Value =
            serde_json::from_str(&text).with_context(|| format!("parsing {}", file.display()))?;
        let territories = json["main"]
            .as_object()
            .and_then(|main| main.values().next())
            .and_then(|locale| locale["localeDisplayNames"]["territories"].as_object())
            .with_context(|| format!("no territories in {}", file.display()))?;
        for (code, name) in territories {
            // `GB-alt-short` is another name of GB. A name that is equal to the code is a missing
            // translation.
            let code = code.split('-').next().unwrap_or(code);
            let name = name
                .as_str()
                .with_context(|| format!("a name in {} is no text", file.display()))?;
            if name != code {
                add(names, code, name);
            }
        }
        locales += 1;
    }
    Ok(locales)
}

fn add_common(names: &mut Names) -> Result<()> {
    for line in COMMON_NAMES.lines().filter(|line| !line.starts_with('#')) {
        let (code, name) = line
            .split_once('\t')
            .with_context(|| format!("no tab in {line:?}"))?;
        ensure!(add(names, code, name), "{code} is no country");
    }
    Ok(())
}

/// Adds a name. Returns whether `code` is a country, because CLDR also names continents, unions and `ZZ`.
fn add(names: &mut Names, code: &str, name: &str) -> bool {
    let Some(country) = countries().iter().find(|c| c.alpha2 == code) else {
        return false;
    };
    let name = normalise_name(name);
    if !name.is_empty() {
        names.entry(name).or_default().insert(country.alpha2);
    }
    true
}
