//! Every fixture there is goes through the whole gate, each side against itself: it is read or refused with a clear
//! message, never a panic, and a run never fails against itself.

use crate::data;

use std::fs;
use std::path::{Path, PathBuf};

use data::{beside, fixture};
use precision_gate::gate::{self, Quiet, Request};
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::report::escape::TextTarget;
use precision_gate::report::messages::Language;
use precision_gate::report::writer;
use precision_gate::report::writer::Writer;
use precision_gate::verdict::Verdict;

fn folders(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

/// Judges a location against itself and says what went wrong, if anything did.
fn against_itself(location: &Path) -> Option<String> {
    let location = location.display().to_string();
    let request = Request {
        baseline: TrustedLocation::own(location.clone()),
        several: Default::default(),
        candidate: location.clone(),
        checks: Request::ALL_CHECKS.to_vec(),
        policy: Policy::default(),
        matching: Matching::default(),
    };
    let mut result = match gate::run(&request, &Quiet) {
        Ok(outcome) => outcome.result,
        Err(error) => return error.to_string().is_empty().then(|| format!("{location}: an error without a word")),
    };
    let writer = Writer::from_result(&result, Language::Zh, TextTarget::Plain);
    writer::write_finding_texts(&mut result.findings, &writer).expect("every finding has a text");
    if result.verdict == Verdict::Fail {
        return Some(format!("{location} fails against itself: {:?}", result.findings));
    }
    result
        .findings
        .iter()
        .any(|finding| finding.message.is_empty())
        .then(|| format!("{location}: a finding without a word"))
}

#[test]
fn every_fixture_is_read_or_refused_and_agrees_with_itself() {
    let mut places = Vec::new();
    for kind in ["dumps", "loss"] {
        for case in folders(&fixture(kind)) {
            places.extend(["gpu", "npu"].map(|side| case.join(side)));
        }
    }
    for case in folders(&fixture("config-check")) {
        places.extend(["gpu.zip", "npu.zip"].map(|pack| case.join(pack)));
    }
    places.extend(beside("loss-real").iter().flat_map(|real| folders(real)));
    let places: Vec<PathBuf> = places.into_iter().filter(|place| place.exists()).collect();
    assert!(places.len() > 150, "only {} places were found", places.len());
    let wrong: Vec<String> = places.iter().filter_map(|place| against_itself(place)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
