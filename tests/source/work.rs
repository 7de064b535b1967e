//! Work that a file makes: time and memory grow with its size.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use super::{gate, json, tree};

/// A name and the source with this number of items.
type Source = (&'static str, fn(usize) -> String);

fn repeated(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::from("import torch\n"), |mut text, place| {
        let _written = text.write_str(&line(place));
        text
    })
}

const SOURCES: &[Source] = &[
    ("findings", |count| repeated(count, |_| "x.cuda()\n".to_owned())),
    ("with items", |count| format!("with {}a: pass\n", "a as b, ".repeat(count))),
    ("calls within calls", |count| repeated(count / 100, |_| format!("{}{}\n", "f(".repeat(100), ")".repeat(100)))),
    ("a chain of calls", |count| format!("x{}\n", ".cuda()".repeat(count))),
    ("one long line", |count| "x.cuda();".repeat(count) + "\n"),
    ("functions", |count| repeated(count, |place| format!("def f{place}(): pass\n"))),
    ("names", |count| repeated(count, |place| format!("n{place}\n"))),
    ("imports", |count| repeated(count, |place| format!("import m{place} as m\n"))),
    ("stars of modules", |count| repeated(count, |place| format!("from m{place} import *\nn{place}()\n"))),
    ("decorators", |count| "@d\n".repeat(count) + "def f(): pass\n"),
    ("comprehensions", |count| format!("x = [a {}]\n", "for a in b ".repeat(count))),
    ("texts", |count| format!("x = {}\n", "'a' ".repeat(count))),
    ("a sum of texts", |count| format!("x = {}''\n", "'a' + ".repeat(count))),
    ("comments that accept", |count| {
        repeated(count, |_| "x.cuda()  # precision-gate: ignore[cuda-hard-coded] it is\n".to_owned())
    }),
    ("tests that leave", |count| {
        let tests = "    if a: return\n".repeat(count / 2);
        format!("def f(a):\n{tests}{}", "    x.cuda()\n".repeat(count / 2))
    }),
    ("branches by platform", |count| {
        let side = |value: &str| {
            repeated(count / 2, |place| format!("    n{place} = {value}\n")).replace("import torch\n", "")
        };
        format!("if npu:\n{}else:\n{}", side("1"), side("2"))
    }),
];

/// Time that one source takes, by itself and where a diff touches every other line.
fn time(source: &str, has_diff: bool) -> Duration {
    let folder = tree(&[("x.py", source)]);
    let mut arguments = vec!["source", "x.py"];
    if has_diff {
        let lines = source.lines().count();
        let hunks = (1..lines).step_by(2).fold(String::new(), |mut text, line| {
            let _written = write!(text, "@@ -{line} +{line} @@\n-a\n+b\n");
            text
        });
        fs::write(folder.path().join("x.diff"), format!("--- a/x.py\n+++ b/x.py\n{hunks}")).expect("written");
        arguments.extend(["--diff", "x.diff"]);
    }
    let start = Instant::now();
    let (_, out) = gate(folder.path(), &arguments);
    let taken = start.elapsed();
    assert!(json(&out, "result.json")["checks"].is_array());
    taken
}

/// Ten times the items take about ten times as long.
#[test]
fn work_grows_with_the_size_of_a_file() {
    for (name, make) in SOURCES {
        for has_diff in [false, true] {
            // A file has one finding of this rule: findings of their own are the work of reports.
            let (small, large) = (time(&make(1_000), has_diff), time(&make(10_000), has_diff));
            // The program's start, and a machine that is busy with other things.
            let limit = small * 40 + Duration::from_secs(10);
            assert!(large < limit, "{name}, with a diff: {has_diff}: {small:?}, and {large:?} for ten times as much");
        }
    }
}

/// Writes sources to measure: `SOURCES=folder cargo test --test all write_sources -- --ignored`.
#[test]
#[ignore = "writes files for measurements by hand"]
fn write_sources() {
    let folder = std::path::PathBuf::from(std::env::var_os("SOURCES").expect("SOURCES names a folder"));
    for (name, make) in SOURCES {
        for count in [10_000, 100_000, 1_000_000] {
            let file = folder.join(format!("{}-{count}", name.replace(' ', "-"))).join("x.py");
            fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            fs::write(file, make(count)).expect("written");
        }
    }
}
