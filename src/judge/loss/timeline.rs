//! The course of a run by its log: skipped updates, the loss scale, the first values that are not finite, the end.

use std::collections::BTreeSet;

use super::ending;
use crate::error::Result;
use crate::kind::Role;
use crate::pair::curve::updates::skipped_steps;
use crate::read::curve::CurveFile;
use crate::read::curve::updates::UpdateHistory;
use crate::read::metric;
use crate::result::number::Number;
use crate::result::run::{Course, Event, EventKind};

/// The course of a run with these files, whose updates were read already.
///
/// # Errors
/// Errors of the disk, where points lie there.
pub(crate) fn course_of_run(files: &[CurveFile], updates: Option<&UpdateHistory>) -> Result<Course> {
    let skipped = skipped_steps(updates);
    let mut course =
        Course { last_step: ending::last_step(files), ended: ending::ending_error(files), ..Course::default() };
    let mut events: Vec<Event> = Vec::new();
    if let Some(updates) = updates {
        add_updates(updates, &mut course, &mut events);
    }
    let broken = |role: Role| broken_steps(files, role);
    let gradients: BTreeSet<u64> = &broken(Role::GradNorm)? - &skipped;
    let losses = broken(Role::Loss)?;
    course.first_non_finite_gradient = gradients.first().copied();
    course.first_non_finite_loss = losses.first().copied();
    let event = |kind| move |step: u64| Event { step, kind };
    events.extend(gradients.into_iter().take(Course::MOST_EVENTS).map(event(EventKind::GradientNonFinite)));
    events.extend(losses.into_iter().take(Course::MOST_EVENTS).map(event(EventKind::LossNonFinite)));
    events.sort_by_key(|event| (event.step, event.kind));
    // The end is kept, however many events come before it.
    let end = course.ended.as_ref().map(|ended| ended.step.max(course.last_step).unwrap_or_default());
    events.truncate(Course::MOST_EVENTS - usize::from(end.is_some()));
    events.extend(end.map(event(EventKind::End)));
    course.events = events;
    Ok(course)
}

/// Whether a course holds anything worth showing.
pub(crate) fn is_telling(course: &Course) -> bool {
    course.skipped.is_some()
        || course.ended.is_some()
        || course.first_non_finite_gradient.is_some()
        || course.first_non_finite_loss.is_some()
        || course.last_step.is_some()
}

fn add_updates(updates: &UpdateHistory, course: &mut Course, events: &mut Vec<Event>) {
    course.skipped = Some(updates.records.iter().map(|record| record.skipped).sum());
    let mut before: Option<f64> = None;
    let mut changes: Vec<(u64, Number)> = Vec::new();
    for (place, record) in (1..).zip(updates.records.iter()) {
        let step = record.step.unwrap_or(place);
        let mut take = |kind| {
            if events.len() < Course::MOST_EVENTS {
                events.push(Event { step, kind });
            }
        };
        if record.skipped > 0 {
            course.first_skip = course.first_skip.or(Some(step));
            take(EventKind::Skip);
        }
        let Some(scale) = record.scale else { continue };
        match before {
            Some(known) if scale > known => take(EventKind::ScaleUp),
            Some(known) if scale < known => take(EventKind::ScaleDown),
            Some(_) => continue,
            None => {}
        }
        before = Some(scale);
        changes.push((step, Number(scale)));
    }
    course.scale_last = before.map(Number);
    let every = changes.len().div_ceil(Course::MOST_SCALES).max(1);
    let last = changes.last().copied();
    course.scale = changes.into_iter().step_by(every).collect();
    if course.scale.last() != last.as_ref() {
        course.scale.extend(last);
    }
}

/// Steps of a run at which a metric with this role is not finite.
fn broken_steps(files: &[CurveFile], role: Role) -> Result<BTreeSet<u64>> {
    let mut steps = BTreeSet::new();
    for series in files.iter().flat_map(|file| &file.series) {
        if metric::role(&metric::canonical(series.name())) == role && !series.shape().is_finite {
            let series = series.load()?;
            steps.extend(series.points().filter(|(_, value)| !value.is_finite()).map(|(step, _)| step));
        }
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::loss::files::log;
    use crate::read::curve::updates::updates_of_file;

    #[test]
    fn a_course_tells_skips_scale_and_the_first_value_that_is_not_finite() {
        let line = |step: u64, norm: &str, scale: u64, skipped: u64| {
            format!(
                " iteration {step}/ 9 | lm loss: {} | grad norm: {norm} | loss scale: {scale}.0 | number of skipped iterations: {skipped} | number of nan iterations: 0 |\n",
                if step == 4 { "nan" } else { "2.5" }
            )
        };
        let file =
            log(&[line(1, "1.0", 8, 0), line(2, "inf", 4, 1), line(3, "inf", 4, 0), line(4, "1.0", 2, 1)].concat());
        let updates = updates_of_file(file.updates.as_ref(), &file.series).expect("in memory");
        let course = course_of_run(&[file], updates.as_ref()).expect("in memory");
        assert_eq!((course.skipped, course.first_skip, course.scale_last), (Some(2), Some(2), Some(Number(2.0))));
        assert_eq!((course.first_non_finite_gradient, course.first_non_finite_loss), (Some(3), Some(4)));
        assert_eq!(course.scale, [(1, Number(8.0)), (2, Number(4.0)), (4, Number(2.0))]);
        let kinds: Vec<(u64, EventKind)> = course.events.iter().map(|event| (event.step, event.kind)).collect();
        use EventKind::{GradientNonFinite, LossNonFinite, ScaleDown, Skip};
        let expected =
            [(2, Skip), (2, ScaleDown), (3, GradientNonFinite), (4, Skip), (4, ScaleDown), (4, LossNonFinite)];
        assert_eq!((kinds, course.last_step), (expected.to_vec(), Some(4)));
    }

    #[test]
    fn events_are_at_most_so_many_with_the_end_among_them() {
        let updates = UpdateHistory {
            records: (1..=900)
                .map(|step| crate::read::curve::updates::UpdateRecord {
                    step: Some(step),
                    skipped: 1,
                    scale: Some(1e9 / step as f64),
                    ..Default::default()
                })
                .collect(),
            is_stated: true,
        };
        let error = "Traceback (most recent call last):\n File \"a.py\", line 1, in f\nKeyError: 'x'\n";
        let course = course_of_run(&[log(error)], Some(&updates)).expect("in memory");
        assert_eq!(course.events.len(), Course::MOST_EVENTS);
        assert_eq!(course.events.last().map(|event| event.kind), Some(EventKind::End));
        assert!(course.scale.len() <= Course::MOST_SCALES + 1 && course.skipped == Some(900));
    }
}
