//! The course of a run in one paragraph: skipped updates, the loss scale, the first values that are not finite, and the end.

use minijinja::{Value, context};

use super::curve;
use super::messages::Language;
use super::writer::{Writer, safe};
use crate::error::Result;
use crate::judge::loss::code;
use crate::judge::rule::Rule;
use crate::result::GateResult;
use crate::result::finding::{Fact, Finding};
use crate::result::run::Course;
use crate::verdict::Severity;

/// Rules whose findings a course explains.
const TOLD: [&Rule; 5] = [
    &code::UPDATES_SKIPPED,
    &code::UPDATES_OVERFLOWED,
    &code::GRADIENT_NON_FINITE,
    &code::NON_FINITE,
    &code::RUN_ENDED_WITH_ERROR,
];

fn explained(result: &GateResult) -> impl Iterator<Item = &Finding> {
    result.counting().filter(|finding| finding.severity >= Severity::Warn && finding.is_any(&TOLD))
}

/// Whether the course of a result's candidate explains a finding that counts.
pub(super) fn has_explanation(result: &GateResult) -> bool {
    explained(result).next().is_some()
}

/// The course of the candidate in one paragraph; `None` if it explains no finding that counts, or says only from which step on the
/// curve is broken that the headline, or the line under it, names.
///
/// # Errors
/// Errors of a text.
pub(super) fn course_paragraph(result: &GateResult, writer: &Writer) -> Result<Option<Value>> {
    let Some(timeline) = result.timeline.as_ref().filter(|_| has_explanation(result)) else { return Ok(None) };
    let course = &timeline.candidate;
    let mut parts: Vec<String> = Vec::new();
    if let (Some(first), Some(skipped)) = (course.first_skip, course.skipped) {
        let of = explained(result).find(|finding| finding.is(&code::UPDATES_SKIPPED));
        let of = of.and_then(|finding| finding.facts.get("of")).and_then(|fact| match fact {
            Fact::Count(of) => Some(*of),
            _ => None,
        });
        parts.push(writer.phrase("timeline_skips", &context! { first, skipped, of })?);
        parts.extend(scale(course, writer)?);
    }
    let broken = [course.first_non_finite_gradient, course.first_non_finite_loss];
    if parts.is_empty()
        && course.ended.is_none()
        && broken.into_iter().flatten().all(|step| told_step(result) == Some(step))
    {
        return Ok(None);
    }
    match (course.first_non_finite_gradient, course.first_non_finite_loss) {
        (Some(step), Some(of_loss)) if step == of_loss => {
            parts.push(writer.phrase("timeline_both", &context! { step })?);
        }
        (of_gradient, of_loss) => {
            for (key, step) in [("timeline_gradient", of_gradient), ("timeline_loss", of_loss)] {
                let Some(step) = step else { continue };
                parts.push(writer.phrase(key, &context! { step })?);
            }
        }
    }
    if parts.is_empty() {
        return Ok(None);
    }
    if let (Some(_), Some(step)) = (&course.ended, course.last_step) {
        parts.push(writer.phrase("timeline_end", &context! { step })?);
    }
    let mut text = parts.join(&writer.word("semicolon")?);
    // A Chinese sentence may begin with a name, whose first letter must stay.
    if let Some(first) = text.get_mut(..1).filter(|_| writer.language() == Language::En) {
        first.make_ascii_uppercase();
    }
    Ok(Some(safe(writer.phrase("timeline_paragraph", &context! { text => safe(text) })?)))
}

/// The step from which on the curve that represents the run is NaN or infinite, or hides that.
fn told_step(result: &GateResult) -> Option<u64> {
    let broken = curve::broken_finding(result, curve::leading_curve(result)?)?;
    broken.text("step")?.parse().ok()
}

/// The decrease of the loss scale from its highest value to its value at the end, in words.
fn scale(course: &Course, writer: &Writer) -> Result<Option<String>> {
    let Some(last) = course.scale_last else { return Ok(None) };
    let highest = course.scale.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0));
    let reached = course.scale.iter().find(|(_, scale)| *scale == last);
    match (highest, reached) {
        (Some((_, from)), Some((step, to))) if from.0 > to.0 => {
            writer.phrase("timeline_scale", &context! { from => from.0, to => to.0, step }).map(Some)
        }
        _ => Ok(None),
    }
}
