//! Diagrams as text, for comments that draw Mermaid.

use minijinja::context;

use super::curve::{self, DrawnCurve};
use super::ends;
use super::escape::TextTarget;
use super::messages::{Language, short_number};
use super::writer::Writer;
use crate::error::Result;
use crate::result::GateResult;
use crate::result::unit::CurveUnit;

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

/// A step with the values of both sides; a value that is not finite is drawn at the bottom.
type Point = (f64, f64, f64);

/// The curve a report shows first; `None` where there is none to show.
///
/// If there are many steps, those that differ most are drawn, so that no spike is lost. NaN and infinite values are drawn at the
/// bottom, since the format has no gaps, and the caption names them.
///
/// # Errors
/// `Internal` where a phrase cannot be written.
pub fn loss_chart(result: &GateResult, language: Language) -> Result<Option<Diagram>> {
    let Some(unit) = curve::leading_curve(result) else { return Ok(None) };
    let shown = DrawnCurve::from_unit(unit);
    let both = shown.step.iter().zip(shown.baseline.iter().zip(&shown.candidate));
    let both: Vec<Point> = both.filter_map(|(step, (b, c))| Some((*step, (*b)?, (*c)?))).collect();
    let points = telling(&both);
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
    let chart = format!(
        "xychart-beta\n  title \"{}\"\n  x-axis \"{}\" {} --> {}\n  y-axis {} --> {}\n  line [{}]\n  line [{}]\n",
        letters(&title),
        letters(&writer.word("plot_step")?),
        plain(*first),
        plain(last.max(first + 1.0)),
        plain(bottom),
        plain(top),
        line(|point| point.1),
        line(|point| point.2),
    );
    Ok(Some(Diagram { chart, caption: caption(unit, result, language)? }))
}

/// The first diverging step and the steps that are not finite, in words.
fn caption(unit: &CurveUnit, result: &GateResult, language: Language) -> Result<String> {
    let writer = Writer::from_result(result, language, TextTarget::Markdown);
    let mut said = Vec::new();
    let first_broken = unit.non_finite_steps.first().copied();
    if let Some(step) = unit.first_diverging_step.filter(|step| Some(*step) != first_broken) {
        said.push(writer.phrase("diagram_diverges", &context! { step })?);
    }
    if let Some(step) = unit.non_finite_steps.first() {
        said.push(writer.phrase("diagram_not_finite", &context! { step, count => unit.non_finite_steps.len() })?);
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
    fn titles_cannot_leave_their_quotes() {
        assert_eq!(letters("a\"]\n```b"), "ab");
    }
}
