//! Numbers that the readers did not read: they are compared all the same, and reported.
//!
//! Numbers beside a metric's name that became no point of a curve could hide a defect. Their shapes are paired by text: where
//! both runs have a shape equally often, its numbers are compared place by place.

use std::collections::{BTreeMap, BTreeSet};

use super::loss::code::UNREAD_VALUES;
use crate::kind::Role;
use crate::policy::loss::UnreadPolicy;
use crate::read::account::{UnreadNumbers, UnreadShape};
use crate::read::metric;
use crate::result::finding::{Fact, Finding};
use crate::result::unit::Evidence;
use crate::verdict::{CheckId, Severity, Side};

/// Mean relative difference up to which unread numbers agree.
const AGREES: f64 = 0.01;
/// Most shapes that are reported.
const SHOWN: usize = 5;

/// Numbers of a run that were read and compared.
#[derive(Clone, Copy, Debug)]
pub struct ReadNumbers<'m> {
    /// Points of curves, rows or answers that were compared in a way that carries a verdict.
    pub points: u64,
    /// Canonical names of the metrics that are already reported as not finite.
    pub broken: &'m BTreeSet<String>,
}

/// Unread shapes of both sides, and the numbers that they stand for.
#[derive(Debug, Default)]
pub struct UnreadValues {
    /// One finding per shape, the worst first.
    pub findings: Vec<Finding>,
    /// Number of unread numbers of both sides, including those of shapes that are not reported.
    pub count: u64,
    /// Number of unread numbers of both sides that the policy leaves out, and their shapes.
    pub left_out: (u64, Vec<String>),
    /// Texts of the policy that occur in no shape.
    pub unused: Vec<String>,
}

impl UnreadValues {
    /// Adds the unread numbers, and those that the policy leaves out, to the account of a unit.
    pub(crate) fn add_to_evidence(&self, evidence: &mut Evidence) {
        let (left_out, shapes) = &self.left_out;
        evidence.unread = evidence.unread.saturating_add(self.count);
        evidence.left_out = evidence.left_out.saturating_add(*left_out);
        shapes.iter().for_each(|shape| evidence.example("left-out", shape.as_str()));
    }
}

/// The findings for a check that reads no logs: its values are in cells or under keys.
pub(crate) fn cell_findings(findings: Vec<Finding>, check: CheckId) -> impl Iterator<Item = Finding> {
    findings.into_iter().map(move |finding| finding.of_check(check).with("cells", 1_u64))
}

/// Kind of a shape, by the names in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Unnamed,
    Beside,
    Loss,
}

/// Outcome of comparing the numbers of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compared {
    BaselineOnly,
    CandidateOnly,
    Agree,
    Apart,
    NotFinite,
}

/// Judges the accounts of both sides.
pub fn judge<'a>(
    baseline: impl Iterator<Item = &'a UnreadNumbers>,
    candidate: impl Iterator<Item = &'a UnreadNumbers>,
    policy: &[UnreadPolicy],
    judged: ReadNumbers<'_>,
) -> UnreadValues {
    let (baseline_shapes, beyond) = merged(baseline);
    let (candidate_shapes, more) = merged(candidate);
    let is_ignored = |shape: &str| policy.iter().any(|own| own.ignore && shape.contains(own.shape.as_str()));
    let candidate_only = candidate_shapes.keys().filter(|shape| !baseline_shapes.contains_key(*shape));
    let all: Vec<&String> = baseline_shapes.keys().chain(candidate_only).collect();
    // The policy may mean a shape that was not kept.
    let is_unused = |own: &&UnreadPolicy| beyond + more == 0 && !all.iter().any(|shape| shape.contains(&own.shape));
    let unused = policy.iter().filter(is_unused).map(|own| own.shape.clone()).collect();
    let is_told = |shape: &String| {
        let unread = candidate_shapes.get(shape);
        unread.is_some_and(|unread| !is_finite(unread) && is_told(unread, judged.broken))
    };
    let (ignored, mut shapes): (Vec<&String>, Vec<&String>) = all.into_iter().partition(|shape| is_ignored(shape));
    shapes.retain(|shape| !is_told(shape));
    let numbers = |shape: &&String| {
        let sides = [&baseline_shapes, &candidate_shapes];
        sides.map(|side| side.get(*shape).map_or(0, UnreadShape::number_count)).iter().sum::<u64>()
    };
    let count = shapes.iter().map(numbers).sum::<u64>() + beyond + more;
    let left_out = (ignored.iter().map(numbers).sum(), ignored.into_iter().cloned().collect());
    let mut told: Vec<(Severity, u64, Finding)> = shapes
        .into_iter()
        .map(|shape| {
            let (baseline, candidate) = (baseline_shapes.get(shape), candidate_shapes.get(shape));
            let unread = baseline.into_iter().chain(candidate).max_by_key(|unread| unread.count);
            let compared = compared(baseline, candidate);
            let kind = kind(unread, judged);
            let severity = severity(kind, compared, judged);
            let finding = finding(shape, baseline, candidate, compared).with_severity(severity);
            (severity, unread.map_or(0, |unread| unread.count), finding)
        })
        .collect();
    told.sort_by(|a, b| (b.0, b.1).cmp(&(a.0, a.1)).then_with(|| a.2.place.cmp(&b.2.place)));
    told.truncate(SHOWN);
    UnreadValues { findings: told.into_iter().map(|(.., finding)| finding).collect(), count, left_out, unused }
}

/// Judges the accounts of a run without a baseline: any shape with a number that is not finite is reported.
pub(crate) fn judge_alone<'a>(candidate: impl Iterator<Item = &'a UnreadNumbers>) -> Vec<Finding> {
    let (shapes, _) = merged(candidate);
    let nothing = BTreeSet::new();
    let broken = shapes.iter().filter(|(_, unread)| !is_finite(unread));
    let told = broken.map(|(shape, unread)| {
        let severity = if kind(Some(unread), ReadNumbers { points: u64::MAX, broken: &nothing }) == Kind::Unnamed {
            Severity::Warn
        } else {
            Severity::Fail
        };
        finding(shape, None, Some(unread), Compared::CandidateOnly).with_severity(severity)
    });
    told.take(SHOWN).collect()
}

/// The shapes of all files of a side, and the number of numbers whose shapes were not kept.
fn merged<'a>(accounts: impl Iterator<Item = &'a UnreadNumbers>) -> (BTreeMap<String, UnreadShape>, u64) {
    let mut all: BTreeMap<String, UnreadShape> = BTreeMap::new();
    let mut beyond = 0;
    for account in accounts {
        beyond += account.dropped_count();
        for unread in account.shapes() {
            let known = all.entry(unread.shape.clone()).or_insert_with(|| UnreadShape {
                shape: unread.shape.clone(),
                example: unread.example.clone(),
                names: unread.names.clone(),
                ..UnreadShape::default()
            });
            known.count += unread.count;
            known.columns.resize_with(known.columns.len().max(unread.columns.len()), Vec::new);
            for (column, more) in known.columns.iter_mut().zip(&unread.columns) {
                column.extend_from_slice(more);
            }
        }
    }
    (all, beyond)
}

fn is_finite(unread: &UnreadShape) -> bool {
    unread.columns.iter().flatten().all(|value| value.is_finite())
}

fn compared(baseline: Option<&UnreadShape>, candidate: Option<&UnreadShape>) -> Compared {
    let (baseline, candidate) = match (baseline, candidate) {
        (Some(baseline), Some(candidate)) => (baseline, candidate),
        (Some(_), None) => return Compared::BaselineOnly,
        (None, Some(candidate)) if is_finite(candidate) => return Compared::CandidateOnly,
        (None, _) => return Compared::NotFinite,
    };
    let places = || baseline.columns.iter().zip(&candidate.columns);
    let same_length = baseline.count == candidate.count
        && baseline.columns.len() == candidate.columns.len()
        && places().all(|(baseline, candidate)| baseline.len() == candidate.len());
    let breaks = |(baseline, candidate): (&Vec<f64>, &Vec<f64>)| {
        let pairs = baseline.iter().zip(candidate);
        let is_finite = baseline.iter().all(|value| value.is_finite());
        if same_length {
            pairs.into_iter().any(|(b, c)| b.is_finite() && !c.is_finite())
        } else {
            is_finite && candidate.iter().any(|value| !value.is_finite())
        }
    };
    if places().any(breaks) {
        return Compared::NotFinite;
    }
    let agrees = |(baseline, candidate): (&Vec<f64>, &Vec<f64>)| difference(baseline, candidate) <= AGREES;
    if same_length && places().all(agrees) { Compared::Agree } else { Compared::Apart }
}

/// The mean relative difference of two columns.
fn difference(baseline: &[f64], candidate: &[f64]) -> f64 {
    let finite = || baseline.iter().zip(candidate).filter(|(b, c)| b.is_finite() && c.is_finite());
    let relative = |(b, c): (&f64, &f64)| match b.abs().max(c.abs()) {
        larger if larger > 0.0 => (b - c).abs() / larger,
        _ => 0.0,
    };
    let sum: f64 = finite().map(relative).sum();
    #[allow(clippy::cast_precision_loss, reason = "at most a hundred thousand numbers are kept")]
    let count = finite().count().max(1) as f64;
    sum / count
}

/// Whether all metrics of a shape are already reported as not finite.
fn is_told(unread: &UnreadShape, broken: &BTreeSet<String>) -> bool {
    let is_broken = |name: &String| broken.contains(metric::canonical(name).as_ref());
    !unread.names.is_empty() && unread.names.iter().all(is_broken)
}

fn kind(unread: Option<&UnreadShape>, judged: ReadNumbers<'_>) -> Kind {
    let Some(unread) = unread else { return Kind::Unnamed };
    let role = |name: &String| metric::role(&metric::canonical(name));
    let is_loss = |name: &String| matches!(role(name), Role::Loss | Role::EvalLoss);
    let is_most = !unread.names.is_empty() && unread.number_count() > judged.points;
    if unread.names.iter().any(is_loss) || is_most || judged.points == 0 {
        Kind::Loss
    } else if unread.names.is_empty() {
        Kind::Unnamed
    } else {
        Kind::Beside
    }
}

/// The severity of a shape, by the table on the page about reading.
fn severity(kind: Kind, compared: Compared, judged: ReadNumbers<'_>) -> Severity {
    match (kind, compared) {
        (Kind::Unnamed, Compared::NotFinite) => Severity::Warn,
        (_, Compared::NotFinite) => Severity::Fail,
        (_, Compared::CandidateOnly) => Severity::Info,
        (_, Compared::Agree) if judged.points == 0 => Severity::Incomplete,
        (_, Compared::Agree) => Severity::Info,
        (Kind::Loss, Compared::BaselineOnly | Compared::Apart) => Severity::Incomplete,
        (Kind::Beside, _) => Severity::Warn,
        (Kind::Unnamed, Compared::BaselineOnly) => Severity::Info,
        (Kind::Unnamed, Compared::Apart) => Severity::Warn,
    }
}

fn finding(
    shape: &str,
    baseline: Option<&UnreadShape>,
    candidate: Option<&UnreadShape>,
    compared: Compared,
) -> Finding {
    let (side, unread) = match (baseline, candidate) {
        (Some(baseline), Some(_)) => ("both", Some(baseline)),
        (Some(baseline), None) => (Side::Baseline.as_str(), Some(baseline)),
        (None, candidate) => (Side::Candidate.as_str(), candidate),
    };
    let agrees = match compared {
        Compared::Agree => Some(true),
        Compared::Apart | Compared::NotFinite => Some(false),
        Compared::BaselineOnly | Compared::CandidateOnly => None,
    };
    let names: BTreeSet<String> = unread.map(|unread| unread.names.iter().cloned().collect()).unwrap_or_default();
    let names: Vec<String> = names.into_iter().collect();
    let place = names.first().cloned().unwrap_or_else(|| shape.to_owned());
    let example = candidate.or(baseline).map(|unread| unread.example.clone()).unwrap_or_default();
    let finite = if compared == Compared::NotFinite { "no" } else { "yes" };
    Finding::new(&UNREAD_VALUES, place)
        .with("shape", shape)
        .with("count", unread.map_or(0, |unread| unread.count))
        .with("example", example)
        .with("names", names)
        .with("agrees", Fact::Flag(agrees))
        .with("finite", finite)
        .with("side", side)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(name: &str, values: &[f64]) -> UnreadNumbers {
        let mut account = UnreadNumbers::default();
        let names: Vec<String> = Some(name.to_owned()).filter(|name| !name.is_empty()).into_iter().collect();
        for value in values {
            account.add_text("~ text ~ 1", names.clone(), &[*value]);
        }
        account
    }

    #[test]
    fn unread_numbers_are_compared_by_the_table() {
        let same = [1.0, 2.0];
        for (name, baseline, candidate, points, expected) in [
            ("loss", Some(&same[..]), None, 9, Severity::Incomplete),
            ("dice", Some(&same), None, 9, Severity::Warn),
            ("", Some(&same), None, 9, Severity::Info),
            ("loss", Some(&same), Some(&same[..]), 9, Severity::Info),
            ("loss", Some(&same), Some(&same), 0, Severity::Incomplete),
            ("loss", Some(&same), Some(&[1.0, 2.5]), 9, Severity::Incomplete),
            ("dice", Some(&same), Some(&[1.0, 2.5]), 9, Severity::Warn),
            ("dice", Some(&same), Some(&[1.0, 2.5]), 1, Severity::Incomplete),
            ("", Some(&same), Some(&[1.0]), 9, Severity::Warn),
            ("dice", Some(&same), Some(&[1.0, f64::NAN]), 9, Severity::Fail),
            ("", Some(&same), Some(&[1.0, f64::NAN]), 9, Severity::Warn),
            ("loss", None, Some(&same), 9, Severity::Info),
            ("loss", None, Some(&[f64::INFINITY]), 9, Severity::Fail),
        ] {
            let side = |values: Option<&[f64]>| values.map(|values| account(name, values));
            let (baseline, candidate) = (side(baseline), side(candidate));
            let found = judge(baseline.iter(), candidate.iter(), &[], ReadNumbers { points, broken: &BTreeSet::new() });
            assert_eq!(found.findings[0].severity, expected, "{name} {baseline:?} {candidate:?} {points}");
        }
    }

    #[test]
    fn a_policy_leaves_shapes_out_and_one_that_fits_none_is_told() {
        let policy = ["text", "prose"].map(|shape| UnreadPolicy { shape: shape.into(), ignore: true });
        let baseline = account("loss", &[1.0, 2.0]);
        let judged = ReadNumbers { points: 9, broken: &BTreeSet::new() };
        let found = judge([&baseline].into_iter(), [].into_iter(), &policy, judged);
        assert!(found.findings.is_empty() && found.count == 0);
        assert_eq!(found.left_out, (2, vec!["~ text ~ #".to_owned()]));
        assert_eq!(found.unused, ["prose"]);
        let mut full = UnreadNumbers::default();
        for nth in 0..300 {
            full.add_text(&format!("{} dice ~ 0.5", "x".repeat(nth + 1)), vec!["dice".into()], &[0.5]);
        }
        let found = judge([&full].into_iter(), [].into_iter(), &policy, judged);
        assert!(found.unused.is_empty(), "a shape that is not kept may be the one that is meant");
    }
}
