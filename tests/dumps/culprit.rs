//! The operation that is named: the first suspect in execution order that no waiver covers, whatever is cut from a list
//! or thinned for a picture.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use precision_gate::check::Command;
use precision_gate::gate::{Quiet, Request, run};
use precision_gate::judge::register;
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::result::GateResult;
use precision_gate::verdict::Verdict;

/// A tensor's statistics, told from those of other values by `seed`.
fn tensor(seed: usize, factor: f64) -> String {
    let spread = 3.0 + (seed * 37 % 101) as f64 / 101.0;
    let (max, mean, norm) = (spread * factor, 0.1 * factor / spread, (57.0 + spread) * factor);
    format!(
        r#"{{"type":"torch.Tensor","dtype":"torch.float32","shape":[64,64],"Max":{max},"Min":-{max},"Mean":{mean},"Norm":{norm},"requires_grad":false}}"#
    )
}

/// A rank of `count` independent operations whose results are off by the `factors` named.
fn rank(root: &Path, side: &str, rank: usize, count: usize, factors: &[(usize, f64)]) {
    let factor = |number| factors.iter().find(|(wrong, _)| *wrong == number).map_or(1.0, |(_, factor)| *factor);
    rank_of(root, side, rank, count, &|number| [1.0, factor(number)]);
}

/// The same, of operations whose input and result are off by the factors of their number.
fn rank_of(root: &Path, side: &str, rank: usize, count: usize, factors: &dyn Fn(usize) -> [f64; 2]) {
    let mut data = String::new();
    for number in 0..count {
        let [given, made] = factors(number);
        let (input, output) = (tensor(2 * number, given), tensor(2 * number + 1, made));
        let comma = if number == 0 { "" } else { "," };
        write!(
            data,
            r#"{comma}"Functional.relu.{number}.forward":{{"input_args":[{input}],"input_kwargs":{{}},"output":[{output}]}}"#
        )
        .expect("a string takes it");
    }
    let folder = root.join(side).join(format!("step0/rank{rank}"));
    fs::create_dir_all(&folder).expect("a folder");
    let text =
        format!(r#"{{"task":"statistics","level":"L1","framework":"pytorch","dump_data_dir":null,"data":{{{data}}}}}"#);
    fs::write(folder.join("dump.json"), text).expect("written");
    for name in ["stack.json", "construct.json"] {
        fs::write(folder.join(name), "{}").expect("written");
    }
}

fn judged(root: &Path, policy: &str) -> GateResult {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let request = Request {
        baseline: TrustedLocation::own(root.join("gpu").display().to_string()),
        several: Default::default(),
        candidate: root.join("npu").display().to_string(),
        checks: Command::Compare.checks(),
        policy: Policy::parse("policy.yml", policy, &codes).expect("a policy"),
        matching: Matching::default(),
    };
    run(&request, &Quiet).expect("judged").result
}

/// Both sides with one rank of 200 operations.
fn pair(factors: &[(usize, f64)], policy: &str) -> GateResult {
    let folder = tempfile::tempdir().expect("a folder");
    rank(folder.path(), "gpu", 0, 200, &[]);
    rank(folder.path(), "npu", 0, 200, factors);
    judged(folder.path(), policy)
}

fn waiver(place: &str) -> String {
    format!("waivers: [{{ code: '*', where: '{place}', reason: accepted, owner: ann, expires: 9999-12-31 }}]\n")
}

/// Operation, its place in execution order, and whether the result holds the finding that it stands for.
fn culprit(result: &GateResult) -> Option<(&str, u64)> {
    let culprit = result.culprit.as_ref()?;
    let findings = result.findings.iter();
    let own: Vec<_> = findings.filter(|finding| finding.id == culprit.finding).collect();
    assert!(matches!(own[..], [one] if one.place == culprit.tensor && one.code == culprit.code), "{culprit:?}");
    Some((&culprit.op, culprit.order))
}

#[test]
fn a_waived_finding_is_passed_over() {
    let wrong = [(9, 1.5), (100, 1.5)];
    assert_eq!(culprit(&pair(&wrong, "")), Some(("Functional.relu.9.forward", 9)));
    let waived = pair(&wrong, &waiver("Functional.relu.9.*"));
    assert_eq!((culprit(&waived), waived.verdict), (Some(("Functional.relu.100.forward", 100)), Verdict::Fail));
    let all = pair(&wrong, &waiver("*"));
    assert_eq!((culprit(&all), all.waived.len(), all.verdict), (None, 2, Verdict::Pass));
}

#[test]
fn the_first_rank_in_execution_order_counts_although_its_profile_was_thinned() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, wrong) in [(0, &[(9, 1.05), (10, 1.5)][..]), (1, &[(3000, 1.05)])] {
        rank(folder.path(), "gpu", number, 6000, &[]);
        rank(folder.path(), "npu", number, 6000, wrong);
    }
    let result = judged(folder.path(), "");
    assert_eq!(culprit(&result), Some(("Functional.relu.9.forward", 9)));
    assert_eq!(result.culprit.expect("a culprit").rank, Some(0));
}

/// A warning, and then more failures than a list shows.
#[test]
fn what_is_cut_from_a_list_may_be_the_culprit() {
    let mut wrong = vec![(9, 1.0002)];
    wrong.extend((0..25).map(|number| (100 + 3 * number, 1.5)));
    assert_eq!(culprit(&pair(&wrong, "")), Some(("Functional.relu.9.forward", 9)));
}

/// Twenty-five waived failures do not push a real one out of the list, and with it out of the verdict.
#[test]
fn waived_failures_hide_no_real_one() {
    let mut wrong: Vec<(usize, f64)> = (0..25).map(|number| (100 + number, 1.5)).collect();
    wrong.push((190, 1.5));
    let result = pair(&wrong, &waiver("Functional.relu.1[012]*"));
    assert_eq!((culprit(&result), result.verdict), (Some(("Functional.relu.190.forward", 190)), Verdict::Fail));
}

/// Suspects that receive an error, and may follow from a waived one, push out none that receives nothing.
#[test]
fn what_may_follow_from_a_waived_failure_hides_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let factors = |number| match number {
        0 | 45 => [1.0, 1.3],
        1..40 => [1.02, 1.5],
        _ => [1.0, 1.0],
    };
    // Fifty operations: of more, some values would be the same.
    rank(folder.path(), "gpu", 0, 50, &[]);
    rank_of(folder.path(), "npu", 0, 50, &factors);
    let result = judged(folder.path(), &waiver("Functional.relu.0.*"));
    assert_eq!((culprit(&result), result.verdict), (Some(("Functional.relu.45.forward", 45)), Verdict::Fail));
}

#[test]
fn a_finding_that_the_policy_takes_for_information_is_passed_over() {
    let result = pair(&[(9, 1.5)], "severity: { output-diverges: info }\n");
    assert_eq!((culprit(&result), result.verdict), (None, Verdict::Pass));
}
