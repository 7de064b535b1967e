"""Types of ``result.json``, which python/generate_types.py writes from its JSON Schema: change that, not this file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Literal, Optional, Union

__all__ = [
    "SCHEMA_VERSION",
    "Accepted",
    "AnswerCounts",
    "ArrayKind",
    "ArrayUnit",
    "ArtifactRow",
    "Better",
    "Case",
    "Change",
    "ChangeKind",
    "Check",
    "CheckCulprit",
    "CheckId",
    "CheckpointUnit",
    "Commit",
    "Commits",
    "ConfigItem",
    "Confirm",
    "ConfirmOutcome",
    "Course",
    "Crossing",
    "Culprit",
    "CulpritKind",
    "CulpritLayout",
    "CurveSeries",
    "CurveUnit",
    "CurveWindows",
    "Diagnosis",
    "Direction",
    "Divergence",
    "DivergenceKind",
    "Drift",
    "DumpUnit",
    "EndKind",
    "Ended",
    "ErrorAxis",
    "ErrorLocation",
    "ErrorMap",
    "ErrorPattern",
    "EvaluationScope",
    "EvaluationTest",
    "EvaluationUnit",
    "Event",
    "EventKind",
    "Evidence",
    "Fact",
    "Family",
    "Finding",
    "FlippedSample",
    "FromReference",
    "GenerationKind",
    "GenerationUnit",
    "Growth",
    "GrowthShape",
    "Invariant",
    "InvariantState",
    "ItemState",
    "Layout",
    "LayoutConfidence",
    "LayoutSource",
    "Layouts",
    "Limit",
    "LimitDirection",
    "LinePlace",
    "LogprobsKind",
    "LogprobsSide",
    "LogprobsUnit",
    "Looked",
    "LoudToken",
    "MapRow",
    "Measured",
    "Metrics",
    "Mode",
    "Moment",
    "MonitorCause",
    "MonitorKind",
    "MonitorMap",
    "MonitorPoint",
    "MonitorSteps",
    "MonitorUnit",
    "NextDump",
    "NoiseSource",
    "Note",
    "Number",
    "Observation",
    "OffSide",
    "OperatorTimes",
    "OperatorsUnit",
    "Past",
    "PerformanceCause",
    "PerformanceUnit",
    "Period",
    "Phase",
    "Phases",
    "Place",
    "Profile",
    "ProfilePoint",
    "RankLevel",
    "Replaced",
    "Replacement",
    "Rerun",
    "ResultData",
    "Role",
    "RolloutKind",
    "RolloutUnit",
    "RuleOutcome",
    "Run",
    "RunCounts",
    "SampleId",
    "SampleRule",
    "SampleSteps",
    "SampleUnit",
    "SampledRun",
    "Samples",
    "Seeds",
    "Severity",
    "Shard",
    "ShardPlace",
    "Shown",
    "Side",
    "Since",
    "Source",
    "SourceUnit",
    "Statement",
    "StatusCounts",
    "StepLevel",
    "StepTime",
    "StepTimeSource",
    "Suite",
    "Summary",
    "Sureness",
    "SyncDifference",
    "SyncKind",
    "SyncUnit",
    "Target",
    "TensorKind",
    "Timeline",
    "Tool",
    "Trend",
    "TrendChange",
    "Unit",
    "UnitRanks",
    "ValueUnit",
    "Verdict",
    "Verified",
    "VisibleDefect",
    "WaivedFinding",
    "WrittenPlace",
]

#: The layout that these types describe.
SCHEMA_VERSION = 3


@dataclass(frozen=True)
class Tool:
    """The program that wrote a result."""

    #: `precision-gate`
    name: str
    #: Its version.
    version: str


@dataclass(frozen=True)
class Source:
    """The judged commit, its repository and its branch."""

    #: The commit.
    commit: str
    #: `owner/name`, or a project's number; empty where it is not known.
    repository: str = ""
    #: The tip of the branch that a stranger's change goes to: policy, limits, waivers and templates were read there.
    target: Optional[Target] = None


@dataclass(frozen=True)
class Target:
    """The tip of the branch that a change goes to, as the forge gave it."""

    #: The branch.
    branch: str
    #: Its newest commit when the run began.
    commit: str


@dataclass(frozen=True)
class Run:
    """One of the two runs."""

    #: A short name for people: `A100`.
    label: str
    #: Location that it was read from.
    location: str
    #: Digest of the judged artifacts.
    digest: str
    #: The manifest that it fits, where the run was held against one and fits; of the baseline only.
    verified: Optional[Verified] = None


@dataclass(frozen=True)
class Verified:
    """Proof that a baseline is the one its manifest describes, with the manifest's facts."""

    #: The manifest's name.
    manifest: str
    #: Digest of the manifest's text.
    digest: str
    #: Whether every byte was read again (the release profile); else the digest of what is judged.
    every_byte: bool
    #: Person who promoted the baseline.
    approved_by: str
    #: Date (`YYYY-MM-DD`).
    approved_on: str
    #: Reason.
    reason: str
    #: Commit of the training code; empty where it was not recorded, as the next two.
    commit: str = ""
    #: Digest of the container image.
    image: str = ""
    #: The accelerators and their number.
    hardware: str = ""
    #: Versions by package or part.
    versions: Dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Culprit:
    """The first operation that adds error, or the first leaf input or exact property that differs, of those that the policy
    does not waive."""

    #: The step; 0 in operator tests, whose tables name none.
    step: int
    #: The operation, as dumped on the candidate side.
    op: str
    #: The row name of the tensor or value that differs first.
    tensor: str
    #: Role in the operation; of a monitor, the kind of tensor.
    kind: CulpritKind
    #: The finding's code.
    code: str
    #: The check that found it.
    check: CheckId = "dump"
    #: The finding that it stands for, by [`Finding::id`].
    finding: str = ""
    #: Its position in execution order, from 0, as [`ProfilePoint::order`](super::dump::ProfilePoint::order) counts.
    order: int = 0
    #: The rank; null where there is only one process.
    rank: Optional[int] = None
    #: The argument of the call that the value is, or whose gradient it is; empty where the signature does not tell.
    argument: str = ""
    #: The side that alone runs the operation; null where both do.
    side: Optional[Side] = None
    #: The numbers.
    metrics: Metrics = field(default_factory=lambda: Metrics())
    #: Errors of both sides against the reference run, where there is one.
    reference: Optional[FromReference] = None
    #: The call stack, innermost frame first; of the forward operation where a backward one has none.
    stack: List[str] = field(default_factory=list)
    #: Number of tensors after it that differ.
    spread: int = 0
    #: The place of its error within the tensor, where both sides saved data; absent elsewhere.
    location: Optional[ErrorLocation] = None
    #: The value on the baseline side; absent where only the candidate runs the operation, and in results of earlier versions.
    baseline: Optional[Shown] = None
    #: The value on the candidate side.
    candidate: Optional[Shown] = None
    #: The operation that brought the -inf among the inputs of a culprit without a baseline; empty without one.
    mask: str = ""
    #: Its place in the whole model, where ranks were put together.
    layout: Optional[CulpritLayout] = None
    #: The tensor's name as the candidate's file has it.
    name: str = ""
    #: Stage of the pipeline on its rank.
    stage: int = 0
    #: Micro step, from 0.
    micro_step: int = 0
    #: The update that the row belongs to: its step, and one less of a moment that is recorded before the update.
    update: int = 0
    #: The statistic that differs most; `nans`, `dtype` or `shape` where that is what differs.
    statistic: str = ""
    #: Reason for the difference.
    cause: Optional[MonitorCause] = None
    #: The factor that all gradients share; null for other causes.
    factor: Optional[float] = None
    #: Name of the test, as its unit has it.
    table: str = ""
    #: The operator: `Functional.gelu.0`.
    api: str = ""
    #: Direction; null where the table names the operator only.
    direction: Optional[Direction] = None
    #: Number of the output; null where the table names none.
    output: Optional[int] = None
    #: The row in the candidate's table.
    row: str = ""
    #: The phase that explains most.
    phase: Optional[Phase] = None
    #: Names of operators that add time, the largest first.
    operators: List[str] = field(default_factory=list)
    #: Part of the step's growth that the phase explains; may pass 1, and be null where a step did not grow.
    share: Optional[Number] = None


@dataclass(frozen=True)
class Metrics:
    """Numbers by name."""

    #: The rule that `value` and `limit` belong to; absent where the numbers name themselves.
    rule: Optional[str] = None
    #: All other keys.
    others: Dict[str, Number] = field(default_factory=dict)


@dataclass(frozen=True)
class FromReference:
    """Errors of both sides against the reference run."""

    #: The baseline's.
    baseline: Number
    #: The candidate's.
    candidate: Number
    #: The side that is off.
    off_side: OffSide


@dataclass(frozen=True)
class ErrorLocation:
    """The place of an error within its tensor; measured over all elements."""

    #: Lengths of the tensor's axes.
    shape: List[int]
    #: Elements that are off by more than the limit.
    wrong: int
    #: Elements of the tensor.
    elements: int
    #: Shape of the error.
    pattern: ErrorPattern
    #: The error over the two most telling axes.
    map: ErrorMap
    #: Meanings of the axes, where the operation tells them: `batch`, `head`, `token`, `channel`, `row`, `column`; empty texts
    #: elsewhere.
    names: List[str] = field(default_factory=list)
    #: The factor by which a scaled tensor is off.
    factor: Optional[Number] = None
    #: Axes along which some indices stand out, in the order of the shape.
    axes: List[ErrorAxis] = field(default_factory=list)


@dataclass(frozen=True)
class ErrorAxis:
    """Indices of an axis that hold the error."""

    #: The axis, from 0.
    axis: int
    #: Length of the axis.
    len: int
    #: Number of indices that hold the error.
    count: int
    #: The first and last of each run of such indices, at most [`ErrorAxis::RUNS`].
    runs: List[List[int]]
    #: Share of the squared error at these indices.
    share: Number
    #: Distance between single indices that stand at equal distances; 0 where they do not.
    every: int = 0
    #: Distance by which indices moved up along the axis, where that is all that happened.
    rolled: Optional[int] = None


@dataclass(frozen=True)
class ErrorMap:
    """Root mean square error relative to the tensor's root mean square, over two axes."""

    #: The axis from left to right.
    horizontal: int
    #: Rows of cells, from index 0 on; each cell covers as many indices as it needs.
    cells: List[List[Number]]
    #: The axis from top to bottom; null for a tensor of one axis.
    vertical: Optional[int] = None


@dataclass(frozen=True)
class Shown:
    """Tensor or value of one side, for people."""

    #: Row name on this side.
    tensor: str
    #: Element type, or the type of a plain value.
    dtype: str
    #: Shape.
    shape: List[int] = field(default_factory=list)
    #: max, min, mean, norm; or the plain value alone.
    values: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class CulpritLayout:
    """Place of a culprit in the whole model."""

    #: The module, by its name in the whole model.
    module: str
    #: Ranks that hold it; those whose parts are wrong, where its elements tell.
    ranks: List[int]
    #: The part that is wrong, where it is a single one.
    shard: Optional[ShardPlace] = None


@dataclass(frozen=True)
class ShardPlace:
    """Place of a rank's part in a value of the whole model."""

    #: The axis that the value is cut along, from 0.
    axis: int
    #: Place among the parts, from 0.
    index: int
    #: Number of parts.
    of: int


@dataclass(frozen=True)
class Check:
    """One check of a run."""

    #: The check.
    id: CheckId
    #: Its units' verdicts, added up.
    verdict: Verdict
    #: The culprit of the check of performance; absent elsewhere, and where there is none.
    culprit: Optional[CheckCulprit] = None
    #: Runs of the check, where several candidates were judged one by one; absent elsewhere.
    samples: Optional[RunCounts] = None
    #: Checkers of the config check.
    items: List[ConfigItem] = field(default_factory=list)
    #: Curves, steps and ranks, or checkpoints.
    units: List[Unit] = field(default_factory=list)


@dataclass(frozen=True)
class CheckCulprit:
    """The culprit of a check of performance."""

    #: The phase that explains most.
    phase: Phase
    #: Names of operators that add time, the largest first.
    operators: List[str]
    #: The rank; null where none stands out.
    rank: Optional[int] = None
    #: Part of the step's growth that the phase explains; may pass 1, and be null where a step did not grow.
    share: Optional[Number] = None


@dataclass(frozen=True)
class RunCounts:
    """Numbers of runs, where several candidates were judged one by one."""

    #: Runs of the baseline.
    n: int
    #: Runs of the candidate.
    m: int
    #: Runs of the candidate that fail.
    failed: int


@dataclass(frozen=True)
class ConfigItem:
    """One checker of the config check."""

    #: `env`, `pip`, `dataset`, `weights`, `hyperparameters`, `random`.
    name: str
    #: The gate's verdict.
    verdict: Verdict
    #: Number of the checker's findings.
    findings: int
    #: Level that msprobe 26.2.0 gives the same packs; `failed` where it writes none.
    msprobe: Optional[str] = None
    #: The kind of exception msprobe ends with, if it does.
    msprobe_error: Optional[str] = None
    #: Whether it was there and read.
    state: ItemState = "compared"
    #: Account of its settings.
    evidence: Evidence = field(default_factory=lambda: Evidence())


@dataclass(frozen=True)
class Evidence:
    """The account of a unit: how many places it offered, and what became of each.  A place is what a check pairs: a step of a
    curve, a value of a dump, a parameter, a row, a question, a setting. Reading and pairing count; the policy decides what
    the counts lead to."""

    #: Places of things that both sides have, named by either side. Coverage is what was compared of them.
    offered: int = 0
    #: Compared by a rule that can fail, both values finite. A difference counts as compared.
    compared: int = 0
    #: Of these, equal without saying anything: all zero, one number throughout, or no element, on both sides.
    equal_trivially: int = 0
    #: Not judged, because it follows from a waived defect.
    behind_waived: int = 0
    #: Compared, and shown only: no rule judges it.
    shown_only: int = 0
    #: There on both sides and not compared, because the two cannot be compared.
    not_compared: int = 0
    #: Seen, and of a form that no reader knows.
    unread: int = 0
    #: Damaged, or without a value, on a side that has it.
    damaged: int = 0
    #: Places with two values that differ on one side.
    contradicting: int = 0
    #: There on one side only: on the baseline's, and on the candidate's.
    one_sided: List[int] = field(default_factory=list)
    #: Left out because the policy or a flag asked for it.
    left_out: int = 0
    #: Ways of reading or pairing that are less than the intended one, by name: `position`, `other-step`, `other-rank`.
    fallbacks: List[str] = field(default_factory=list)
    #: Some places by what became of them: `damaged`, `unread`, `contradicting`, `left-out` or a fallback's name.
    examples: Dict[str, List[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class DumpUnit:
    """A step and rank of a dump."""

    #: The step, from its folder's name.
    step: int
    #: Kind of data that was compared: `tensor`, `statistics`, `md5`, `xor`.
    data: str
    #: The unit's verdict.
    verdict: Verdict
    #: Tensors and values compared.
    compared: int
    #: Parameters of the candidate without a partner.
    unmatched_candidate: int
    #: Parameters of the baseline without a partner.
    unmatched_baseline: int
    #: Paired, and not comparable.
    not_compared: int
    #: The rank; null for `proc*` folders.
    rank: Optional[int] = None
    #: Ranks that were put together, where both sides cut the model differently.
    ranks: Optional[UnitRanks] = None
    #: The tool that recorded it, where that is not msprobe.
    tool: Optional[str] = None
    #: States of all values of both sides.
    evidence: Evidence = field(default_factory=lambda: Evidence())
    #: The first operation that adds error, or the first leaf input or exact property that differs.
    culprit: Optional[Culprit] = None
    #: The next operation that adds error of its own.
    runner_up: Optional[Culprit] = None
    #: Unit that the error came from, where it was not made here.
    inherited_from: Optional[Place] = None
    #: Operations that msprobe's `overflow_check` names at this step and rank, by its rule; absent where that was not asked.
    msprobe_overflow: Optional[List[str]] = None
    #: Rules as applied, worst values first.
    rules: List[RuleOutcome] = field(default_factory=list)
    #: Error against execution order, thinned, extremes kept.
    profile: List[ProfilePoint] = field(default_factory=list)


@dataclass(frozen=True)
class UnitRanks:
    """Ranks of both sides that were put together."""

    #: Those of the trusted run.
    baseline: List[int]
    #: Those of the run being judged.
    candidate: List[int]


@dataclass(frozen=True)
class Place:
    """A place in a distributed run."""

    #: The step.
    step: int
    #: The operation, as dumped on the candidate side.
    op: str
    #: The rank; null where there is only one process.
    rank: Optional[int] = None


@dataclass(frozen=True)
class RuleOutcome:
    """One rule as it was applied: limits, measured value and margin. Passed ones are shown too."""

    #: Stable name of the rule.
    rule: str
    #: On which side of its limits the value has to lie.
    direction: LimitDirection
    #: Verdict that follows from value and limits.
    verdict: Verdict
    #: The measured value, the worst where there are several; absent where it could not be measured.
    value: Optional[Number] = None
    #: Unit of value and limits.
    unit: ValueUnit = ""
    #: Warns beyond this.
    warn: Optional[Number] = None
    #: Fails beyond this.
    fail: Optional[Number] = None
    #: Distance from the nearest limit that was not crossed, in parts of that limit; negative when all are crossed.
    margin: Optional[Number] = None
    #: Notes on where the value was taken, or why there is none.
    notes: List[Note] = field(default_factory=list)


@dataclass(frozen=True)
class Note:
    """One remark on a rule's value: a code and its facts."""

    #: Code of the note: `step`, `tensor`, `beside-preset` ...
    code: str
    #: All other keys.
    others: Dict[str, Fact] = field(default_factory=dict)


@dataclass(frozen=True)
class ProfilePoint:
    """One point of the divergence profile."""

    #: Position in execution order, from 0.
    order: int
    #: The operation.
    op: str
    #: The largest error of its outputs, relative to scale.
    error: Number
    #: The noise limit there.
    limit: Number
    #: Whether the operation is suspected of adding error.
    suspect: bool = False


@dataclass(frozen=True)
class CurveUnit:
    """A training curve."""

    #: The metric: `loss`, `grad_norm`, `learning_rate` ...
    metric: str
    #: `same-weights`, `own-weights`, `rl`, or empty for metrics that have no mode.
    mode: str
    #: The unit's verdict.
    verdict: Verdict
    #: Paired steps (or windows).
    paired: int
    #: The curves, thinned to at most 2000 points, extremes kept.
    series: CurveSeries
    #: Role of the metric, which decides its rules; absent in results of earlier versions.
    role: Optional[Role] = None
    #: Direction that is better; null where neither is, and for metrics that no rule knows.
    better: Optional[Better] = None
    #: The run's folder, where several runs lie beside each other.
    run: str = ""
    #: The rank that logged it, where the ranks of a file logged different values; else null.
    rank: Optional[int] = None
    #: The file the baseline was read from.
    baseline_file: str = ""
    #: The file the candidate was read from.
    candidate_file: str = ""
    #: Format of both files: `JSON lines`; where they differ, the baseline's and the candidate's, as `W&B log, CSV table`.
    format: str = ""
    #: The published rule that decided instead of the gate's own; empty where none was chosen.
    preset: str = ""
    #: Source of the mode: `declared`, `inferred`.
    mode_source: str = ""
    #: Key that points were paired by: `step`, `epoch-step` (steps of an epoch, numbered through), `window`, `samples`, `tokens`,
    #: `epoch`, `position`.
    paired_by: str = ""
    #: Meaning of the values, where the sides log at other intervals: `mean` over the steps since the last, or `sample` of the step
    #: alone; absent elsewhere.
    values: str = ""
    #: Source of that meaning: `data`, which showed it, or `form` of the files.
    values_source: str = ""
    #: Points of both sides that gave way to later ones of the same step.
    replaced: Optional[Replaced] = None
    #: The first step after which the difference never returns into the band.
    first_diverging_step: Optional[int] = None
    #: Whether no rule judges it: it is shown, and never passes.
    is_shown_only: bool = False
    #: States that its steps ended in.
    evidence: Evidence = field(default_factory=lambda: Evidence())
    #: Steps at which one side only is not finite.
    non_finite_steps: List[int] = field(default_factory=list)
    #: Rules as applied.
    rules: List[RuleOutcome] = field(default_factory=list)
    #: Means of windows, by which a run of reinforcement learning is judged.
    windows: Optional[CurveWindows] = None


@dataclass(frozen=True)
class Replaced:
    """Points that gave way to later ones of the same step, by reason."""

    #: The run was resumed and logged the step again.
    resumed: int
    #: The step was logged again with another value.
    repeated: int


@dataclass(frozen=True)
class CurveSeries:
    """Both sides of a curve; `null` where a side has no value."""

    #: Steps.
    step: List[int]
    #: Baseline values.
    baseline: List[Optional[Number]]
    #: Candidate values.
    candidate: List[Optional[Number]]
    #: The noise band around the baseline, relative; empty where none was recorded.
    band: List[Number] = field(default_factory=list)


@dataclass(frozen=True)
class CurveWindows:
    """Means of both sides of a curve over windows of equal length."""

    #: The last step of each window.
    to_step: List[int]
    #: Means of the baseline.
    baseline: List[Number]
    #: Means of the candidate.
    candidate: List[Number]


@dataclass(frozen=True)
class CheckpointUnit:
    """A checkpoint."""

    #: Its name: the path below the folder.
    checkpoint: str
    #: The unit's verdict.
    verdict: Verdict
    #: Parameters compared.
    compared: int
    #: Parameters of the candidate without a partner.
    unmatched_candidate: int
    #: Parameters of the baseline without a partner.
    unmatched_baseline: int
    #: Paired, and not comparable.
    not_compared: int
    #: States that its parameters ended in.
    evidence: Evidence = field(default_factory=lambda: Evidence())
    #: Rules as applied, worst values first.
    rules: List[RuleOutcome] = field(default_factory=list)


@dataclass(frozen=True)
class ArrayUnit:
    """An array of both sides."""

    #: Its file, and behind a colon its name in it.
    array: str
    #: Its kind.
    kind: ArrayKind
    #: The unit's verdict.
    verdict: Verdict
    #: Rows compared.
    compared: int
    #: Rows of both sides that were not compared.
    not_compared: int
    #: States that its rows ended in.
    evidence: Evidence = field(default_factory=lambda: Evidence())
    #: ‖c−b‖₂/‖b‖₂ over the finite elements; absent for pictures.
    error: Optional[Number] = None
    #: The error that rounding explains; absent where it does not judge.
    limit: Optional[Number] = None
    #: Rows of an embedding that differ, the first of them.
    rows: List[int] = field(default_factory=list)
    #: Number of these rows.
    rows_differing: Optional[int] = None
    #: Smallest cosine of a row of an embedding with its partner.
    least_cosine: Optional[Number] = None
    #: Share of the ten nearest neighbours of a row that are the same on both sides.
    neighbours: Optional[Number] = None
    #: Peak signal-to-noise ratio of a picture in dB; infinite for equal ones.
    psnr: Optional[Number] = None
    #: The array, where it is wrong.
    culprit: Optional[Culprit] = None


@dataclass(frozen=True)
class MonitorUnit:
    """The training monitor of a rank."""

    #: The unit's verdict.
    verdict: Verdict
    #: Rows compared.
    compared: int
    #: Rows of the baseline without a partner.
    unmatched_baseline: int
    #: Rows of the candidate without a partner.
    unmatched_candidate: int
    #: Parameters whose gradient is noise, so that they are not judged.
    noise_driven: int
    #: Numbers of steps.
    steps: MonitorSteps
    #: Kinds of tensors that were compared, in the order in which a step computes them.
    kinds: List[MonitorKind]
    #: The loosest element type of the baseline: `fp32`, `fp16`, `bf16`, `fp8`.
    dtype: str
    #: The rank; null where ranks are put together.
    rank: Optional[int] = None
    #: Ranks of both sides that were put together.
    ranks: Optional[UnitRanks] = None
    #: Step from which the runs are apart by growth, and only exact rules hold; null where they never are.
    horizon: Optional[int] = None
    #: States that its rows ended in.
    evidence: Evidence = field(default_factory=lambda: Evidence())
    #: The first row that breaks a rule.
    culprit: Optional[Culprit] = None
    #: Rules as applied.
    rules: List[RuleOutcome] = field(default_factory=list)
    #: The worst row of each step and kind, thinned to at most 2000 points.
    series: List[MonitorPoint] = field(default_factory=list)
    #: Error of each layer over its limit, step by step, thinned to at most 200 layers and 500 steps.
    heatmap: Optional[MonitorMap] = None
    #: Both sides' statistic of the culprit over all steps, also after it.
    culprit_series: Optional[CurveSeries] = None


@dataclass(frozen=True)
class MonitorSteps:
    """Numbers of steps."""

    #: Steps of both sides.
    paired: int
    #: Steps of the baseline.
    baseline: int
    #: Steps of the candidate.
    candidate: int


@dataclass(frozen=True)
class MonitorPoint:
    """The worst row of a kind at a step."""

    #: The step as written.
    step: int
    #: The kind.
    kind: MonitorKind
    #: Its error.
    error: Number
    #: The row's name on the candidate side.
    name: str


@dataclass(frozen=True)
class MonitorMap:
    """Errors over their limits, layer by step."""

    #: The first step of each column.
    steps: List[int]
    #: The layers, in the order in which a step computes them.
    layers: List[str]
    #: For each layer, the worst error over its limit at each column; null where nothing was compared.
    cells: List[List[Optional[Number]]]


@dataclass(frozen=True)
class EvaluationUnit:
    """A metric of a task under a filter, or of several tasks together."""

    #: The model.
    model: str
    #: The task; the group's name for a group, `*` for all tasks.
    task: str
    #: The metric.
    metric: str
    #: Extent of what is judged.
    scope: EvaluationScope
    #: The unit's verdict.
    verdict: Verdict
    #: Drop that matters.
    margin: Number
    #: Samples of both sides together.
    samples: int
    #: Samples in the test.
    paired: int
    #: Samples that got worse.
    worse: int
    #: Samples that got better.
    better: int
    #: The filter that took the answer from the text; null where the harness has none.
    filter: Optional[str] = None
    #: Whether a larger value is better; null where nothing says.
    higher_is_better: Optional[bool] = None
    #: Whether answers are drawn at random.
    is_sampled: bool = False
    #: The baseline's score; null where it has none.
    baseline: Optional[Number] = None
    #: The candidate's score; null where it has none.
    candidate: Optional[Number] = None
    #: Drop of the candidate, in the margin's unit; negative where it is better, null without a comparison.
    drop: Optional[Number] = None
    #: Ends of the drop's 95 % confidence interval; null without one.
    interval: Optional[List[Number]] = None
    #: Whether drop and margin are fractions of the baseline's value, not differences.
    is_relative: bool = False
    #: States that its questions ended in; empty for several tasks together, whose questions are counted with their tasks.
    evidence: Evidence = field(default_factory=lambda: Evidence())
    #: The test; null where nothing could be tested.
    test: Optional[EvaluationTest] = None
    #: One-sided probability of such a drop by chance alone; null without a test.
    p_value: Optional[Number] = None
    #: The same after the correction for the number of tests in the run.
    p_adjusted: Optional[Number] = None
    #: Smallest drop that the test finds four times in five; null without a test.
    detectable: Optional[Number] = None
    #: Class of document numbers that nearly all worse samples share; null without such a pattern.
    shard: Optional[Shard] = None
    #: Ids of samples that got worse, the worst first, at most 20.
    examples: List[SampleId] = field(default_factory=list)
    #: Texts of the first of them.
    flipped: List[FlippedSample] = field(default_factory=list)
    #: Rules as applied.
    rules: List[RuleOutcome] = field(default_factory=list)


@dataclass(frozen=True)
class Shard:
    """A class of document numbers."""

    #: Number of classes.
    modulus: int
    #: The class: the document's number modulo `modulus`.
    remainder: int


@dataclass(frozen=True)
class FlippedSample:
    """Texts of a sample that got worse, each cut to 200 characters and without secrets."""

    #: The sample.
    id: SampleId
    #: End of the prompt.
    question: str
    #: The expected answer.
    target: str
    #: The baseline's answer.
    baseline: str
    #: The candidate's answer.
    candidate: str
    #: Characters that both answers, as shown here, share before they part.
    shared: int


@dataclass(frozen=True)
class GenerationUnit:
    """Generations of one file, compared token by token."""

    #: Always `generation`.
    kind: GenerationKind
    #: Stem of the file's name.
    task: str
    #: The unit's verdict.
    verdict: Verdict
    #: Prompts compared.
    compared: int
    #: Prompts of one side only.
    unmatched: int
    #: Prompts whose generations differ.
    changed: int
    #: Of these, those that part at a near tie.
    near_ties: int
    #: Those that part far from any tie.
    far: int
    #: Those of which one is the beginning of the other.
    length: int
    #: Those without log-probabilities.
    unexplained: int
    #: States that its prompts ended in.
    evidence: Evidence = field(default_factory=lambda: Evidence())
    #: Difference of log-probabilities up to which two tokens tie, in nats; null without log-probabilities.
    tie_limit: Optional[Number] = None
    #: Mean magnitude of the log-probabilities' differences over shared beginnings; null without log-probabilities.
    logprob_mean_abs: Optional[Number] = None
    #: Scale of the candidate's log-probabilities against the baseline's; null where it cannot be measured.
    logprob_scale: Optional[Number] = None
    #: The earliest prompt that parts far from a tie or in length, else the earliest that parts.
    first_divergence: Optional[Divergence] = None
    #: Answers of a run without a baseline, counted; null where two runs are compared.
    answers: Optional[AnswerCounts] = None
    #: Rules as applied.
    rules: List[RuleOutcome] = field(default_factory=list)


@dataclass(frozen=True)
class Divergence:
    """Place where two generations part."""

    #: The prompt's key.
    doc_id: str
    #: Number of the first different token, from 0.
    token: int
    #: Characters of the shared beginning.
    prefix: int
    #: Kind of the difference.
    kind: DivergenceKind
    #: Log-probability of the baseline's token above that of the candidate's token, on the baseline, in nats; null where it is not
    #: known.
    logprob_gap: Optional[Number] = None
    #: Kullback-Leibler divergence over the tokens that both top lists hold, in nats; null where there are none.
    divergence: Optional[Number] = None
    #: Texts of both sides; null where nothing is shown.
    texts: Optional[FlippedSample] = None


@dataclass(frozen=True)
class AnswerCounts:
    """Answers of one run, by what is wrong with each."""

    #: All answers.
    answers: int
    #: Those of replacement characters and unknown tokens.
    garbage: int
    #: Those that end in a loop.
    loops: int
    #: Those without text.
    empty: int
    #: Those that end at the limit of tokens.
    cut: int
    #: Those with a log-probability that is NaN.
    non_finite: int
    #: Prompts whose answers differ although nothing is drawn at random.
    drifting: int


@dataclass(frozen=True)
class OperatorsUnit:
    """The operators that one device tested."""

    #: Name of the test: its rank, its folder, or `operators`; the same from run to run.
    table: str
    #: The unit's verdict.
    verdict: Verdict
    #: Outputs that were judged.
    compared: int
    #: Outputs by status.
    counts: StatusCounts
    #: Outputs of the baseline without a partner.
    unmatched_baseline: int
    #: Outputs of the candidate without a partner.
    unmatched_candidate: int
    #: The rank; null where no path names one.
    rank: Optional[int] = None
    #: The baseline's file; empty where the candidate was judged alone.
    baseline_file: str = ""
    #: The candidate's file.
    candidate_file: str = ""
    #: States that its outputs ended in.
    evidence: Evidence = field(default_factory=lambda: Evidence())
    #: The largest ratio of errors over its limit; absent where there is none.
    worst: Optional[Number] = None
    #: The first output that is wrong.
    culprit: Optional[Culprit] = None


@dataclass(frozen=True)
class StatusCounts:
    """Outputs by the gate's status."""

    #: Right.
    pass_: int
    #: Doubtful.
    warning: int
    #: Wrong.
    error: int
    #: Not checked.
    skip: int


@dataclass(frozen=True)
class PerformanceUnit:
    """The profile of a rank."""

    #: The unit's verdict.
    verdict: Verdict
    #: Steps of baseline and candidate that were judged.
    steps: List[int]
    #: Whether both sides ran on equal hardware, as far as files and labels tell.
    equal_hardware: bool
    #: Operators in the order of the magnitude of their difference, at most 20.
    operators: List[OperatorTimes]
    #: The rank; null where a single process was recorded.
    rank: Optional[int] = None
    #: States that its times ended in: that of a step, and those of its phases.
    evidence: Evidence = field(default_factory=lambda: Evidence())
    #: Step time of both sides; absent where nothing could be judged.
    step_time: Optional[StepTime] = None
    #: Phases of a step.
    phases: Optional[Phases] = None
    #: Largest allocated memory of baseline and candidate in MB; absent where one was not recorded.
    memory_peak: Optional[List[Number]] = None
    #: Names of the devices of baseline and candidate; empty where no file tells them.
    devices: List[str] = field(default_factory=list)
    #: Judged steps of both sides, thinned.
    periods: Optional[List[List[Period]]] = None
    #: Phase and operators that took the time; null without a warning or failure from time or from the AI CPU.
    cause: Optional[PerformanceCause] = None
    #: The culprit, as the comment names it.
    culprit: Optional[Culprit] = None
    #: Rules as applied.
    rules: List[RuleOutcome] = field(default_factory=list)


@dataclass(frozen=True)
class StepTime:
    """Step time of both sides."""

    #: Median of the baseline in microseconds.
    baseline: Number
    #: Median of the candidate in microseconds.
    candidate: Number
    #: Candidate over baseline.
    ratio: Number
    #: Part of the baseline that noise explains.
    noise: Number
    #: One-sided probability of such a growth by chance.
    p: Number
    #: Source of the times.
    source: StepTimeSource
    #: Noise between declared repeats of the baseline; absent without them.
    repeats: Optional[Number] = None


@dataclass(frozen=True)
class Phases:
    """Phases of a step in microseconds, baseline and candidate."""

    #: Time with a computing kernel.
    computing: List[Number]
    #: Time with communication and without computing.
    communication: List[Number]
    #: Time with both.
    overlapped: List[Number]
    #: Time with neither.
    free: List[Number]


@dataclass(frozen=True)
class OperatorTimes:
    """An operator's cost per step, baseline and candidate."""

    #: Type on an NPU, name of the framework's operator across devices.
    name: str
    #: Shapes of its inputs; empty where they are not known.
    shapes: str
    #: Kind of core; empty where it is not known.
    core: str
    #: Calls.
    count: List[Number]
    #: Microseconds.
    total: List[Number]
    #: Part of the step's growth; negative where it takes less time.
    contribution: Number


@dataclass(frozen=True)
class PerformanceCause:
    """Phase and operators that took the time."""

    #: The phase that explains most.
    phase: Phase
    #: Names of operators that add time, the largest first.
    operators: List[str]
    #: Part of the step's growth that the phase explains; may pass 1, and be null where a step did not grow.
    share: Optional[Number] = None


@dataclass(frozen=True)
class SampleUnit:
    """A metric of several runs of each side."""

    #: Canonical name of the metric.
    metric: str
    #: Runs of the baseline in the tests.
    n: int
    #: Runs of the candidate in the tests.
    m: int
    #: Whether runs of one seed were paired.
    seeds: Seeds
    #: The unit's verdict.
    verdict: Verdict
    #: Rules as tested.
    rules: List[SampleRule]
    #: Task of an evaluation; absent for a curve.
    task: Optional[str] = None
    #: Filter of an evaluation.
    filter: Optional[str] = None
    #: Role of a curve's metric.
    role: Optional[Role] = None
    #: Rank that logged it, where ranks differ.
    rank: Optional[int] = None
    #: Steps of a curve: those of all runs, and the median number of a run of each side.
    steps: Optional[SampleSteps] = None
    #: Account of the runs.
    evidence: Evidence = field(default_factory=lambda: Evidence())


@dataclass(frozen=True)
class SampleSteps:
    """Steps of a metric."""

    #: Steps that all runs have.
    common: int
    #: Median number of steps of a run of the baseline.
    baseline: int
    #: Median number of steps of a run of the candidate.
    candidate: int


@dataclass(frozen=True)
class SampleRule:
    """One rule about the numbers of all runs."""

    #: Stable name: `level`, `tail`, `best`, `steps_to_target`, `spread`, `spikes`, `grad_norm`, `speed`, `score`.
    rule: str
    #: Numbers of the baseline.
    n: int
    #: Numbers of the candidate.
    m: int
    #: Shift that matters.
    limit: Number
    #: False alarms of the verdict, all rules together.
    false_alarms: Number
    #: Share of shifts of that size that are found.
    power: Number
    #: Number of each run of the baseline, and of the candidate, in the order of `samples.runs`.
    numbers: List[List[Number]]
    #: Verdict of the rule.
    verdict: Verdict
    #: The test; null where there are too few runs.
    test: Optional[str] = None
    #: Estimated shift of the candidate, as a part of the baseline's value; of spikes their number in a run.
    effect: Optional[Number] = None
    #: Drop of a score in the margin's unit, positive where the candidate is worse; absent where `effect` says it.
    drop: Optional[Number] = None
    #: Interval that holds the shift with a probability of 1 - alpha.
    interval: Optional[List[Number]] = None
    #: Two-sided probability of such a shift by chance.
    p_value: Optional[Number] = None
    #: The same, corrected for the number of tests in the run.
    p_adjusted: Optional[Number] = None
    #: Smallest true shift that this test finds with the power.
    detectable: Optional[Number] = None
    #: Runs of each side of which a shift as estimated would be found; null where that is not asked.
    needed: Optional[int] = None
    #: The value whose first step is compared.
    target: Optional[Number] = None


@dataclass(frozen=True)
class RolloutUnit:
    """Rollouts of one step: answers of a model in training, with their scores."""

    #: Always `rollout`, which tells it from other units.
    kind: RolloutKind
    #: Folder of the files, as it is called.
    task: str
    #: The step.
    step: int
    #: The unit's verdict.
    verdict: Verdict
    #: Answers of the candidate; of the baseline where the candidate has none.
    records: int
    #: Answers with a partner.
    paired: int
    #: Of these, equal word by word.
    equal_texts: int
    #: Answers of the candidate that are garbled.
    garbled: int
    #: Answers of the candidate that end in a loop.
    looping: int
    #: Answers of the candidate without any text.
    empty: int
    #: Of these, answers to the same truth that have another score.
    scored_apart: int = 0
    #: Mean score of the baseline, over prompts of both sides; null where none is judged.
    score_baseline: Optional[Number] = None
    #: Mean score of the candidate.
    score_candidate: Optional[Number] = None
    #: Amount by which the candidate's is lower.
    drop: Optional[Number] = None
    #: States that its answers ended in.
    evidence: Evidence = field(default_factory=lambda: Evidence())


@dataclass(frozen=True)
class SyncUnit:
    """Two stages of a synchronisation of weights from a trainer to an engine, at one step and rank."""

    #: Always `sync`, which tells it from other units.
    kind: SyncKind
    #: Step of the training, or version of the weights.
    step: int
    #: File of the earlier stage; empty where there is none.
    from_: str
    #: File of the later stage; empty where there is none.
    to: str
    #: The unit's verdict.
    verdict: Verdict
    #: Tensors compared.
    compared: int
    #: Of these, equal: bit by bit, or but for rows of padding.
    equal: int
    #: Rank; null where nothing says.
    rank: Optional[int] = None
    #: Side that both stages are of; null where each side has one.
    side: Optional[Side] = None
    #: Names of the tensors that are not, the first ones.
    names: List[str] = field(default_factory=list)
    #: Their differences, in the same order.
    differences: List[SyncDifference] = field(default_factory=list)
    #: States that its tensors ended in.
    evidence: Evidence = field(default_factory=lambda: Evidence())


@dataclass(frozen=True)
class SyncDifference:
    """A tensor that is not what was sent."""

    #: Its name.
    name: str
    #: Code of the finding that tells it.
    code: str
    #: Rows that differ: the first, and the one behind the last.
    rows: Optional[List[int]] = None
    #: Steps that it is behind.
    lag: Optional[int] = None
    #: Name of the tensor whose numbers it holds.
    with_: Optional[str] = None


@dataclass(frozen=True)
class LogprobsUnit:
    """Log-probabilities of an engine held against a trainer's, or of one side against the other's."""

    #: `logprobs`.
    kind: LogprobsKind
    #: Records that are held against each other.
    side: LogprobsSide
    #: The unit's verdict.
    verdict: Verdict
    #: Tokens that were judged.
    tokens: int
    #: Tokens that a mask leaves out.
    masked: int
    #: Answers that were measured.
    sequences: int
    #: Answers that are loud where the others are not.
    sequences_off: int
    #: Noise that limits are multiples of, in nats.
    noise: Number
    #: Origin of the noise.
    noise_from: NoiseSource
    #: Measures by step.
    by_step: List[StepLevel]
    #: Quantity that both sides are held against each other by; absent where a side is held against itself.
    quantity: str = ""
    #: The step, where there is one only; null otherwise.
    step: Optional[int] = None
    #: The rank that is wrong, or the only one; null otherwise.
    rank: Optional[int] = None
    #: Mean |a - b| in nats; null where probabilities alone are known.
    mean_abs: Optional[Number] = None
    #: Mean difference of the probabilities; null where nothing was measured.
    prob_mean: Optional[Number] = None
    #: Estimate of the KL divergence.
    k3: Optional[Number] = None
    #: Mean a - b in nats.
    bias: Optional[Number] = None
    #: Share of tokens whose ratio of probabilities lies outside 1/1.2 to 1.2.
    outside: Optional[Number] = None
    #: The step from which on the engine's weights are old; null otherwise.
    first_step: Optional[int] = None
    #: The position in answers from which on they are off; null otherwise.
    first_position: Optional[int] = None
    #: Measures by rank, where there are several.
    by_rank: List[RankLevel] = field(default_factory=list)
    #: Cause, by its code; null where none is known.
    cause: Optional[str] = None
    #: Factor between both sides' log-probabilities; null for other causes.
    factor: Optional[Number] = None
    #: Places by which an array is shifted; null for other causes.
    shift: Optional[int] = None
    #: Token whose row is damaged; null for other causes.
    token: Optional[int] = None
    #: The first token that is clearly off; absent where there is none.
    first_token: Optional[LoudToken] = None
    #: Answers by parts, for the picture; the loudest first.
    map: List[MapRow] = field(default_factory=list)
    #: Account of its answers.
    evidence: Evidence = field(default_factory=lambda: Evidence())


@dataclass(frozen=True)
class StepLevel:
    """Measures of a step."""

    #: Tokens that were judged.
    tokens: int
    #: Its number; null where only a file's name tells it.
    step: Optional[int] = None
    #: Its name, where it has no number.
    name: str = ""
    #: Mean |a - b| in nats.
    mean_abs: Optional[Number] = None
    #: Mean difference of the probabilities.
    prob_mean: Optional[Number] = None
    #: Estimate of the KL divergence.
    k3: Optional[Number] = None


@dataclass(frozen=True)
class RankLevel:
    """Measures of a rank."""

    #: Tokens that were judged.
    tokens: int
    #: The rank; null where no file names one.
    rank: Optional[int] = None
    #: Mean |a - b| in nats.
    mean_abs: Optional[Number] = None


@dataclass(frozen=True)
class LoudToken:
    """A token that is clearly off."""

    #: Its answer.
    sequence: int
    #: Its position in the answer, from 0.
    position: int
    #: Log-probability of the engine, or of the candidate.
    a: Number
    #: Log-probability of the trainer, or of the baseline.
    b: Number
    #: Its step; null where only a file's name tells it.
    step: Optional[int] = None
    #: Its rank.
    rank: Optional[int] = None


@dataclass(frozen=True)
class MapRow:
    """An answer of the picture."""

    #: Its number.
    sequence: int
    #: Whether it is loud where others are not.
    is_loud: bool
    #: Mean |a - b| of its parts, in order; null where nothing is judged.
    parts: List[Optional[Number]]
    #: Its step; null where only a file's name tells it.
    step: Optional[int] = None
    #: Its rank.
    rank: Optional[int] = None


@dataclass(frozen=True)
class SourceUnit:
    """A file of source."""

    #: Path below the folder that was judged, `/`-separated.
    file: str
    #: The worst of its findings that count.
    verdict: Verdict
    #: Number of its findings, of those that do not count too.
    findings: int
    #: Whether it could be read; absent where it could.
    is_read: bool = False


@dataclass(frozen=True)
class Observation:
    """A difference, an absence or a remark as it was measured, with what it is about."""

    #: The check in whose verdict it counts; `artifacts` where it counts in that of the run alone.
    of: CheckId
    #: The check that says it.
    check: CheckId
    #: Severity, after policy and waivers.
    severity: Severity
    #: The rule's stable code.
    code: str
    #: The place: an operation, a tensor, a package, a metric, a file; of the check `source` a line.
    where: WrittenPlace
    #: Units of the check that it is about, by their places; none where it is about the check as a whole, or about an item.
    units: List[int] = field(default_factory=list)
    #: Item of the check that it is about, by its place.
    item: Optional[int] = None
    #: Names the finding in its result: 32 hexadecimal digits that stay the same while the finding does, whatever its numbers.
    id: str = ""
    #: Family of the rule; of the check `source` alone, as what follows until the facts.
    family: Optional[Family] = None
    #: Whether the change touches the line; null where no change was given.
    changed: Optional[bool] = None
    #: Whether it counts for the verdict; absent where it does.
    counts: Optional[bool] = None
    #: Replacement that repairs it and is safe to make.
    fix: Optional[Replacement] = None
    #: The numbers and names the message is made of.
    facts: Dict[str, Fact] = field(default_factory=dict)
    #: One sentence in the report's language.
    message: str = ""
    #: The next step, in the report's language; empty where there is none.
    help: str = ""


@dataclass(frozen=True)
class LinePlace:
    """A place in a file of source."""

    #: Path below the folder that was judged, `/`-separated.
    file: str
    #: Line, from 1.
    line: int
    #: Column, from 1, in code points.
    column: int


@dataclass(frozen=True)
class Replacement:
    """Text in place of a part of one line."""

    #: First line that is replaced, from 1.
    line: int
    #: Column of the first character that is replaced, from 1, in code points.
    column: int
    #: Line of the last character that is replaced.
    end_line: int
    #: Column behind the last one.
    end_column: int
    #: Text in its place.
    text: str


@dataclass(frozen=True)
class Finding:
    """A finding as `result.json` has it."""

    #: The check that says it.
    check: CheckId
    #: Severity, after policy and waivers.
    severity: Severity
    #: The rule's stable code.
    code: str
    #: The place: an operation, a tensor, a package, a metric, a file; of the check `source` a line.
    where: WrittenPlace
    #: Names the finding in its result: 32 hexadecimal digits that stay the same while the finding does, whatever its numbers.
    id: str = ""
    #: Family of the rule; of the check `source` alone, as what follows until the facts.
    family: Optional[Family] = None
    #: Whether the change touches the line; null where no change was given.
    changed: Optional[bool] = None
    #: Whether it counts for the verdict; absent where it does.
    counts: Optional[bool] = None
    #: Replacement that repairs it and is safe to make.
    fix: Optional[Replacement] = None
    #: The numbers and names the message is made of.
    facts: Dict[str, Fact] = field(default_factory=dict)
    #: One sentence in the report's language.
    message: str = ""
    #: The next step, in the report's language; empty where there is none.
    help: str = ""


@dataclass(frozen=True)
class Looked:
    """Outcome of looking at an invariant."""

    #: Its name.
    invariant: Invariant
    #: Its state.
    state: InvariantState
    #: Numbers of things that were looked at, by their names (`parameters`, `ranks`, `steps`).
    counts: Dict[str, int] = field(default_factory=dict)
    #: These numbers in words.
    over: str = ""
    #: Code of the reason why it was not looked at; empty where it was.
    reason: str = ""
    #: That reason as a sentence.
    because: str = ""


@dataclass(frozen=True)
class Samples:
    """Runs of both sides, and the levels that they were tested at."""

    #: False alarms of the verdict.
    alpha: Number
    #: Share of shifts of the detectable size that are found.
    power: Number
    #: Number of tests in the run.
    tests: int
    #: Correction for their number: `holm`.
    correction: str
    #: Runs of the baseline, and of the candidate.
    runs: List[List[SampledRun]]


@dataclass(frozen=True)
class SampledRun:
    """One run of a side."""

    #: Its name: that of its file or folder.
    name: str
    #: Its seed, where names or logs tell one.
    seed: Optional[int] = None
    #: Reason why it was left out: `duplicate`; null where it was not.
    left_out: Optional[str] = None


@dataclass(frozen=True)
class Rerun:
    """One run of the candidate that was judged by itself: the first one, or one that was made again."""

    #: Its location.
    location: str
    #: Whether it fails or is incomplete; of the first run the verdict says it.
    blocks: bool
    #: The machine that it was made on; empty where nobody said.
    node: str = ""


@dataclass(frozen=True)
class Confirm:
    """Outcome of the runs together."""

    #: The outcome.
    outcome: ConfirmOutcome
    #: Runs that are still needed.
    reruns_needed: Optional[int] = None
    #: The machine whose runs alone fail.
    node: Optional[str] = None
    #: Commands that judge with another run.
    commands: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class Timeline:
    """The course of both runs, as their logs tell it."""

    #: The candidate's.
    candidate: Course
    #: The baseline's; null for a run without one.
    baseline: Optional[Course] = None


@dataclass(frozen=True)
class Course:
    """The course of a run: the updates that did not happen, the first values that are not finite, and the end."""

    #: Skipped updates, those included that a falling loss scale excuses; null where nothing tells.
    skipped: Optional[int] = None
    #: Step of the first of them.
    first_skip: Optional[int] = None
    #: The loss scale at the end.
    scale_last: Optional[Number] = None
    #: First step whose gradient norm is not finite although its update took place.
    first_non_finite_gradient: Optional[int] = None
    #: First step whose loss is not finite.
    first_non_finite_loss: Optional[int] = None
    #: Last step that was logged.
    last_step: Optional[int] = None
    #: The error that ended the run; null where none did.
    ended: Optional[Ended] = None
    #: Loss scale by step, where it changed, thinned.
    scale: List[List[Union[int, Number]]] = field(default_factory=list)
    #: Events in the order of time, at most [`Course::MOST_EVENTS`].
    events: List[Event] = field(default_factory=list)


@dataclass(frozen=True)
class Ended:
    """The error that ended a run."""

    #: Its kind.
    kind: EndKind
    #: The message, its first line.
    message: str
    #: The rank that failed; null where the log does not say.
    rank: Optional[int] = None
    #: The step that the error itself names.
    step: Optional[int] = None
    #: File of the innermost frame.
    file: Optional[str] = None
    #: Line in that file.
    line: Optional[int] = None
    #: Code of the error (`EZ9999`, `ERR02200`).
    code: Optional[str] = None
    #: Kernel that failed, as the error of the device names it (`MatMul_op7`).
    kernel: Optional[str] = None
    #: Last step that was logged before it.
    last_step: Optional[int] = None


@dataclass(frozen=True)
class Event:
    """An event of a run."""

    #: Its step.
    step: int
    #: Its kind.
    kind: EventKind


@dataclass(frozen=True)
class Growth:
    """Gradient norms over the layers of a model."""

    #: Form of their growth.
    shape: GrowthShape
    #: Layers with a norm.
    layers: int
    #: The largest relative difference of a layer; of one run the largest norm of a layer over the smallest.
    worst: Number
    #: Factor from one layer to the next.
    per_layer: Optional[Number] = None
    #: The layer where they jump.
    at: Optional[int] = None
    #: Each layer with its difference, or of one run its norm.
    by_layer: List[List[Union[int, Number]]] = field(default_factory=list)


@dataclass(frozen=True)
class Layouts:
    """The layouts of both runs."""

    #: That of the trusted run.
    baseline: Layout
    #: That of the run being judged.
    candidate: Layout


@dataclass(frozen=True)
class Layout:
    """The layout of one run."""

    #: Ranks that share each projection.
    tp: int
    #: Stages that the layers are spread over.
    pp: int
    #: Chunks of the model on each stage.
    vpp: int
    #: Ranks with different samples.
    dp: int
    #: Ranks that share each sequence.
    cp: int
    #: Ranks that share the experts.
    ep: int
    #: Whether norms see a part of the sequence each.
    sp: bool
    #: Whether parameters are sharded over data-parallel ranks and gathered where they are used.
    fsdp: bool
    #: Batches of one rank that make one update together.
    micro_batches: int
    #: Source that the layout is known from.
    source: LayoutSource
    #: Certainty of it.
    confidence: LayoutConfidence


@dataclass(frozen=True)
class Diagnosis:
    """A likely cause."""

    #: Stable code of the cause.
    cause: str
    #: The place it is about: a tensor, a metric, a checker.
    where: str
    #: Evidence for it, in the report's language.
    evidence: List[str]
    #: The next step for the reader, in the report's language.
    advice: str
    #: Sureness of the cause, after all evidence for it.
    sureness: Sureness = "possible"
    #: Codes and facts of `evidence`, in the same order; absent in results of the first format's early releases.
    evidence_facts: List[Statement] = field(default_factory=list)
    #: Code and facts of `advice`.
    advice_facts: Optional[Statement] = None


@dataclass(frozen=True)
class Statement:
    """A code with the names and numbers its text is made of."""

    #: Stable, kebab-case.
    code: str
    #: Names and numbers.
    facts: Dict[str, Fact] = field(default_factory=dict)


@dataclass(frozen=True)
class NextDump:
    """Plan of the dump to collect next, with its reason."""

    #: Why: `tensors`, `inside-module`, `gap`, `curve`.
    reason: str
    #: The step, as msprobe counts (from 0).
    step: int
    #: `statistics` or `tensor`.
    task: str
    #: `L0`, `L1` or `mix`.
    level: str
    #: The ranks; empty for all.
    ranks: List[int] = field(default_factory=list)
    #: Operations or modules to collect; empty for all.
    list: List[str] = field(default_factory=list)
    #: Size on disk of one side and rank, estimated from recorded shapes; null where nothing tells.
    bytes: Optional[int] = None


@dataclass(frozen=True)
class WaivedFinding:
    """A finding that a waiver covers."""

    #: The waiver: its code and place patterns.
    waiver: str
    #: The finding, with the severity it would have had.
    finding: Finding
    #: Reason of the waiver.
    reason: str
    #: Owner of it.
    owner: str
    #: Until when (`YYYY-MM-DD`).
    expires: str
    #: Whether it follows from the defect that the waiver names, and was not judged.
    follows: bool = False


@dataclass(frozen=True)
class Accepted:
    """A comment, added by the change, that accepts findings."""

    #: Path below the folder that was judged, `/`-separated.
    file: str
    #: Line of the comment, from 1.
    line: int
    #: Codes that it accepts.
    codes: List[str]
    #: Its reason.
    reason: str


@dataclass(frozen=True)
class Summary:
    """Summary of the history for one run: `history` in `result.json`."""

    #: The suite.
    suite: Suite
    #: Location of the records, without anything secret.
    location: str
    #: The runs looked at, oldest first; the last is this one.
    last: List[Past]
    #: Number of runs in a row in which a case has to fail before it is an alert.
    alert_after: int
    #: Number of runs in a row in which the same case has failed, this one included; 0 where the verdict does not block.
    failed: int
    #: Whether that is often enough: someone has to look.
    alert: bool
    #: Rules that have failed each of these times.
    cases: List[Case] = field(default_factory=list)
    #: Between which runs it broke; only where the verdict blocks.
    since: Optional[Since] = None
    #: Differences between the last green and the first red run.
    changed: List[Change] = field(default_factory=list)
    #: The commits between them, the newest first, where a repository with both was at hand.
    commits: Optional[Commits] = None
    #: Trends of the rules whose values move, the worst first.
    trends: List[Trend] = field(default_factory=list)
    #: Records that could not be read, with the reason.
    unread: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class Past:
    """A run, as far as a summary names it."""

    #: Time at which it was judged.
    time: str
    #: The commit; empty where it is not known.
    commit: str
    #: The verdict.
    verdict: Verdict
    #: The job's page; empty where it is not known.
    run: str = ""


@dataclass(frozen=True)
class Case:
    """Something that can block: a rule of a unit, or what stands in its place."""

    #: The check.
    check: CheckId
    #: A metric, a step and rank, a checkpoint, a checker; empty for the check as a whole.
    unit: str
    #: The rule's name, or a finding's code; empty for the unit as a whole.
    rule: str


@dataclass(frozen=True)
class Since:
    """Between which runs a suite broke."""

    #: The first run in which the case that fails now has failed, and in every one since.
    red: Past
    #: The last run before it that did not block; null where none of those looked at did not.
    green: Optional[Past] = None


@dataclass(frozen=True)
class Change:
    """One difference."""

    #: Kind of the thing that differs.
    kind: ChangeKind
    #: Name of the package, variable or rule; empty where there is only one of the kind.
    name: str
    #: Value before; empty where it was not known.
    before: str
    #: Value after; empty where it is not known.
    after: str


@dataclass(frozen=True)
class Commits:
    """Commits of a range, as far as they are named."""

    #: Total number.
    total: int
    #: The newest of them.
    list: List[Commit]


@dataclass(frozen=True)
class Commit:
    """A commit."""

    #: Its name.
    id: str
    #: The first line of its message.
    subject: str


@dataclass(frozen=True)
class Trend:
    """One rule of one unit over the last runs of a suite."""

    #: The suite.
    suite: str
    #: The check the rule belongs to.
    check: CheckId
    #: The unit: a metric, a step and rank, a checkpoint, a checker.
    unit: str
    #: The rule's stable name.
    rule: str
    #: On which side of its limits a value has to lie.
    direction: LimitDirection
    #: The last runs, oldest first, at most 60; magnitudes where limits hold for these.
    last: List[Measured]
    #: Warns beyond this.
    warn: Optional[Number] = None
    #: Fails beyond this.
    fail: Optional[Number] = None
    #: Median of the finite values since the last step or bend; absent where there are none.
    median: Optional[Number] = None
    #: The last step.
    change: Optional[TrendChange] = None
    #: The drift since then.
    drift: Optional[Drift] = None


@dataclass(frozen=True)
class Measured:
    """Time and value of one run."""

    #: Time.
    time: str
    #: The value.
    value: Number
    #: The rule's verdict.
    verdict: Verdict


@dataclass(frozen=True)
class TrendChange:
    """A level that changed and stayed."""

    #: The last run before it.
    last_before: Moment
    #: The first run after it.
    first_after: Moment
    #: Median before, back to the step before that.
    before: Number
    #: Median after.
    after: Number
    #: Runs with a finite value since.
    runs: int
    #: Probability of so large a step by chance, over all places where it could lie.
    p: Number


@dataclass(frozen=True)
class Moment:
    """A run in a history."""

    #: Time at which it was judged.
    time: str
    #: The commit judged; empty where it is not known.
    commit: str


@dataclass(frozen=True)
class Drift:
    """A slow drift."""

    #: The first run it is seen in: the window's first, or the first after the last step or bend.
    since: str
    #: The fitted line at that run.
    then: Number
    #: The fitted line at the last run.
    now: Number
    #: Rise per day at the last run, in the rule's own unit; negative where it falls.
    per_day: Number
    #: Probability of such a drift by chance.
    p: Number
    #: The limit it reaches first; absent where it leads away from the limits, or takes longer than the horizon.
    crosses: Optional[Crossing] = None


@dataclass(frozen=True)
class Crossing:
    """Limit that a drift leads to, and the day."""

    #: The limit.
    limit: Limit
    #: The day on which the fitted line is beyond it (UTC).
    on: str


@dataclass(frozen=True)
class ArtifactRow:
    """Row of the table of artifacts."""

    #: The side it lies on.
    side: Side
    #: Path below that side's folder.
    path: str
    #: Name of the format (`msprobe dump`, `config pack` ...); empty where none was recognised.
    kind: str
    #: `read`, `damaged` or `ignored`.
    status: str
    #: Detail or reason.
    note: str = ""


@dataclass(frozen=True)
class ResultData:
    """Everything a report needs: `result.json`."""

    #: Version of this layout.
    schema_version: int
    #: Program that wrote it.
    tool: Tool
    #: Today's date, an input of the run (`YYYY-MM-DD`).
    today: str
    #: Profile that the gate ran under.
    profile: Profile
    #: The verdict.
    verdict: Verdict
    #: The run judged.
    candidate: Run
    #: The checks, in fixed order.
    checks: List[Check]
    #: Findings of all checks, worst first.
    findings: List[Finding]
    #: Likely causes, most likely first.
    diagnoses: List[Diagnosis]
    #: Findings that a waiver covers.
    waived: List[WaivedFinding]
    #: Artifacts found in the two folders.
    artifacts: List[ArtifactRow]
    #: `health` for a run that was judged alone, `source` for source without any run; absent where two runs were compared.
    mode: Optional[Mode] = None
    #: One sentence that says what is wrong, or what agrees. It and the next four are the first lines of every document in the
    #: language of the run, in plain text; a command that loads a result writes them again. Empty until documents are written.
    headline: str = ""
    #: The source line, then operation, step and rank; of a pass, what agreed and how closely. May be empty.
    place: str = ""
    #: The step to take: the fix where a cause is certain or likely, else what to look at next. Empty where there is none.
    fix: str = ""
    #: Sureness of the cause, and why; empty without one.
    certainty: str = ""
    #: Parts that no verdict covers: behind a waiver, left out by the policy, not read, checks without files. Empty where all was
    #: judged.
    not_judged: str = ""
    #: Whether the run reports and blocks nothing; absent where it may block.
    report_only: bool = False
    #: The commit that is judged, where it is known.
    source: Optional[Source] = None
    #: The trusted run; null where the candidate was judged alone.
    baseline: Optional[Run] = None
    #: The third run that both were measured against, where there was one.
    reference: Optional[Run] = None
    #: The culprit the comment names: earliest step, after following collectives.
    culprit: Optional[Culprit] = None
    #: Observations, before any policy: verdicts are made of it and of the units' accounts of evidence. Absent in results of
    #: versions before the third, whose verdicts cannot be made again.
    measured: List[Observation] = field(default_factory=list)
    #: Every invariant of a run judged alone, those that could not be looked at too.
    looked: List[Looked] = field(default_factory=list)
    #: Runs of both sides and how they were tested, where several were judged together.
    samples: Optional[Samples] = None
    #: The first run and those that were made again, where the verdict waits for them.
    reruns: List[Rerun] = field(default_factory=list)
    #: Outcome of these runs together.
    confirm: Optional[Confirm] = None
    #: The course of the runs, where a log tells it.
    timeline: Optional[Timeline] = None
    #: Gradient norms over the layers, where a log prints them by parameter.
    growth: Optional[Growth] = None
    #: Parallel layouts of both runs, where they are known.
    layout: Optional[Layouts] = None
    #: The dump to collect next; absent where another dump would show no more.
    next_dump: Optional[NextDump] = None
    #: Comments, added by the change, that accept findings about source.
    accepted: List[Accepted] = field(default_factory=list)
    #: The run in the light of those before it, where a history is kept.
    history: Optional[Summary] = None
    #: The policy that it was decided under, without what equals the default; absent in results of versions before the third.
    policy: Any = None
    #: Digest of what was measured; absent in results of versions before the third.
    seal: Optional[str] = None
    #: Digest of the `operations.jsonl` written beside it (`sha256:…`); absent in results of versions that wrote none.
    operations_digest: Optional[str] = None
    #: Version of the lines in that file; absent for the first.
    operations_version: Optional[int] = None


#: Profile, which sets how severe the gate is.
Profile = Literal["default", "strict", "bit-exact", "release"]

#: Kind of judgement, where it is not the comparison of two runs.
Mode = Literal["health", "source"]

#: Verdict on a unit, a check or a run, in rising rank.
Verdict = Literal["skipped", "pass", "warn", "incomplete", "fail"]

#: One kind of judgement.
CheckId = Literal[
    "artifacts",
    "policy",
    "config",
    "loss",
    "dump",
    "checkpoint",
    "arrays",
    "monitor",
    "tokens",
    "evaluation",
    "operators",
    "performance",
    "source",
    "history",
]

#: Kind of an array.
ArrayKind = Literal["array", "embedding", "image"]

#: A kind of tensor, in the order in which a step computes them.
MonitorKind = Literal[
    "param_origin",
    "actv",
    "actv_grad",
    "grad_unreduced",
    "grad_reduced",
    "comm",
    "exp_avg",
    "exp_avg_sq",
    "param_updated",
]

#: Phase of a step; together they fill it.
Phase = Literal["computing", "communication", "free"]

#: Role of a tensor in its operation.
TensorKind = Literal["input", "parameter", "output", "parameter-gradient", "value"]

#: Defect of a result that shows without a baseline.
VisibleDefect = Literal["non-finite", "saturation"]

#: Role of the value that differs first.
CulpritKind = Union[TensorKind, MonitorKind, VisibleDefect, Phase, ArrayKind]

#: Side of a comparison.
Side = Literal["baseline", "candidate"]

Number = Union[float, Literal["nan", "inf", "-inf"]]

#: The side that is off, as a reference run tells it.
OffSide = Literal["baseline", "candidate", "both", "neither"]

#: Shape that an error has within a tensor.
ErrorPattern = Literal["moved", "scaled", "block", "concentrated", "spread"]

#: Reason for the difference of a monitor's culprit.
MonitorCause = Literal[
    "non-finite",
    "data",
    "initial-state",
    "state",
    "scaled",
    "forward",
    "backward",
    "communication",
    "optimizer",
]

#: Direction in which an operator computes.
Direction = Literal["forward", "backward"]

#: Whether a checker of the config check was there and read.
ItemState = Literal["compared", "unread", "absent"]

#: A unit of a check other than config.
Unit = Union[
    DumpUnit,
    CurveUnit,
    CheckpointUnit,
    ArrayUnit,
    MonitorUnit,
    EvaluationUnit,
    GenerationUnit,
    OperatorsUnit,
    PerformanceUnit,
    SampleUnit,
    RolloutUnit,
    SyncUnit,
    LogprobsUnit,
    SourceUnit,
]

#: Unit of a value.
ValueUnit = Literal["", "relative", "share", "steps", "spikes", "elements"]

#: On which side of its limits a value has to lie. A limit itself is kept; a value that is not a number keeps none.
LimitDirection = Literal["at-most", "at-least", "within"]

#: One number, name or list in a finding.
Fact = Union[Optional[bool], int, Number, str, List[str]]

#: Kind of a metric, which decides how it is judged.
Role = Literal[
    "loss",
    "auxiliary_loss",
    "grad_norm",
    "learning_rate",
    "eval_loss",
    "eval_score",
    "reward",
    "value_loss",
    "constant",
    "mismatch",
    "centred",
    "entropy",
    "kl",
    "length",
    "truncation",
    "clip_fraction",
    "time",
    "throughput",
    "memory",
    "other",
]

#: Direction of a metric that is better.
Better = Literal["lower", "higher"]

#: Extent of what a unit judges.
EvaluationScope = Literal["task", "group", "all"]

#: A statistical test.
EvaluationTest = Literal["mcnemar", "paired-permutation", "unpaired"]

#: Identity of a sample within its task and filter.
SampleId = Union[int, str]

#: Name of the kind of unit.
GenerationKind = Literal["generation"]

#: Kind of the first difference of two generations.
DivergenceKind = Literal["tie", "far", "length", "unexplained"]

#: Source of the times of steps.
StepTimeSource = Literal["kernels", "step-table"]

#: A judged step: its number and its period in microseconds.
Period = List[Union[int, Number]]

#: Seeds of the runs.
Seeds = Literal["paired", "own"]

#: Mark of a [`RolloutUnit`].
RolloutKind = Literal["rollout"]

#: Mark of a [`SyncUnit`].
SyncKind = Literal["sync"]

#: Word by which a unit of log-probabilities is told from others.
LogprobsKind = Literal["logprobs"]

#: Records that are held against each other.
LogprobsSide = Literal["baseline", "candidate", "across"]

#: Origin of the noise.
NoiseSource = Literal["policy", "baseline", "default"]

#: Severity of a finding.
Severity = Literal["info", "warn", "incomplete", "fail"]

#: The place of a finding as `result.json` has it.
WrittenPlace = Union[str, LinePlace]

#: Family of a rule about source: what goes wrong where it is broken.
Family = Literal["portability", "comparability", "numerics", "reading"]

#: A rule that every sound run keeps, whatever it trains.
Invariant = Literal[
    "replicas",
    "parameters-move",
    "gradients",
    "gradient-sums",
    "modes",
    "data",
    "learning-rate",
    "updates",
    "gradient-norm",
    "curve",
    "throughput",
    "norms-by-layer",
    "generations",
    "end-of-run",
]

#: State of an invariant.
InvariantState = Literal["not-looked", "held", "broken"]

#: Outcome of runs that were made again.
ConfirmOutcome = Literal["rerun-needed", "confirmed", "not-confirmed", "node"]

#: Kind of an error that ends a run; the first that applies.
EndKind = Literal["out-of-memory", "killed", "collective-timeout", "device-error", "python-error"]

#: Kind of an event.
EventKind = Literal["skip", "scale-up", "scale-down", "gradient-non-finite", "loss-non-finite", "end"]

#: Form in which norms, or their differences, grow over layers.
GrowthShape = Literal["amplification", "jump", "mixed", "flat"]

#: Source that a layout is known from.
LayoutSource = Literal["declared", "arguments", "files", "inferred"]

#: Certainty of a layout.
LayoutConfidence = Literal["possible", "likely", "certain"]

#: Sureness of a diagnosis, from the least to the most.
Sureness = Literal["possible", "likely", "certain"]

Suite = str

#: Kinds of things that can differ between runs.
ChangeKind = Literal["commit", "version", "environment", "content", "candidate", "baseline", "policy", "profile", "limit", "tool"]

#: A rule's two limits.
Limit = Literal["warn", "fail"]
