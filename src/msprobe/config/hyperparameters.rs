//! Settings: names matched by their last part, an alias table, or similarity; values compared as Python texts.

use super::exception::Exception;
use super::sheet::{Sheet, worst_level};
use super::value::{cell, python_equal};
use crate::msprobe::{python, table::Cell};
use crate::pair::similarity::PreparedText;
use crate::read::json::Json;
use crate::read::pack::{Pack, PackSettings};
use crate::redact::Redactor;

/// Canonical names with their aliases, in msprobe's order.
const ALIASES: [(&str, &[&str]); 8] = [
    ("learning_rate", &["lr", "learningrate"]),
    ("batch_size", &["batch", "bs", "batch_size_per_gpu"]),
    ("epochs", &["num_epochs", "max_epochs", "epoch"]),
    ("weight_decay", &["wd", "weightdecay"]),
    ("dropout_rate", &["dropout", "drop_rate"]),
    ("compute_dtype", &["bf16", "fp32"]),
    ("residual_dtype", &["fp32_residual_connection"]),
    ("softmax_compute_dtype", &["attention_softmax_in_fp32"]),
];

/// Similarity a name must exceed.
const SIMILAR: f64 = 0.8;

pub(super) fn compare(bench: &Pack, cmp: &Pack, redactor: &Redactor) -> Result<Sheet, Exception> {
    let mut rows = Vec::new();
    let files = [
        ("hyperparameters_static.json", &bench.hyper_static, &cmp.hyper_static),
        ("hyperparameters_dynamic.json", &bench.hyper_dynamic, &cmp.hyper_dynamic),
    ];
    for (name, bench, cmp) in files {
        if let (Some(bench), Some(cmp)) = (bench, cmp) {
            let (bench, cmp) = (bench.as_ref().map_err(Exception::from)?, cmp.as_ref().map_err(Exception::from)?);
            rows.extend(file(name, bench, cmp, redactor)?);
        } else if let Some(Err(error)) = bench.as_ref().or(cmp.as_ref()) {
            return Err(error.into());
        }
    }
    let level = worst_level(&rows);
    Ok(Sheet { rows, level })
}

/// Short name to full name: the last part with `-` as `_`; of names that collide the last one stands, in the
/// place of the first.
fn short_names(settings: &PackSettings) -> Vec<(String, &str)> {
    let mut names: Vec<(String, &str)> = Vec::new();
    for (full, _) in settings {
        let short = full.rsplit('.').next().unwrap_or(full).replace('-', "_");
        match names.iter_mut().find(|(known, _)| *known == short) {
            Some(known) => known.1 = full,
            None => names.push((short, full)),
        }
    }
    names
}

fn file(
    name: &str,
    bench: &PackSettings,
    cmp: &PackSettings,
    redactor: &Redactor,
) -> Result<Vec<Vec<Cell<'static>>>, Exception> {
    let (bench_names, cmp_names) = (short_names(bench), short_names(cmp));
    let candidates: Vec<Candidate<'_>> = cmp_names.iter().map(|(short, full)| Candidate::new(short, full)).collect();
    let mut left: Vec<&(String, Json)> = cmp.iter().collect();
    let mut rows: Vec<Vec<Cell<'static>>> = Vec::new();
    let shown = |name: &str, value: &Json| cell(&redactor.value(name, value));
    for (short, full) in &bench_names {
        let value = as_text(value_of(bench, full));
        let partner = matching(short, &candidates).filter(|(full, _)| !full.is_empty());
        let Some((partner, matched_with)) = partner else {
            rows.push(row(name, [full, "Only in benchmark"], [shown(full, &value), Cell::Empty], None));
            continue;
        };
        // A partner is taken once; the names msprobe searches still hold it, and it dies at the second use.
        let position = left.iter().position(|(name, _)| name == partner).ok_or(Exception::Key)?;
        let other = as_text(&left.remove(position).1);
        if !python_equal(&value, &other, false) {
            let values = [shown(full, &value), shown(partner, &other)];
            rows.push(row(name, [full, partner], values, Some(matched_with)));
        }
    }
    for (full, value) in left {
        rows.push(row(name, ["Only in comparison", full], [Cell::Empty, shown(full, value)], None));
    }
    // Python sorts rows as lists; the first three texts of a row are unique.
    rows.sort_by_cached_key(|row| row.iter().take(3).map(|cell| cell.text().into_owned()).collect::<Vec<_>>());
    Ok(rows)
}

/// A row: an error where partners differ, a warning where there is no partner.
fn row(file: &str, names: [&str; 2], values: [Cell<'static>; 2], matched_with: Option<String>) -> Vec<Cell<'static>> {
    let level = if matched_with.is_some() { "error" } else { "warning" };
    let matched_with = matched_with.map_or(Cell::Empty, Cell::from);
    let cells = std::iter::once(file.into()).chain(names.map(Cell::from)).chain(values);
    cells.chain([matched_with, level.into()]).collect()
}

fn value_of<'a>(settings: &'a PackSettings, name: &str) -> &'a Json {
    settings.iter().find(|(known, _)| known == name).map_or(&Json::Null, |(_, value)| value)
}

/// Numbers and booleans become the text Python prints; the rest stays.
fn as_text(value: &Json) -> Json {
    match value {
        Json::Int(_) | Json::BigInt(_) | Json::Float(_) | Json::Bool(_) => Json::Text(python::str(value)),
        other => other.clone(),
    }
}

/// A name of the other side, ready to be compared.
struct Candidate<'a> {
    short: &'a str,
    full: &'a str,
    sequence: PreparedText,
}

impl<'a> Candidate<'a> {
    fn new(short: &'a str, full: &'a str) -> Self {
        Self { short, full, sequence: PreparedText::new(&short.to_lowercase()) }
    }
}

/// The full name of the partner of `short`, and how it was found.
fn matching<'a>(short: &str, candidates: &[Candidate<'a>]) -> Option<(&'a str, String)> {
    let named = |name: &str| candidates.iter().find(|candidate| candidate.short == name).map(|found| found.full);
    if let Some(full) = named(short) {
        return Some((full, "pure name".into()));
    }
    let entry = ALIASES.iter().find(|(canonical, aliases)| *canonical == short || aliases.contains(&short));
    if let Some((canonical, aliases)) = entry {
        let found = named(canonical).or_else(|| aliases.iter().find_map(|alias| named(alias)));
        if let Some(full) = found {
            return Some((full, "mapping".into()));
        }
    }
    let lower = short.to_lowercase();
    let mut best = None;
    let mut best_ratio = SIMILAR;
    for candidate in candidates {
        let ratio = candidate.sequence.ratio(&lower);
        if ratio > best_ratio {
            best_ratio = ratio;
            best = Some(candidate.full);
        }
    }
    best.map(|full| (full, format!("similarity:{}", python::float(best_ratio))))
}
