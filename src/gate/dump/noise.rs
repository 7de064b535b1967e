//! Recorded noise of dumps: found for the units of a run, and taken from the units of repeats.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::judge::dump::flow::OperationFlow;
use crate::judge::dump::noise::UnitNoise;
use crate::judge::dump::repeats::{self, TooFar};
use crate::judge::dump::rules;
use crate::judge::dump::unit::{UnitInput, kind_of_data};
use crate::judge::rule::Rule;
use crate::result::finding::Finding;
use crate::verdict::Severity;

/// A step and rank of the baseline.
type Place = (u64, Option<u64>);

/// Use of recorded noise in a comparison: noise that widens limits, or a recording that this comparison adds to.
#[derive(Clone, Copy, Debug, Default)]
pub struct DumpNoise<'a> {
    /// Noise that widens limits.
    pub known: Option<&'a KnownNoise>,
    /// Receiver of what this pair, of two repeats, shows.
    pub recording: Option<&'a NoiseRecording>,
}

/// Noise that repeats of the baseline recorded, by step and rank.
#[derive(Debug)]
pub struct KnownNoise(BTreeMap<Place, Arc<UnitNoise>>);

impl KnownNoise {
    /// The noise of `units`.
    pub fn new(units: &[UnitNoise]) -> Self {
        Self(units.iter().map(|unit| ((unit.step, unit.rank), Arc::new(unit.clone()))).collect())
    }

    /// The noise of a step and rank of the baseline, where it was recorded from data of the same kind.
    pub(super) fn of(&self, place: Place, input: &UnitInput<'_>) -> Option<Arc<UnitNoise>> {
        self.0.get(&place).filter(|noise| noise.data == kind_of_data(input.baseline)).cloned()
    }
}

/// The finding about dumps of the baseline without recorded noise; `dumps` are the paths of their records.
pub(super) fn missing_noise_finding(dumps: &[String]) -> Option<Finding> {
    let first = dumps.first()?;
    Some(Finding::new(&rules::NOISE_MISSING, first).with("count", dumps.len()))
}

/// Noise that is being recorded.
#[derive(Debug)]
pub struct NoiseRecording {
    repeats: u32,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    units: BTreeMap<Place, UnitNoise>,
    too_far: Option<TooFar>,
}

impl NoiseRecording {
    /// Starts a recording from this number of repeats.
    pub fn new(repeats: u32) -> Self {
        Self { repeats, taken: Mutex::default() }
    }

    /// Records the noise that a judged unit shows.
    pub(super) fn record_unit(&self, input: &UnitInput<'_>, flows: &[OperationFlow]) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let data = kind_of_data(input.baseline);
        let unit = taken.units.entry((input.step, input.rank)).or_insert_with(|| UnitNoise {
            step: input.step,
            rank: input.rank,
            data: data.to_owned(),
            repeats: self.repeats,
            ..UnitNoise::default()
        });
        let too_far = repeats::record(unit, input, flows);
        taken.too_far = taken.too_far.take().or(too_far);
    }

    /// Description of the first value that differed more than repeats do; `None` where none did.
    pub(crate) fn too_far(&self) -> Option<String> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let percent = |share: f64| format!("{:.2} %", share * 100.0);
        let said = |TooFar { row, added, most }: &TooFar| {
            format!(
                "`{row}` is off by {}, beyond what it received (repeats: at most {})",
                percent(*added),
                percent(*most)
            )
        };
        taken.too_far.as_ref().map(said)
    }

    /// Recorded noise, in the order of steps and ranks.
    pub(crate) fn into_units(self) -> Vec<UnitNoise> {
        self.taken.into_inner().unwrap_or_else(PoisonError::into_inner).units.into_values().collect()
    }
}

/// Findings that two repeats may have: differences of numbers.
const MOVES: [&Rule; 9] = [
    &rules::OUTPUT_DIVERGES,
    &rules::OTHER_PRECISION,
    &rules::INPUT_DIFFERS,
    &rules::OUTLIERS,
    &rules::NEAR_TIE,
    &rules::CHECKSUM_DIFFERS,
    &rules::IN_PLACE_ARGUMENT,
    &rules::ERROR_ACCUMULATES,
    &rules::NOT_A_NUMBER_ON_BOTH,
];

/// Reason why two runs with these findings are not repeats of each other; `None` where they may be.
pub(crate) fn reason_not_repeats<'a>(mut findings: impl Iterator<Item = &'a Finding>) -> Option<String> {
    let moves = |finding: &&Finding| finding.is_any(&MOVES);
    let other = findings.find(|finding| finding.severity > Severity::Info && !moves(finding))?;
    Some(format!("`{}` at `{}` (`precision-gate explain {}`)", other.code, other.place, other.code))
}
