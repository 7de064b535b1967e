//! Checkpoints of more parameters that differ than a report lists.

use precision_gate::judge::checkpoint;
use precision_gate::report::escape::TextTarget;
use precision_gate::report::messages::Language;
use precision_gate::report::writer;
use precision_gate::report::writer::Writer;
use precision_gate::result::GateResult;
use precision_gate::result::unit::Unit;
use precision_gate::verdict::Verdict;

use super::checkpoints::judged;
use super::hiding;

/// Both sides with `count` parameters more than are listed of one code; all differ by `factor`, and one by a hundred times that.
fn many(count: usize, factor: f32) -> GateResult {
    let folder = tempfile::tempdir().expect("folder");
    let count = checkpoint::MOST_FINDINGS + count;
    let values: Vec<[f32; 2]> = (0..count).map(|_| [1.0, -2.0]).collect();
    let changed = |place: usize| 1.0 + if place + 1 == count { 100.0 * factor } else { factor };
    let others: Vec<[f32; 2]> = (0..count).map(|place| [changed(place), -2.0 * changed(place)]).collect();
    for (side, values) in [("gpu", &values), ("npu", &others)] {
        let tensors: Vec<(String, &[f32])> =
            values.iter().enumerate().map(|(place, values)| (format!("w.{place:05}"), values.as_slice())).collect();
        std::fs::create_dir(folder.path().join(side)).expect("made");
        std::fs::write(folder.path().join(side).join("model.safetensors"), hiding::checkpoint(&tensors))
            .expect("written");
    }
    judged(&folder.path().join("gpu"), &folder.path().join("npu"), "")
}

#[test]
fn of_many_parameters_that_differ_the_first_are_listed_and_the_rest_weighs_as_much() {
    for (factor, code, rest_of) in [(1e-4, "parameter-drifts", "699 "), (1e-1, "parameter-diverges", "700 ")] {
        let mut result = many(700, factor);
        let of = |code: &str| result.findings.iter().filter(|finding| finding.code == code).collect::<Vec<_>>();
        assert_eq!(of(code).len(), checkpoint::MOST_FINDINGS, "{code}");
        let [rest] = of("parameters-unlisted")[..] else { panic!("{code}: one finding about the rest") };
        assert_eq!(rest.severity, of(code)[0].severity, "{code}");
        assert_eq!(result.verdict, Verdict::Fail, "{code}");
        // The worst stands first, whichever it is.
        let units = result.checks.iter().flat_map(|check| &check.units);
        let units: Vec<_> =
            units.filter_map(|unit| if let Unit::Checkpoint(unit) = unit { Some(unit) } else { None }).collect();
        assert_eq!(units[0].rules[0].subject(), format!("w.{:05}", checkpoint::MOST_FINDINGS + 699), "{code}");
        assert_eq!(units[0].rules.len(), 20, "{code}");
        for language in [Language::En, Language::Zh] {
            let writer = Writer::from_result(&result, language, TextTarget::Plain);
            writer::write_finding_texts(&mut result.findings, &writer).expect("every finding has its text");
            let rest = result.findings.iter().find(|finding| finding.code == "parameters-unlisted").expect("there");
            assert!(rest.message.contains(rest_of) && rest.message.contains(code), "{}", rest.message);
        }
    }
}
