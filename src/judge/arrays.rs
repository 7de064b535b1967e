//! Judging arrays: numbers by their relative error, like the tensors of a dump; embeddings by their rows; pictures by their
//! signal-to-noise ratio (`docs/arrays.md`).

pub mod rules;

use crate::compare::arrays::{ChannelOrder, PictureMeasure, RowsMeasure, TensorMeasure};
use crate::judge::dump::limits::{ErrorBand, band_of_dtype, looser_dtype};
use crate::kind::ArrayKind;
use crate::result::finding::Finding;
use crate::result::number::Number;
use crate::result::unit::{ArrayUnit, Culprit, CulpritKind, Evidence};
use crate::verdict::{CheckId, Profile, Severity, Side};

pub use rules::RULES;

/// Signal-to-noise ratio in dB from which a picture passes, and from which it only warns.
const SAME: f64 = 40.0;
const ALIKE: f64 = 30.0;
/// Names of the channels of a picture, in their usual order.
const CHANNELS: [&str; 3] = ["red", "green", "blue"];

/// A judged array.
#[derive(Debug)]
pub struct JudgedArray {
    /// The unit, without a verdict.
    pub unit: ArrayUnit,
    /// Findings about it.
    pub findings: Vec<Finding>,
}

/// Result of comparing an array.
#[derive(Debug)]
pub enum ArrayComparison {
    /// Shapes differ.
    Shapes([Vec<u64>; 2]),
    /// Numbers.
    Tensor(TensorMeasure),
    /// A vector per row.
    Embedding(TensorMeasure, RowsMeasure),
    /// A picture.
    Picture(PictureMeasure),
    /// Left out by request: nothing was measured.
    LeftOut,
    /// Not read on a side; the reason.
    Unread(Side, String),
}

/// An array that is judged.
#[derive(Clone, Copy, Debug)]
pub struct ArraySubject<'a> {
    /// Its file, then a colon and its name in the file.
    pub name: &'a str,
    /// Its name in the file, or the name of the file if it has none.
    pub short: &'a str,
    /// Its place among the arrays of the run.
    pub order: u64,
    /// Number of rows of the baseline's array.
    pub rows: u64,
    /// The profile.
    pub profile: Profile,
    /// Whether pictures are shown and not judged.
    pub shows_images: bool,
}

/// Judges one array.
pub fn judge(subject: ArraySubject<'_>, compared: ArrayComparison) -> JudgedArray {
    let mut judge = Judge { subject, unit: ArrayUnit::empty(subject.name, ArrayKind::Array), findings: Vec::new() };
    judge.unit.evidence.offered = subject.rows;
    match compared {
        ArrayComparison::Shapes([baseline, candidate]) => judge.shapes(&baseline, &candidate),
        ArrayComparison::Tensor(measure) => judge.tensor(&measure),
        ArrayComparison::Embedding(measure, rows) => judge.embedding(&measure, rows),
        ArrayComparison::Picture(measure) => judge.picture(measure),
        ArrayComparison::LeftOut => {
            judge.unit.evidence.offered = 0;
            judge.unit.evidence.left_out = subject.rows;
        }
        ArrayComparison::Unread(side, reason) => {
            judge.unit.evidence.damaged = subject.rows.max(1);
            judge.say(judge.finding(&rules::UNREAD).with("side", side.as_str()).with("reason", reason));
        }
    }
    judge.finish()
}

struct Judge<'a> {
    subject: ArraySubject<'a>,
    unit: ArrayUnit,
    findings: Vec<Finding>,
}

impl Judge<'_> {
    fn finding(&self, rule: &crate::judge::rule::Rule) -> Finding {
        Finding::new(rule, self.subject.name)
    }

    fn say(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Counts all rows as compared; `trivial` of them are equal without showing anything.
    fn compared(&mut self, trivial: u64) {
        let rows = self.subject.rows;
        self.unit.evidence =
            Evidence { offered: rows, compared: rows, equal_trivially: trivial, ..Evidence::default() };
    }

    fn not_compared(&mut self) {
        self.unit.evidence.not_compared = self.subject.rows;
    }

    fn shapes(&mut self, baseline: &[u64], candidate: &[u64]) {
        self.not_compared();
        let shapes = [baseline, candidate].map(|shape| format!("{shape:?}"));
        let [baseline, candidate] = shapes;
        self.say(self.finding(&rules::SHAPE_DIFFERS).with("baseline", baseline).with("candidate", candidate));
    }

    /// Whether there is nothing to compare, or NaN and infinity lie at different places; adds the finding about that.
    fn is_without_numbers(&mut self, measure: &TensorMeasure) -> bool {
        let stats = &measure.stats;
        if measure.has_no_number() {
            self.not_compared();
            self.unit.evidence.offered = 0;
            self.say(self.finding(&rules::NOTHING_COMPARED));
            return true;
        }
        self.compared(if measure.is_zero() { self.subject.rows } else { 0 });
        if stats.nonfinite_mismatches > 0 {
            let finding = self.finding(&rules::NON_FINITE_DIFFERS);
            let finding = finding.with("nan_baseline", stats.nan_baseline).with("nan_candidate", stats.nan_candidate);
            let finding = finding.with("inf_baseline", stats.inf_baseline).with("inf_candidate", stats.inf_candidate);
            self.say(finding.with("elements", stats.elements));
        }
        stats.nonfinite_mismatches > 0
    }

    fn tensor(&mut self, measure: &TensorMeasure) {
        let (error, band) = (measure.error(), band_of(measure));
        self.unit.error = Some(Number(error));
        self.unit.limit = Some(Number(band.noise));
        if self.is_without_numbers(measure) || measure.stats.unequal == 0 {
            return;
        }
        let finding = |rule| {
            let finding = self.finding(rule).with("error", error).with("limit", band.noise);
            finding.with("unequal", measure.stats.unequal).with("elements", measure.stats.elements)
        };
        let [baseline, candidate] = measure.dtypes;
        // Integers have no rounding.
        let is_exact = !is_number(baseline) && !is_number(candidate);
        if is_exact || error > band.wrong || error > band.noise && self.subject.profile == Profile::Strict {
            self.say(finding(&rules::DIFFERS));
        } else if error > band.noise {
            self.say(finding(&rules::DRIFTS));
        } else if self.subject.profile == Profile::BitExact {
            self.say(finding(&rules::NOT_BIT_EXACT));
        }
    }

    fn embedding(&mut self, measure: &TensorMeasure, rows: RowsMeasure) {
        self.unit.kind = ArrayKind::Embedding;
        self.unit.error = Some(Number(measure.error()));
        self.unit.least_cosine = rows.least_cosine.map(Number);
        self.unit.neighbours = rows.neighbours.map(Number);
        if self.is_without_numbers(measure) {
            return;
        }
        self.compared(rows.zero);
        self.unit.rows_differing = Some(rows.differing_count);
        let with = |finding: Finding| {
            let finding = finding.with("count", rows.differing_count).with("of", rows.rows);
            match rows.neighbours {
                Some(share) => finding.with("neighbours", share),
                None => finding,
            }
        };
        if rows.is_permuted {
            self.say(with(self.finding(&rules::ROWS_PERMUTED)));
        } else if rows.differing_count > 0 {
            let finding = with(self.finding(&rules::ROWS_DIFFER)).with("cosine", rows.least_cosine.unwrap_or(-1.0));
            let names: Vec<String> = rows.differing.iter().take(SHOWN).map(u64::to_string).collect();
            self.say(finding.with("rows", names));
        }
        if rows.lengths_off > 0 {
            let finding = self.finding(&rules::NORM_DIFFERS).with("count", rows.lengths_off).with("of", rows.rows);
            self.say(finding.with("factor", rows.length_ratio.unwrap_or(f64::NAN)));
        }
        if self.findings.is_empty() && self.subject.profile == Profile::BitExact && measure.stats.unequal > 0 {
            let finding = self.finding(&rules::NOT_BIT_EXACT).with("unequal", measure.stats.unequal);
            self.say(finding.with("elements", measure.stats.elements));
        }
        self.unit.rows = rows.differing;
    }

    fn picture(&mut self, measure: PictureMeasure) {
        self.unit.kind = ArrayKind::Image;
        self.unit.psnr = Some(Number(measure.psnr));
        self.compared(if measure.is_trivial { self.subject.rows } else { 0 });
        let severity = match (measure.psnr, self.subject.profile) {
            (psnr, _) if psnr.is_infinite() => None,
            (_, Profile::BitExact) => Some(Severity::Fail),
            (psnr, _) if psnr >= SAME => None,
            (psnr, Profile::Strict) if psnr < SAME => Some(Severity::Fail),
            (psnr, _) if psnr >= ALIKE => Some(Severity::Warn),
            _ => Some(Severity::Fail),
        };
        if let Some(severity) = severity {
            let severity = if self.subject.shows_images { Severity::Info } else { severity };
            let finding = self.finding(&rules::IMAGE_DIFFERS).with_severity(severity).with("psnr", measure.psnr);
            let swapped = measure.order.filter(|(_, other)| *other >= ALIKE);
            self.say(match swapped {
                Some((order, other)) => match other.is_finite() {
                    true => finding.with("channels", names_of(order)).with("swapped", other),
                    false => finding.with("channels", names_of(order)),
                },
                None => finding,
            });
        }
        if self.subject.shows_images {
            let rows = self.subject.rows;
            self.unit.evidence = Evidence { shown_only: rows, ..Evidence::default() };
        }
    }

    fn finish(mut self) -> JudgedArray {
        self.unit.compared = self.unit.evidence.compared;
        self.unit.not_compared = self.unit.evidence.unseen();
        let wrong = self.findings.iter().find(|finding| finding.severity == Severity::Fail);
        self.unit.culprit = wrong.map(|finding| self.culprit(finding));
        JudgedArray { unit: self.unit, findings: self.findings }
    }

    fn culprit(&self, finding: &Finding) -> Culprit {
        let numbers = [("error", self.unit.error), ("limit", self.unit.limit), ("psnr", self.unit.psnr)];
        let numbers = numbers.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Culprit {
            order: self.subject.order,
            op: self.subject.short.to_owned(),
            tensor: self.subject.name.to_owned(),
            code: finding.code.clone(),
            metrics: numbers.collect(),
            ..Culprit::new(CheckId::Arrays, CulpritKind::Array(self.unit.kind))
        }
    }
}

/// Most rows that a finding names.
const SHOWN: usize = 20;

fn is_number(dtype: crate::dtype::Dtype) -> bool {
    dtype.is_float() || dtype.is_complex()
}

/// The band of the looser of both types.
fn band_of(measure: &TensorMeasure) -> ErrorBand {
    let [baseline, candidate] = measure.dtypes.map(|dtype| Some(dtype).filter(|dtype| is_number(*dtype)));
    band_of_dtype(looser_dtype(baseline, candidate))
}

/// Names of the candidate's channels in the order of red, green and blue.
fn names_of(order: ChannelOrder) -> Vec<String> {
    order.iter().filter_map(|channel| CHANNELS.get(*channel)).map(|name| (*name).to_owned()).collect()
}
