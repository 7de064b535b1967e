//! Randomness left in: the two runs draw other numbers.
//!
//! In a dump the first difference stands at an operation that draws, and it did draw (a dropout with p = 0 or in
//! evaluation does not); or, whatever the operation is called, its data show two masks: as many zeros at other places
//! and equal values elsewhere. Masks that agree, and values that differ where both masks keep them, speak against it.

use super::super::context::{DumpContext, Suspect};
use super::super::entry::{Cause, RANDOMNESS_NOTES};
use super::super::evidence::diagnosis_from_findings;
use crate::judge::config::rules as config_rules;
use crate::judge::dump::rules as dump_rules;
use crate::judge::loss::code as curve_rules;
use crate::read::json::Json;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::result::finding::Finding;

pub(super) const CAUSE: Cause = Cause {
    in_dump,
    in_config,
    supported_by: &[
        &curve_rules::RANDOMNESS,
        &curve_rules::FIRST_STEP,
        &config_rules::DROPOUT,
        &config_rules::HASH_SEED,
        &config_rules::SEED_ALL,
    ],
    links: &[RANDOMNESS_NOTES],
    ..Cause::new("randomness")
};

/// Calls that draw random numbers, beside every kind of dropout (`torch`, `torch.Tensor`, `torch.nn.functional`).
const DRAWS: [&str; 27] = [
    "bernoulli",
    "bernoulli_",
    "cauchy_",
    "exponential_",
    "fractional_max_pool2d",
    "geometric_",
    "gumbel_softmax",
    "log_normal_",
    "multinomial",
    "normal",
    "normal_",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "random_",
    "randperm",
    "rrelu",
    "rrelu_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "kaiming_uniform_",
    "xavier_uniform_",
];

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect().filter(|suspect| !suspect.is_backward())?;
    if !suspect.has_finding_of(&[
        &dump_rules::OUTPUT_DIVERGES,
        &dump_rules::OTHER_PRECISION,
        &dump_rules::INPUT_DIFFERS,
        &dump_rules::INTEGER_DIFFERS,
        &dump_rules::CHECKSUM_DIFFERS,
        &dump_rules::NEAR_TIE,
    ]) {
        return None;
    }
    let data = context.data(&suspect.value);
    let masked = data.as_deref().map(|data| data.is_masked_differently(suspect.limit()));
    let op = suspect.culprit.op.as_str();
    let mut evidence = Vec::new();
    let drawn = if suspect.is_result() { drawing(&suspect) } else { None };
    match (&drawn, masked) {
        // The masks are the same, or the values that they keep differ: the draw is not the cause.
        (Some(Draw::Dropout(_)), Some(false)) | (None, None | Some(false)) => return None,
        _ => {}
    }
    match &drawn {
        Some(Draw::Dropout(Some(p))) => evidence.push(Statement::new("dropout-draws").with("op", op).with("p", *p)),
        Some(_) => evidence.push(Statement::new("operation-draws").with("op", op)),
        None => {}
    }
    if masked == Some(true) {
        evidence.push(Statement::new("masks-differ").with("op", op));
    } else {
        evidence.push(Statement::new("inputs-agree").with("op", op));
    }
    let sureness = if drawn.is_some() { Sureness::Certain } else { Sureness::Likely };
    let diagnosis = Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), sureness).because_all(evidence);
    Some(match drawn {
        Some(Draw::Numbers) => diagnosis.advise(Statement::new("randomness-of-draws")),
        _ => diagnosis,
    })
}

/// Kinds of random draws that an operation makes.
enum Draw {
    /// A mask that drops elements with this probability, where it is recorded.
    Dropout(Option<f64>),
    /// Random numbers or choices.
    Numbers,
}

/// Whether the operation drew; `None` where it does not, as its name and arguments say.
fn drawing(suspect: &Suspect<'_>) -> Option<Draw> {
    let api = suspect.api();
    let number = |keyword: &str, position: Option<usize>| suspect.argument(keyword, position).and_then(Json::as_f64);
    if api.to_ascii_lowercase().contains("dropout") {
        let training = suspect.argument("training", Some(2)).and_then(Json::as_bool);
        let p = number("p", Some(1));
        return (training != Some(false) && p.is_none_or(|p| p > 0.0)).then_some(Draw::Dropout(p));
    }
    if DRAWS.contains(&api) {
        return Some(Draw::Numbers);
    }
    // Fused attention applies dropout inside.
    let p = number("dropout_p", (api == "scaled_dot_product_attention").then_some(4))
        .or_else(|| number("keep_prob", None).map(|keep| 1.0 - keep))
        .filter(|p| *p > 0.0)?;
    Some(Draw::Dropout(Some(p)))
}

fn in_config(findings: &[&Finding]) -> Option<Diagnosis> {
    diagnosis_from_findings(
        &CAUSE,
        Sureness::Likely,
        findings,
        &[&config_rules::SEED_DIFFERS, &config_rules::RANDOM_COUNT, &config_rules::RANDOM_UNMATCHED],
    )
}
