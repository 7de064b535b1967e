//! Settings that curves are judged by: policy, profile and noise.

use std::collections::BTreeMap;

use super::noise::NoiseBand;
use crate::policy::loss::{LossPolicy, MetricPolicy};
use crate::read::metric;
use crate::verdict::Profile;

/// Policy, profile and noise that curves are judged by.
#[derive(Clone, Copy, Debug)]
pub struct LossSettings<'a> {
    /// The section of the policy.
    pub policy: &'a LossPolicy,
    /// Profile, which sets how severe the gate is.
    pub profile: Profile,
    /// Largest differences between repeats of the case; `None` where none were recorded.
    pub noise: Option<&'a NoiseBand>,
}

/// The policy's rules for a metric, by any spelling of its name.
pub(crate) fn own_policy<'p>(metrics: &'p BTreeMap<String, MetricPolicy>, metric: &str) -> Option<&'p MetricPolicy> {
    let is_spelling = |name: &str| metric::canonical(name) == metric;
    metrics.get(metric).or_else(|| metrics.iter().find(|(name, _)| is_spelling(name)).map(|(_, own)| own))
}
