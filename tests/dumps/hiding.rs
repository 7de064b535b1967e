//! Hiding evidence of a dump never buys a pass.
//!
//! Of every pair, each operation, each value, each member of a record, each file and each folder of the candidate is
//! taken away, blanked or made a text in turn, and operations are given a second time with the baseline's record. A pair
//! that is blocked stays blocked, one with a warning never passes, and one that passed passes only where its counts do
//! not claim what is gone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use precision_gate::result::GateResult;
use precision_gate::verdict::Verdict;
use rayon::prelude::*;

use crate::changes::folder::{Change, Copied, folders};
use crate::changes::places::{Place, places};
use crate::changes::tree::files;
use crate::changes::{Random, codes, evidence, judge};
use crate::dumps::support::fixtures;

/// Changes of a pair that the sampled test makes.
const SAMPLE: usize = 3;

/// Members of a record that stand for the numbers of a tensor: the name of its file or, where no numbers were kept, what
/// was measured of them.
const DATA: [&str; 1] = ["data_name"];
const MEASURED: [&str; 5] = ["Max", "Min", "Mean", "Norm", "md5"];

/// Something that is hidden, and whether a count of what was compared has to fall with it.
struct Hiding {
    what: String,
    change: Change,
    is_counted: bool,
}

/// Whether a file holds records.
fn is_records(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    matches!(name, "dump.json" | "debug.json") || name.ends_with(".pkl")
}

/// The records of the operations of a file of the baseline, by name.
fn operations(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let found = places(bytes);
    let all = found.iter().filter(|place| is_operation(place));
    all.map(|place| (place.key().to_owned(), bytes[place.whole.clone()].to_vec())).collect()
}

fn is_operation(place: &Place) -> bool {
    place.path.len() == 3 && place.path[1] == "data"
}

/// All that can be hidden of a file of records.
fn of_records(file: &Path, bytes: &[u8], baseline: &BTreeMap<String, Vec<u8>>) -> Vec<Hiding> {
    let mut found = Vec::new();
    let all = places(bytes);
    let has_data = all.iter().any(|place| DATA.contains(&place.key()));
    let numbers = if has_data { &DATA[..] } else { &MEASURED };
    for place in all {
        let mut add = |what: &str, range, with: Vec<u8>| {
            let what = format!("{what} {}", place.path.join("/"));
            // Members of other names (a shape, a device) describe a tensor, and are not counted.
            // Nor is a number that was never there.
            let is_number = numbers.contains(&place.key()) && &bytes[place.value.clone()] != b"null";
            let is_counted = with.is_empty() && (is_operation(&place) || is_number);
            found.push(Hiding { what, change: Change::Edit { file: file.to_owned(), range, with }, is_counted });
        };
        add("without", place.cut(bytes), Vec::new());
        add("null", place.value.clone(), b"null".to_vec());
        if place.is_plain(bytes) {
            add("text", place.value.clone(), b"\"-\"".to_vec());
        }
        if let Some(record) = baseline.get(place.key()).filter(|_| is_operation(&place)) {
            let own = &bytes[place.whole.clone()];
            add("baseline before", place.whole.clone(), [record, &b","[..], own].concat());
            add("baseline after", place.whole.clone(), [own, &b","[..], record].concat());
        }
    }
    found
}

/// The file of the baseline that lies where `file` of the candidate does; names of processes differ.
fn counterpart(case: &Path, file: &Path) -> BTreeMap<String, Vec<u8>> {
    let in_order = |side: &str| files(&case.join(side)).into_iter().filter(|file| is_records(file)).collect::<Vec<_>>();
    let number = in_order("npu").iter().position(|other| other == file);
    let path = number.and_then(|number| in_order("gpu").get(number).cloned());
    path.map(|path| operations(&std::fs::read(path).expect("readable"))).unwrap_or_default()
}

/// All that can be hidden of a candidate.
fn hidings(case: &Path) -> Vec<Hiding> {
    let root = case.join("npu");
    let mut found = Vec::new();
    for folder in folders(&root) {
        let change = Change::Gone(folder.strip_prefix(&root).expect("below").to_owned());
        found.push(Hiding { what: format!("{change:?}"), change, is_counted: false });
    }
    for path in files(&root) {
        let file = path.strip_prefix(&root).expect("below").to_owned();
        let bytes = std::fs::read(&path).expect("readable");
        let changes =
            [Change::Gone(file.clone()), Change::Cut(file.clone(), bytes.len() / 2), Change::Cut(file.clone(), 0)];
        let is_counted = matches!(file.extension().and_then(|ending| ending.to_str()), Some("pt" | "npy"));
        for change in changes {
            found.push(Hiding { what: format!("{change:?}"), change, is_counted });
        }
        if is_records(&file) {
            found.extend(of_records(&file, &bytes, &counterpart(case, &path)));
        }
    }
    found
}

/// Complaint about the verdict after a change; empty where there is none.
fn complaint(untouched: &GateResult, result: &GateResult, hiding: &Hiding) -> &'static str {
    let (before, after) = (untouched.verdict, result.verdict);
    if after == Verdict::Pass && before > Verdict::Pass {
        return "a pass became possible";
    }
    if after < Verdict::Incomplete && before >= Verdict::Incomplete {
        return "no longer blocks";
    }
    let (seen, known) = (evidence(result), evidence(untouched));
    let claims = hiding.is_counted && seen.compared + seen.shown_only >= known.compared + known.shown_only;
    if after == Verdict::Pass && (claims || seen.unseen() > known.unseen()) { "claims what is gone" } else { "" }
}

/// Makes at most `most` changes of a pair; their number, and what is wrong.
fn all_of(case: &Path, seed: u64, most: usize) -> (usize, Vec<String>) {
    let Ok(untouched) = judge(&case.join("gpu"), &case.join("npu"), "") else { return (0, Vec::new()) };
    let mut chosen = hidings(case);
    let mut random = Random(seed);
    while chosen.len() > most {
        chosen.swap_remove(random.below(chosen.len()));
    }
    let copied = Copied::of(&case.join("npu"));
    let wrong = chosen.iter().filter_map(|hiding| {
        let result = copied.with(&hiding.change, |candidate| judge(&case.join("gpu"), candidate, ""));
        // A side with nothing in it may be refused.
        let result = result.ok()?;
        let complaint = complaint(&untouched, &result, hiding);
        let told = || format!("{}: {}: {complaint}: {:?}", case.display(), hiding.what, codes(&result));
        (!complaint.is_empty()).then(told)
    });
    let wrong = wrong.collect();
    (chosen.len(), wrong)
}

fn cases() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(fixtures()).expect("fixtures").flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.join("npu").is_dir()).collect();
    found.sort();
    found
}

fn all_cases(most: usize) -> usize {
    let cases = cases();
    let all: Vec<_> = cases.par_iter().enumerate().map(|(seed, case)| all_of(case, seed as u64, most)).collect();
    let wrong: Vec<&str> = all.iter().flat_map(|(_, wrong)| wrong).map(String::as_str).collect();
    let made = all.iter().map(|(made, _)| made).sum();
    println!("{made} changes of {} pairs, {} wrong", cases.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    made
}

#[test]
fn hiding_what_the_candidate_dumped_never_buys_a_pass() {
    assert!(all_cases(SAMPLE) > 100);
}

/// `CHANGES_PER_PAIR` limits how much of it is done.
#[test]
#[ignore = "every change of every pair: hours"]
fn hiding_anything_that_the_candidate_dumped_never_buys_a_pass() {
    let most = std::env::var("CHANGES_PER_PAIR").ok().and_then(|most| most.parse().ok());
    assert!(all_cases(most.unwrap_or(usize::MAX)) > 1000);
}
