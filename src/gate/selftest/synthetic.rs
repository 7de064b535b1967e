//! Synthetic runs: a typical loss curve, noise as between platforms, and defects of known size.
//!
//! Deterministic: the same numbers on every machine.

use crate::read::account::UnreadNumbers;
use crate::read::curve::series::Series;
use crate::read::curve::{CurveFile, LossMeaning};

/// A small generator of random numbers (SplitMix64, Steele and others, 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts from `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        #[allow(clippy::cast_precision_loss, reason = "53 bits fit")]
        let value = ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
        value
    }

    /// Nearly normal: mean 0, standard deviation 1 (the sum of twelve uniforms), at most 6 in magnitude.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// Difference of a healthy candidate; sizes as measured on public runs (`docs/loss.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// No difference.
    None,
    /// A dense model on another platform: grows from 1e-6 to 2e-5.
    Dense,
    /// A mixture of experts on another platform: grows from 3e-6 to 1e-3.
    MixtureOfExperts,
    /// Dropout with other masks: 0.6 % from the first step on.
    Dropout,
    /// Own weights per platform: a level that differs by 0.3 %, and 0.3 % per step.
    OwnWeights,
}

/// A known defect. Sizes are relative to the loss; steps count from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Defect {
    /// The loss is off by a factor from a step on.
    Scale {
        /// Relative size.
        size: f64,
        /// First step.
        from: u64,
    },
    /// The loss is off by a constant from the first step on: `size` of the final loss.
    Bias {
        /// Relative size.
        size: f64,
    },
    /// The loss is off between two steps.
    Window {
        /// Relative size.
        size: f64,
        /// First step.
        from: u64,
        /// Last step.
        to: u64,
    },
    /// The loss drifts away, to `size` at the end.
    Drift {
        /// Relative size at the end.
        size: f64,
    },
    /// One spike that decays over twenty steps, `size` at its peak.
    Spike {
        /// Relative size at the peak.
        size: f64,
        /// The step.
        at: u64,
    },
    /// Every tenth step is off, up and down in turn.
    EveryTenth {
        /// Relative size.
        size: f64,
    },
    /// The run lies some steps behind.
    Delay {
        /// Number of steps.
        steps: u64,
    },
    /// Other batches from a step on.
    DataOrder {
        /// First step.
        from: u64,
    },
    /// NaN to the end.
    NaN {
        /// First step.
        from: u64,
    },
    /// One NaN.
    NaNOnce {
        /// The step.
        at: u64,
    },
    /// One NaN that the trainer filters out of the logged loss.
    HiddenNaN {
        /// The step.
        at: u64,
    },
    /// The run ends early.
    Cut {
        /// Its last step.
        at: u64,
    },
    /// Another warm-up of the learning rate.
    LearningRate,
    /// The gradient norm is off, the loss is not.
    GradNorm {
        /// Relative size.
        size: f64,
    },
}

/// A made run.
#[derive(Clone, Debug)]
pub struct SyntheticRun {
    loss: Vec<f64>,
    grad_norm: Vec<f64>,
    learning_rate: Vec<f64>,
}

/// Relative spread of the loss between batches.
const BATCH: f64 = 0.02;

fn level(t: f64) -> f64 {
    2.0 + 3.0 * (-t / 40.0).exp() + 1.5 * (-t / 400.0).exp()
}

#[allow(clippy::cast_precision_loss, reason = "steps of made runs")]
impl SyntheticRun {
    /// A healthy run of `steps` steps.
    pub fn healthy(steps: u64, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let loss = (0..steps).map(|t| level(t as f64) * (1.0 + BATCH * random.normal())).collect();
        let grad_norm =
            (0..steps).map(|t| (0.3 + (-(t as f64) / 50.0).exp()) * (1.0 + 0.1 * random.normal())).collect();
        Self { loss, grad_norm, learning_rate: (0..steps).map(|t| warm_up(t as f64, 10.0)).collect() }
    }

    /// The same run as another platform computes it.
    #[must_use]
    pub fn with_noise(mut self, noise: Noise, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let n = self.loss.len().max(1) as f64;
        let own = 0.003 * random.normal().signum();
        for (t, value) in self.loss.iter_mut().enumerate() {
            let progress = t as f64 / n;
            let size = match noise {
                Noise::None => 0.0,
                Noise::Dense => 1e-6 + 1.5e-5 * progress,
                Noise::MixtureOfExperts => 3e-6 + 8e-4 * progress,
                Noise::Dropout => 0.008,
                Noise::OwnWeights => 0.003,
            };
            let shift = if noise == Noise::OwnWeights { own } else { 0.0 };
            *value *= 1.0 + shift + size * random.normal();
        }
        let grad = match noise {
            Noise::None => 0.0,
            Noise::Dense => 1e-4,
            Noise::MixtureOfExperts => 5e-3,
            Noise::Dropout | Noise::OwnWeights => 0.05,
        };
        self.grad_norm.iter_mut().for_each(|value| *value *= 1.0 + grad * random.normal());
        self
    }

    /// The same run with a defect.
    #[must_use]
    pub fn with_defect(mut self, defect: Defect, seed: u64) -> Self {
        let n = self.loss.len();
        match defect {
            Defect::Delay { steps } => {
                let behind = usize::try_from(steps).unwrap_or(n).min(n);
                let ratio = |t: usize| level(t.saturating_sub(behind) as f64) / level(t as f64);
                self.loss.iter_mut().enumerate().for_each(|(t, value)| *value *= ratio(t));
            }
            Defect::DataOrder { from } => {
                let mut random = Random::new(seed);
                for (t, value) in self.loss.iter_mut().enumerate().skip(index(from)) {
                    *value = level(t as f64) * (1.0 + BATCH * random.normal());
                }
            }
            Defect::NaN { from } => self.loss.iter_mut().skip(index(from)).for_each(|value| *value = f64::NAN),
            Defect::NaNOnce { at } => self.loss.iter_mut().skip(index(at)).take(1).for_each(|value| *value = f64::NAN),
            Defect::HiddenNaN { at } => {
                self.loss.iter_mut().skip(index(at)).take(1).for_each(|value| *value = 0.0);
                self.grad_norm.iter_mut().skip(index(at)).take(1).for_each(|value| *value = f64::NAN);
            }
            Defect::Cut { at } => self.loss.truncate(usize::try_from(at).unwrap_or(n)),
            Defect::LearningRate => {
                self.learning_rate.iter_mut().enumerate().for_each(|(t, value)| *value = warm_up(t as f64, 20.0));
            }
            Defect::GradNorm { size } => self.grad_norm.iter_mut().for_each(|value| *value *= 1.0 + size),
            _ => self.scale(defect),
        }
        self
    }

    /// Defects that multiply the loss step by step.
    fn scale(&mut self, defect: Defect) {
        let n = self.loss.len().max(1) as f64;
        for (t, value) in self.loss.iter_mut().enumerate() {
            let step = t as u64 + 1;
            let factor = match defect {
                Defect::Scale { size, from } if step >= from => size,
                Defect::Bias { size } => size * level(n) / level(t as f64),
                Defect::Window { size, from, to } if (from..=to).contains(&step) => size,
                Defect::Drift { size } => size * step as f64 / n,
                Defect::Spike { size, at } if step >= at => size * (-((step - at) as f64) / 5.0).exp(),
                Defect::EveryTenth { size } if step.is_multiple_of(20) => size,
                Defect::EveryTenth { size } if step.is_multiple_of(10) => -size,
                _ => 0.0,
            };
            *value *= 1.0 + factor;
        }
    }

    /// The loss, step by step.
    pub fn loss(&self) -> &[f64] {
        &self.loss
    }

    /// The same run with an output layer that starts at zero: the first loss is that of a uniform prediction.
    #[must_use]
    pub fn with_uniform_start(mut self, classes: u32) -> Self {
        self.loss.iter_mut().take(1).for_each(|first| *first = f64::from(classes).ln());
        self
    }

    /// The run as a file of curves.
    pub fn curve_file(&self, path: &str) -> CurveFile {
        let series = |name: &str, values: &[f64]| Series::by_step(name, (1..).zip(values.iter().copied())).into();
        CurveFile {
            path: path.to_owned(),
            run: None,
            format: "JSON lines",
            series: vec![
                series("loss", &self.loss),
                series("grad_norm", &self.grad_norm),
                series("learning_rate", &self.learning_rate),
            ],
            logged: LossMeaning::Samples,
            interval: Some(1),
            margins: std::collections::BTreeMap::new(),
            notes: Vec::new(),
            updates: None,
            told: crate::read::curve::LogFacts::default(),
            account: UnreadNumbers::default(),
        }
    }
}

/// Steps count from 1, places from 0.
fn index(step: u64) -> usize {
    usize::try_from(step.saturating_sub(1)).unwrap_or(usize::MAX)
}

fn warm_up(t: f64, steps: f64) -> f64 {
    3e-4 * ((t + 1.0) / steps).min(1.0)
}
