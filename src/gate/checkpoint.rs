//! The checkpoint check: checkpoints of both sides to a verdict each.

mod weight_sync;

use std::collections::{BTreeMap, BTreeSet};

use super::discover::{Extent, FileSample, Inventory, RecognisedFile, Recogniser, RecognitionEvidence};
use super::outcome::CheckOutcome;
use super::wiring::{GateCheck, Measuring};
use crate::compare::checkpoint::{self as compare, ParameterComparison};
use crate::compare::measurements::Measurements;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::progress::Progress;
use crate::judge::checkpoint::{
    CheckpointSettings, JudgedCheckpoint, SettingsScope, WholeModel, is_beyond_noise, judge, judge_alone,
    judge_settings, judge_whole, rules,
};
use crate::judge::rule::{artifacts, policy as policy_rules};
use crate::judge::run::checkpoints::Checkpoints;
use crate::layout::{Layout, LayoutSource};
use crate::pair::checkpoint::{self as pair, AlignedCheckpoints, ArrangedCheckpoints, TensorNameRule};
use crate::policy::Policy;
use crate::policy::checkpoint::CheckpointPolicy;
use crate::read::checkpoint::{self, Checkpoint, CheckpointFormat, CheckpointPlace};
use crate::read::weight_sync as sync;
use crate::result::finding::Finding;
use crate::result::layout::Layouts;
use crate::result::run::Looked;
use crate::result::unit::{CheckpointUnit, Evidence as Account, Unit};
use crate::verdict::{CheckId, PerSide, Side};

pub(super) const CHECK: GateCheck = GateCheck {
    // The checksums in the archives' directories identify the tensors, so that no tensor data is hashed.
    recogniser: Recogniser {
        check: ID,
        evidence: RecognitionEvidence::Signature,
        extent: Extent::Directory,
        recognise,
    },
    judge: |sides, _, shared| {
        let policy = &shared.request.policy;
        Ok(check(&sides.baseline, &sides.candidate, policy, shared.measurements, shared.progress))
    },
    judge_alone: Some(alone),
    judge_samples: None,
    measure: Some(measure),
    judge_tree: None,
};

const ID: CheckId = CheckId::Checkpoint;

/// Earlier iterations of a side that are looked through for stale tensors.
const EARLIER: usize = 4;

fn recognise(sample: &FileSample<'_>) -> Option<RecognisedFile> {
    if let Some(file) = sync::recognise(sample.path, sample.head, sample.source) {
        return Some(RecognisedFile::from_result("synchronised weights", file));
    }
    let place = match checkpoint::recognise(sample.path, sample.head, sample.source)? {
        Ok(checkpoint::CheckpointFileKind::File) => Ok(CheckpointPlace::from_file(sample.path.to_owned())),
        Ok(checkpoint::CheckpointFileKind::Part) => Ok(CheckpointPlace::from_rank_file(sample.path.to_owned())),
        Ok(checkpoint::CheckpointFileKind::Index(shards)) => {
            Ok(CheckpointPlace::from_index(sample.path.to_owned(), shards))
        }
        Ok(checkpoint::CheckpointFileKind::Other(reason)) => return Some(RecognisedFile::Ignored(reason)),
        Err(error) => Err(error),
    };
    Some(RecognisedFile::from_result("checkpoint", place))
}

/// The checkpoints of a side that is judged alone: each file is one, except for formats whose files make sense only together.
fn places(inventory: &Inventory) -> Vec<CheckpointPlace> {
    let files = checkpoint::without_shards(inventory.artifacts::<CheckpointPlace>().to_vec());
    checkpoint::gather_folders(files, |format| matches!(format, CheckpointFormat::Dcp | CheckpointFormat::Fsdp))
}

/// The checkpoints of both sides, as they are held against each other.
fn arranged(baseline: &Inventory, candidate: &Inventory, section: &CheckpointPolicy) -> ArrangedCheckpoints {
    pair::arrange_checkpoints(baseline.artifacts(), candidate.artifacts(), !section.names.is_empty())
}

/// Measures every checkpoint. A checkpoint that cannot be read is skipped here, and reported when the parts are judged.
fn measure(measuring: &Measuring<'_>) -> Result<()> {
    let Measuring { baseline, candidate, request, measurements, progress } = *measuring;
    let section = &request.policy.checkpoint;
    let arranged = arranged(baseline, candidate, section);
    let paired = pair::pair_checkpoints(&arranged.places.baseline, &arranged.places.candidate);
    progress.begin("measuring checkpoints", paired.matched.len() as u64);
    for (b, c) in &paired.matched {
        let compared = |b: &Checkpoint, c: &Checkpoint| {
            let pairs = pair::pair_parameters(b, c, &section.prefixes);
            compare::compare_parameters(&pairs, measurements, &|| {});
        };
        if arranged.is_aligned {
            if let Ok(both) = open_aligned((baseline, b), (candidate, c), section) {
                compared(&both.aligned.checkpoints.baseline, &both.aligned.checkpoints.candidate);
            }
        } else if let (Ok(b), Ok(c)) = (open(baseline, b, section), open(candidate, c, section)) {
            compared(&b.checkpoint, &c.checkpoint);
        }
        progress.advance(1);
    }
    Ok(())
}

/// Judges the candidate's checkpoints without a baseline.
fn alone(candidate: &Inventory, policy: &Policy, progress: &dyn Progress) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(ID);
    let places = places(candidate);
    for place in &places {
        let JudgedCheckpoint { unit, findings } = match open(candidate, place, &policy.checkpoint) {
            Ok(opened) => alone_of(&place.path, &opened, progress),
            Err(error) => {
                let findings = vec![damaged(&place.path, Side::Candidate, &error)];
                JudgedCheckpoint { unit: CheckpointUnit::empty(&place.path), findings }
            }
        };
        outcome.add_unit(Unit::Checkpoint(Box::new(unit)), findings);
    }
    if !places.is_empty() {
        let (finding, looked) = motion(candidate, &places, &policy.checkpoint);
        outcome.add_findings(finding);
        outcome.looked.push(looked);
    }
    weight_sync::judge(&mut outcome, None, candidate, policy, progress);
    outcome
}

/// Checks that parameters change between the checkpoints of the run. Damaged checkpoints are skipped; their units report them.
fn motion(candidate: &Inventory, places: &[CheckpointPlace], section: &CheckpointPolicy) -> (Option<Finding>, Looked) {
    let (mut motion, mut count) = (Checkpoints::default(), 0);
    let mut before: Option<(u64, Checkpoint)> = None;
    for (step, place) in pair::checkpoints_by_step(places) {
        let Ok(Opened { checkpoint, .. }) = open(candidate, place, section) else { continue };
        count += 1;
        if let Some((since, before)) = &before {
            let pairs = pair::pair_parameters(before, &checkpoint, &BTreeMap::new());
            motion.add_interval(*since, pairs.matched.len(), compare::has_moved(&pairs));
        }
        before = Some((step, checkpoint));
    }
    motion.finish(count)
}

/// Judges one checkpoint alone. It is compared with itself, so that its statistics count the values that are not finite.
fn alone_of(name: &str, opened: &Opened, progress: &dyn Progress) -> JudgedCheckpoint {
    let pairs = pair::pair_parameters(&opened.checkpoint, &opened.checkpoint, &BTreeMap::new());
    progress.begin("looking through checkpoints", pairs.matched.len() as u64);
    let comparisons = compare::compare_parameters(&pairs, &Measurements::default(), &|| progress.advance(1));
    let mut judged = judge_alone(name, &comparisons);
    leave_out(&mut judged.unit.evidence, opened.left_out.iter());
    judged
}

/// Judges the checkpoints of both sides.
pub fn check(
    baseline: &Inventory,
    candidate: &Inventory,
    policy: &Policy,
    measurements: &Measurements,
    progress: &dyn Progress,
) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(ID);
    let arranged = arranged(baseline, candidate, &policy.checkpoint);
    let paired = pair::pair_checkpoints(&arranged.places.baseline, &arranged.places.candidate);
    let mut used = vec![false; policy.checkpoint.limits.len()];
    let sides = Sides { baseline, candidate, policy, measurements, progress };
    let mut folders = BTreeSet::new();
    for (b, c) in &paired.matched {
        // Files that several checkpoints of a folder share are reported once.
        let scope = SettingsScope {
            is_alike: b.format == c.format && policy.checkpoint.names.is_empty(),
            is_whole: b.format == CheckpointFormat::Whole && c.format == CheckpointFormat::Whole,
            is_beside: folders.insert((b.folder(), c.folder())),
        };
        let judged = if arranged.is_aligned {
            let whole = sides.whole_unit(b, c, scope, &arranged, &mut used);
            outcome.layout = outcome.layout.take().or(whole.layout);
            outcome.add_findings(whole.unused);
            whole.judged
        } else {
            unit((baseline, b), (candidate, c), scope, (policy, measurements), progress, &mut used)
        };
        outcome.add_unit(Unit::Checkpoint(Box::new(judged.unit)), judged.findings);
    }
    if !arranged.is_aligned {
        sides.say_ranks(&mut outcome);
    }
    for (side, inventory) in [(Side::Baseline, baseline), (Side::Candidate, candidate)] {
        outcome.add_findings(arranged.optimizers[side].iter().map(|place| optimizer_aside(inventory, place, side)));
    }
    let missing = paired.missing.iter();
    outcome.add_findings(
        missing.map(|(place, side)| Finding::new(&rules::UNPAIRED, &place.path).with("side", side.as_str())),
    );
    if !paired.matched.is_empty() {
        let unused = policy.checkpoint.limits.iter().zip(&used).filter(|(_, used)| !**used);
        outcome.add_findings(unused.map(|(rule, _)| Finding::new(&policy_rules::SELECTOR_UNUSED, rule.selector())));
    }
    weight_sync::judge(&mut outcome, Some(baseline), candidate, policy, progress);
    outcome
}

/// The finding about a file of an optimizer that is not compared.
fn optimizer_aside(inventory: &Inventory, place: &CheckpointPlace, side: Side) -> Finding {
    let count = place.open(inventory.all_files()).map_or(0, |optimizer| optimizer.parameters.len());
    let finding = Finding::new(&rules::OPTIMIZER_UNREAD, &place.path).with("side", side.as_str());
    finding.with("checkpoint", place.path.as_str()).with("count", count)
}

/// The layouts of both sides: declared, else found, else that of one rank.
fn told_layouts(found: PerSide<Option<Layout>>, policy: &Policy) -> Layouts {
    let told = |side: Side| {
        let found = found[side].clone().unwrap_or_else(|| Layout::single(LayoutSource::Files));
        policy.layout.declared_layout(side).unwrap_or(found)
    };
    Layouts { baseline: told(Side::Baseline), candidate: told(Side::Candidate) }
}

/// Both sides of the check.
#[derive(Clone, Copy)]
struct Sides<'a> {
    baseline: &'a Inventory,
    candidate: &'a Inventory,
    policy: &'a Policy,
    measurements: &'a Measurements,
    progress: &'a dyn Progress,
}

/// A checkpoint of ranks, judged.
struct WholeUnit {
    judged: JudgedCheckpoint,
    layout: Option<Layouts>,
    /// Lines of the policy's mapping that fitted nothing.
    unused: Vec<Finding>,
}

impl Sides<'_> {
    /// One checkpoint of both sides whose tensors are put together under common names.
    fn whole_unit(
        &self,
        b: &CheckpointPlace,
        c: &CheckpointPlace,
        scope: SettingsScope,
        arranged: &ArrangedCheckpoints,
        used: &mut [bool],
    ) -> WholeUnit {
        let (name, section) = (c.path.as_str(), &self.policy.checkpoint);
        let both = match open_aligned((self.baseline, b), (self.candidate, c), section) {
            Ok(both) => both,
            Err(findings) => {
                let judged = JudgedCheckpoint { unit: CheckpointUnit::empty(name), findings };
                return WholeUnit { judged, layout: None, unused: Vec::new() };
            }
        };
        let AlignedCheckpoints { checkpoints, replicas, paddings, families, unused, unread_states } = &both.aligned;
        let pairs = pair::pair_parameters(&checkpoints.baseline, &checkpoints.candidate, &section.prefixes);
        self.progress.begin("comparing checkpoints", pairs.matched.len() as u64);
        let mut comparisons = compare::compare_parameters(&pairs, self.measurements, &|| self.progress.advance(1));
        let settings = CheckpointSettings { policy: section, profile: self.policy.profile };
        let is_wanted = |comparison: &ParameterComparison<'_>| is_beyond_noise(comparison, settings);
        if comparisons.iter().any(is_wanted) {
            let earlier = self.earlier(b, c, arranged);
            compare::explain(&mut comparisons, &pairs, families, &earlier, &is_wanted);
        }
        let mut judged = judge(name, &pairs, &comparisons, settings, used);
        leave_out(&mut judged.unit.evidence, both.left_out.iter());
        let whole = WholeModel {
            missing: PerSide { baseline: &checkpoints.baseline.missing, candidate: &checkpoints.candidate.missing },
            replicas: compare::compare_replicas(replicas),
            paddings: compare::used_paddings(paddings),
            unread_states: *unread_states,
        };
        judged.findings.splice(0..0, judge_whole(name, &whole));
        judged.findings.extend(about_settings(name, &checkpoints.baseline, &checkpoints.candidate, scope));
        let found = PerSide::of(|side| checkpoints[side].layout.clone());
        let unused = unused.iter().map(|line| Finding::new(&policy_rules::SELECTOR_UNUSED, line.as_str())).collect();
        WholeUnit { judged, layout: Some(told_layouts(found, self.policy)), unused }
    }

    /// Reports layouts, missing files and differing copies where both runs wrote the same files, which are compared one by one.
    fn say_ranks(&self, outcome: &mut CheckOutcome) {
        let last = |inventory: &Inventory| {
            let files = checkpoint::without_shards(inventory.artifacts::<CheckpointPlace>().to_vec());
            let places = checkpoint::gather_folders(files, |format| format != CheckpointFormat::Whole);
            places.into_iter().rfind(|place| place.format != CheckpointFormat::Whole)
        };
        let (Some(b), Some(c)) = (last(self.baseline), last(self.candidate)) else { return };
        // A file that cannot be opened has a finding of its own.
        let Ok(both) = open_aligned((self.baseline, &b), (self.candidate, &c), &self.policy.checkpoint) else { return };
        let AlignedCheckpoints { checkpoints, replicas, .. } = &both.aligned;
        let missing = PerSide {
            baseline: checkpoints.baseline.missing.as_slice(),
            candidate: checkpoints.candidate.missing.as_slice(),
        };
        let whole = WholeModel { missing, replicas: compare::compare_replicas(replicas), ..WholeModel::default() };
        outcome.add_findings(judge_whole(&c.path, &whole));
        let found = PerSide::of(|side| checkpoints[side].layout.clone());
        outcome.layout = Some(told_layouts(found, self.policy));
    }

    /// The latest earlier iterations of both sides, under the names of the iteration that is judged.
    fn earlier(
        &self,
        b: &CheckpointPlace,
        c: &CheckpointPlace,
        arranged: &ArrangedCheckpoints,
    ) -> Vec<(String, Checkpoint)> {
        let section = &self.policy.checkpoint;
        let opened = |side: Side, place: &CheckpointPlace| {
            let (b, c) = match side {
                Side::Baseline => (place, c),
                Side::Candidate => (b, place),
            };
            let both = open_aligned((self.baseline, b), (self.candidate, c), section).ok()?;
            let PerSide { baseline, candidate } = both.aligned.checkpoints;
            Some((place.path.clone(), if side == Side::Baseline { baseline } else { candidate }))
        };
        let of = |side: Side| {
            let places = &arranged.earlier[side];
            let last = places.len().saturating_sub(EARLIER);
            places.iter().skip(last).filter_map(move |place| opened(side, place)).collect::<Vec<_>>()
        };
        // `explain` looks at the last entries first, and the baseline's are trusted more.
        of(Side::Candidate).into_iter().chain(of(Side::Baseline)).collect()
    }
}

/// Two checkpoints under common names, without the parameters that the policy leaves out.
struct OpenedBoth {
    aligned: AlignedCheckpoints,
    left_out: BTreeSet<String>,
}

/// Opens both sides and brings their tensors under common names; the error holds the findings about what cannot be read.
fn open_aligned(
    (baseline, b): (&Inventory, &CheckpointPlace),
    (candidate, c): (&Inventory, &CheckpointPlace),
    section: &CheckpointPolicy,
) -> std::result::Result<OpenedBoth, Vec<Finding>> {
    let (b, c) = match (b.open(baseline.all_files()), c.open(candidate.all_files())) {
        (Ok(b), Ok(c)) => (b, c),
        (one, other) => {
            let sides = [(Side::Baseline, one.err()), (Side::Candidate, other.err())];
            return Err(sides.into_iter().filter_map(|(side, error)| Some(damaged(&c.path, side, &error?))).collect());
        }
    };
    let rules: Vec<TensorNameRule> = section
        .names
        .iter()
        .map(|rule| TensorNameRule {
            from: rule.from.clone(),
            to: rule.to.clone(),
            transpose: rule.transpose,
            axis: usize::from(rule.axis),
        })
        .collect();
    let mut aligned = pair::align_checkpoints(b, c, &rules);
    let mut left_out = BTreeSet::new();
    for side in Side::BOTH {
        left_out.extend(take_ignored(&mut aligned.checkpoints[side], section));
        pair::take_scales(&mut aligned.checkpoints[side]);
    }
    Ok(OpenedBoth { aligned, left_out })
}

/// Findings about plain values of both sides, and about configurations that cannot be read.
fn about_settings(name: &str, baseline: &Checkpoint, candidate: &Checkpoint, scope: SettingsScope) -> Vec<Finding> {
    let plain = PerSide { baseline: &baseline.plain, candidate: &candidate.plain };
    let mut findings = judge_settings(name, plain, scope);
    for side in Side::BOTH.into_iter().filter(|_| scope.is_beside) {
        findings.extend(plain[side].damaged.iter().map(|(path, reason)| {
            let error = Error::corrupt(path, reason.clone());
            damaged(path, side, &error.with_help("write the configuration again"))
        }));
    }
    findings
}

/// One checkpoint of both sides, opened, compared and judged.
fn unit(
    (baseline, b): (&Inventory, &CheckpointPlace),
    (candidate, c): (&Inventory, &CheckpointPlace),
    scope: SettingsScope,
    (policy, measurements): (&Policy, &Measurements),
    progress: &dyn Progress,
    used: &mut [bool],
) -> JudgedCheckpoint {
    let name = c.path.as_str();
    let section = &policy.checkpoint;
    match (open(baseline, b, section), open(candidate, c, section)) {
        (Ok(b), Ok(c)) => {
            let left_out: BTreeSet<String> = b.left_out.union(&c.left_out).cloned().collect();
            let (checkpoints, replicas) = pair::untie_embeddings(b.checkpoint, c.checkpoint);
            let pairs = pair::pair_parameters(&checkpoints.baseline, &checkpoints.candidate, &section.prefixes);
            progress.begin("comparing checkpoints", pairs.matched.len() as u64);
            let comparisons = compare::compare_parameters(&pairs, measurements, &|| progress.advance(1));
            let settings = CheckpointSettings { policy: section, profile: policy.profile };
            let mut judged = judge(name, &pairs, &comparisons, settings, used);
            leave_out(&mut judged.unit.evidence, left_out.iter());
            let whole = WholeModel { replicas: compare::compare_replicas(&replicas), ..WholeModel::default() };
            judged.findings.extend(judge_whole(name, &whole));
            judged.findings.extend(about_settings(name, &checkpoints.baseline, &checkpoints.candidate, scope));
            judged
        }
        (b, c) => {
            let sides = [(Side::Baseline, b.err()), (Side::Candidate, c.err())];
            let findings = sides.into_iter().filter_map(|(side, error)| Some(damaged(name, side, &error?))).collect();
            JudgedCheckpoint { unit: CheckpointUnit::empty(name), findings }
        }
    }
}

/// Counts parameters that the policy leaves out.
fn leave_out<'a>(evidence: &mut Account, names: impl Iterator<Item = &'a String>) {
    for name in names {
        evidence.left_out += 1;
        evidence.example("left-out", name);
    }
}

/// A checkpoint without the parameters the policy leaves out, and their names.
struct Opened {
    checkpoint: Checkpoint,
    left_out: BTreeSet<String>,
}

fn open(inventory: &Inventory, place: &CheckpointPlace, section: &CheckpointPolicy) -> Result<Opened> {
    let mut checkpoint = place.open(inventory.all_files())?;
    let left_out = take_ignored(&mut checkpoint, section);
    pair::take_scales(&mut checkpoint);
    Ok(Opened { checkpoint, left_out })
}

/// Removes the parameters that the policy ignores, and returns their names.
fn take_ignored(checkpoint: &mut Checkpoint, section: &CheckpointPolicy) -> BTreeSet<String> {
    let ignored = |name: &str| section.ignore.iter().any(|pattern| pattern.matches(name));
    let left_out: BTreeSet<String> = checkpoint.parameters.keys().filter(|name| ignored(name)).cloned().collect();
    checkpoint.parameters.retain(|name, _| !left_out.contains(name));
    left_out
}

fn damaged(name: &str, side: Side, error: &Error) -> Finding {
    let rule = if error.kind() == ErrorKind::Unsupported { &artifacts::UNSUPPORTED } else { &artifacts::DAMAGED };
    Finding::new(rule, name)
        .of_check(ID)
        .with("side", side.as_str())
        .with("reason", error.message())
        .with("help", error.help().unwrap_or_default())
}
