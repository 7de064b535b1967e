//! Records of one side, or of both sides, measured one answer at a time.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::meter::{AnswerFacts, Meter};
use super::notes::{Notes, StepRank};
use super::quantity::Quantity;
use crate::pair::tokens::{AlignedTokens, RowIndex, RowKey, RowPlace, index_answers};
use crate::read::tokens::{RowQuantities, Scratch, TokensRow, TokensTable};

/// Largest value that still counts as a log-probability: 0 plus rounding.
const MOST: f64 = 1e-6;
/// Least number of tokens of a step that show that a quantity is constant.
const FEWEST_EQUAL: u64 = 8;

/// A comparison, measured.
#[derive(Clone, Debug)]
pub struct TokenMeasure {
    /// Its numbers.
    pub meter: Meter,
    /// Notes beside them.
    pub notes: Notes,
    /// Quantities that at least one answer has.
    pub holds: RowQuantities,
    /// Answers that were measured.
    pub measured: u64,
}

impl TokenMeasure {
    fn new(noise: f64) -> Self {
        let notes = Notes { are_probabilities: true, ..Notes::default() };
        Self { meter: Meter::new(noise), notes, holds: RowQuantities::default(), measured: 0 }
    }

    /// Whether only differences of probabilities were recorded, so that no value is the engine's or the trainer's.
    pub(crate) fn is_of_differences(&self) -> bool {
        self.holds.difference && !(self.holds.engine || self.holds.trainer)
    }

    /// Removes steps in which a quantity is constant.
    fn drop_constant(&mut self) {
        let mut found = Vec::new();
        for (step, sums) in &self.meter.steps {
            let ranges = [(Quantity::Engine, sums.range_a), (Quantity::Trainer, sums.range_b)];
            let constant = ranges.into_iter().find(|(_, [least, most])| least.to_bits() == most.to_bits());
            if let Some((quantity, [value, _])) = constant.filter(|_| sums.tokens >= FEWEST_EQUAL) {
                found.push((step.clone(), quantity, value));
            }
        }
        for (step, ..) in &found {
            let before = self.meter.sequences.len();
            self.meter.remove_step(step);
            self.measured = self.measured.saturating_sub((before - self.meter.sequences.len()) as u64);
        }
        self.notes.constant = found;
    }
}

/// Comparison of one quantity of the candidate with one of the baseline.
#[derive(Clone, Debug)]
pub struct SideMeasure {
    /// Quantity of the candidate, and of the baseline.
    pub quantities: [Quantity; 2],
    /// The comparison.
    pub measured: TokenMeasure,
    /// Number of answers of the candidate that the baseline has too.
    pub shared: u64,
    /// Answers of the candidate, and of the baseline, that have the quantity.
    pub answers: [u64; 2],
}

/// State of measuring the records of one side.
struct Walk<'t> {
    tables: &'t [TokensTable],
    measured: TokenMeasure,
    scratch: Scratch,
    aligned: AlignedTokens,
    /// Table and hash of the values of each answer read so far, by step and rank and by the answer's ids.
    seen: HashMap<(StepRank, RowKey), (usize, u64)>,
}

/// Compares the engine's log-probabilities of one side with its trainer's.
pub(crate) fn measure_side(tables: &[TokensTable], noise: f64) -> TokenMeasure {
    let mut walk = Walk {
        tables,
        measured: TokenMeasure::new(noise),
        scratch: Scratch::default(),
        aligned: AlignedTokens::default(),
        seen: HashMap::new(),
    };
    let is_alone = |holds: RowQuantities| holds.engine && !holds.trainer;
    let mut engines = index_answers(tables, is_alone);
    let mut row = TokensRow::default();
    // Answers with both quantities come first: an engine's own record of such an answer is a second witness, and must
    // not become the partner of another answer.
    for is_trainer_alone in [false, true] {
        for (nth, table) in tables.iter().enumerate() {
            for number in 0..table.rows() {
                let holds = table.quantities(number);
                if is_alone(holds) || is_trainer_alone != (holds.trainer && !holds.engine) {
                    continue;
                }
                walk.answer(RowPlace { table: nth, row: number }, &mut engines, &mut row);
            }
        }
    }
    walk.lonely_engines(&mut engines, &mut row);
    let mut measured = walk.measured;
    measured.drop_constant();
    measured
}

impl Walk<'_> {
    fn part(&self, place: RowPlace) -> Option<(&TokensTable, StepRank)> {
        let table = self.tables.get(place.table)?;
        Some((table, StepRank { step: table.step(place.row), rank: table.rank(place.row) }))
    }

    /// Counts an answer; returns its number among those of its step and rank.
    fn count(&mut self, part: &StepRank) -> u64 {
        let count = self.measured.notes.answers.entry(part.clone()).or_default();
        *count += 1;
        *count - 1
    }

    /// Reads an answer; `false` where it cannot be read, which is noted.
    fn read(&mut self, place: RowPlace, row: &mut TokensRow) -> bool {
        let Some(table) = self.tables.get(place.table) else { return false };
        match table.read(place.row, &mut self.scratch, row) {
            Ok(()) => true,
            Err(error) => {
                self.measured.notes.unreadable.add(&table.path, error.to_string());
                false
            }
        }
    }

    /// Measures an answer that has both quantities, or the trainer's, whose partner is among `engines`.
    fn answer(&mut self, place: RowPlace, engines: &mut RowIndex, row: &mut TokensRow) {
        let Some((_, part)) = self.part(place) else { return };
        if !self.read(place, row) {
            self.count(&part);
            return;
        }
        let key = RowKey::from_row(row);
        if self.is_repeat(place, &part, key, row) {
            return;
        }
        let number = self.count(&part);
        let witness = key.and_then(|key| engines.take_answer(&part.step, key, !row.prompt.is_empty()));
        let mut engine = TokensRow::default();
        let witness = witness.filter(|place| self.read(*place, &mut engine)).map(|_| &engine);
        self.add_holds(row.recorded);
        let (holds, notes) = (row.recorded, &mut self.measured.notes);
        let place = format!("{part}, answer {}", row.index.unwrap_or(number));
        if let Some(lengths) = row.lengths {
            notes.lengths.add(&place, lengths);
            return;
        }
        if let Some(difference) = row.prompt_difference {
            notes.prompts.add(&place, difference);
        }
        match (holds.engine && holds.trainer, witness) {
            (true, Some(witness)) if witness.lengths.is_none() => {
                if witness.engine.len() == row.engine.len() {
                    // Masked like the trainer's, and as often: the engine's own word for its values.
                    self.aligned.align_rows((&row.engine, row), (&row.trainer, witness));
                } else {
                    self.aligned.align_own(row);
                }
            }
            (true, _) => self.aligned.align_own(row),
            (false, Some(witness)) if witness.lengths.is_none() => {
                self.aligned.align_rows((&witness.engine, witness), (&row.trainer, row));
            }
            (false, _) if holds.difference => self.aligned.align_rows((&row.difference, row), (&row.difference, row)),
            (false, _) => {
                let [_, trainers] = &mut self.measured.notes.lonely;
                *trainers += 1;
                return;
            }
        }
        let about = about(&part, number, row, witness);
        self.note_lag(&part, row, witness);
        self.add(&about, &place, holds.difference && !(holds.engine || holds.trainer));
    }

    fn add_holds(&mut self, holds: RowQuantities) {
        let all = &mut self.measured.holds;
        all.engine |= holds.engine;
        all.trainer |= holds.trainer;
        all.difference |= holds.difference;
        all.mask |= holds.mask;
    }

    /// Whether another file of the same part has the same answer with the same values; one with other values is noted.
    fn is_repeat(&mut self, place: RowPlace, part: &StepRank, key: Option<RowKey>, row: &TokensRow) -> bool {
        let Some(key) = key else { return false };
        let mut hasher = DefaultHasher::new();
        for values in [&row.engine, &row.trainer, &row.difference] {
            values.len().hash(&mut hasher);
            values.iter().for_each(|value| value.to_bits().hash(&mut hasher));
        }
        let values = hasher.finish();
        match self.seen.get(&(part.clone(), key)) {
            Some((table, _)) if *table == place.table => false,
            Some((_, known)) if *known == values => true,
            Some((table, _)) => {
                let path = |table: usize| self.tables.get(table).map_or("", |table| &table.path);
                let files = format!("{} and {}", path(*table), path(place.table));
                self.measured.notes.contradicting.add(part, files);
                false
            }
            None => {
                self.seen.insert((part.clone(), key), (place.table, values));
                false
            }
        }
    }

    fn note_lag(&mut self, part: &StepRank, row: &TokensRow, witness: Option<&TokensRow>) {
        let version = row.version.or(witness.and_then(|witness| witness.version));
        let (Some(step), Some(version)) = (part.step.number(), version) else { return };
        let lag = step.cast_signed().saturating_sub(version.cast_signed());
        let known = self.measured.notes.lags.entry(step).or_insert(lag);
        *known = lag.max(*known);
    }

    /// Adds the aligned values to the sums.
    fn add(&mut self, about: &AnswerFacts<'_>, place: &str, is_difference: bool) {
        let Self { aligned, measured, .. } = self;
        let TokenMeasure { meter, notes, measured, .. } = measured;
        measure(aligned, about, place, is_difference, (meter, notes, measured));
    }

    /// Notes answers of engines that have no partner from a trainer.
    fn lonely_engines(&mut self, engines: &mut RowIndex, row: &mut TokensRow) {
        for nth in 0..self.tables.len() {
            let rows = self.tables.get(nth).map_or(0, TokensTable::rows);
            for number in 0..rows {
                let place = RowPlace { table: nth, row: number };
                let Some((table, part)) = self.part(place) else { continue };
                let holds = table.quantities(number);
                if holds.trainer || !holds.engine || !self.read(place, row) {
                    continue;
                }
                self.add_holds(row.recorded);
                let rest =
                    RowKey::from_row(row).map(|key| engines.take_answer(&part.step, key, !row.prompt.is_empty()));
                // Where this one was taken already, another one with the same ids may be left.
                if rest.is_none_or(|left| left.is_some()) {
                    let [engines, _] = &mut self.measured.notes.lonely;
                    *engines += 1;
                }
            }
        }
    }
}

fn about<'r>(part: &StepRank, number: u64, row: &'r TokensRow, witness: Option<&TokensRow>) -> AnswerFacts<'r> {
    AnswerFacts {
        step: part.step.clone(),
        rank: part.rank,
        index: row.index.or(witness.and_then(|witness| witness.index)).unwrap_or(number),
        padding: row.padding,
        cached: row.cached.or(witness.and_then(|witness| witness.cached)).unwrap_or(0),
        ids: [&row.prompt, &row.response],
    }
}

/// Adds aligned values to the sums if they are log-probabilities.
fn measure(
    aligned: &AlignedTokens,
    about: &AnswerFacts<'_>,
    place: &str,
    is_difference: bool,
    (meter, notes, measured): (&mut Meter, &mut Notes, &mut u64),
) {
    if aligned.masks_apart > 0 {
        notes.masks.add(place, aligned.masks_apart);
    }
    if aligned.unmasked_zeros > 0 {
        notes.zeros.add(place, aligned.unmasked_zeros);
    }
    if is_difference {
        meter.add_differences(about, &aligned.a, &aligned.judged);
        *measured += 1;
        return;
    }
    let judged = |values: &[f64]| {
        let judged = values.iter().zip(&aligned.judged).filter(|(_, judged)| **judged);
        judged.map(|(value, _)| *value).filter(|value| value.is_finite()).collect::<Vec<f64>>()
    };
    for (quantity, values) in [(Quantity::Engine, judged(&aligned.a)), (Quantity::Trainer, judged(&aligned.b))] {
        if let Some(value) = values.iter().find(|value| **value > MOST) {
            notes.positive.add(place, (quantity, *value));
            notes.are_probabilities &= values.iter().all(|value| (0.0..=1.0).contains(value));
            return;
        }
    }
    meter.add(about, (&aligned.a, &aligned.b), &aligned.judged);
    *measured += 1;
}

/// Compares the answers that both sides have: the same quantity where both have it, else the engine's of one side with
/// the trainer's of the other.
pub(crate) fn measure_across_sides(
    baseline: &[TokensTable],
    candidate: &[TokensTable],
    noise: f64,
) -> Vec<SideMeasure> {
    let held = |tables: &[TokensTable]| {
        let mut all = RowQuantities::default();
        for table in tables {
            for row in 0..table.rows() {
                let holds = table.quantities(row);
                (all.engine, all.trainer) = (all.engine || holds.engine, all.trainer || holds.trainer);
            }
        }
        all
    };
    let (candidate_holds, baseline_holds) = (held(candidate), held(baseline));
    let both = [Quantity::Engine, Quantity::Trainer];
    let mut pairs: Vec<[Quantity; 2]> = Vec::new();
    let shared = both.into_iter().filter(|one| one.is_in(candidate_holds) && one.is_in(baseline_holds));
    pairs.extend(shared.map(|one| [one, one]));
    if pairs.is_empty() {
        let mixed = [[Quantity::Engine, Quantity::Trainer], [Quantity::Trainer, Quantity::Engine]];
        let mixed = mixed.into_iter().filter(|[one, other]| one.is_in(candidate_holds) && other.is_in(baseline_holds));
        pairs.extend(mixed);
    }
    pairs.into_iter().map(|quantities| hold_across(baseline, candidate, quantities, noise)).collect()
}

fn hold_across(
    baseline: &[TokensTable],
    candidate: &[TokensTable],
    quantities: [Quantity; 2],
    noise: f64,
) -> SideMeasure {
    let [candidate_quantity, baseline_quantity] = quantities;
    // Where a side has answers with both quantities, records of an engine alone repeat the same answers.
    let is_taken = |tables: &[TokensTable], quantity: Quantity| {
        let of_both = |holds: RowQuantities| holds.engine && holds.trainer;
        let has_both = tables.iter().any(|table| (0..table.rows()).any(|row| of_both(table.quantities(row))));
        move |holds: RowQuantities| quantity.is_in(holds) && (!has_both || of_both(holds))
    };
    let is_candidate_taken = is_taken(candidate, candidate_quantity);
    let is_baseline_taken = is_taken(baseline, baseline_quantity);
    let mut found = index_answers(baseline, is_baseline_taken);
    let mut across = SideMeasure { quantities, measured: TokenMeasure::new(noise), shared: 0, answers: [0, 0] };
    let (mut scratch, mut aligned) = (Scratch::default(), AlignedTokens::default());
    let (mut row, mut other) = (TokensRow::default(), TokensRow::default());
    let [candidate_answers, baseline_answers] = &mut across.answers;
    *baseline_answers = counted(baseline, is_baseline_taken);
    for table in candidate {
        for number in (0..table.rows()).filter(|row| is_candidate_taken(table.quantities(*row))) {
            let part = StepRank { step: table.step(number), rank: table.rank(number) };
            *candidate_answers += 1;
            let notes = &mut across.measured.notes;
            let nth = notes.answers.entry(part.clone()).or_default();
            *nth += 1;
            let nth = *nth - 1;
            if table.read(number, &mut scratch, &mut row).is_err() {
                continue;
            }
            let has_prompt = !row.prompt.is_empty();
            let partner = RowKey::from_row(&row).and_then(|key| found.take_answer(&part.step, key, has_prompt));
            let Some(partner) = partner else { continue };
            let Some(partner_table) = baseline.get(partner.table) else { continue };
            if partner_table.read(partner.row, &mut scratch, &mut other).is_err() {
                continue;
            }
            across.shared += 1;
            let place = format!("{part}, answer {}", row.index.unwrap_or(nth));
            let lengths = row.lengths.or(other.lengths);
            if let Some(lengths) = lengths {
                notes.lengths.add(&place, lengths);
                continue;
            }
            // Of two different quantities, the engine's one is a.
            if candidate_quantity == baseline_quantity || candidate_quantity == Quantity::Engine {
                aligned.align_rows((candidate_quantity.values(&row), &row), (baseline_quantity.values(&other), &other));
            } else {
                aligned.align_rows((baseline_quantity.values(&other), &other), (candidate_quantity.values(&row), &row));
            }
            let about = about(&part, nth, &row, None);
            let TokenMeasure { meter, notes, measured, .. } = &mut across.measured;
            measure(&aligned, &about, &place, false, (meter, notes, measured));
        }
    }
    across.measured.drop_constant();
    across
}

/// Number of answers for which `is_taken` is true.
fn counted(tables: &[TokensTable], is_taken: impl Fn(RowQuantities) -> bool) -> u64 {
    let of = |table: &TokensTable| (0..table.rows()).filter(|row| is_taken(table.quantities(*row))).count() as u64;
    tables.iter().map(of).sum()
}
