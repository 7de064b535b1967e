//! Arguments of a call: bound to its signature, with the defaults of the framework.

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
use serde_json::{Value, json};

fn tensor(shift: f64) -> Value {
    json!({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [8, 16], "Max": 2.0 + shift, "Min": -2.0 - shift,
        "Mean": 0.04, "Norm": 11.0 + shift, "requires_grad": true})
}

/// A side with one call, and a call that takes its result.
fn side(root: &Path, side: &str, call: &str, positional: &[Value], named: &Value) {
    let mut given = vec![tensor(1.0)];
    given.extend_from_slice(positional);
    let data = json!({
        format!("{call}.0.forward"): {"input_args": given, "input_kwargs": named, "output": [tensor(2.0)]},
        "Functional.relu.0.forward": {"input_args": [tensor(2.0)], "input_kwargs": {}, "output": [tensor(3.0)]},
    });
    let dump =
        json!({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": data});
    let folder = root.join(side).join("step0/rank0");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("dump.json"), dump.to_string()).expect("written");
    for name in ["stack.json", "construct.json"] {
        fs::write(folder.join(name), "{}").expect("written");
    }
}

fn judged(call: &str, baseline: (&[Value], Value), candidate: (&[Value], Value)) -> GateResult {
    let root = tempfile::tempdir().expect("a folder");
    side(root.path(), "gpu", call, baseline.0, &baseline.1);
    side(root.path(), "npu", call, candidate.0, &candidate.1);
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let request = Request {
        baseline: TrustedLocation::own(root.path().join("gpu").display().to_string()),
        several: Default::default(),
        candidate: root.path().join("npu").display().to_string(),
        checks: Command::Compare.checks(),
        policy: Policy::parse("policy.yml", "", &codes).expect("a policy"),
        matching: Matching::default(),
    };
    run(&request, &Quiet).expect("judged").result
}

#[test]
fn a_call_is_the_same_however_its_arguments_are_given() {
    let [number, none, text] =
        [json!({"type": "int", "value": -1}), json!({}), json!({"approximate": {"type": "str", "value": "none"}})];
    let dim = json!({"dim": number});
    for (call, baseline, candidate) in [
        ("Functional.softmax", (&[number.clone()][..], none.clone()), (&[][..], dim.clone())),
        ("Torch.sum", (&[], dim), (&[number][..], none.clone())),
        ("Functional.gelu", (&[], none.clone()), (&[], text)),
    ] {
        assert_eq!(judged(call, baseline, candidate).verdict, Verdict::Pass, "{call}");
    }
}

#[test]
fn a_default_is_another_argument_than_one_that_is_given() {
    let [number, none] = [json!({"type": "int", "value": -1}), json!({})];
    let tanh = json!({"approximate": {"type": "str", "value": "tanh"}});
    for (call, baseline, candidate, said) in [
        ("Functional.gelu", (&[][..], none.clone()), (&[][..], tanh), ["none", "tanh"]),
        ("Torch.sum", (&[], none.clone()), (&[number][..], none.clone()), ["null", "-1"]),
    ] {
        let result = judged(call, baseline, candidate);
        assert_eq!(result.verdict, Verdict::Fail, "{call}");
        let culprit = result.culprit.expect("a culprit");
        assert_eq!((culprit.op.as_str(), culprit.code.as_str()), (&*format!("{call}.0.forward"), "argument-differs"));
        let values = format!("{:?} {:?}", culprit.baseline, culprit.candidate);
        assert!(said.iter().all(|said| values.contains(said)), "{values}");
    }
}

#[test]
fn arguments_of_a_call_that_is_not_known_are_held_against_each_other_as_written() {
    let given = json!({"mode": {"type": "str", "value": "a"}});
    let result = judged("Functional.of_our_own", (&[], json!({})), (&[], given));
    assert_eq!(result.verdict, Verdict::Incomplete);
}
