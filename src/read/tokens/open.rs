//! Opening of files of log-probabilities.

use std::collections::BTreeMap;

use super::columns::{Built, Columns};
use super::keys::{is_measured, role_of_key};
use super::lines::TokensLines;
use super::place::{RecordDamage, TokensFile, TokensFormat, key_of, rank_of, stem, step_of};
use super::table::{Content, TokensTable};
use crate::error::{Error, Result};
use crate::fetch::{Files, Source};
use crate::read::archive::{Archive, ArchiveLimits};
use crate::read::npy;
use crate::read::npz;
use crate::read::safetensors;
use crate::read::tensor::StoredValue;
use crate::read::torch::{self, Tree};

/// Most members of an archive of arrays.
const MOST_MEMBERS: usize = 4096;

/// Opened files of log-probabilities of a side, and the files that cannot be opened.
#[derive(Default)]
pub struct OpenedTables {
    /// Opened files.
    pub tables: Vec<TokensTable>,
    /// Paths of files that cannot be opened, each with the error.
    pub damaged: Vec<(String, Error)>,
}

/// Opens all files of log-probabilities. Arrays in separate `.npy` files are combined by folder, step and rank.
pub fn open_all(files: &dyn Files, all: &[TokensFile]) -> OpenedTables {
    let mut opened = OpenedTables::default();
    let mut groups: BTreeMap<(String, String, Option<u64>), Vec<&TokensFile>> = BTreeMap::new();
    for file in all {
        if let TokensFormat::Npy(_) = file.format {
            let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            // Without a step number, the stem without the key identifies the batch.
            let step = match step_of(&file.path).number() {
                Some(number) => number.to_string(),
                None => stem(&file.path).replacen(key_of(&file.path), "", 1),
            };
            groups.entry((folder.to_owned(), step, rank_of(&file.path))).or_default().push(file);
            continue;
        }
        match open(files, file) {
            Ok(table) => opened.tables.push(table),
            Err(error) => opened.damaged.push((file.path.clone(), error)),
        }
    }
    for group in groups.into_values() {
        open_group(files, &group, &mut opened);
    }
    opened
}

/// Opens the arrays of one batch, each of which is in a file of its own.
fn open_group(files: &dyn Files, group: &[&TokensFile], opened: &mut OpenedTables) {
    let mut entries = Vec::new();
    let mut path: Option<&str> = None;
    let mut damages = Vec::new();
    for file in group {
        let TokensFormat::Npy(key) = &file.format else { continue };
        if is_measured(key) || path.is_none() {
            path = Some(&file.path);
        }
        match files.open(&file.path).and_then(npy::open) {
            Ok(tensor) => entries.push((key.clone(), Tree::Tensor(tensor))),
            Err(error) => damages.push((file.path.clone(), error)),
        }
    }
    let Some(path) = path else { return };
    let is_there = entries.iter().any(|(key, _)| is_measured(key));
    opened.damaged.extend(damages);
    if !is_there {
        return;
    }
    match Columns::build(path, entries) {
        Ok(built) => opened.tables.push(table(path, built)),
        Err(error) => opened.damaged.push((path.to_owned(), error)),
    }
}

fn open(files: &dyn Files, file: &TokensFile) -> Result<TokensTable> {
    let source = files.open(&file.path)?;
    let built = match &file.format {
        TokensFormat::Torch => of_tree(&file.path, torch::open_tree(source)?)?,
        TokensFormat::Npz => Columns::build(&file.path, of_archive(&source)?)?,
        TokensFormat::Safetensors => Columns::build(&file.path, of_stored(safetensors::open(source)?))?,
        TokensFormat::Npy(key) => Columns::build(&file.path, vec![(key.clone(), Tree::Tensor(npy::open(source)?))])?,
        TokensFormat::Lines => {
            let found = TokensLines::open(source)?;
            let mut table = table(&file.path, Built::default());
            (table.damages, table.unread) = (found.damages, found.unread);
            table.content = Content::Lines(found.lines);
            return Ok(table);
        }
    };
    Ok(table(&file.path, built))
}

fn table(path: &str, built: Built) -> TokensTable {
    TokensTable {
        path: path.to_owned(),
        damages: Vec::<RecordDamage>::new(),
        unread: built.unread,
        step: built.step.map_or_else(|| step_of(path), super::place::TokensStep::Number),
        rank: built.rank.or_else(|| rank_of(path)),
        content: Content::Arrays(built.columns),
    }
}

/// Arrays of a numpy archive.
fn of_archive(source: &Source) -> Result<Vec<(String, Tree)>> {
    let limits = ArchiveLimits { members: MOST_MEMBERS, total_bytes: source.memory_limit() };
    let archive = Archive::open(source.clone(), limits)?;
    let mut entries = Vec::new();
    for member in archive.members() {
        let Some(key) = member.name().strip_suffix(".npy") else { continue };
        // Members without a role are not expanded.
        if role_of_key(key).is_none() {
            entries.push((key.to_owned(), Tree::Unread));
            continue;
        }
        entries.push((key.to_owned(), Tree::Tensor(npz::array(&archive, member, source)?)));
    }
    Ok(entries)
}

fn of_stored(stored: Vec<(String, StoredValue)>) -> Vec<(String, Tree)> {
    let tree = |stored: StoredValue| match stored {
        StoredValue::Tensor(tensor) => Tree::Tensor(tensor),
        StoredValue::Unsupported(_) | StoredValue::Part(_) => Tree::Unread,
        StoredValue::Plain(_) | StoredValue::Shape(_) => Tree::Other,
    };
    stored.into_iter().map(|(key, stored)| (key, tree(stored))).collect()
}

/// Finds the dictionary of arrays, or the list of samples, in a pickled value.
fn of_tree(path: &str, tree: Tree) -> Result<Built> {
    let none = || {
        Error::corrupt(path, "holds no arrays of log-probabilities where its keys promise them")
            .with_help("save a plain dictionary of tensors, or of lists of tensors")
    };
    search(path, tree)?.ok_or_else(none)
}

fn search(path: &str, tree: Tree) -> Result<Option<Built>> {
    match tree {
        Tree::Map(entries) if holds_arrays(&entries) => Columns::build(path, entries).map(Some),
        Tree::Map(entries) => {
            let scalars: Vec<(String, Tree)> = entries
                .iter()
                .filter_map(|(key, tree)| match tree {
                    Tree::Number(number) => Some((key.clone(), Tree::Number(*number))),
                    _ => None,
                })
                .collect();
            for (_, inner) in entries {
                if let Some(mut built) = search(path, inner)? {
                    for (key, tree) in scalars {
                        built.take_place(&key, &tree);
                    }
                    return Ok(Some(built));
                }
            }
            Ok(None)
        }
        Tree::List(items) => {
            let is_sample = |item: &Tree| matches!(item, Tree::Map(entries) if holds_arrays(entries));
            if items.iter().any(is_sample) {
                let samples =
                    items.into_iter().map(|item| if let Tree::Map(entries) = item { entries } else { vec![] });
                return Columns::from_samples(path, samples.collect()).map(Some);
            }
            for item in items {
                if let Some(built) = search(path, item)? {
                    return Ok(Some(built));
                }
            }
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Whether a pickled value holds arrays of log-probabilities.
pub(super) fn holds_records(tree: &Tree) -> bool {
    match tree {
        Tree::Map(entries) => holds_arrays(entries) || entries.iter().any(|(_, inner)| holds_records(inner)),
        Tree::List(items) => items.iter().any(holds_records),
        _ => false,
    }
}

/// Whether a dictionary holds arrays of log-probabilities.
fn holds_arrays(entries: &[(String, Tree)]) -> bool {
    let is_array = |tree: &Tree| matches!(tree, Tree::Tensor(_) | Tree::Numbers(_) | Tree::List(_));
    entries.iter().any(|(key, tree)| is_measured(key) && is_array(tree))
}
