//! Parameters of the model: exact equality of four statistics, and texts for names on one side.
//!
//! Only the boolean false is an error; a missing rank, missing steps and disjoint names pass.

use super::exception::Exception;
use super::sheet::{Sheet, level_of_booleans, step_and_rank};
use super::value::{relative_difference, same_number};
use crate::hash::FastMap;
use crate::msprobe::table::Cell;
use crate::read::pack::{Checker, Pack, PackParameter};

/// Titles of the sheet.
pub(super) const COLUMNS: [&str; 8] = [
    "step",
    "rank",
    "weight_name",
    "equal",
    "max_relative_diff",
    "min_relative_diff",
    "mean_relative_diff",
    "norm_relative_diff",
];

pub(super) fn compare(bench: &Pack, cmp: &Pack) -> Result<Sheet, Exception> {
    if let Some(exception) = bench.misplaced.iter().find_map(layout) {
        return Err(exception);
    }
    let mut rows = Vec::new();
    for (place, parameters) in &bench.weights {
        let prefix = step_and_rank(*place);
        let bench = parameters.as_ref().map_err(Exception::from)?;
        match cmp.weights.get(place) {
            Some(other) => file(&prefix, bench, other.as_ref().map_err(Exception::from)?, &mut rows)?,
            None => rows.extend(bench.iter().map(|parameter| one_sided(&prefix, &parameter.name, "only bench have"))),
        }
    }
    if let Some(error) = cmp.weights.values().find_map(|parameters| parameters.as_ref().err()) {
        return Err(error.into());
    }
    let level = level_of_booleans(&rows, 3);
    Ok(Sheet { rows, level })
}

/// Exception that msprobe ends with at a weights member in the wrong place; `None` where it passes over it.
fn layout((checker, path): &(Checker, String)) -> Option<Exception> {
    if *checker != Checker::Weights || !path.ends_with(".json") {
        return None;
    }
    let folders: Vec<&str> = path.split('/').skip(1).collect();
    let [step, rank, _, ..] = folders.as_slice() else { return Some(Exception::Plain) };
    let number = |text: &str, word: &str| text.replace(word, "").trim().parse::<i64>().is_ok();
    (!number(step, "step") || !number(rank, "rank")).then_some(Exception::Value)
}

fn file(
    prefix: &[Cell<'static>; 2],
    bench: &[PackParameter],
    cmp: &[PackParameter],
    rows: &mut Vec<Vec<Cell<'static>>>,
) -> Result<(), Exception> {
    let on_cmp: FastMap<&str, &PackParameter> =
        cmp.iter().map(|parameter| (parameter.name.as_str(), parameter)).collect();
    let on_bench: FastMap<&str, &PackParameter> =
        bench.iter().map(|parameter| (parameter.name.as_str(), parameter)).collect();
    for parameter in bench {
        rows.push(match on_cmp.get(parameter.name.as_str()) {
            Some(other) => pair(prefix, parameter, other)?,
            None => one_sided(prefix, &parameter.name, "only bench have"),
        });
    }
    let added = cmp.iter().filter(|parameter| !on_bench.contains_key(parameter.name.as_str()));
    rows.extend(added.map(|parameter| one_sided(prefix, &parameter.name, "only cmp have")));
    Ok(())
}

fn pair(
    prefix: &[Cell<'static>; 2],
    bench: &PackParameter,
    cmp: &PackParameter,
) -> Result<Vec<Cell<'static>>, Exception> {
    let (a, b) = (bench.statistics.as_ref(), cmp.statistics.as_ref());
    let (a, b) = (a.map_err(|error| Exception::from(*error))?.0, b.map_err(|error| Exception::from(*error))?.0);
    let equal = a.iter().zip(b).all(|(a, b)| same_number(*a, b, false));
    let mut row = prefix.to_vec();
    row.extend([Cell::from(bench.name.as_str()), Cell::Bool(equal)]);
    row.extend(a.iter().zip(b).map(|(a, b)| relative_difference(*a, b)));
    Ok(row)
}

fn one_sided(prefix: &[Cell<'static>; 2], name: &str, text: &str) -> Vec<Cell<'static>> {
    let mut row = prefix.to_vec();
    row.extend([Cell::from(name), Cell::from(text)]);
    row.extend([const { Cell::Empty }; 4]);
    row
}
