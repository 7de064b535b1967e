//! A curve of one run, as the rules about a single curve see it.

use std::borrow::Cow;

use crate::kind::Role;
use crate::pair::curve::source::CurveSource;
use crate::read::curve::series::Series;
use crate::read::curve::{CurveNote, DeclaredSettings};
use crate::read::metric;

/// A curve of one run.
pub(in crate::judge::loss) struct Curve<'a> {
    /// Canonical name of the metric.
    pub(super) metric: &'a str,
    /// Role that follows from its name.
    pub(super) role: Role,
    /// Whether its run is one of reinforcement learning.
    pub(super) is_rl: bool,
    /// Whether its run trains two networks against each other.
    pub(super) is_adversarial: bool,
    series: &'a Series,
    /// Notes of the reader about its file.
    pub(super) notes: &'a [CurveNote],
    /// Number of ranks whose values were equal to the last bit, and number of steps that several of them logged.
    pub(super) equal_ranks: (u64, u64),
    /// Settings that its log declares.
    pub(super) declared: &'a DeclaredSettings,
}

/// Facts about a run that all its curves share.
#[derive(Clone, Copy)]
pub(in crate::judge::loss) struct RunFacts<'a> {
    /// Whether it is one of reinforcement learning.
    pub(in crate::judge::loss) is_rl: bool,
    /// Whether it trains two networks against each other.
    pub(in crate::judge::loss) is_adversarial: bool,
    /// Settings that its log declares.
    pub(in crate::judge::loss) declared: &'a DeclaredSettings,
}

impl<'a> Curve<'a> {
    /// The curve of one file of a run.
    pub(in crate::judge::loss) fn new(metric: &'a str, source: &'a CurveSource<'_>, run: RunFacts<'a>) -> Self {
        Self {
            metric,
            role: metric::role(metric),
            is_rl: run.is_rl,
            is_adversarial: run.is_adversarial,
            series: &source.series,
            notes: &source.notes,
            equal_ranks: source.series.order.equal_ranks,
            declared: run.declared,
        }
    }

    /// Number of its points.
    pub(super) fn len(&self) -> usize {
        self.values().len()
    }

    /// Its values, in the order of their steps.
    pub(super) fn values(&self) -> &'a [f64] {
        &self.series.values
    }

    /// The step of the value at `index`.
    pub(super) fn step(&self, index: usize) -> Option<u64> {
        self.series.steps.get(index)
    }

    /// Its values, without those that are not finite.
    pub(super) fn finite(&self) -> Cow<'a, [f64]> {
        finite(self.values())
    }

    /// Whether it is a loss that training should reduce.
    pub(super) fn is_loss(&self) -> bool {
        self.role == Role::Loss && !self.is_rl && !self.is_adversarial
    }
}

/// Values without those that are not finite; borrowed where all are.
pub(in crate::judge::loss) fn finite(values: &[f64]) -> Cow<'_, [f64]> {
    if values.iter().all(|value| value.is_finite()) {
        Cow::Borrowed(values)
    } else {
        Cow::Owned(values.iter().copied().filter(|value| value.is_finite()).collect())
    }
}

/// Whether metrics are of a run that trains two networks against each other, whose losses go up and down by design.
pub(in crate::judge::loss) fn is_adversarial<'a>(mut metrics: impl Iterator<Item = &'a str>) -> bool {
    const SIDES: [&str; 14] = [
        "d",
        "g",
        "disc",
        "discriminator",
        "gen",
        "generator",
        "adv",
        "adversarial",
        "gan",
        "wgan",
        "critic",
        "netd",
        "netg",
        "fake",
    ];
    metrics.any(|metric| {
        let lower = metric.to_ascii_lowercase();
        let words = || lower.split(|sign: char| !sign.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let is_side = |word: &str| SIDES.contains(&word.trim_end_matches(|sign: char| sign.is_ascii_digit()));
        words().any(|word| word.contains("loss")) && words().any(is_side) || matches!(lower.as_str(), "lossd" | "lossg")
    })
}
