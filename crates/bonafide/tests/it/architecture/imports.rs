//! Determines which files of a crate use items of which other files. A path counts where it is used or
//! imported by name. A re-export counts as the file that defines the item, so a parent that only declares and
//! re-exports its children depends on none of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module's path inside its crate, such as `["accounts", "staff"]`; empty for the crate's root.
type Module = Vec<String>;

/// A source file without comments, strings and unit tests.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) lines: usize,
    pub(super) text: String,
    module: Module,
}

/// Every Rust file below a folder.
pub(super) fn sources(folder: &Path) -> Vec<Source> {
    let mut found = Vec::new();
    collect(folder, folder, &mut found);
    found
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<Source>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            collect(root, &path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let inside = path.strip_prefix(root).unwrap().with_extension("");
            let mut module: Module = inside
                .iter()
                .map(|part| part.to_str().unwrap().to_owned())
                .collect();
            if module
                .last()
                .is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str()))
            {
                module.pop();
            }
            found.push(Source {
                lines: text.lines().count(),
                text: without_tests(&plain(&text)),
                path,
                module,
            });
        }
    }
}

/// The text without comments and without the content of strings.
fn plain(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let after_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else if let Some(end) = raw_string(rest).filter(|_| !after_word) {
            at += end;
        } else if rest.starts_with('"') {
            at += string(rest);
        } else if let Some(end) = character(rest) {
            at += end;
        } else {
            let next = rest.chars().next().unwrap();
            kept.push(next);
            at += next.len_utf8();
        }
    }
    kept
}

/// The length of the raw string at the start of a text; `None` if there is none.
fn raw_string(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('b').unwrap_or(text).strip_prefix('r')?;
    let marks = inside.len() - inside.trim_start_matches('#').len();
    let body = inside[marks..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(marks));
    let length = body.find(&end)?;
    Some(text.len() - body.len() + length + end.len())
}

/// The length of the string at the start of a text.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (place, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return place + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of the character literal at the start of a text; `None` for a lifetime.
fn character(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    if let Some(escape) = inside.strip_prefix('\\') {
        let skipped = escape.chars().next()?.len_utf8();
        return Some(2 + skipped + escape[skipped..].find('\'')? + 1);
    }
    let first = inside.chars().next()?.len_utf8();
    inside[first..].starts_with('\'').then_some(first + 2)
}

/// The text without items that have `#[cfg(test)]`.
fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("#[cfg(test)]") {
        kept.push_str(&rest[..start]);
        let item = &rest[start..];
        let (end, body) = (item.find(';'), item.find('{'));
        rest = match (end, body) {
            (Some(end), body) if body.is_none_or(|body| end < body) => &item[end + 1..],
            (_, Some(body)) => &item[body + block(&item[body..])..],
            _ => "",
        };
    }
    kept.push_str(rest);
    kept
}

/// The length of a block in braces, at the start of a text.
fn block(text: &str) -> usize {
    let mut depth = 0;
    for (place, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return place + 1;
        }
    }
    text.len()
}

/// Expands a `use` statement's tree to one path per item: its segments, and its name in the file.
fn expand(tree: &str, before: &[String], found: &mut Vec<(Vec<String>, String)>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let (path, name) = tree.split_once(" as ").unwrap_or((tree, ""));
        let mut path: Vec<String> = [before, &segments(path)].concat();
        if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
            path.pop();
        }
        let name = match name.trim() {
            "" => path.last().cloned().unwrap_or_default(),
            name => name.to_owned(),
        };
        found.push((path, name));
        return;
    };
    let before = [before, &segments(&tree[..open])].concat();
    let inside = &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())];
    let (mut depth, mut start) = (0, 0);
    for (place, character) in inside.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&inside[start..place], &before, found);
                start = place + 1;
            }
            _ => {}
        }
    }
    if !inside[start..].trim().is_empty() {
        expand(&inside[start..], &before, found);
    }
}

fn segments(path: &str) -> Vec<String> {
    let parts = path.split("::").map(str::trim);
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

struct Imports {
    /// Imported items by their names in the file.
    by_name: BTreeMap<String, Vec<String>>,
    /// Re-exported items by their names.
    exported: BTreeMap<String, Vec<String>>,
    /// All paths that the file uses.
    used: Vec<Vec<String>>,
}

fn imports(source: &Source) -> Imports {
    let mut all = Imports {
        by_name: BTreeMap::new(),
        exported: BTreeMap::new(),
        used: Vec::new(),
    };
    let mut rest = source.text.as_str();
    let mut without_use = String::new();
    while let Some(start) = find_word(rest, "use") {
        let statement = &rest[start..];
        let end = statement.find(';').unwrap_or(statement.len());
        let before = rest[..start].trim_end();
        let is_exported = before.ends_with("pub") || before.ends_with(')') && before.contains("pub(");
        let mut found = Vec::new();
        expand(&statement[3..end], &[], &mut found);
        for (path, name) in found {
            if is_exported {
                all.exported.insert(name.clone(), path.clone());
            } else {
                all.used.push(path.clone());
            }
            all.by_name.insert(name, path);
        }
        without_use.push_str(&rest[..start]);
        rest = &statement[end..];
    }
    without_use.push_str(rest);
    for path in paths(&without_use) {
        let path = match all.by_name.get(&path[0]) {
            Some(imported) => [imported, &path[1..]].concat(),
            None => path,
        };
        all.used.push(path);
    }
    all
}

/// The position of a whole word.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let places = text.match_indices(word).map(|(place, _)| place);
    places.into_iter().find(|&place| {
        let before = text[..place].chars().next_back();
        let after = text[place + word.len()..].chars().next();
        before.is_none_or(|c| !is_part(c)) && after.is_some_and(char::is_whitespace)
    })
}

/// Every path with at least two segments.
fn paths(text: &str) -> Vec<Vec<String>> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = text.split(|c| !is_part(c));
    words
        .filter(|word| word.contains("::") && word.starts_with(|c: char| c.is_lowercase()))
        .map(segments)
        .filter(|path| path.len() > 1)
        .collect()
}

struct Crate<'a> {
    modules: BTreeSet<&'a Module>,
    imports: BTreeMap<&'a Module, Imports>,
}

impl Crate<'_> {
    /// Resolves a module's path from the crate's root; `None` if it leads out of the crate.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Vec<String>> {
        let mut base = module.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => return Some(path[1..].to_vec()),
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            first => {
                base.push(first.to_owned());
                if !self.modules.contains(&base) {
                    return None;
                }
                rest = &path[1..];
            }
        }
        Some([base, rest.to_vec()].concat())
    }

    /// The module that defines the item of a path from the root; `None` if the path names a module.
    fn definition(&self, path: &[String], depth: usize) -> Option<Module> {
        let mut module = Vec::new();
        let mut rest = path;
        while let Some((next, after)) = rest.split_first() {
            let deeper = [module.clone(), vec![next.clone()]].concat();
            if !self.modules.contains(&deeper) {
                break;
            }
            (module, rest) = (deeper, after);
        }
        let (item, after) = rest.split_first()?;
        let exported = self
            .imports
            .get(&module)
            .and_then(|imports| imports.exported.get(item));
        if depth < 5
            && let Some(path) = exported.and_then(|path| self.absolute(&module, path))
        {
            return self.definition(&[path, after.to_vec()].concat(), depth + 1);
        }
        Some(module)
    }
}

/// Files that depend on each other, directly or through others. Each circle is a list of modules.
pub(super) fn circles(files: &[Source]) -> Vec<String> {
    let whole = Crate {
        modules: files.iter().map(|file| &file.module).collect(),
        imports: files.iter().map(|file| (&file.module, imports(file))).collect(),
    };
    let mut arrows: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (&module, imports) in &whole.imports {
        let targets = imports
            .used
            .iter()
            .filter_map(|path| whole.absolute(module, path))
            .filter_map(|path| whole.definition(&path, 0))
            .filter(|target| target != module);
        arrows.insert(module.clone(), targets.collect());
    }
    // A module is in a circle if it reaches itself. The graphs are small, so a simple search is enough.
    let reach = |from: &Module| {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&Module> = arrows[from].iter().collect();
        while let Some(module) = open.pop() {
            if reached.insert(module) {
                open.extend(arrows.get(module).into_iter().flatten());
            }
        }
        reached
    };
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        arrows.keys().map(|module| (module, reach(module))).collect();
    let mut found = BTreeSet::new();
    for (module, all) in &reached {
        if all.contains(module) {
            let circle = all.iter().filter(|other| reached[**other].contains(module));
            found.insert(
                circle
                    .map(|module| module.join("/"))
                    .collect::<Vec<_>>()
                    .join(", "),
            );
        }
    }
    found.into_iter().collect()
}

#[test]
fn circles_are_found_through_imports_paths_and_re_exports() {
    let file = |module: &str, text: &str| Source {
        path: PathBuf::new(),
        lines: 0,
        text: without_tests(&plain(text)),
        module: segments(module),
    };
    let circle = |files: &[(&str, &str)]| {
        let files: Vec<Source> = files.iter().map(|(module, text)| file(module, text)).collect();
        circles(&files)
    };
    assert_eq!(
        circle(&[
            ("a", "use crate::b::B;"),
            ("b", "fn f() { crate::a::g() }"),
            ("", "")
        ]),
        ["a, b"]
    );
    assert_eq!(
        circle(&[
            ("a", "use super::{b::B, c};"),
            ("b", "use super::c::{self, C};"),
            ("c", ""),
            ("", "")
        ]),
        [""; 0]
    );
    // The parent re-exports, so the dependency is on the file that defines the item.
    assert_eq!(
        circle(&[
            ("p", "pub use self::a::A;"),
            ("p::a", "use super::b::B;"),
            ("p::b", "use crate::p::A;"),
            ("", "")
        ]),
        ["p/a, p/b"]
    );
    // Comments, strings and tests create no dependency.
    assert_eq!(
        circle(&[
            (
                "a",
                "// crate::b::B\nconst T: &str = \"crate::b::B\";\n#[cfg(test)]\nmod tests { use crate::b::B; }"
            ),
            ("b", "use crate::a::T;"),
            ("", "")
        ]),
        [""; 0]
    );
}
