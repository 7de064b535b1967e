//! The units of a step, kept in memory as far as there is room, for any number of ranks. Records that were dropped are read
//! again when they are needed again. Measurements of tensor data are kept, so that the data is read once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::messages::Messages;
use crate::compare::dump::{self as compare, CountedPair, UnitComparison};
use crate::compare::measurements::Measurements;
use crate::diagnose::{self, DumpContext, Peer, PeerOperation, StepBefore, TensorCache, TracedPlaces};
use crate::error::{self, Error};
use crate::fetch::progress::Progress;
use crate::gate::dump_tables::{self, Dumps};
use crate::judge::dump::unit::{JudgedUnit, UnitInput};
use crate::judge::dump::update::RankCopies;
use crate::judge::dump::{element_limits, preset};
use crate::msprobe::dump::Matching;
use crate::pair::dump::{DumpNames, IndexPair, Renaming, bind_arguments};
use crate::pair::layout::rows_of_other_shapes;
use crate::pair::unit::UnitPair;
use crate::policy::Policy;
use crate::policy::dump::Refinement;
use crate::read::dump::{AssembledParts, Dump};
use crate::report::sink::Sink;
use crate::result::diagnosis::Diagnosis;
use crate::result::unit::ErrorLocation;
use crate::verdict::Side;

/// Errors of reading a unit's records, with the side of each.
pub(super) type Errors = Vec<(Side, Error)>;

/// A unit after reading and comparing both sides.
pub(in crate::gate) struct ComparedUnit<'a> {
    pub(super) pair: &'a UnitPair<'a>,
    baseline: Dump,
    candidate: Dump,
    /// Both dumps as written, where default arguments were added to calls for the comparison.
    written: Option<Box<[Dump; 2]>>,
    comparison: Arc<UnitComparison>,
}

/// The units of a step.
pub(super) struct Units<'a> {
    policy: &'a Policy,
    renaming: &'a Renaming,
    measurements: &'a Measurements,
    /// Units whose records could be read, in order, each with its place.
    readable: Vec<(usize, &'a UnitPair<'a>)>,
    /// Comparisons for which tensor data was read, or left out and counted, by place.
    measured: HashMap<usize, Arc<UnitComparison>>,
    /// Units that were read in parallel with an earlier one.
    ahead: HashMap<usize, Result<ComparedUnit<'a>, Errors>>,
    /// Units that stay in memory, as many as there is room for.
    kept: HashMap<usize, ComparedUnit<'a>>,
    /// Bytes of memory left for further units.
    room: u64,
    /// The unit that was used last, if there is no room to keep it.
    last: Option<(usize, ComparedUnit<'a>)>,
}

/// Facts about the ranks of a step together.
#[derive(Debug, Default)]
pub(super) struct AcrossRanks {
    /// The largest error that enters each collective on any of them.
    pub(super) collectives: HashMap<String, f64>,
    /// Errors of the messages between them.
    pub(super) messages: Messages,
    /// Hashes of parameters whose copies differ between ranks.
    pub(super) parted: HashSet<u64>,
}

/// Bytes of memory per value of both sides: records, pairs and comparisons (docs/performance.md).
const VALUE: u64 = 300;

impl<'a> Units<'a> {
    /// Starts without units; those that are used may stay in memory, within `room` bytes.
    pub(super) fn new(policy: &'a Policy, renaming: &'a Renaming, measurements: &'a Measurements, room: u64) -> Self {
        let (kept, measured, ahead) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { policy, renaming, measurements, readable: Vec::new(), measured, ahead, kept, room, last: None }
    }

    /// Compares every unit, and returns the facts about all ranks of the step together.
    pub(super) fn across_ranks(
        &mut self,
        pairs: &'a [UnitPair<'a>],
        progress: &dyn Progress,
        mut unreadable: impl FnMut(&UnitPair<'_>, &[(Side, Error)]),
    ) -> AcrossRanks {
        let (mut across, mut copies) = (AcrossRanks::default(), RankCopies::default());
        for (place, pair) in pairs.iter().enumerate() {
            if !self.ahead.contains_key(&place) {
                self.read_ahead(place, pairs);
            }
            match self.get(place, pair) {
                Ok(unit) => {
                    if pairs.len() > 1 {
                        unit.add_collective_errors(&mut across.collectives);
                        across.messages.add_sent(&unit.input());
                        copies.add(&unit.input());
                    }
                    self.readable.push((place, pair));
                }
                Err(errors) => unreadable(pair, &errors),
            }
            progress.advance(1);
        }
        // With a single rank these facts are known where the errors enter, so they are left empty.
        across.parted = copies.into_parted_rows();
        if self.readable.len() > 1 { across } else { AcrossRanks::default() }
    }

    /// The units whose records could be read, with their places.
    pub(super) fn readable(&self) -> Vec<(usize, &'a UnitPair<'a>)> {
        self.readable.clone()
    }

    /// One unit, which is read where it is not in memory.
    pub(super) fn get(&mut self, place: usize, pair: &'a UnitPair<'a>) -> Result<&ComparedUnit<'a>, Errors> {
        if !self.kept.contains_key(&place) {
            let unit = match self.last.take() {
                Some((known, unit)) if known == place => unit,
                other => {
                    drop(other);
                    self.read(place, pair)?
                }
            };
            let size = unit.size();
            if size > self.room {
                return Ok(&self.last.insert((place, unit)).1);
            }
            self.room -= size;
            self.kept.insert(place, unit);
        }
        self.kept.get(&place).ok_or_else(Vec::new)
    }

    /// Reads the unit at `place` and the following ones in parallel, one per core, where all of them fit in memory. Units with
    /// tensor data are not read ahead: each uses all cores, and reads its data in the order in which it is stored.
    fn read_ahead(&mut self, place: usize, pairs: &'a [UnitPair<'a>]) {
        let Some(size) = self.kept.values().map(ComparedUnit::size).max().filter(|_| self.measured.is_empty()) else {
            return;
        };
        let cores = rayon::current_num_threads();
        if size.saturating_mul(cores as u64) > self.room {
            return;
        }
        let next: Vec<_> = pairs.iter().enumerate().skip(place).take(cores).collect();
        let (policy, renaming, measurements) = (self.policy, self.renaming, self.measurements);
        let read = |(place, pair)| (place, read_and_compare(pair, policy, renaming, measurements));
        self.ahead.extend(next.into_par_iter().map(read).collect::<Vec<_>>());
    }

    fn read(&mut self, place: usize, pair: &'a UnitPair<'a>) -> Result<ComparedUnit<'a>, Errors> {
        if let Some(known) = self.measured.get(&place) {
            let pairs = known.operations.iter().map(|operation| operation.pair);
            let (baseline, candidate, written) = bind(read(pair)?, pairs);
            return Ok(ComparedUnit { pair, baseline, candidate, written, comparison: known.clone() });
        }
        let ahead = self.ahead.remove(&place);
        let unit = ahead.unwrap_or_else(|| read_and_compare(pair, self.policy, self.renaming, self.measurements))?;
        if unit.comparison.has_data() {
            self.measured.insert(place, unit.comparison.clone());
        }
        Ok(unit)
    }

    /// Collects the operation `op` from the units of the other ranks: one peer per readable unit, but for the unit at
    /// `besides`.
    pub(super) fn peers(&mut self, op: &str, besides: usize) -> Vec<Peer> {
        let others = self.readable().into_iter().filter(|(place, _)| *place != besides);
        others
            .map(|(place, pair)| {
                let operation = self.get(place, pair).ok().and_then(|unit| unit.peer(op));
                Peer { rank: pair.candidate.rank, operation }
            })
            .collect()
    }
}

impl ComparedUnit<'_> {
    /// Estimated bytes of memory that the unit takes.
    fn size(&self) -> u64 {
        VALUE * self.baseline.operations.value_count() as u64
    }

    /// Records of the baseline.
    pub(super) fn baseline(&self) -> &Dump {
        &self.baseline
    }

    /// Records of the candidate.
    pub(super) fn candidate(&self) -> &Dump {
        &self.candidate
    }

    /// Writes msprobe's table to the sink. Tensors that were measured for the verdict are not measured again.
    pub(in crate::gate) fn table(
        &self,
        matching: &Matching,
        measurements: &Measurements,
        sink: &dyn Sink,
    ) -> error::Result<()> {
        // msprobe has no table of other tools' records.
        if self.pair.candidate.tool().is_some() {
            return Ok(());
        }
        let known = dump_tables::measured_pairs(&self.comparison);
        let [baseline, candidate] = match self.written.as_deref() {
            Some([baseline, candidate]) => [baseline, candidate],
            None => [&self.baseline, &self.candidate],
        };
        let dumps = Dumps { folders: *self.pair, baseline, candidate };
        dump_tables::table(&dumps, matching, &known, measurements).map_or(Ok(()), |table| sink.table(table))
    }

    /// The unit as the judges take it.
    pub(super) fn input(&self) -> UnitInput<'_> {
        UnitInput {
            step: self.pair.candidate.step,
            rank: self.pair.candidate.rank,
            baseline: &self.baseline,
            candidate: &self.candidate,
            comparison: &self.comparison,
            reference: None,
        }
    }

    /// The comparison of both sides alone.
    pub(super) fn into_comparison(self) -> Arc<UnitComparison> {
        self.comparison
    }

    /// Causes that the unit shows, with the other ranks beside it and the step before.
    pub(super) fn diagnose(
        &self,
        judged: &JudgedUnit,
        peers: &[Peer],
        before: Option<StepBefore<'_>>,
    ) -> Vec<Diagnosis> {
        let mut diagnoses = self.looked_at(judged, peers, before, diagnose::dump_diagnoses);
        if self.pair.candidate.tool().is_some() {
            diagnoses.iter_mut().for_each(diagnose::advise_without_call);
        }
        diagnoses
    }

    /// The place of the error within the culprit's tensor.
    pub(super) fn location(&self, judged: &JudgedUnit) -> Option<ErrorLocation> {
        self.looked_at(judged, &[], None, diagnose::location)
    }

    /// Result of `look` on the unit with its judgement, its peers and the step before.
    fn looked_at<T>(
        &self,
        judged: &JudgedUnit,
        peers: &[Peer],
        before: Option<StepBefore<'_>>,
        look: impl FnOnce(&DumpContext<'_>) -> T,
    ) -> T {
        let (unit, findings) = (&judged.unit, judged.findings.as_slice());
        let (input, cache, traced) = (self.input(), TensorCache::default(), TracedPlaces::default());
        let folders = *self.pair;
        look(&DumpContext { input: &input, unit, findings, folders, peers, before, cache: &cache, traced: &traced })
    }

    /// The operation `op` of both sides, for another rank's culprit.
    fn peer(&self, op: &str) -> Option<PeerOperation> {
        self.comparison.operations.iter().find_map(|comparison| {
            let (baseline, candidate) = (comparison.pair.baseline()?, comparison.pair.candidate()?);
            (self.candidate.operations.get(candidate)?.name == op).then(|| PeerOperation {
                baseline: self.baseline.operations.single_operation(baseline),
                candidate: self.candidate.operations.single_operation(candidate),
                comparison: comparison.clone(),
            })
        })
    }

    /// Raises the largest error known to enter each collective.
    fn add_collective_errors(&self, errors: &mut HashMap<String, f64>) {
        for comparison in &self.comparison.operations {
            let operation = comparison.pair.candidate().and_then(|index| self.candidate.operations.get(index));
            let Some(operation) = operation.filter(|operation| operation.name.starts_with("Distributed.")) else {
                continue;
            };
            let entering = errors.entry(operation.name.to_owned()).or_default();
            *entering = compare::input_error(operation, comparison).max(*entering);
        }
    }
}

/// Reads both sides of a unit and compares them.
pub(in crate::gate) fn read_and_compare<'a>(
    pair: &'a UnitPair<'a>,
    policy: &Policy,
    renaming: &Renaming,
    measurements: &Measurements,
) -> Result<ComparedUnit<'a>, Errors> {
    let (baseline, candidate) = read(pair)?;
    let names = DumpNames::from_dumps(&baseline, &candidate, renaming);
    let pairs = crate::pair::dump::pair_operations(&baseline, &candidate, &names);
    let (baseline, candidate, written) = bind((baseline, candidate), pairs.iter().copied());
    let preset = policy.dump.preset;
    let tolerance = |counted: &CountedPair<'_>| match preset {
        Some(preset) => preset::tolerance(preset, counted.dtypes[0], counted.dtypes[1]),
        None => element_limits::tolerance(&policy.dump, counted),
    };
    let is_counted = preset.is_some() || policy.dump.counts_elements();
    let tolerance: Option<&compare::Tolerances<'_>> = if is_counted { Some(&tolerance) } else { None };
    let exact_sums = !policy.dump.has_refinement(Refinement::SummationBound);
    let folders = compare::Folders {
        baseline: pair.baseline,
        candidate: pair.candidate,
        measurements,
        tolerance,
        renaming,
        exact_sums,
    };
    let mut comparison = compare::compare_unit(&baseline, &candidate, &pairs, &folders);
    (comparison.wrappers, comparison.prefix) = (names.wrapper_count(), names.prefix);
    Ok(ComparedUnit { pair, baseline, candidate, written, comparison: Arc::new(comparison) })
}

/// Adds to paired calls the default arguments that only the other call names; returns the dumps as written last.
fn bind(
    (mut baseline, mut candidate): (Dump, Dump),
    pairs: impl Iterator<Item = IndexPair>,
) -> (Dump, Dump, Option<Box<[Dump; 2]>>) {
    let both = pairs.filter_map(|pair| Some((pair.baseline()?, pair.candidate()?)));
    let Some([baseline_operations, candidate_operations]) = bind_arguments(&baseline, &candidate, both) else {
        return (baseline, candidate, None);
    };
    let written = Box::new([baseline.clone(), candidate.clone()]);
    (baseline.operations, candidate.operations) = (baseline_operations, candidate_operations);
    (baseline, candidate, Some(written))
}

/// Removes values that were merged into different shapes on the two sides.
fn leave_out_other_shapes(baseline: &mut Dump, candidate: &mut Dump) {
    if baseline.parts.is_none() || candidate.parts.is_none() {
        return;
    }
    let rows = rows_of_other_shapes([baseline, candidate]);
    if rows.is_empty() {
        return;
    }
    for dump in [baseline, candidate] {
        dump.operations = dump.operations.without_rows(&rows);
        if let Some(parts) = dump.parts.as_mut().and_then(Arc::get_mut) {
            parts.unmerged += rows.len() as u64;
            // Where the split of a value is not known, its copies are not known either.
            parts.differing.retain(|differing| !rows.contains(&differing.row));
        }
    }
}

/// Removes values that the other side could not merge.
fn leave_out(dump: &mut Dump, other: Option<&AssembledParts>) {
    if let Some(parts) = other.filter(|parts| !parts.unmerged_rows.is_empty()) {
        dump.operations = dump.operations.without_rows(&parts.unmerged_rows);
    }
}

fn read(pair: &UnitPair<'_>) -> Result<(Dump, Dump), Errors> {
    // All ranks of a side are in memory while they are merged, so the sides are read one after the other.
    let both = match pair.baseline.assembled.is_some() {
        true => (pair.baseline.read(), pair.candidate.read()),
        false => rayon::join(|| pair.baseline.read(), || pair.candidate.read()),
    };
    match both {
        (Ok(mut baseline), Ok(mut candidate)) => {
            leave_out(&mut baseline, candidate.parts.as_deref());
            leave_out(&mut candidate, baseline.parts.as_deref());
            leave_out_other_shapes(&mut baseline, &mut candidate);
            candidate.share_names(&baseline);
            Ok((baseline, candidate))
        }
        (baseline, candidate) => {
            let errors = [(Side::Baseline, baseline.err()), (Side::Candidate, candidate.err())];
            Err(errors.into_iter().filter_map(|(side, error)| Some((side, error?))).collect())
        }
    }
}
