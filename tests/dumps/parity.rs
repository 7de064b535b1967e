//! Every cell of every expected table.

use std::fs;
use std::path::Path;

use precision_gate::msprobe::dump::Matching;
use precision_gate::msprobe::table::MsprobeTable;

use crate::dumps::support::{Difference, expected, fixtures, tables};

#[test]
fn every_cell_equals_what_the_real_tool_wrote() {
    let mut difference = Difference::default();
    let mut count = 0;
    let mut cases: Vec<_> = fs::read_dir(fixtures()).expect("fixtures").flatten().map(|entry| entry.path()).collect();
    cases.sort();
    for case in cases {
        let Ok(files) = fs::read_dir(case.join("expected")) else { continue };
        let mut files: Vec<_> = files.flatten().map(|entry| entry.path()).collect();
        files.sort();
        for file in files.iter().filter(|file| is_table(file)) {
            let (want, got) = (expected(file), produced(&case, file));
            count += 1;
            if want.rows.is_empty() {
                assert!(got.is_none(), "{file:?}: the real tool writes no table");
                continue;
            }
            difference.add(&format!("{case:?} {file:?}"), &want, got.as_ref());
        }
    }
    println!("{count} tables");
    difference.check();
    assert!(count >= 46, "{count} tables");
}

fn is_table(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.ends_with(".json") && name.contains("compare_result")
}

/// The table that corresponds to an expected one: `dir_step0.compare_result_rank1.json`.
fn produced(case: &Path, file: &Path) -> Option<MsprobeTable> {
    let name = file.file_name()?.to_str()?;
    let (variant, rest) = name.split_once('.')?;
    let step = variant.rsplit('_').next()?;
    let side = |side: &str| match case.join(side).join(step) {
        path if path.is_dir() => path,
        _ => case.join(side),
    };
    let tables = tables(&side("gpu"), &side("npu"), &Matching::default());
    let rank = rest.strip_suffix(".json")?.rsplit('_').next().filter(|part| part.starts_with("rank"));
    tables
        .into_iter()
        .find(|table| table.name.contains(&format!("_{step}")) && rank.is_none_or(|rank| table.name.ends_with(rank)))
}
