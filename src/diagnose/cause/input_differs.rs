//! An input built differently on the host: a table, a buffer, a constant that nothing dumped produced.
//!
//! The values are close and not equal: another float path made them, of another processor, library or type. A table of
//! inverse frequencies (rotary embedding) is known by its range: from 1 down to `base^(−(d−2)/d)`.

use std::collections::BTreeSet;

use super::super::context::is_weight;
use super::super::context::{DumpContext, Suspect};
use super::super::entry::Cause;
use super::super::evidence::MADE_BY_UNDUMPED;
use super::super::pattern::same_magnitudes;
use super::super::updates::Updates;
use super::super::value_pair::operations_of;
use super::optimizer_differs::is_of_most;
use super::wrong_weights_or_data::is_other_weight;
use crate::judge::config::rules as config_rules;
use crate::judge::dump::rules as dump_rules;
use crate::read::dump::{Statistic, TensorRecord};
use crate::read::frame::calling_frame;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause {
    in_dump,
    is_last_resort: true,
    supported_by: &[
        &config_rules::PIP_VERSION_DIFFERS,
        &config_rules::PIP_RULE_BROKEN,
        &config_rules::PIP_OTHERS_DIFFER,
        &config_rules::DATASET_DIFFERS,
        &config_rules::WEIGHTS_NEARLY,
    ],
    ..Cause::new("input-differs")
};

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect()?;
    if suspect.has_finding_of(&[&dump_rules::NON_FINITE_DIFFERS]) {
        return of_sentinels(&suspect);
    }
    if !suspect.has_finding_of(&[&dump_rules::INPUT_DIFFERS]) || is_other_weight(&suspect) {
        return None;
    }
    // A parameter that the optimizer moved was not built on the host.
    if Updates::from_suspect(context, &suspect).is_some_and(|updates| is_of_most(&updates)) {
        return None;
    }
    let op = suspect.culprit.op.as_str();
    let evidence = Statement::new("leaf-input").with("op", op).with("error", suspect.error());
    let diagnosis = Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Likely).because(evidence);
    // A gradient is none of the run's inputs.
    if suspect.is_backward() {
        return None;
    }
    let table = suspect.value.baseline.record().and_then(|record| inverse_frequency_base(&record));
    Some(match table {
        Some(base) => diagnosis
            .because(Statement::new("inverse-frequencies").with("base", base))
            .advise(Statement::new("inverse-frequencies")),
        None if is_weight(&suspect) => diagnosis.advise(Statement::new("weight-built-otherwise")),
        None if is_in_graph(&suspect) => match call_before(context, &suspect) {
            Some(before) => {
                let evidence = Statement::new(MADE_BY_UNDUMPED).with("before", before).with("op", op);
                let diagnosis = diagnosis.because(evidence).advise(advice_of_undumped(&suspect));
                // The program computed it, with another call or another formula.
                Diagnosis { sureness: Sureness::Possible, ..diagnosis }
            }
            None => diagnosis,
        },
        None => diagnosis,
    })
}

/// An input whose sums overflow on one side while max and min are finite: a mask or padding filled with another number.
fn of_sentinels(suspect: &Suspect<'_>) -> Option<Diagnosis> {
    let (baseline, candidate) = suspect.value.records().filter(|_| !suspect.is_result())?;
    let numbers = [baseline.min, baseline.max, candidate.min, candidate.max].map(Statistic::as_f64);
    let [from, to, other_from, other_to] = numbers;
    let ends = [from?, to?, other_from?, other_to?];
    let evidence = Statement::new("leaf-ends-differ")
        .with("op", suspect.culprit.op.as_str())
        .with("from", ends[0])
        .with("to", ends[1])
        .with("other_from", ends[2])
        .with("other_to", ends[3]);
    let diagnosis = Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Likely).because(evidence);
    ends.iter().all(|end| end.is_finite()).then_some(diagnosis)
}

/// Advice about an input that something undumped made; where only modules were dumped, it is the `forward` around this one.
pub(super) fn advice_of_undumped(suspect: &Suspect<'_>) -> Statement {
    let module = suspect.name.module_path().unwrap_or_default();
    match module.rsplit_once('.').filter(|_| suspect.is_module()) {
        Some((parent, _)) => {
            Statement::new("input-of-undumped-in-module").with("parent", parent).with("module", module)
        }
        None => {
            let advice = Statement::new("input-of-undumped");
            let is_moved = same_magnitudes(suspect).is_some();
            let advice = if is_moved { advice.with("magnitudes", 1_u64) } else { advice };
            let frame = calling_frame(&suspect.culprit.stack);
            match frame.as_ref().and_then(|frame| function_called(&frame.code)) {
                Some(function) => advice.with("function", function),
                None => advice,
            }
        }
    }
}

/// The one function of the program that a line calls by its bare name, such as `rotate_half`; `None` where there are several, or none.
fn function_called(code: &str) -> Option<&str> {
    /// Words before a bracket that are no functions of the program.
    const OTHERS: [&str; 22] = [
        "and",
        "assert",
        "dict",
        "elif",
        "enumerate",
        "float",
        "getattr",
        "if",
        "in",
        "int",
        "isinstance",
        "len",
        "list",
        "max",
        "min",
        "not",
        "or",
        "print",
        "range",
        "return",
        "tuple",
        "zip",
    ];
    let is_of_name = |character: char| character.is_alphanumeric() || character == '_';
    let called = code.match_indices('(').filter_map(|(at, _)| {
        let before = code.get(..at)?;
        let start = before.rfind(|character| !is_of_name(character)).map_or(0, |place| place + 1);
        let name = before.get(start..)?;
        let is_bare = !before.get(..start)?.ends_with('.') && name.starts_with(|first: char| !first.is_numeric());
        (is_bare && !OTHERS.contains(&name)).then_some(name)
    });
    let called: BTreeSet<&str> = called.collect();
    match called.into_iter().collect::<Vec<_>>().as_slice() {
        [one] => Some(*one),
        _ => None,
    }
}

/// Whether the input is part of the graph: an operation that was not dumped made it.
pub(super) fn is_in_graph(suspect: &Suspect<'_>) -> bool {
    suspect.value.candidate.record().is_some_and(|record| record.requires_grad == Some(true))
}

/// The call before the culprit's; the undumped call ran between the two.
pub(super) fn call_before(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<String> {
    let comparison = context.input.comparison.operations.get(suspect.order.checked_sub(1)?)?;
    let (_, candidate) = operations_of(context.input, comparison)?;
    Some(candidate.name.to_owned())
}

/// The base of a table of inverse frequencies, where a tensor is one: values of `base^(−2i/d)` for `i < d/2`.
fn inverse_frequency_base(record: &TensorRecord<'_>) -> Option<f64> {
    /// Bases in use: 10 000 and its multiples for long contexts.
    const BASES: std::ops::RangeInclusive<f64> = 1e3..=1e8;
    let (max, min) = (record.max.as_f64()?, record.min.as_f64()?);
    let elements = record.elements();
    let is_vector = record.shape.iter().filter(|len| **len > 1).count() == 1 && elements <= 4096;
    #[allow(clippy::cast_precision_loss, reason = "at most 4096")]
    let dimension = 2.0 * elements.min(4096) as f64;
    if !is_vector || (max - 1.0).abs() > 1e-3 || !(0.0..0.1).contains(&min) {
        return None;
    }
    let base = min.powf(-dimension / (dimension - 2.0));
    // The recorded smallest value is rounded; bases are round numbers.
    let unit = 10_f64.powf(base.log10().floor() - 1.0);
    let round = (base / unit).round() * unit;
    BASES.contains(&base).then_some(round)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;

    fn table(max: f64, min: f64, shape: &[u64]) -> TensorRecord<'_> {
        TensorRecord {
            dtype: "torch.float32",
            element: Some(Dtype::F32),
            shape,
            max: Statistic::Float(max),
            min: Statistic::Float(min),
            mean: Statistic::Null,
            norm: Statistic::Null,
            requires_grad: Some(false),
            checksum: None,
            extension: None,
            precision: crate::read::dump::Precision::Exact,
        }
    }

    #[test]
    fn the_one_function_of_a_line_is_named() {
        assert_eq!(function_called("q_embed = (q * cos) + (rotate_half(q) * sin)"), Some("rotate_half"));
        assert_eq!(function_called("return x.view(len(y)) + torch.cat((a, b))"), None);
        assert_eq!(function_called("a = first(x) + second(x)"), None);
        assert_eq!(function_called("q, k = rope(q), rope(k)"), Some("rope"));
    }

    #[test]
    fn a_table_of_inverse_frequencies_is_known_by_its_range() {
        let min = |base: f64, dimension: f64| base.powf(-(dimension - 2.0) / dimension);
        assert_eq!(inverse_frequency_base(&table(1.0, min(1e4, 128.0), &[64])), Some(1e4));
        assert_eq!(inverse_frequency_base(&table(1.0, min(5e5, 64.0), &[1, 32, 1])), Some(5e5));
        assert_eq!(inverse_frequency_base(&table(1.0, 0.0, &[64])), None, "a mask");
        assert_eq!(inverse_frequency_base(&table(0.7, 0.001, &[64])), None);
        assert_eq!(inverse_frequency_base(&table(1.0, 0.001, &[8, 8])), None);
    }
}
