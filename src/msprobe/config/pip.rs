//! Installed packages: eight names, texts compared exactly.

use super::exception::Exception;
use super::sheet::{Sheet, worst_level};
use crate::msprobe::table::Cell;
use crate::read::pack::Pack;

/// The packages msprobe looks at, in its order.
const WATCHED: [&str; 8] = ["transformers", "deepspeed", "megatron", "numpy", "datasets", "peft", "mindspore", "torch"];

pub(super) fn compare(bench: &Pack, cmp: &Pack) -> Result<Sheet, Exception> {
    let (bench, cmp) = (lines(bench)?, lines(cmp)?);
    let row = |package: &&str| {
        let (bench, cmp) = (version(bench, package), version(cmp, package));
        let shown = |version: Option<&str>| Cell::from(version.filter(|text| !text.is_empty()).unwrap_or("None"));
        (bench != cmp).then(|| vec![Cell::from(*package), shown(bench), shown(cmp), "error".into()])
    };
    let rows: Vec<Vec<Cell<'static>>> = WATCHED.iter().filter_map(row).collect();
    let level = worst_level(&rows);
    Ok(Sheet { rows, level })
}

fn lines(pack: &Pack) -> Result<&[String], Exception> {
    match &pack.pip {
        Some(Ok(lines)) => Ok(lines),
        // Unpacking came first; a text that is not UTF-8 fails later, and not as a file that could not be loaded.
        Some(Err(error)) if error.message().starts_with("not UTF-8") => Err(Exception::UnicodeDecode),
        _ => Err(Exception::Runtime),
    }
}

/// The version of the last line with this name; empty where the line does not hold exactly one `=`.
fn version<'a>(lines: &'a [String], package: &str) -> Option<&'a str> {
    let last = lines.iter().rev().find(|line| line.split('=').next() == Some(package))?;
    let (_, version) = last.split_once('=').unwrap_or_default();
    Some(if version.contains('=') { "" } else { version })
}
