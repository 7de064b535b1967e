//! Diagrams as text, for comments that draw Mermaid.

use minijinja::context;

use super::curve::{self, DrawnCurve};
use super::ends;
use super::escape::TextTarget;
use super::messages::{Language, short_number};
use super::writer::{Writer, safe};
use crate::error::Result;
use crate::judge::loss::code::PERIODIC;
use crate::median::upper_median;
use crate::result::GateResult;
use crate::result::finding::Fact;
use crate::result::unit::{AnyUnit, CurveUnit};

/// Largest number of points per line of a diagram.
const POINTS: usize = 60;

/// The largest number in a diagram. The format has no exponents, and longer numbers would fill the comment.
const LARGEST: f64 = 1e15;

/// A diagram with the words below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagram {
    /// An `xychart-beta`.
    pub chart: String,
    /// The failure in words: the first diverging step, and values that a chart cannot show. May be empty.
    pub caption: String,
}

/// A step with the values of both sides.
type Point = (f64, f64, f64);

/// The curve a report shows first; `None` where there is none to show.
///
/// If there are many steps, those that differ most are drawn, so that no spike is lost. The format has neither gaps nor lines of different
/// lengths (each is stretched over the whole axis): where a side is NaN or infinite to the end, both lines end before that; at single
/// values that are not finite a line stays where it was. The caption names them. Of a run without a baseline its own line is drawn.
///
/// # Errors
/// `Internal` where a phrase cannot be written.
pub fn loss_chart(result: &GateResult, language: Language) -> Result<Option<Diagram>> {
    let Some(unit) = curve::leading_curve(result) else { return Ok(None) };
    let shown = DrawnCurve::from_unit(unit);
    let is_alone = result.is_alone();
    // Of a single run the values that lie furthest from its middle are drawn.
    let middle = || upper_median(shown.candidate.iter().flatten().copied().filter(|value| value.is_finite()).collect());
    let middle = if is_alone { middle() } else { None };
    let both = shown.step.iter().zip(shown.baseline.iter().zip(&shown.candidate));
    let both = both.filter_map(|(step, (b, c))| Some((*step, middle.or(*b)?, (*c)?)));
    let both: Vec<Point> = both.take(drawn_steps(result, unit)).collect();
    let (sound, end) = without_broken_end(&both);
    let points = telling(&held(sound));
    let ends = ends::usual_range(points.iter().flat_map(|point| [point.1, point.2]));
    let Some((((first, ..), (last, ..)), (low, high))) = points.first().zip(points.last()).zip(ends) else {
        return Ok(None);
    };
    let (low, high) = (low.clamp(-LARGEST, LARGEST), high.clamp(-LARGEST, LARGEST));
    let room = ((high - low) * 0.05).max(high.abs() * 1e-3).max(1e-9);
    let (bottom, top) = (low - room, high + room);
    let line = |of: fn(&Point) -> f64| {
        let drawn = |value: f64| if value.is_finite() { value.clamp(bottom, top) } else { bottom };
        points.iter().map(|point| plain(drawn(of(point)))).collect::<Vec<_>>().join(", ")
    };
    let writer = Writer::from_result(result, language, TextTarget::Plain);
    let title = writer.phrase("picture_diagram", &context! { metric => letters(&unit.metric) })?;
    let baseline = if is_alone { String::new() } else { format!("  line [{}]\n", line(|point| point.1)) };
    let chart = format!(
        "xychart-beta\n  title \"{}\"\n  x-axis \"{}\" {} --> {}\n  y-axis {} --> {}\n{baseline}  line [{}]\n",
        letters(&title),
        letters(&writer.word("plot_step")?),
        plain(*first),
        plain(last.max(first + 1.0)),
        plain(bottom),
        plain(top),
        line(|point| point.2),
    );
    let is_bottom = points.iter().any(|point| !point.1.is_finite() || !point.2.is_finite());
    Ok(Some(Diagram { chart, caption: caption(unit, result, language, (end, is_bottom))? }))
}

/// Number of steps that are drawn: of a curve that repeats itself a few periods, which points of a longer stretch would hide.
fn drawn_steps(result: &GateResult, unit: &CurveUnit) -> usize {
    /// Periods that are drawn.
    const PERIODS: usize = 4;
    let mut repeats = result.counting().filter(|finding| finding.is(&PERIODIC) && finding.place == unit.name());
    let period = repeats.find_map(|finding| match finding.facts.get("period") {
        Some(Fact::Count(period)) => usize::try_from(*period).ok(),
        _ => None,
    });
    period.map_or(usize::MAX, |period| period.saturating_mul(PERIODS))
}

/// The points before the first one from which on a side is not finite to the end, and the last step of those; all points where there is no
/// such end, or too little before it.
fn without_broken_end(points: &[Point]) -> (&[Point], Option<f64>) {
    let is_broken = |point: &&Point| !(point.1.is_finite() && point.2.is_finite());
    let broken = points.iter().rev().take_while(is_broken).count();
    let sound = points.get(..points.len() - broken).unwrap_or_default();
    match sound.last() {
        Some((step, ..)) if broken > 0 && sound.len() > 1 => (sound, Some(*step)),
        _ => (points, None),
    }
}

/// The points, of which a side that is not finite keeps its last finite value, or takes its first one. Where a side has none, it stays as
/// it is, and its line is drawn at the bottom.
fn held(points: &[Point]) -> Vec<Point> {
    let finite = |value: &f64| value.is_finite();
    let mut baseline = points.iter().map(|point| point.1).find(finite);
    let mut candidate = points.iter().map(|point| point.2).find(finite);
    let keep = |value: f64, last: &mut Option<f64>| {
        *last = if value.is_finite() { Some(value) } else { *last };
        last.unwrap_or(value)
    };
    points.iter().map(|point| (point.0, keep(point.1, &mut baseline), keep(point.2, &mut candidate))).collect()
}

/// The first diverging step and the steps that are not finite, in words; `end` is the last drawn step where the lines end before those,
/// and `is_bottom` tells whether a side without any finite value is drawn.
fn caption(
    unit: &CurveUnit,
    result: &GateResult,
    language: Language,
    (end, is_bottom): (Option<f64>, bool),
) -> Result<String> {
    let writer = Writer::from_result(result, language, TextTarget::Markdown);
    let mut said = Vec::new();
    let first_broken = unit.non_finite_steps.first().copied();
    if let Some(step) = unit.first_diverging_step.filter(|step| Some(*step) != first_broken) {
        said.push(writer.phrase("diagram_diverges", &context! { step })?);
    }
    if let Some(step) = unit.non_finite_steps.first() {
        let (key, end) =
            (if end.is_some() { "diagram_ends" } else { "diagram_not_finite" }, end.map(|step| safe(plain(step))));
        said.push(writer.phrase(key, &context! { step, count => unit.non_finite_steps.len(), end, is_bottom })?);
    }
    // A Chinese sentence needs no space before it.
    Ok(said.join(if language == Language::Zh { "" } else { " " }))
}

/// At most [`POINTS`] points: the point of each stretch of steps at which the sides differ most, and both ends.
fn telling(points: &[Point]) -> Vec<Point> {
    if points.len() <= POINTS {
        return points.to_vec();
    }
    let apart = |point: &&Point| {
        let apart = (point.2 - point.1).abs();
        if apart.is_nan() { f64::INFINITY } else { apart }
    };
    let stretch = |index: usize| {
        let inner = points.len() - 2;
        let at = |part: usize| 1 + part * inner / (POINTS - 2);
        points.get(at(index)..at(index + 1)).unwrap_or_default()
    };
    let most = |index: usize| stretch(index).iter().max_by(|a, b| apart(a).total_cmp(&apart(b))).copied();
    points.first().copied().into_iter().chain((0..POINTS - 2).filter_map(most)).chain(points.last().copied()).collect()
}

/// The text without characters that could end a quoted title or a code block.
fn letters(text: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric() || " _-.:,/，：、".contains(*letter)).collect()
}

/// A number without an exponent, which the format does not read.
fn plain(value: f64) -> String {
    let text = short_number(value);
    if text.contains('e') { format!("{value:.6}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::cast_precision_loss, reason = "small numbers")]
    fn a_spike_of_one_step_is_drawn() {
        let mut points: Vec<Point> = (0..5000).map(|step| (f64::from(step), 1.0, 1.0)).collect();
        if let Some(point) = points.get_mut(3333) {
            point.2 = 9.0;
        }
        let drawn = telling(&points);
        assert_eq!((drawn.len(), drawn.first(), drawn.last()), (POINTS, points.first(), points.last()));
        assert!(drawn.contains(&(3333.0, 1.0, 9.0)));
    }

    #[test]
    fn lines_end_before_values_that_are_not_finite_to_the_end() {
        let of = |broken: &[u32]| -> Vec<Point> {
            let value = |step: u32| if broken.contains(&step) { f64::NAN } else { 1.0 };
            (0..6).map(|step| (f64::from(step), 1.0, value(step))).collect()
        };
        let drawn = |broken: &[u32]| {
            let points = of(broken);
            let (sound, end) = without_broken_end(&points);
            (sound.len(), end)
        };
        assert_eq!(drawn(&[4, 5]), (4, Some(3.0)));
        assert_eq!(drawn(&[2]), (6, None), "it recovers");
        assert_eq!(drawn(&[1, 2, 3, 4, 5]), (6, None), "a single point is no line");
        assert_eq!(drawn(&[]), (6, None));
    }

    #[test]
    fn titles_cannot_leave_their_quotes() {
        assert_eq!(letters("a\"]\n```b"), "ab");
    }
}
