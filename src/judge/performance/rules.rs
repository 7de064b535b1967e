//! The rules of the check of performance.

use crate::judge::rule::Rule;
use crate::verdict::{CheckId, Severity};

const fn rule(code: &'static str, severity: Severity) -> Rule {
    Rule::new(CheckId::Performance, code, severity)
}

/// A step takes longer than noise explains.
pub const SLOWER: Rule = rule("performance-slower", Severity::Fail);
/// A step takes less time than noise explains.
pub const FASTER: Rule = rule("performance-faster", Severity::Info);
/// A table, a trace or a database cannot be read to its end.
pub const FILE_DAMAGED: Rule = rule("performance-file-damaged", Severity::Incomplete).absence();
/// No file of a profile tells the times of its steps.
pub const FILE_MISSING: Rule = rule("performance-file-missing", Severity::Incomplete).absence();
/// One side alone has a table of kernels, so that nothing shows that the work is the same.
pub const KERNELS_MISSING: Rule = rule("performance-kernels-missing", Severity::Incomplete).absence();
/// The baseline recorded memory, clock or settings, and the candidate did not.
pub const PART_LOST: Rule = rule("performance-part-lost", Severity::Warn).absence();
/// The kernels of a side and its table of steps tell different times.
pub const TIMES_CONTRADICT: Rule = rule("performance-times-contradict", Severity::Incomplete).absence();
/// A trace was recorded without the device.
pub const NO_DEVICE: Rule = rule("performance-no-device", Severity::Incomplete).absence();
/// The sides have profiles of different ranks.
pub const RANKS_DIFFER: Rule = rule("performance-ranks-differ", Severity::Incomplete).absence();
/// The sides compute with other shapes: another batch or another length.
pub const WORKLOAD_DIFFERS: Rule = rule("performance-workload-differs", Severity::Incomplete);
/// Two profiles of a rank hold the same steps.
pub const STEPS_TWICE: Rule = rule("performance-steps-twice", Severity::Incomplete);
/// The profiler was set differently, so that its own cost differs.
pub const SETTINGS_DIFFER: Rule = rule("performance-settings-differ", Severity::Warn);
/// Fewer than four steps can be judged on a side.
pub const FEW_STEPS: Rule = rule("performance-few-steps", Severity::Info);
/// The sides ran on different devices.
pub const OTHER_HARDWARE: Rule = rule("performance-other-hardware", Severity::Info);
/// A declared limit lies within the noise.
pub const LIMIT_UNTESTABLE: Rule = rule("performance-limit-untestable", Severity::Info);
/// Single steps take much longer while the median holds.
pub const SPIKE: Rule = rule("performance-spike", Severity::Info);
/// Many steps scatter that did not before.
pub const JITTER: Rule = rule("performance-jitter", Severity::Warn);
/// More memory is allocated at the peak.
pub const MEMORY_PEAK: Rule = rule("performance-memory-peak", Severity::Warn);
/// Kernels run on the AI CPU that did not before.
pub const AICPU: Rule = rule("performance-aicpu", Severity::Warn);
/// The cores run at a lower clock.
pub const FREQUENCY: Rule = rule("performance-frequency", Severity::Warn);
/// An operator takes longer for the same work.
pub const OPERATOR_SLOWER: Rule = rule("performance-operator-slower", Severity::Info);
/// An operator runs on the candidate only.
pub const OPERATOR_NEW: Rule = rule("performance-operator-new", Severity::Info);
/// An operator runs on the baseline only.
pub const OPERATOR_LOST: Rule = rule("performance-operator-lost", Severity::Info);
/// A fused operator was replaced by its parts.
pub const FUSION_LOST: Rule = rule("performance-fusion-lost", Severity::Info);
/// More time goes into conversions of format, type or layout.
pub const CONVERSIONS: Rule = rule("performance-conversions", Severity::Info);
/// The device waits for the host.
pub const HOST_BOUND: Rule = rule("performance-host-bound", Severity::Info);
/// The training waits for its next batch.
pub const DATALOADING: Rule = rule("performance-dataloading", Severity::Info);
/// Communication that nothing hides takes the time.
pub const COMMUNICATION: Rule = rule("performance-communication", Severity::Info);
/// Communication is no longer hidden behind computing.
pub const OVERLAP_LOST: Rule = rule("performance-overlap-lost", Severity::Info);
/// Moving the same data takes longer.
pub const SLOW_LINK: Rule = rule("performance-slow-link", Severity::Info);
/// One rank holds up the others.
pub const SLOW_RANK: Rule = rule("performance-slow-rank", Severity::Info);

/// All of them.
pub const RULES: &[&Rule] = &[
    &SLOWER,
    &FASTER,
    &FILE_DAMAGED,
    &FILE_MISSING,
    &KERNELS_MISSING,
    &PART_LOST,
    &TIMES_CONTRADICT,
    &NO_DEVICE,
    &RANKS_DIFFER,
    &WORKLOAD_DIFFERS,
    &STEPS_TWICE,
    &SETTINGS_DIFFER,
    &FEW_STEPS,
    &OTHER_HARDWARE,
    &LIMIT_UNTESTABLE,
    &SPIKE,
    &JITTER,
    &MEMORY_PEAK,
    &AICPU,
    &FREQUENCY,
    &OPERATOR_SLOWER,
    &OPERATOR_NEW,
    &OPERATOR_LOST,
    &FUSION_LOST,
    &CONVERSIONS,
    &HOST_BOUND,
    &DATALOADING,
    &COMMUNICATION,
    &OVERLAP_LOST,
    &SLOW_LINK,
    &SLOW_RANK,
];
