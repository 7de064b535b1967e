//! The numbers of a culprit on both sides, as a row of evidence.

use minijinja::context;

use super::builder::{Builder, EvidenceRow};
use super::culprit::frame_of;
use super::words::{expression, without_direction};
use crate::error::Result;
use crate::kind::TensorKind;
use crate::read::dump::name::{Direction, OpName};
use crate::report::messages::rounded;
use crate::report::writer::safe;
use crate::result::operation::Shown;
use crate::result::unit::{Culprit, CulpritKind};
use crate::verdict::Verdict;

/// Digits that numbers are shown with: as few as tell both sides apart.
const DIGITS: [usize; 3] = [2, 3, 4];

impl Builder<'_> {
    /// The culprit's numbers on both sides: its range, or the first statistic that shows a difference. `None` where nothing
    /// that was recorded tells them apart.
    pub(super) fn row_of(&self, culprit: &Culprit) -> Result<Option<EvidenceRow>> {
        let Some((baseline, candidate)) = culprit.baseline.as_ref().zip(culprit.candidate.as_ref()) else {
            return Ok(None);
        };
        let Some([ours, theirs]) = self.telling(baseline, candidate)? else { return Ok(None) };
        Ok(Some(EvidenceRow::new(vec![self.what(culprit)?, ours, theirs], self.verdict_of(culprit))))
    }

    fn verdict_of(&self, culprit: &Culprit) -> Verdict {
        let finding = self.result.findings.iter().find(|finding| culprit.stands_for(finding));
        finding.map_or(self.result.verdict, |finding| finding.severity.verdict())
    }

    /// The value in words: `gradient out of h[order]`.
    fn what(&self, culprit: &Culprit) -> Result<String> {
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
        let code = frame_of(culprit).and_then(|frame| expression(&frame.code));
        let name = safe(self.writer.name(code.as_deref().unwrap_or_else(|| without_direction(&culprit.op))));
        self.writer.phrase(kind, &context! { name })
    }

    fn telling(&self, baseline: &Shown, candidate: &Shown) -> Result<Option<[String; 2]>> {
        if (&baseline.dtype, &baseline.shape) != (&candidate.dtype, &candidate.shape) {
            let told = |shown: &Shown| self.writer.name(&format!("{} {:?}", shown.dtype, shown.shape));
            return Ok(Some([told(baseline), told(candidate)]));
        }
        let Some((ours, theirs)) = numbers(baseline).zip(numbers(candidate)) else {
            let plain = |shown: &Shown| shown.values.first().map(|value| self.writer.name(value));
            let both = plain(baseline).zip(plain(candidate)).map(<[String; 2]>::from);
            return Ok(both.filter(|[ours, theirs]| ours != theirs));
        };
        for (first, key) in [(0, "row_range"), (2, "row_mean"), (3, "row_norm")] {
            for digits in DIGITS {
                let told = |numbers: &[f64]| self.statistic(numbers, first, key, digits);
                if let (Some(ours), Some(theirs)) = (told(&ours)?, told(&theirs)?)
                    && ours != theirs
                {
                    return Ok(Some([ours, theirs]));
                }
            }
        }
        Ok(None)
    }

    /// One of largest, smallest, mean and norm, or the range of the first two; `None` where it was not recorded.
    fn statistic(&self, numbers: &[f64], first: usize, key: &str, digits: usize) -> Result<Option<String>> {
        let number = |place: usize| numbers.get(place).map(|value| safe(signed(*value, digits)));
        let phrase = |context| self.writer.phrase(key, &context).map(Some);
        match (number(first), number(1)) {
            (Some(high), Some(low)) if first == 0 => phrase(context! { low, high }),
            (Some(value), None) if first == 0 => Ok(Some(value.to_string())),
            (Some(value), _) => phrase(context! { value }),
            (None, _) => Ok(None),
        }
    }
}

/// The recorded numbers of a value, as far as they are numbers; `None` where the first is none.
fn numbers(shown: &Shown) -> Option<Vec<f64>> {
    let numbers: Vec<f64> = shown.values.iter().take(4).map_while(|value| value.parse().ok()).collect();
    (!numbers.is_empty()).then_some(numbers)
}

/// A number with a proper minus sign.
pub(super) fn signed(value: f64, digits: usize) -> String {
    minus(&rounded(value, digits))
}

/// A written number with a proper minus sign; that of an exponent stays.
pub(super) fn minus(number: &str) -> String {
    number.strip_prefix('-').map_or_else(|| number.to_owned(), |rest| format!("−{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_proper_minus_and_few_digits() {
        for (value, text) in [(-0.041_79, "−0.042"), (-2.5e-7, "−2.5e-7"), (65504.0, "65504"), (f64::INFINITY, "inf")]
        {
            assert_eq!(signed(value, 2), text);
        }
    }
}
