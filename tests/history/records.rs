//! Records of runs, over all fixtures.

use std::path::Path;

use precision_gate::compare::measurements::Measurements;
use precision_gate::fetch::Fetcher;
use precision_gate::gate::history::{Moment, record};
use precision_gate::gate::{Quiet, Request, Surroundings, run_by};
use precision_gate::history::record::Record;
use precision_gate::history::series::series_of;
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::report::sink::DiscardingSink;
use precision_gate::result::history::Case;
use precision_gate::result::history::Suite;
use precision_gate::verdict::CheckId;

use super::data::fixture;

/// The record of judging both sides of a fixture; `None` where one of them is not there at all.
fn of(folder: &Path) -> Option<Record> {
    let side = |name: &str| {
        let sides = [folder.join(format!("{name}.zip")), folder.join(name)];
        sides.iter().find(|side| side.exists()).map(|side| side.display().to_string())
    };
    let request = Request {
        baseline: TrustedLocation::own(side("gpu")?),
        several: Default::default(),
        candidate: side("npu")?,
        checks: Request::ALL_CHECKS.to_vec(),
        policy: Policy::default(),
        matching: Matching::default(),
    };
    let fetcher = Fetcher::default();
    let surroundings = Surroundings::new(&fetcher, &DiscardingSink);
    let judged = run_by(&request, &surroundings, &Measurements::default(), &Quiet).expect("both sides are there");
    let suite = Suite::default();
    let time = "2026-11-21T02:00:00Z".parse().expect("a time");
    Some(record(&judged, &request.policy, &Moment { suite: &suite, time, run: "", manifest: None, versions: &[] }))
}

#[test]
fn every_blocking_run_names_its_case_and_every_record_comes_back() {
    let mut blocked = 0;
    for kind in ["loss", "dumps", "config-check"] {
        for entry in std::fs::read_dir(fixture(kind)).expect("a folder").flatten().filter(|entry| entry.path().is_dir())
        {
            let Some(made) = of(&entry.path()) else { continue };
            let name = entry.path().display().to_string();
            assert_eq!(made.blocks(), !made.failing.is_empty(), "{name}: {:?}", made.failing);
            let (path, bytes) = made.encode().expect("encoded");
            let back = Record::decode(&path, &bytes).expect("decoded");
            assert_eq!(back.encode().expect("encoded"), (path, bytes), "{name}");
            blocked += usize::from(made.blocks());
        }
    }
    assert!(blocked > 20, "{blocked}");
}

#[test]
fn a_dump_is_known_by_its_unit_and_the_kind_of_its_culprit() {
    let made = of(&fixture("dumps/gpt_bf16_tensor_layernorm_eps")).expect("a pair");
    let case = Case { check: CheckId::Dump, unit: "step 0".into(), rule: "output-diverges".into() };
    assert_eq!(made.failing, [case]);
    let series = series_of(&[&made]);
    let of_rule = |rule: &str| series.iter().find(|series| series.rule == rule).expect("measured");
    assert!(of_rule("compared").points[0].value > 100.0);
    let error = of_rule("culprit_error");
    assert!(error.fail.is_some_and(|limit| error.points[0].value > limit), "{error:?}");
    assert_eq!(made.culprit.map(|culprit| culprit.code), Some("output-diverges".into()));
}
