//! The modules of the library and the program, and what each names of the others: from `mod`, `use` and paths.
//!
//! Parts under `#[cfg(test)]` are left out. What a macro makes, and a method that is called, is not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A path in code, from the crate on: `["precision_gate", "judge", "rule", "Rule"]`.
type Names = Vec<String>;

/// The modules of several crates.
pub(crate) struct Modules {
    /// The file of every module; an inline module is in its parent's file.
    files: BTreeMap<Names, PathBuf>,
    /// Paths that the modules name: the module, and the path.
    mentions: Vec<(Names, Names)>,
    /// Names that each module imports, and so hands on: the name there, and the path it stands for.
    handed_on: BTreeMap<Names, Names>,
}

/// A path of a `use`, and the name that it binds.
struct Import {
    path: Names,
    name: String,
}

impl Modules {
    /// The modules of crates, each a name and the file of its root.
    pub(crate) fn read(crates: &[(&str, &Path)]) -> Modules {
        let mut modules = Modules { files: BTreeMap::new(), mentions: Vec::new(), handed_on: BTreeMap::new() };
        for (name, root) in crates {
            modules.files.insert(vec![(*name).to_owned()], root.to_path_buf());
        }
        for (name, root) in crates {
            modules.read_file(root, vec![(*name).to_owned()]);
        }
        modules
    }

    /// The files that the crates consist of.
    pub(crate) fn files(&self) -> BTreeSet<&Path> {
        self.files.values().map(PathBuf::as_path).collect()
    }

    /// The file that the path's longest run of modules leads to and, where that only hands the next name on, the files
    /// that this one comes from; after `steps` of them it is given up.
    fn homes(&self, path: &[String], steps: usize) -> BTreeSet<&Path> {
        let module = (0..=path.len()).rev().find_map(|end| {
            let file = self.files.get(&path[..end])?;
            Some((end, file.as_path()))
        });
        let Some((end, file)) = module else { return BTreeSet::new() };
        // A crate's root is a table of contents: what it hands on is its own only where nothing else is named.
        let is_contents = |target: &Names| end == 1 && self.files.contains_key(target);
        let handed_on = path.get(..=end).and_then(|name| self.handed_on.get(name));
        let mut homes = BTreeSet::from_iter((!handed_on.is_some_and(is_contents)).then_some(file));
        if let (Some(target), true) = (handed_on, steps > 0) {
            homes.extend(self.homes(&[target, &path[end + 1..]].concat(), steps - 1));
        }
        homes
    }

    /// File imports file.
    pub(crate) fn arrows(&self) -> BTreeSet<(&Path, &Path)> {
        let mut arrows = BTreeSet::new();
        for (module, path) in &self.mentions {
            let from = self.files[module].as_path();
            arrows.extend(self.homes(path, 8).into_iter().filter(|to| *to != from).map(|to| (from, to)));
        }
        arrows
    }

    fn read_file(&mut self, file: &Path, module: Names) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let tokens = without_tests(&tokens(&text));
        self.read_module(file, &module, &tokens);
    }

    /// One module's tokens: first its declarations, then what it names.
    fn read_module(&mut self, file: &Path, module: &Names, tokens: &[String]) {
        self.files.insert(module.clone(), file.to_owned());
        let (own, children) = self.children(file, module, tokens);
        let (imports, code) = imports(&own);
        let crates = self.files.keys().filter(|name| name.len() == 1).map(|name| (name[0].clone(), name.clone()));
        let mut bound: BTreeMap<String, Names> = crates.collect();
        bound.extend(children.into_iter().map(|child| (child.clone(), below(module, &child))));
        for import in &imports {
            let Some(path) = absolute(&import.path, module, &bound) else { continue };
            bound.insert(import.name.clone(), path.clone());
            self.handed_on.insert(below(module, &import.name), path.clone());
            self.mentions.push((module.clone(), path));
        }
        for path in paths(&code) {
            if let Some(path) = absolute(&path, module, &bound) {
                self.mentions.push((module.clone(), path));
            }
        }
    }

    /// Reads the modules that the tokens declare; answers with the tokens that remain, and the names of the modules.
    fn children(&mut self, file: &Path, module: &Names, tokens: &[String]) -> (Vec<String>, Vec<String>) {
        let (mut own, mut names, mut at) = (Vec::new(), Vec::new(), 0);
        while at < tokens.len() {
            let declares = tokens[at] == "mod" && matches!(tokens.get(at + 2).map(String::as_str), Some(";" | "{"));
            if !declares {
                own.push(tokens[at].clone());
                at += 1;
                continue;
            }
            let name = tokens[at + 1].clone();
            let child = below(module, &name);
            let end = end_of_item(tokens, at);
            if tokens[at + 2] == ";" {
                self.read_file(&file_of(file, module, &name), child);
            } else {
                self.read_module(file, &child, &tokens[at + 3..end - 1]);
            }
            names.push(name);
            at = end;
        }
        (own, names)
    }
}

/// The path of what a module calls `name`.
fn below(module: &[String], name: &str) -> Names {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

/// `judge.rs` declares `rule`: `judge/rule.rs`; a crate's root declares it: `rule.rs` beside it.
fn file_of(parent: &Path, module: &Names, name: &str) -> PathBuf {
    let folder = if module.len() == 1 { parent.with_file_name("") } else { parent.with_extension("") };
    folder.join(format!("{name}.rs"))
}

/// The path from its crate on, where it is one of ours; `bound` is what names stand for in this module.
fn absolute(path: &[String], module: &Names, bound: &BTreeMap<String, Names>) -> Option<Names> {
    let (first, rest) = path.split_first()?;
    let up = path.iter().take_while(|part| *part == "super").count();
    let (base, rest) = match first.as_str() {
        "crate" => (&module[..1], rest),
        "self" => (module.as_slice(), rest),
        "super" => (&module[..module.len() - up], &path[up..]),
        name => (bound.get(name)?.as_slice(), rest),
    };
    Some([base, rest].concat())
}

/// Names, `::` and single signs; comments, texts and characters are left out.
fn tokens(text: &str) -> Vec<String> {
    let (mut rest, mut tokens) = (text, Vec::new());
    while let Some(first) = rest.chars().next() {
        let length = skipped(rest).unwrap_or_else(|| {
            let name = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let length = if name > 0 {
                name
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            if !first.is_whitespace() {
                tokens.push(rest[..length].to_owned());
            }
            length
        });
        rest = &rest[length..];
    }
    tokens
}

/// The length of a comment, a text or a character at the start of `rest`.
fn skipped(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return rest.find("*/").map(|end| end + 2);
    }
    if let Some(raw) = rest.strip_prefix('r').filter(|raw| raw.starts_with(['"', '#'])) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let close = format!("\"{}", "#".repeat(hashes));
        let body = raw[hashes..].strip_prefix('"')?;
        return body.find(&close).map(|end| 1 + hashes + 1 + end + close.len());
    }
    if let Some(body) = rest.strip_prefix('"') {
        return Some(1 + closing(body, '"')?);
    }
    let body = rest.strip_prefix('\'')?;
    let is_character = body.starts_with('\\') || body.chars().nth(1) == Some('\'');
    if is_character { Some(1 + closing(body, '\'')?) } else { Some(1) }
}

/// The length up to and with the closing sign, which a backslash hides.
fn closing(body: &str, sign: char) -> Option<usize> {
    let mut hidden = false;
    body.char_indices().find_map(|(at, c)| {
        let closes = c == sign && !hidden;
        hidden = c == '\\' && !hidden;
        closes.then_some(at + c.len_utf8())
    })
}

/// The tokens without the items under `#[cfg(test)]`.
fn without_tests(tokens: &[String]) -> Vec<String> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        if tokens[at..].iter().map(String::as_str).take(MARK.len()).eq(MARK) {
            at = end_of_item(tokens, at + MARK.len());
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// End of the item that starts at `at`: behind its `;`, or behind its braces.
fn end_of_item(tokens: &[String], at: usize) -> usize {
    let mut depth = 0_i32;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 && matches!(token.as_str(), ";" | "}") {
            return index + 1;
        }
    }
    tokens.len()
}

/// The `use` items of the tokens, and the tokens without them.
fn imports(tokens: &[String]) -> (Vec<Import>, Vec<String>) {
    let (mut imports, mut code, mut at) = (Vec::new(), Vec::new(), 0);
    while at < tokens.len() {
        if tokens[at] == "use" {
            let end = tokens[at..].iter().position(|token| token == ";").map_or(tokens.len(), |length| at + length);
            branch(&tokens[at + 1..end], &[], &mut imports);
            at = end + 1;
        } else {
            code.push(tokens[at].clone());
            at += 1;
        }
    }
    (imports, code)
}

/// One branch of a `use` tree: `a::{b, c::d as e}`.
fn branch(tokens: &[String], before: &[String], imports: &mut Vec<Import>) {
    let start = tokens.iter().position(|token| token == "{").unwrap_or(tokens.len());
    let mut path = before.to_vec();
    path.extend(tokens[..start].iter().take_while(|token| *token != "as").filter(|token| *token != "::").cloned());
    if start < tokens.len() {
        let inside = &tokens[start + 1..tokens.len() - 1];
        split(inside).into_iter().for_each(|part| branch(part, &path, imports));
        return;
    }
    let renamed = tokens.iter().position(|token| token == "as").and_then(|at| tokens.get(at + 1));
    if path.len() > 1 && path.last().is_some_and(|last| last == "self" || last == "*") {
        path.pop();
    }
    let Some(name) = renamed.or(path.last()).cloned() else { return };
    imports.push(Import { path, name });
}

/// The parts between the commas that stand outside braces.
fn split(tokens: &[String]) -> Vec<&[String]> {
    let mut depth = 0_i32;
    let comma = |token: &String| {
        depth += i32::from(token == "{") - i32::from(token == "}");
        depth == 0 && token == ","
    };
    tokens.split(comma).filter(|part| !part.is_empty()).collect()
}

/// The paths in code of two parts and more.
fn paths(tokens: &[String]) -> Vec<Names> {
    let is_name = |token: &String| token.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let (mut found, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let mut path = Vec::new();
        while is_name(&tokens[at]) {
            path.push(tokens[at].clone());
            if tokens.get(at + 1).is_some_and(|sign| sign == "::") && tokens.get(at + 2).is_some_and(is_name) {
                at += 2;
            } else {
                break;
            }
        }
        if path.len() > 1 {
            found.push(path);
        }
        at += 1;
    }
    found
}
