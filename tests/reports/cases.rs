//! Results to render: real runs on the fixtures.

use precision_gate::gate::{self, Quiet, Request};
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::policy::value::Date;
use precision_gate::report::RunOutcome;
use precision_gate::verdict::CheckId;

use crate::data::fixture;

/// One way a run can end: its name, its check, and the fixture it is made from.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    check: CheckId,
    baseline: &'static str,
    candidate: &'static str,
}

const fn dump(name: &'static str, baseline: &'static str, candidate: &'static str) -> Case {
    Case { name, check: CheckId::Dump, baseline, candidate }
}

macro_rules! dump {
    ($name:literal, $folder:literal) => {
        dump($name, concat!("dumps/", $folder, "/gpu"), concat!("dumps/", $folder, "/npu"))
    };
}

macro_rules! curve {
    ($name:literal, $folder:literal) => {
        Case {
            name: $name,
            check: CheckId::Loss,
            baseline: concat!("loss/", $folder, "/gpu"),
            candidate: concat!("loss/", $folder, "/npu"),
        }
    };
}

/// Every kind of end.
pub(crate) const CASES: &[Case] = &[
    dump!("pass", "zoo_tensor_identical"),
    dump!("warn", "cnn_tensor_l1_fp16_linear"),
    dump!("culprit_forward", "gpt_bf16_tensor_layernorm_eps"),
    dump!("culprit_backward", "glm_stats_mix_zero_getitem_grad"),
    dump!("other_rank", "tp2_bf16_tensor_rank1_bad_tile"),
    dump!("operations_missing", "glm_stats_mix_jit_script_missing_bench"),
    dump!("nan", "zoo_tensor_nan_inf"),
    dump!("incomplete", "broken_missing_step"),
    dump!("damaged", "broken_truncated_dump_json"),
    Case {
        name: "config_failure",
        check: CheckId::Config,
        baseline: "config-check/pip-watched-differ/gpu.zip",
        candidate: "config-check/pip-watched-differ/npu.zip",
    },
    curve!("curve_divergence", "diverging_trend"),
    curve!("curve_nan", "nan_from_step"),
];

/// The case of this name.
pub(crate) fn find(name: &str) -> &'static Case {
    CASES.iter().find(|case| case.name == name).expect("a known case")
}

impl Case {
    /// Runs the gate; locations are those of no machine.
    pub(crate) fn run(&self) -> RunOutcome {
        let request = Request {
            baseline: TrustedLocation::own(fixture(self.baseline).display().to_string()),
            several: Default::default(),
            candidate: fixture(self.candidate).display().to_string(),
            checks: vec![self.check],
            policy: Policy { today: Date::try_from("2026-11-21".to_owned()).expect("a date"), ..Policy::default() },
            matching: Matching::default(),
        };
        let mut outcome = gate::run(&request, &Quiet).expect("both sides are there");
        for (run, path) in [
            (outcome.result.baseline.as_mut().expect("a baseline"), self.baseline),
            (&mut outcome.result.candidate, self.candidate),
        ] {
            path.clone_into(&mut run.location);
        }
        outcome
    }
}
