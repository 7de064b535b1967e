//! A case, judged in the process itself, with every document written.

use std::path::Path;

use precision_gate::compare::measurements::Measurements;
use precision_gate::error::Result;
use precision_gate::fetch::{Fetcher, writable};
use precision_gate::gate::history::{Moment, add_history, record};
use precision_gate::gate::{Quiet, Request, SourceTree, Surroundings, UncheckedRequest, run_by, source};
use precision_gate::history::records::RecordStore;
use precision_gate::history::summarise;
use precision_gate::judge::register;
use precision_gate::msprobe::dump::Matching;
use precision_gate::output::{DocumentSet, Output};
use precision_gate::policy::Policy;
use precision_gate::policy::value::Date;
use precision_gate::report::folder::{FolderOptions, ReportFolder};
use precision_gate::report::messages::Language;
use precision_gate::report::templates::Templates;
use precision_gate::report::{JudgedRun, write as documents};
use precision_gate::result::history::Suite;
use precision_gate::verdict::CheckId;

use crate::cases::{Case, Command, short_log};

/// Writes the files of a case below `folder`.
pub(crate) fn write(case: &Case, folder: &Path, items: usize, differ: bool) {
    let [gpu, npu, earlier] = ["gpu", "npu", "earlier"].map(|name| folder.join(name));
    if case.command == Command::History {
        (case.side)(&earlier, items, differ);
        short_log(&gpu);
        short_log(&npu);
        return;
    }
    if case.command == Command::Compare {
        (case.side)(&gpu, items, false);
    }
    (case.side)(&npu, items, differ);
}

/// Judges the files of a case.
pub(crate) fn judge(case: &Case, folder: &Path, items: usize) {
    let request = request(case, folder, items);
    let output = Output::begin(&folder.join("out"), DocumentSet::Run).expect("a folder");
    let (fetcher, documents_folder) = (Fetcher::default(), ReportFolder::new(output, FolderOptions::default()));
    let surroundings = Surroundings::new(&fetcher, &documents_folder);
    let mut judged = if case.command == Command::Source {
        let tree = SourceTree { root: folder.join("npu"), change: None, unknown_reason: String::new() };
        source::run(&request, &tree, &surroundings, &Quiet).expect(case.name)
    } else {
        run_by(&request, &surroundings, &Measurements::default(), &Quiet).expect(case.name)
    };
    if case.command == Command::History {
        look_back(&mut judged, &request.policy, &folder.join("earlier"), &fetcher).expect(case.name);
    }
    let options =
        documents::DocumentOptions { language: Language::En, templates: &Templates::shipped(), source_root: None };
    documents::write_all(&mut judged.result, documents_folder, &options).expect(case.name);
}

fn request(case: &Case, folder: &Path, items: usize) -> Request {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let text = case.policy.map(|policy| policy(items)).unwrap_or_default();
    let mut policy = Policy::parse("policy.yml", &text, &codes).expect(case.name);
    policy.today = Date::try_from("2026-11-26".to_owned()).expect("a day");
    policy.health.alone = case.command == Command::Alone;
    let of_pair = matches!(case.command, Command::Compare | Command::History);
    let baseline = if of_pair { folder.join("gpu").display().to_string() } else { String::new() };
    let candidate = folder.join("npu").display().to_string();
    let checks = if case.command == Command::Source { vec![CheckId::Source] } else { CheckId::CHECKS.to_vec() };
    UncheckedRequest { baseline, candidate, several: Default::default(), checks, policy, matching: Matching::default() }
        .trust_own_files()
}

/// Puts into the result what earlier runs say.
fn look_back(judged: &mut JudgedRun, policy: &Policy, earlier: &Path, fetcher: &Fetcher) -> Result<()> {
    let suite = Suite::default();
    let time = jiff::Timestamp::from_second(4_000_000_000).expect("a time");
    let moment = Moment { suite: &suite, time, run: "", manifest: None, versions: &[] };
    let current = record(judged, policy, &moment);
    let location = earlier.display().to_string();
    let records = RecordStore::new(writable::open(&location, fetcher)?);
    let reading = records.list(Some(&suite))?.read();
    let summary = summarise(&location, &reading.records, &current, policy.history.alert_after);
    add_history(&mut judged.result, summary, policy);
    Ok(())
}
