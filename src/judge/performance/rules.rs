//! The rules of the check of performance.

use crate::judge::rule::rules;

rules! {
    CheckId::Performance;

    /// A step takes longer than noise explains.
    SLOWER = "performance-slower", Fail;
    /// A step takes less time than noise explains.
    FASTER = "performance-faster", Info;
    /// A table, a trace or a database cannot be read to its end.
    FILE_DAMAGED = "performance-file-damaged", Incomplete absence;
    /// No file of a profile contains the times of its steps.
    FILE_MISSING = "performance-file-missing", Incomplete absence;
    /// Only one side has a table of kernels, so that nothing shows that the work is the same.
    KERNELS_MISSING = "performance-kernels-missing", Incomplete absence;
    /// The baseline recorded memory, clock or settings, and the candidate did not.
    PART_LOST = "performance-part-lost", Warn absence;
    /// The kernels of a side and its table of steps give different times.
    TIMES_CONTRADICT = "performance-times-contradict", Incomplete absence;
    /// A trace was recorded without the device.
    NO_DEVICE = "performance-no-device", Incomplete absence;
    /// The sides have profiles of different ranks.
    RANKS_DIFFER = "performance-ranks-differ", Incomplete absence;
    /// The sides compute with other shapes: another batch or another length.
    WORKLOAD_DIFFERS = "performance-workload-differs", Incomplete absence;
    /// Two profiles of a rank hold the same steps.
    STEPS_TWICE = "performance-steps-twice", Incomplete;
    /// The profiler was set differently, so that its own cost differs.
    SETTINGS_DIFFER = "performance-settings-differ", Warn;
    /// Fewer than four steps can be judged on a side.
    FEW_STEPS = "performance-few-steps", Info;
    /// The sides ran on different devices.
    OTHER_HARDWARE = "performance-other-hardware", Info;
    /// A declared limit lies within the noise.
    LIMIT_UNTESTABLE = "performance-limit-untestable", Info;
    /// Single steps take much longer while the median holds.
    SPIKE = "performance-spike", Info;
    /// More steps scatter than before.
    JITTER = "performance-jitter", Warn;
    /// Each step takes longer than the one before.
    DRIFT = "performance-drift", Warn;
    /// More memory is allocated at the peak.
    MEMORY_PEAK = "performance-memory-peak", Warn;
    /// Kernels run on the AI CPU that did not before.
    AICPU = "performance-aicpu", Warn;
    /// The cores run at a lower clock.
    FREQUENCY = "performance-frequency", Warn;
    /// An operator takes longer for the same work.
    OPERATOR_SLOWER = "performance-operator-slower", Info;
    /// An operator runs more often than before.
    OPERATOR_CALLS = "performance-operator-calls", Info;
    /// Operators compute the same shapes in another element type.
    DTYPE_DIFFERS = "performance-dtype-differs", Warn;
    /// An operator runs on the candidate only.
    OPERATOR_NEW = "performance-operator-new", Info;
    /// An operator runs on the baseline only.
    OPERATOR_LOST = "performance-operator-lost", Info;
    /// A fused operator was replaced by its parts.
    FUSION_LOST = "performance-fusion-lost", Info;
    /// More time goes into conversions of format, type or layout.
    CONVERSIONS = "performance-conversions", Info;
    /// The device waits for the host.
    HOST_BOUND = "performance-host-bound", Info;
    /// The training waits for its next batch.
    DATALOADING = "performance-dataloading", Info;
    /// Communication without overlap takes the time.
    COMMUNICATION = "performance-communication", Info;
    /// Communication is no longer hidden behind computing.
    OVERLAP_LOST = "performance-overlap-lost", Info;
    /// Moving the same data takes longer.
    SLOW_LINK = "performance-slow-link", Info;
    /// One rank holds up the others.
    SLOW_RANK = "performance-slow-rank", Info;
}
