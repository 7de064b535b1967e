//! Thirty nights of three suites, one with a slow drift, one with a step, one with a single bad night: what is told, and
//! when. Writes the tables of `docs/trend.md` and draws `docs/images/trend.png`.
//!
//! ```text
//! cargo run --example thirty_nights -- docs
//! ```
//!
//! Without a folder the tables are printed.
#![allow(clippy::print_stdout, clippy::indexing_slicing, reason = "an example that prints tables of its own constants")]

#[path = "../../tests/data.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod data;
mod measure;
mod nights;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use nights::{NIGHTS, Night, Suite};
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::history::trend::trends;
use precision_gate::report::escape::TextTarget;
use precision_gate::report::messages::Language;
use precision_gate::report::plot::trend::trend_png;
use precision_gate::report::trend::{sparkline, table};
use precision_gate::report::writer::Writer;
use precision_gate::result::trend::Trend;

fn main() -> Result<()> {
    let folder = tempfile::tempdir().map_err(|error| Error::io("a temporary folder", &error))?;
    nights::write_baseline(folder.path())?;
    let mut suites = Vec::new();
    for suite in Suite::ALL {
        suites.push((suite, nights::judge(suite, folder.path())?));
    }
    let docs = std::env::args().nth(1).map(PathBuf::from);
    let give = |name: &str, table: &str| match &docs {
        None => {
            println!("{table}");
            Ok(())
        }
        Some(docs) => replace(&docs.join("trend.md"), name, table),
    };
    let shown = shown(&suites);
    give("nights", &nights_table(&suites)?)?;
    give("last", &last_table(&shown)?)?;
    if let Some((docs, png)) = docs.as_ref().zip(trend_png(&shown, Language::En)?) {
        write(&docs.join("images/trend.png"), &png)?;
    }
    give("measured", &measure::tables())
}

/// The rules that move, of all suites, worst first.
fn shown(suites: &[(Suite, Vec<Night>)]) -> Vec<Trend> {
    let series: Vec<_> = suites.iter().flat_map(|(_, nights)| nights::series(nights)).collect();
    let mut shown: Vec<Trend> = trends(&series).into_iter().filter(Trend::moves).collect();
    for trend in &mut shown {
        trend.unit = format!("{} / {}", trend.suite, trend.unit);
    }
    shown
}

fn nights_table(suites: &[(Suite, Vec<Night>)]) -> Result<String> {
    let writer = Writer::new(Language::En, TextTarget::Markdown);
    let mut text = String::from("| suite | night | until then | warning, told once |\n|---|---:|---|---|\n");
    for (suite, nights) in suites {
        let told = nights::told(nights);
        for told in &told {
            let message = writer.finding(&told.finding)?.message;
            let values: Vec<f64> = told.trend.last.iter().map(|run| run.value.0).collect();
            line(&mut text, &[suite.name(), &told.night.to_string(), &sparkline(&values), &message]);
        }
        if told.is_empty() {
            line(&mut text, &[suite.name(), "", "", "none"]);
        }
    }
    text.push_str("\n| suite | nights that block | nights with an alert | bisect |\n|---|---|---|---|\n");
    for (suite, nights) in suites {
        let bisect =
            nights::bisect(nights).map(|(good, bad)| format!("night {} to {}", of(nights, &good), of(nights, &bad)));
        let cells = [listed(&nights::red(nights)), listed(&nights::alerts(nights)), bisect.unwrap_or_default()];
        line(&mut text, &[suite.name(), &cells[0], &cells[1], &cells[2]]);
    }
    let values: usize = suites.iter().map(|(_, nights)| nights::series(nights).len()).sum();
    let _written = writeln!(text, "\n{values} rules were looked at on each of {NIGHTS} nights.");
    Ok(text)
}

fn of(nights: &[Night], commit: &str) -> String {
    nights.iter().find(|night| night.record.commit == commit).map_or_else(String::new, |night| night.number.to_string())
}

fn listed(nights: &[u64]) -> String {
    match nights {
        [] => "none".to_owned(),
        [night] => night.to_string(),
        [first, .., last] => format!("{first} to {last}"),
    }
}

fn last_table(trends: &[Trend]) -> Result<String> {
    table(trends, &Writer::new(Language::En, TextTarget::Markdown))
}

fn line(text: &mut String, cells: &[&str]) {
    // Writing to a string cannot fail.
    let _written = writeln!(text, "| {} |", cells.join(" | "));
}

/// Puts `table` between the marks `name` of a page.
fn replace(page: &Path, name: &str, table: &str) -> Result<()> {
    let text = fs::read_to_string(page).map_err(|error| Error::io(page.display().to_string(), &error))?;
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
    let parts = text.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let Some((before, behind)) = parts else {
        return Err(Error::new(ErrorKind::NotFound, page.display().to_string(), format!("has no marks `{name}`")));
    };
    write(page, format!("{before}{begin}\n{table}\n{end}{behind}").as_bytes())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|error| Error::io(path.display().to_string(), &error))
}
