//! Inputs of the model's forward: four statistics per tensor, walked in the order of the baseline's file.

use super::exception::Exception;
use super::sheet::{Sheet, level_of_booleans, step_and_rank};
use super::value::{relative_difference, same_number};
use crate::msprobe::table::Cell;
use crate::read::json::Json;
use crate::read::pack::{Checker, ForwardInput, Pack, PackStatistics, STATISTICS};

/// Titles of the sheet.
pub(super) const COLUMNS: [&str; 8] = [
    "step",
    "rank",
    "tag",
    "equal",
    "max_relative_diff",
    "min_relative_diff",
    "mean_relative_diff",
    "norm_relative_diff",
];

/// Nesting at which msprobe's comparison gives up.
const MAX_DEPTH: usize = 400;

type Entries = [(String, ForwardInput)];

pub(super) fn compare(bench: &Pack, cmp: &Pack) -> Result<Sheet, Exception> {
    let stray = |pack: &Pack, path: &String| pack.misplaced.contains(&(Checker::Dataset, path.clone()));
    let paired = |(checker, path): &(Checker, String)| {
        let layout = path.split('/').count() == 4 && path.ends_with("/dataset.json");
        *checker == Checker::Dataset && layout && stray(cmp, path)
    };
    if bench.misplaced.iter().any(paired) {
        return Err(Exception::Value);
    }
    let mut rows = Vec::new();
    for (place, inputs) in &bench.dataset {
        let Some(other) = cmp.dataset.get(place) else { continue };
        let mut walk = Walk { prefix: step_and_rank(*place), rows: &mut rows };
        walk.group(inputs.as_ref().map_err(Exception::from)?, other.as_ref().map_err(Exception::from)?, "", 1)?;
    }
    if let Some(error) = cmp.dataset.values().find_map(|inputs| inputs.as_ref().err()) {
        return Err(error.into());
    }
    let level = level_of_booleans(&rows, 3);
    Ok(Sheet { rows, level })
}

/// A walk over one step and rank.
struct Walk<'a> {
    prefix: [Cell<'static>; 2],
    rows: &'a mut Vec<Vec<Cell<'static>>>,
}

impl Walk<'_> {
    fn row(&mut self, tag: String, equal: bool, differences: [Cell<'static>; 4]) {
        let mut row = self.prefix.to_vec();
        row.extend([Cell::from(tag), Cell::Bool(equal)]);
        row.extend(differences);
        self.rows.push(row);
    }

    fn one_sided(&mut self, tag: String) {
        self.row(tag, false, [const { Cell::Empty }; 4]);
    }

    fn group(&mut self, bench: &Entries, cmp: &Entries, tag: &str, depth: usize) -> Result<(), Exception> {
        if depth > MAX_DEPTH {
            return Err(Exception::Recursion);
        }
        for (key, value) in bench {
            let tag = joined(tag, key);
            match (value, find(cmp, key)) {
                (_, None) => self.one_sided(tag),
                (ForwardInput::Plain(_), Some(_)) => {}
                (ForwardInput::Tensor(statistics), Some(other)) => self.tensor(tag, statistics, other)?,
                (ForwardInput::Group(items), Some(_)) if is_statistics(items) => return Err(Exception::Type),
                (ForwardInput::Group(items), Some(other)) => self.against(items, other, &tag, depth)?,
            }
        }
        for (key, _) in cmp.iter().filter(|(key, _)| find(bench, key).is_none()) {
            self.one_sided(joined(tag, key));
        }
        Ok(())
    }

    /// Descends into a group of the baseline, whatever stands on the other side.
    fn against(&mut self, items: &Entries, other: &ForwardInput, tag: &str, depth: usize) -> Result<(), Exception> {
        match other {
            ForwardInput::Group(others) => self.group(items, others, tag, depth + 1),
            ForwardInput::Tensor(statistics) => self.group(items, &as_group(statistics), tag, depth + 1),
            // `key in text` and `key in list` work in Python, and find nothing here.
            ForwardInput::Plain(Json::Text(_) | Json::Array(_)) => self.group(items, &[], tag, depth + 1),
            ForwardInput::Plain(_) => Err(Exception::Type),
        }
    }

    fn tensor(&mut self, tag: String, bench: &PackStatistics, other: &ForwardInput) -> Result<(), Exception> {
        let mut differences = [const { Cell::Empty }; 4];
        for ((difference, name), bench) in differences.iter_mut().zip(STATISTICS).zip(bench.0) {
            // Python does not look at the other side where the divisor is zero.
            if bench != 0.0 {
                *difference = relative_difference(bench, field(other, name)?);
            }
        }
        let equal = match other {
            ForwardInput::Tensor(other) => bench.0.iter().zip(other.0).all(|(a, b)| same_number(*a, b, true)),
            _ => false,
        };
        self.row(tag, equal, differences);
        Ok(())
    }
}

fn joined(tag: &str, key: &str) -> String {
    if tag.is_empty() { key.to_owned() } else { format!("{tag}.{key}") }
}

fn find<'a>(entries: &'a Entries, key: &str) -> Option<&'a ForwardInput> {
    entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

fn is_statistics(items: &Entries) -> bool {
    items.len() == STATISTICS.len() && STATISTICS.iter().all(|name| find(items, name).is_some())
}

fn as_group(statistics: &PackStatistics) -> Vec<(String, ForwardInput)> {
    let entry = |(name, value): (&str, f64)| (name.to_owned(), ForwardInput::Plain(Json::Float(value)));
    STATISTICS.into_iter().zip(statistics.0).map(entry).collect()
}

/// One statistic of what stands where a tensor was expected.
fn field(input: &ForwardInput, name: &str) -> Result<f64, Exception> {
    match input {
        ForwardInput::Tensor(statistics) => {
            let position = STATISTICS.iter().position(|known| *known == name);
            position.and_then(|position| statistics.0.get(position)).copied().ok_or(Exception::Key)
        }
        ForwardInput::Group(items) => match find(items, name) {
            Some(ForwardInput::Plain(value)) => value.as_f64().ok_or(Exception::Type),
            Some(_) => Err(Exception::Type),
            None => Err(Exception::Key),
        },
        ForwardInput::Plain(_) => Err(Exception::Type),
    }
}
