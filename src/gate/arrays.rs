//! The check of arrays: files of both sides that belong to no other check, array by array.

use super::discover::{Extent, FileSample, Inventory, RecognisedFile, Recogniser, RecognitionEvidence};
use super::outcome::{CheckOutcome, damaged_finding};
use super::sides::Sides;
use super::surroundings::Shared;
use super::wiring::GateCheck;
use crate::compare::arrays as compare;
use crate::judge::arrays::{ArrayComparison, ArraySubject, judge, rules};
use crate::kind::ArrayKind;
use crate::pair::arrays as pair;
use crate::policy::arrays::Images;
use crate::read::arrays::{self as read, ArrayContent, ArrayFile, NamedArray};
use crate::read::tensor::TensorData;
use crate::result::finding::Finding;
use crate::result::unit::{ArrayUnit, Unit};
use crate::verdict::{CheckId, Side};

/// The check of arrays.
pub(super) const CHECK: GateCheck = GateCheck {
    recogniser: Recogniser { check: ID, evidence: RecognitionEvidence::Signature, extent: Extent::Content, recognise },
    judge: |sides, _, shared| Ok(check(sides, shared)),
    judge_alone: None,
    judge_samples: None,
    measure: None,
    judge_tree: None,
};

const ID: CheckId = CheckId::Arrays;
/// Parts of the names of arrays that hold a vector per row.
const EMBEDDINGS: [&str; 3] = ["emb", "feature", "vector"];

fn recognise(sample: &FileSample<'_>) -> Option<RecognisedFile> {
    let file = read::recognise(sample.path, sample.head, sample.source)?;
    let kind = if file.picture.is_some() { "picture" } else { "array" };
    Some(RecognisedFile::read(kind, file))
}

fn check(sides: &Sides, shared: &Shared<'_>) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(ID);
    let (baseline, candidate) = (&sides.baseline, &sides.candidate);
    let pairs = pair::pair_files(baseline.artifacts::<ArrayFile>(), candidate.artifacts::<ArrayFile>());
    shared.progress.begin("comparing arrays", pairs.both.len() as u64);
    let images = shared.request.policy.arrays.images;
    let mut judging = Judging {
        sides: [baseline, candidate],
        shared,
        shows_images: images == Images::Shown || images == Images::Auto && are_drawings(candidate),
        order: 0,
        outcome: &mut outcome,
    };
    for (baseline_file, candidate_file) in pairs.both {
        judging.file(baseline_file, candidate_file);
        shared.progress.advance(1);
    }
    let of_baseline = pairs.only_baseline.iter().map(|file| (file, Side::Candidate));
    let of_candidate = pairs.only_candidate.iter().map(|file| (file, Side::Baseline));
    let policy = &shared.request.policy.arrays;
    let alone = of_baseline.chain(of_candidate).filter(|(file, _)| {
        // A drawing that only one side has is not a result of the run, so that its absence is no finding.
        !(policy.ignores(&file.path) || judging.shows_images && file.picture.is_some())
    });
    let missing: Vec<Finding> = alone.map(|(file, side)| missing(&file.path, side)).collect();
    outcome.add_findings(missing);
    outcome
}

/// Whether the candidate has artifacts of other checks; its pictures are then taken for drawings of them.
fn are_drawings(candidate: &Inventory) -> bool {
    CheckId::CHECKS.iter().any(|check| *check != ID && candidate.has_files_of(*check))
}

fn missing(name: &str, side: Side) -> Finding {
    Finding::new(&rules::MISSING, name).with("side", side.as_str())
}

struct Judging<'a> {
    sides: [&'a Inventory; 2],
    shared: &'a Shared<'a>,
    shows_images: bool,
    order: u64,
    outcome: &'a mut CheckOutcome,
}

impl Judging<'_> {
    fn file(&mut self, baseline_file: &ArrayFile, candidate_file: &ArrayFile) {
        let [baseline, candidate] = self.sides;
        let opened = (baseline_file.open(baseline.all_files()), candidate_file.open(candidate.all_files()));
        let (baseline, candidate) = match opened {
            (Ok(baseline), Ok(candidate)) => (baseline, candidate),
            (one, other) => {
                let errors = [(Side::Baseline, one.err()), (Side::Candidate, other.err())];
                let findings = errors.into_iter().filter_map(|(side, error)| Some(damaged_finding(ID, side, &error?)));
                let kind = if candidate_file.picture.is_some() { ArrayKind::Image } else { ArrayKind::Array };
                return self
                    .outcome
                    .add_unit(Unit::Array(Box::new(ArrayUnit::empty(&candidate_file.path, kind))), findings);
            }
        };
        let pairs = pair::pair_arrays(baseline, candidate);
        let named = |name: &str| {
            if name.is_empty() { candidate_file.path.clone() } else { format!("{}:{name}", candidate_file.path) }
        };
        for (baseline_array, candidate_array) in &pairs.both {
            self.array(&named(&candidate_array.name), candidate_file, baseline_array, candidate_array);
        }
        let policy = &self.shared.request.policy.arrays;
        let of_baseline = pairs.only_baseline.iter().map(|array| (array, Side::Candidate));
        let of_candidate = pairs.only_candidate.iter().map(|array| (array, Side::Baseline));
        let alone = of_baseline.chain(of_candidate).map(|(array, side)| (named(&array.name), side));
        let missing: Vec<Finding> =
            alone.filter(|(name, _)| !policy.ignores(name)).map(|(name, side)| missing(&name, side)).collect();
        self.outcome.add_findings(missing);
    }

    fn array(&mut self, name: &str, file: &ArrayFile, baseline: &NamedArray, candidate: &NamedArray) {
        let policy = &self.shared.request.policy;
        let is_embedding = is_embedding(name, &candidate.content) || policy.arrays.is_embedding(name);
        let compared = match policy.arrays.ignores(name) {
            true => ArrayComparison::LeftOut,
            false => self.compared(name, &baseline.content, &candidate.content, is_embedding),
        };
        let subject = ArraySubject {
            name,
            short: if candidate.name.is_empty() { &file.path } else { &candidate.name },
            order: self.order,
            rows: rows_of(&baseline.content),
            profile: policy.profile,
            shows_images: self.shows_images,
        };
        self.order += 1;
        let judged = judge(subject, compared);
        self.outcome.add_unit(Unit::Array(Box::new(judged.unit)), judged.findings);
    }

    fn compared(
        &self,
        name: &str,
        baseline: &ArrayContent,
        candidate: &ArrayContent,
        is_embedding: bool,
    ) -> ArrayComparison {
        match (baseline, candidate) {
            (ArrayContent::Unread(reason), _) => ArrayComparison::Unread(Side::Baseline, reason.clone()),
            (_, ArrayContent::Unread(reason)) => ArrayComparison::Unread(Side::Candidate, reason.clone()),
            (ArrayContent::Tensor(baseline), ArrayContent::Tensor(candidate)) if baseline.shape == candidate.shape => {
                self.tensors(name, baseline, candidate, is_embedding)
            }
            (ArrayContent::Picture(baseline), ArrayContent::Picture(candidate))
                if baseline.pixels.len() == candidate.pixels.len() && baseline.width == candidate.width =>
            {
                ArrayComparison::Picture(compare::compare_pictures(baseline, candidate))
            }
            _ => ArrayComparison::Shapes([shape_of(baseline), shape_of(candidate)]),
        }
    }

    fn tensors(
        &self,
        name: &str,
        baseline: &TensorData,
        candidate: &TensorData,
        is_embedding: bool,
    ) -> ArrayComparison {
        let unread = |error: crate::error::Error| ArrayComparison::Unread(Side::Candidate, error.message().to_owned());
        let measure = match compare::compare_tensors(name, baseline, candidate, self.shared.measurements) {
            None => return ArrayComparison::LeftOut,
            Some(Err(error)) => return unread(error),
            Some(Ok(measure)) => measure,
        };
        if !is_embedding {
            return ArrayComparison::Tensor(measure);
        }
        match compare::compare_embeddings(baseline, candidate) {
            Ok(rows) => ArrayComparison::Embedding(measure, rows),
            Err(error) => unread(error),
        }
    }
}

/// Whether the name of an array says that it holds a vector per row, and it does.
fn is_embedding(name: &str, content: &ArrayContent) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let is_named = EMBEDDINGS.iter().any(|part| file.contains(part));
    is_named && matches!(content, ArrayContent::Tensor(tensor) if tensor.shape.len() == 2 && tensor.dtype.is_float())
}

fn shape_of(content: &ArrayContent) -> Vec<u64> {
    match content {
        ArrayContent::Tensor(tensor) => tensor.shape.clone(),
        ArrayContent::Picture(picture) => vec![picture.height, picture.width, 3],
        ArrayContent::Unread(_) => Vec::new(),
    }
}

/// Rows of an array: the length of its first axis, and one for a single number.
fn rows_of(content: &ArrayContent) -> u64 {
    match content {
        ArrayContent::Tensor(tensor) if tensor.elements() == 0 => 0,
        _ => shape_of(content).first().copied().unwrap_or(1),
    }
}
