//! The noise band: differences between repeats of one case.
//!
//! It is recorded from repeats of the baseline. Every two repeats are compared with the gate's own measures, and the largest
//! value of each measure is kept. Head and mean then fail above three times that value and warn above one and a half times it;
//! after a single comparison the factors are five and two and a half. No limit goes below 2e-5.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::LimitPair;
use crate::compare::curve::CurveMeasures;
use crate::judge::dump::noise::UnitNoise;
use crate::judge::noise_factor::noise_factors;
use crate::result::number::Number;

/// Least limit: two sound platforms differ by as much in one forward and backward pass.
const LEAST: f64 = 2e-5;
/// Points of a recorded envelope.
const ENVELOPE: usize = 200;

/// A recorded noise band: the content of a noise file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoiseBand {
    /// Marks the file and its layout: 3 where it holds runs, 2 where it holds dumps, else 1.
    pub precision_gate_noise: u32,
    /// The repeats it was recorded from.
    pub runs: Vec<String>,
    /// Largest differences of each metric between repeats, by canonical name.
    pub metrics: BTreeMap<String, MetricNoise>,
    /// Largest differences of each value of a dump between repeats, by step and rank.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dumps: Vec<UnitNoise>,
    /// Curves of every run, which make it a baseline of several runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sample: Vec<SampleRun>,
    /// Reason why the runs are no repeats of each other, so that the file is no band; empty where they are.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub no_band: String,
}

/// One run of a recorded sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampleRun {
    /// Its name: that of its file or folder.
    pub name: String,
    /// Its seed, where its name tells one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Its curves.
    pub curves: Vec<RecordedCurve>,
}

/// One curve of a recorded run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedCurve {
    /// Canonical name of the metric.
    pub metric: String,
    /// Rank that logged it, where ranks differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// Steps, rising.
    pub steps: Vec<u64>,
    /// Values at these steps.
    pub values: Vec<Number>,
}

impl RecordedCurve {
    fn is_sound(&self) -> bool {
        let is_rising = self.steps.windows(2).all(|pair| pair.first() < pair.last());
        is_rising && self.steps.len() == self.values.len() && self.values.iter().all(|value| value.0.is_finite())
    }
}

impl NoiseBand {
    /// The layout of curves alone.
    pub(crate) const LAYOUT: u32 = 1;
    pub(crate) const LAYOUT_WITH_DUMPS: u32 = 2;
    pub(crate) const LAYOUT_WITH_RUNS: u32 = 3;

    /// A band without any comparison yet.
    pub fn new(runs: Vec<String>) -> Self {
        Self { precision_gate_noise: Self::LAYOUT, runs, ..Self::default() }
    }

    /// The band with the noise of dumps, in the layout that this needs.
    pub(crate) fn with_dumps(self, dumps: Vec<UnitNoise>) -> Self {
        Self { dumps, ..self }.in_layout()
    }

    /// The band with the curves of its runs, in the layout that this needs.
    pub(crate) fn with_sample(self, sample: Vec<SampleRun>) -> Self {
        Self { sample, ..self }.in_layout()
    }

    /// The band, marked with the layout of its content.
    fn in_layout(self) -> Self {
        let layout = match (self.sample.is_empty(), self.dumps.is_empty()) {
            (false, _) => Self::LAYOUT_WITH_RUNS,
            (true, false) => Self::LAYOUT_WITH_DUMPS,
            (true, true) => Self::LAYOUT,
        };
        Self { precision_gate_noise: layout, ..self }
    }

    /// Whether this version reads the layout, and the file holds only content that its layout allows.
    pub(crate) fn is_known_layout(&self) -> bool {
        match self.precision_gate_noise {
            Self::LAYOUT => self.dumps.is_empty() && self.sample.is_empty(),
            Self::LAYOUT_WITH_DUMPS => self.sample.is_empty(),
            Self::LAYOUT_WITH_RUNS => true,
            _ => false,
        }
    }

    /// Whether every number can serve as a limit, and every step and rank occurs once.
    pub fn is_sound(&self) -> bool {
        let mut units = std::collections::BTreeSet::new();
        self.metrics.values().all(MetricNoise::is_sound)
            && self.sample.iter().flat_map(|run| &run.curves).all(RecordedCurve::is_sound)
            && self.dumps.iter().all(|unit| unit.is_sound() && units.insert((unit.step, unit.rank)))
    }

    /// Adds the comparison of two repeats.
    pub fn record(&mut self, metric: &str, measured: &RepeatMeasures) {
        let noise = self.metrics.entry(metric.to_owned()).or_default();
        noise.comparisons += 1;
        match measured {
            RepeatMeasures::Level(measures) => noise.record(measures),
            RepeatMeasures::Trend(rules) => noise.record_trends(rules),
        }
    }
}

/// Differences of one metric between two repeats.
#[derive(Clone, Debug)]
pub enum RepeatMeasures {
    /// Of a metric that is judged step by step.
    Level(Box<CurveMeasures>),
    /// Values of the rules about a trend, by name.
    Trend(Vec<(&'static str, f64)>),
}

/// Noise of one metric: the largest values of all comparisons.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricNoise {
    /// Number of comparisons it was recorded from.
    pub comparisons: u32,
    /// Largest r of the first five steps.
    pub head: f64,
    /// Mean r.
    pub mean: f64,
    /// Magnitude of the signed tail.
    pub tail: f64,
    /// Largest r.
    pub max: f64,
    /// Largest r around single steps.
    pub envelope: Vec<(u64, f64)>,
    /// Largest value of each rule of a run of reinforcement learning, by the rule's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trends: BTreeMap<String, f64>,
}

impl MetricNoise {
    fn record_trends(&mut self, rules: &[(&'static str, f64)]) {
        for (rule, value) in rules {
            let known = self.trends.entry((*rule).to_owned()).or_default();
            *known = known.max(value.min(f64::MAX));
        }
    }

    fn record(&mut self, measures: &CurveMeasures) {
        self.head = self.head.max(measures.head.map_or(0.0, |at| at.value));
        self.mean = self.mean.max(measures.mean_rel);
        self.tail = self.tail.max(measures.tail.abs());
        self.max = self.max.max(measures.max.map_or(0.0, |at| at.value));
        let size = measures.steps.len().div_ceil(ENVELOPE).max(1);
        let found = measures.rel.chunks(size).enumerate().filter_map(|(block, rel)| {
            let last = block * size + rel.len() - 1;
            Some((measures.steps.get(last)?, rel.iter().copied().fold(0.0, f64::max)))
        });
        for (step, value) in found {
            match self.envelope.iter_mut().find(|(known, _)| *known == step) {
                Some((_, known)) => *known = known.max(value),
                None => self.envelope.push((step, value)),
            }
        }
        self.envelope.sort_by_key(|(step, _)| *step);
    }

    /// Multiples of the largest recorded value that warn, and that fail.
    pub fn factors(&self) -> (f64, f64) {
        noise_factors(self.comparisons)
    }

    /// Limits of a measure whose largest recorded value is `largest`.
    pub fn limits(&self, largest: f64) -> LimitPair {
        let (warn, fail) = self.factors();
        LimitPair::new((warn * largest).max(LEAST), (fail * largest).max(LEAST))
    }

    /// The relative difference from the baseline at `step` that a curve may have without standing out.
    pub(crate) fn band_at(&self, step: u64) -> Number {
        let index = self.envelope.partition_point(|(known, _)| *known < step);
        let around = self.envelope.get(index).or_else(|| self.envelope.last());
        Number(around.map_or(0.0, |(_, value)| self.limits(*value).fail.unwrap_or(*value)))
    }

    /// Whether every number can serve as a limit.
    pub fn is_sound(&self) -> bool {
        let all = [self.head, self.mean, self.tail, self.max].into_iter().chain(self.envelope.iter().map(|(_, v)| *v));
        let all = all.chain(self.trends.values().copied());
        self.comparisons > 0 && all.into_iter().all(|value| value.is_finite() && value >= 0.0)
    }
}
