//! Diagrams as text, for comments that draw Mermaid.

use super::GateResult;
use super::curve::{self, Shown, smooth};
use super::messages::{Language, short};
use super::phrases;

/// Points per line of a diagram.
const POINTS: usize = 60;

/// The largest number of a diagram, which has no exponents: longer ones would fill the comment.
const LARGEST: f64 = 1e15;

/// The curve a report shows first, as an `xychart-beta`; `None` where there is none to show.
///
/// Steps at which a side has no finite value are left out, as the format knows no gaps.
pub fn loss_chart(result: &GateResult, language: Language) -> Option<String> {
    let shown = Shown::of(curve::leading(result)?);
    let title = phrases::find("picture_diagram", language)?;
    let both: Vec<(f64, f64, f64)> = shown
        .step
        .iter()
        .zip(shown.baseline.iter().zip(&shown.candidate))
        .filter_map(|(step, (b, c))| Some((*step, (*b)?, (*c)?)))
        .filter(|(_, b, c)| b.is_finite() && c.is_finite())
        .map(|(step, b, c)| (step, b.clamp(-LARGEST, LARGEST), c.clamp(-LARGEST, LARGEST)))
        .collect();
    let (first, last) = (both.first()?.0, both.last()?.0);
    let side = |of: fn(&(f64, f64, f64)) -> f64| {
        let values: Vec<(f64, f64)> = both.iter().map(|point| (point.0, of(point))).collect();
        let values = if values.len() > POINTS { smooth(&values) } else { values };
        evenly(&values)
    };
    let (baseline, candidate) = (side(|point| point.1), side(|point| point.2));
    let all = || baseline.iter().chain(&candidate).copied();
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let room = ((high - low) * 0.05).max(high.abs() * 1e-3).max(1e-9);
    let list = |values: &[f64]| values.iter().map(|value| plain(*value)).collect::<Vec<_>>().join(", ");
    Some(format!(
        "xychart-beta\n  title \"{title}\"\n  x-axis \"step\" {} --> {}\n  y-axis {} --> {}\n  \
         line [{}]\n  line [{}]\n",
        plain(first),
        plain(last.max(first + 1.0)),
        plain(low - room),
        plain(high + room),
        list(&baseline),
        list(&candidate),
    ))
}

/// Selection of at most [`POINTS`] values, first and last kept.
fn evenly(values: &[(f64, f64)]) -> Vec<f64> {
    let n = values.len();
    if n <= POINTS {
        return values.iter().map(|(_, value)| *value).collect();
    }
    (0..POINTS).filter_map(|index| values.get(index * (n - 1) / (POINTS - 1))).map(|(_, value)| *value).collect()
}

/// A number without an exponent, which the format does not read.
fn plain(value: f64) -> String {
    let text = short(value);
    if text.contains('e') { format!("{value:.6}") } else { text }
}
