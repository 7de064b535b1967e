//! The numbers of a culprit on both sides, as a row of evidence.

use minijinja::context;

use super::builder::{Builder, EvidenceRow};
use super::culprit::{frame_of, named_op};
use super::words::{expression, short_name};
use crate::error::Result;
use crate::judge::monitor::rules as monitor_rules;
use crate::kind::TensorKind;
use crate::read::dump::name::{Direction, OpName};
use crate::report::messages::rounded;
use crate::report::sides::spaced_word;
use crate::report::writer::safe;
use crate::result::diagnosis::Diagnosis;
use crate::result::finding::Fact;
use crate::result::number::Number;
use crate::result::operation::Shown;
use crate::result::unit::{Culprit, CulpritKind, ErrorPattern};
use crate::verdict::Verdict;

/// Fraction of a difference by which the difference of the rounded numbers may deviate.
const MISTOLD: f64 = 0.25;

/// Numbers of digits to try: the fewest digits that show the difference of both sides faithfully are used.
const DIGITS: [usize; 3] = [2, 3, 4];

impl Builder<'_> {
    /// The culprit's numbers on both sides: its range, or the first statistic that shows a difference. `None` if neither the recorded
    /// numbers nor an error shows one.
    pub(super) fn row_of_culprit(&self, culprit: &Culprit) -> Result<Option<EvidenceRow>> {
        let Some((baseline, candidate)) = culprit.baseline.as_ref().zip(culprit.candidate.as_ref()) else {
            return Ok(None);
        };
        let off = self.off(culprit)?;
        let ([baseline_text, candidate_text], note) = match (self.telling(baseline, candidate)?, off) {
            (Some(cells), off) => (cells, off.unwrap_or_default()),
            // The same values in another order: an error without a value on either side shows a reader nothing.
            (None, Some(_)) if culprit.location.as_ref().is_some_and(|place| place.pattern == ErrorPattern::Moved) => {
                return Ok(None);
            }
            // Nothing that was recorded tells the sides apart; only the tensors show the error.
            (None, Some(off)) => ([String::new(), String::new()], off),
            (None, None) => return Ok(None),
        };
        let row = EvidenceRow::new(vec![self.what(culprit)?, baseline_text, candidate_text], self.verdict_of(culprit));
        Ok(Some(EvidenceRow { note: safe(note), ..row }))
    }

    /// The row of how far the culprit, a parameter, was moved on both sides by the update that a cause blames.
    pub(super) fn row_of_update(&self, cause: &Diagnosis, culprit: &Culprit) -> Result<Option<EvidenceRow>> {
        let Some(evidence) = cause.evidence.iter().find(|told| told.facts.contains_key("moved_baseline")) else {
            return Ok(None);
        };
        let number = |name: &str| match evidence.facts.get(name) {
            Some(Fact::Number(Number(number))) => Some(*number),
            _ => None,
        };
        let Some((baseline, candidate)) = number("moved_baseline").zip(number("moved_candidate")) else {
            return Ok(None);
        };
        let fact = |name: &str| evidence.facts.get(name).map(|fact| self.writer.fact(name, fact));
        let what = spaced_word(&self.what(culprit)?, self.writer.language());
        let context = context! { what, statistic => fact("statistic"), since => fact("since") };
        let cells =
            vec![self.writer.phrase("row_update", &context)?, signed_number(baseline, 3), signed_number(candidate, 3)];
        Ok(Some(EvidenceRow::new(cells, self.verdict_of(culprit))))
    }

    /// The statistic of a monitored row that is wrong, on both sides; `None` for updates, whose error is not that of the parameter.
    pub(super) fn row_of_monitor(&self, culprit: &Culprit) -> Result<Option<EvidenceRow>> {
        let is_non_finite = culprit.is_any(&[&monitor_rules::NON_FINITE]);
        let is_told = is_non_finite || culprit.is_any(&[&monitor_rules::JUMP]);
        let Some(monitor) = culprit.monitor.as_ref().filter(|_| is_told) else { return Ok(None) };
        let CulpritKind::Monitor(kind) = culprit.kind else { return Ok(None) };
        let value = |side: &str| culprit.metrics.get(side).filter(|value| is_non_finite || value.0.is_finite());
        let (Some(baseline), Some(candidate)) = (value("baseline"), value("candidate")) else { return Ok(None) };
        let name = self.tensor_name(culprit.check, &culprit.op)?;
        let name = spaced_word(&name, self.writer.language());
        let context = context! { name, statistic => monitor.statistic.as_str(), kind => kind.as_str() };
        let what = self.writer.phrase("row_monitor", &context)?;
        let digits = if rounded(baseline.0, 3) == rounded(candidate.0, 3) { 5 } else { 3 };
        let cells = vec![what, signed_number(baseline.0, digits), signed_number(candidate.0, digits)];
        let note = self.off(culprit)?.unwrap_or_default();
        Ok(Some(EvidenceRow { note: safe(note), ..EvidenceRow::new(cells, self.verdict_of(culprit)) }))
    }

    /// The error and its limit: `off by 3.0 % (at most 1.5e-5)`; `None` where the error is no number or no error.
    fn off(&self, culprit: &Culprit) -> Result<Option<String>> {
        let metric = |name: &str| culprit.metrics.get(name).map(|number| number.0).filter(|number| number.is_finite());
        let Some((error, limit)) = metric("error").zip(metric("limit")).filter(|(error, limit)| error > limit) else {
            return Ok(None);
        };
        self.writer.phrase("row_off_at_most", &context! { off => error, limit }).map(Some)
    }

    fn verdict_of(&self, culprit: &Culprit) -> Verdict {
        let finding = self.result.findings.iter().find(|finding| culprit.stands_for(finding));
        finding.map_or(self.result.verdict, |finding| finding.severity.verdict())
    }

    /// The call of the culprit's line that it stands for.
    pub(super) fn call_of(&self, culprit: &Culprit) -> Option<String> {
        let of_line = frame_of(culprit).and_then(|frame| expression(&frame.code));
        let finding = || self.result.findings.iter().find(|finding| culprit.stands_for(finding));
        of_line.or_else(|| finding()?.text("call").map(str::to_owned))
    }

    /// The value in words: `gradient of weight, out of h[order]`.
    pub(super) fn what(&self, culprit: &Culprit) -> Result<String> {
        let backward = OpName::parse(&culprit.op).direction == Some(Direction::Backward);
        let CulpritKind::Tensor(of) = culprit.kind else { return Ok(self.writer.name(&culprit.op)) };
        let kind = match of {
            TensorKind::Input if backward => "row_input_backward",
            TensorKind::Output if backward => "row_output_backward",
            TensorKind::Input => "row_input",
            TensorKind::Output => "row_output",
            TensorKind::Parameter => "row_parameter",
            TensorKind::ParameterGradient => "row_parameter-gradient",
            _ => "row_plain",
        };
        let code = self.call_of(culprit);
        let name = match matches!(of, TensorKind::Parameter | TensorKind::ParameterGradient) {
            true => parameter_name(culprit),
            false => code.unwrap_or_else(|| short_name(named_op(culprit)).to_owned()),
        };
        let name = safe(self.writer.name(&name));
        let argument = &culprit.argument;
        // The first argument of most functions has a name that says nothing.
        let argument = (!argument.is_empty() && !["input", "self"].contains(&argument.as_str()))
            .then(|| safe(self.writer.name(argument)));
        // Of several gradients the first needs no number.
        let place = culprit.tensor.strip_prefix(&culprit.op).map(|place| place.trim_start_matches('.'));
        let place = place.filter(|place| of == TensorKind::Output && backward && *place != "output.0");
        let place = place.map(|place| safe(self.writer.name(place)));
        self.writer.phrase(kind, &context! { name, argument, place })
    }

    fn telling(&self, baseline: &Shown, candidate: &Shown) -> Result<Option<[String; 2]>> {
        if (&baseline.dtype, &baseline.shape) != (&candidate.dtype, &candidate.shape) {
            // A Python value, whose type names no width, is told by itself.
            let is_plain =
                |shown: &Shown| shown.shape.is_empty() && !shown.dtype.contains(|letter: char| letter.is_ascii_digit());
            let told = |shown: &Shown| match shown.values.first().filter(|_| is_plain(shown)) {
                Some(value) if value == "null" => self.writer.name("None"),
                Some(value) => self.writer.name(&format!("{} {value}", shown.dtype)),
                None => self.writer.name(&format!("{} {:?}", shown.dtype, shown.shape)),
            };
            return Ok(Some([told(baseline), told(candidate)]));
        }
        // A Python number is told as it was given.
        let is_given = |shown: &Shown| shown.shape.is_empty() && ["int", "float"].contains(&shown.dtype.as_str());
        let both = numbers(baseline).zip(numbers(candidate)).filter(|_| !is_given(baseline));
        let Some((baseline_numbers, candidate_numbers)) = both else {
            let plain = |shown: &Shown| shown.values.first().map(|value| self.writer.name(value));
            let both = plain(baseline).zip(plain(candidate)).map(<[String; 2]>::from);
            return Ok(both.filter(|[baseline_numbers, candidate_numbers]| baseline_numbers != candidate_numbers));
        };
        // One number throughout, as a loss is, has no range.
        let is_one = [&baseline_numbers, &candidate_numbers]
            .iter()
            .all(|numbers| matches!(&numbers[..], [high, low, ..] if high.total_cmp(low).is_eq()));
        for statistic in by_difference(&baseline_numbers, &candidate_numbers) {
            let mut finest = None;
            for digits in DIGITS {
                let told = |numbers: &[f64]| match is_one {
                    true => Ok(numbers.first().map(|value| signed_number(*value, digits))),
                    false => self.statistic(numbers, statistic, digits),
                };
                if let (Some(of_baseline), Some(of_candidate)) = (told(&baseline_numbers)?, told(&candidate_numbers)?)
                    && of_baseline != of_candidate
                {
                    finest = Some([of_baseline, of_candidate]);
                    if is_faithful(statistic, (&baseline_numbers, &candidate_numbers), digits) {
                        break;
                    }
                }
            }
            if finest.is_some() {
                return Ok(finest);
            }
        }
        Ok(None)
    }

    /// A statistic in words; `None` where it was not recorded.
    fn statistic(&self, numbers: &[f64], statistic: Statistic, digits: usize) -> Result<Option<String>> {
        let number = |place: usize| numbers.get(place).map(|value| safe(signed_number(*value, digits)));
        if statistic == Statistic::Range {
            return match (number(0), number(1)) {
                (Some(value), Some(low)) if value.to_string() == low.to_string() && numbers.len() > 2 => {
                    self.writer.phrase("row_constant", &context! { value }).map(Some)
                }
                (Some(high), Some(low)) => self.writer.phrase("row_range", &context! { low, high }).map(Some),
                (value, _) => Ok(value.map(|value| value.to_string())),
            };
        }
        let value = number(statistic.place());
        value.map(|value| self.writer.phrase(statistic.phrase(), &context! { value })).transpose()
    }
}

/// A module's parameter as models name it: `fc1.bias` of `Module.fc1.Linear.parameters_grad.0.bias`.
fn parameter_name(culprit: &Culprit) -> String {
    let below = culprit.tensor.strip_prefix(&culprit.op).unwrap_or_default();
    let parameter = below.trim_start_matches(".parameters").trim_start_matches('.');
    let module = short_name(&culprit.op);
    if parameter.is_empty() { module.to_owned() } else { format!("{module}.{parameter}") }
}

/// A part of the recorded numbers that a row can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Statistic {
    /// Smallest and largest, where either differs so much that a reader sees it.
    Range,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// The mean.
    Mean,
    /// The norm.
    Norm,
}

impl Statistic {
    const SINGLE: [Self; 4] = [Self::Max, Self::Min, Self::Mean, Self::Norm];

    /// Its place among the recorded numbers.
    fn place(self) -> usize {
        match self {
            Self::Range | Self::Max => 0,
            Self::Min => 1,
            Self::Mean => 2,
            Self::Norm => 3,
        }
    }

    fn phrase(self) -> &'static str {
        match self {
            Self::Range => "row_range",
            Self::Max => "row_max",
            Self::Min => "row_min",
            Self::Mean => "row_mean",
            Self::Norm => "row_norm",
        }
    }
}

/// Difference, as a fraction of the largest value, above which a reader notices it in a range.
const SEEN: f64 = 0.1;

/// The statistics in the order in which they are tried: the range if its ends clearly differ, then the statistic that differs most.
/// A mean is compared with the scale of its tensor, since it may be near 0.
fn by_difference(baseline: &[f64], candidate: &[f64]) -> Vec<Statistic> {
    let largest = |places: &[usize]| {
        let all = places.iter().flat_map(|place| [baseline.get(*place), candidate.get(*place)]).flatten();
        all.map(|value| value.abs()).filter(|value| value.is_finite()).fold(0.0, f64::max)
    };
    let off = |statistic: Statistic| {
        let (Some(one), Some(other)) = (baseline.get(statistic.place()), candidate.get(statistic.place())) else {
            return 0.0;
        };
        let scale = if statistic == Statistic::Norm { largest(&[3]) } else { largest(&[0, 1]) };
        match (one - other).abs() {
            0.0 => 0.0,
            _ if one.total_cmp(other).is_eq() || (one.is_nan() && other.is_nan()) => 0.0,
            apart if apart.is_finite() && scale > 0.0 => apart / scale,
            _ => f64::INFINITY,
        }
    };
    let mut single = Statistic::SINGLE;
    single.sort_by(|one, other| off(*other).total_cmp(&off(*one)));
    let is_seen = off(Statistic::Max).max(off(Statistic::Min)) >= SEEN || baseline.len() < 2;
    let range = is_seen.then_some(Statistic::Range);
    range.into_iter().chain(single).collect()
}

/// Whether rounded numbers are about as far apart as the exact ones: 3.27 and 3.24 differ by 1 %, but 3.3 and 3.2 by 3 %.
fn is_faithful(statistic: Statistic, (baseline, candidate): (&[f64], &[f64]), digits: usize) -> bool {
    let places = if statistic == Statistic::Range { 0..2 } else { statistic.place()..statistic.place() + 1 };
    let pairs = || places.clone().filter_map(|place| baseline.get(place).copied().zip(candidate.get(place).copied()));
    let apart = |(one, other): (f64, f64)| (one - other).abs();
    let widest = pairs().max_by(|one, other| apart(*one).total_cmp(&apart(*other)));
    let Some((one, other)) = widest.filter(|pair| apart(*pair).is_finite()) else { return true };
    let shown = |value: f64| rounded(value, digits).parse::<f64>().unwrap_or(value);
    let told = apart((shown(one), shown(other)));
    (told - apart((one, other))).abs() <= MISTOLD * apart((one, other))
}

/// The recorded numbers of a value, up to the first text that is not a number; `None` if there are none.
fn numbers(shown: &Shown) -> Option<Vec<f64>> {
    let numbers: Vec<f64> = shown.values.iter().take(4).map_while(|value| value.parse().ok()).collect();
    (!numbers.is_empty()).then_some(numbers)
}

/// A number with a proper minus sign.
pub(super) fn signed_number(value: f64, digits: usize) -> String {
    with_minus_sign(&rounded(value, digits))
}

/// A written number with a proper minus sign; that of an exponent stays.
pub(super) fn with_minus_sign(number: &str) -> String {
    number.strip_prefix('-').map_or_else(|| number.to_owned(), |rest| format!("−{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statistic_that_differs_most_leads() {
        for (baseline, candidate, first) in [
            ([0.039, -0.042, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0], Statistic::Range),
            ([1.43, -1.87, 0.01, 20.0], [1.44, -1.87, 0.01, 27.0], Statistic::Norm),
            ([1.43, -1.87, 0.01, 20.0], [1.44, -1.87, 0.21, 20.0], Statistic::Mean),
            ([3.639, -3.838, 0.0, 20.0], [3.639, -3.842, 0.0, 20.0], Statistic::Min),
            ([f64::INFINITY, -1.0, 0.0, 1.0], [65504.0, -1.0, 0.0, 1.0], Statistic::Range),
        ] {
            assert_eq!(by_difference(&baseline, &candidate).first(), Some(&first), "{baseline:?} {candidate:?}");
        }
        assert_eq!(by_difference(&[1.0], &[1.01]).first(), Some(&Statistic::Range), "one number");
    }

    #[test]
    fn numbers_have_as_many_digits_as_show_their_distance() {
        let faithful = |one: f64, other: f64, digits| is_faithful(Statistic::Max, (&[one], &[other]), digits);
        assert!(!faithful(3.27, 3.237, 2) && faithful(3.27, 3.237, 3), "1 % of 3.27");
        assert!(faithful(1.0, 2.0, 2) && faithful(f64::INFINITY, 1.0, 2));
    }

    #[test]
    fn numbers_have_a_proper_minus_and_few_digits() {
        for (value, text) in [(-0.041_79, "−0.042"), (-2.5e-7, "−2.5e-7"), (65504.0, "65504"), (f64::INFINITY, "inf")]
        {
            assert_eq!(signed_number(value, 2), text);
        }
    }
}
