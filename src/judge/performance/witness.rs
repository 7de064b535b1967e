//! Compares the table of kernels with the table of steps, which should give the same times.

use super::rules;
use crate::compare::performance::run::{ProfileRun, TimeSource};
use crate::compare::performance::statistics::median;
use crate::compare::performance::steps::StepTimes;
use crate::policy::Policy;
use crate::result::finding::Finding;
use crate::verdict::{Severity, Side};

/// Largest ratio at which two measurements of one time agree.
const MOST: f64 = 1.25;

/// Finding about a table of kernels that only one side has: without both, nothing shows that the work is the same.
pub(super) fn missing_kernels_finding(
    place: &str,
    [baseline, candidate]: [&ProfileRun; 2],
    source: TimeSource,
) -> Option<Finding> {
    let side = match (baseline.has_kernel_steps(), candidate.has_kernel_steps()) {
        (true, false) => Side::Candidate,
        (false, true) => Side::Baseline,
        _ => return None,
    };
    (source == TimeSource::StepTable).then(|| Finding::new(&rules::KERNELS_MISSING, place).with("side", side.as_str()))
}

/// Finding about memory, clock or settings that the baseline recorded and the candidate did not, so that a difference in them would not
/// show.
pub(super) fn lost_parts_finding(
    place: &str,
    [baseline, candidate]: [&ProfileRun; 2],
    policy: &Policy,
) -> Option<Finding> {
    let lost = [
        ("memory", baseline.memory_peak().is_some() && candidate.memory_peak().is_none()),
        ("clock", baseline.frequency().is_some() && candidate.frequency().is_none()),
        ("settings", baseline.settings().is_some() && candidate.settings().is_none()),
    ];
    let names: Vec<String> = lost.iter().filter(|(_, is_lost)| *is_lost).map(|(name, _)| (*name).to_owned()).collect();
    // Leaving a number out must not satisfy a limit that fails.
    let is_needed = policy.performance.memory_peak.fail.is_some() && names.iter().any(|name| name == "memory");
    let severity = if is_needed { Severity::Incomplete } else { rules::PART_LOST.severity };
    let finding = || Finding::new(&rules::PART_LOST, place).with_severity(severity);
    (!names.is_empty()).then(|| finding().with("names", names).with("side", Side::Candidate.as_str()))
}

/// One time of a side's steps, by its kernels and by its table of steps, in microseconds.
struct Told {
    side: Side,
    /// Name of the time: `computing` or `step`.
    what: &'static str,
    kernels: f64,
    table: f64,
}

impl Told {
    fn ratio(&self) -> f64 {
        self.table / self.kernels
    }

    fn is_one(&self) -> bool {
        (1.0 / MOST..=MOST).contains(&self.ratio())
    }
}

/// Findings about sides whose kernels and table of steps give different times. Where both sides differ by the same ratio, the tables count
/// different things, which is no finding.
pub(super) fn contradicting_times_findings(place: &str, [baseline, candidate]: [&ProfileRun; 2]) -> Vec<Finding> {
    let computing: fn(&StepTimes) -> f64 = |step| step.computing;
    let period: fn(&StepTimes) -> f64 = |step| step.period;
    let mut findings = Vec::new();
    for (what, of) in [("computing", computing), ("step", period)] {
        let told = |side, run: &ProfileRun| {
            // A database's table leaves out the pause between two steps.
            if what == "step" && !run.counts_pauses() { None } else { told(side, what, run, of) }
        };
        let sides = [told(Side::Baseline, baseline), told(Side::Candidate, candidate)];
        if let [Some(baseline_times), Some(candidate_times)] = &sides
            && (1.0 / MOST..=MOST).contains(&(baseline_times.ratio() / candidate_times.ratio()))
        {
            continue;
        }
        findings.extend(sides.iter().flatten().filter(|told| !told.is_one()).map(|told| finding(place, told)));
    }
    // Missing kernels show in both times; one finding per side is enough.
    findings.dedup_by(|later, first| later.facts.get("side") == first.facts.get("side"));
    findings
}

/// Medians of a time over the steps that both tables of a side contain; `None` where they have none in common.
fn told(side: Side, what: &'static str, run: &ProfileRun, of: fn(&StepTimes) -> f64) -> Option<Told> {
    if !run.has_kernel_steps() || !run.has_step_table() {
        return None;
    }
    let table = run.steps(TimeSource::StepTable);
    // Steps come in the order of their numbers.
    let row_of = |number: u64| {
        let place = table.partition_point(|row| row.step < number);
        table.get(place).filter(|row| row.step == number)
    };
    let pairs: Vec<(f64, f64)> =
        run.steps(TimeSource::Kernels).iter().filter_map(|step| Some((of(step), of(row_of(step.step)?)))).collect();
    let middle = |of: fn(&(f64, f64)) -> f64| median(&pairs.iter().map(of).collect::<Vec<f64>>());
    let (kernels, table) = (middle(|pair| pair.0), middle(|pair| pair.1));
    (kernels > 0.0 || table > 0.0).then_some(Told { side, what, kernels, table })
}

fn finding(place: &str, told: &Told) -> Finding {
    let finding = Finding::new(&rules::TIMES_CONTRADICT, place).with("side", told.side.as_str());
    finding.with("what", told.what).with("kernels", told.kernels).with("table", told.table)
}
