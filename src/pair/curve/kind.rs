//! Kind of training of the runs that were paired: supervised, or reinforcement learning.
//!
//! The metrics of the baseline decide. Those of the candidate alone never do, because a candidate must not choose the rules by
//! which it is judged.

use std::collections::{BTreeMap, BTreeSet};

use super::{CurvePairing, PairedSources, UnpairedCurve};
use crate::kind::Role;
use crate::read::curve::CurveFile;
use crate::read::metric;

/// Roles in reinforcement learning in the order in which they are blamed: settings, mismatch of the engines, results of
/// learning, then the rest.
const BLAME: [Role; 6] =
    [Role::Constant, Role::LearningRate, Role::Mismatch, Role::Reward, Role::EvalScore, Role::GradNorm];

impl CurvePairing<'_> {
    /// Gives every metric the role that it has in its run, and sorts the pairs.
    pub(super) fn find_kinds(&mut self, baseline: &[CurveFile], candidate: &[CurveFile]) {
        let folders = rl_folders(baseline);
        let whole = || {
            let own: BTreeSet<_> = baseline.iter().flat_map(names).collect();
            let all: BTreeSet<_> = own.iter().cloned().chain(candidate.iter().flat_map(names)).collect();
            metric::is_rl(all.iter().map(String::as_str), own.iter().map(String::as_str))
        };
        let whole = folders.is_empty() && whole();
        for pair in &mut self.pairs {
            let is_rl = folders.contains(pair.baseline.folder()) || pair.run.is_empty() && whole;
            pair.set_kind(is_rl);
        }
        self.promote_named_losses();
        let any = whole || !folders.is_empty();
        self.unpaired.iter_mut().for_each(|unpaired| unpaired.set_kind(any));
        self.sort();
    }

    /// Makes each named loss (`loss_mel`, `loss_disc`) one that is judged, where a run has no loss of its own.
    fn promote_named_losses(&mut self) {
        let is_loss = |pair: &PairedSources<'_>| pair.role == Role::Loss || pair.is_rl;
        let with_loss: BTreeSet<String> =
            self.pairs.iter().filter(|pair| is_loss(pair)).map(|pair| pair.run.clone()).collect();
        let named =
            |pair: &&mut PairedSources<'_>| pair.role == Role::AuxiliaryLoss && !metric::is_loss_part(&pair.metric);
        for pair in self.pairs.iter_mut().filter(named) {
            if !with_loss.contains(&pair.run) {
                pair.role = Role::Loss;
            }
        }
    }

    /// Treats all runs as reinforcement learning, or none of them.
    #[must_use]
    pub(crate) fn with_declared_kind(mut self, is_rl: bool) -> Self {
        self.pairs.iter_mut().for_each(|pair| pair.set_kind(is_rl));
        self.unpaired.iter_mut().for_each(|unpaired| unpaired.set_kind(is_rl));
        self.promote_named_losses();
        self.sort();
        self
    }

    /// Whether any run is of reinforcement learning.
    pub(crate) fn has_rl(&self) -> bool {
        let one_sided = |unpaired: &UnpairedCurve| matches!(unpaired, UnpairedCurve::OneSided { is_rl: true, .. });
        self.pairs.iter().any(|pair| pair.is_rl) || self.unpaired.iter().any(one_sided)
    }

    /// Sorts the pairs: the plain loss comes first, because a report shows it first; in reinforcement learning, in the order of
    /// blame.
    fn sort(&mut self) {
        self.pairs.sort_by(|a, b| {
            let blame = |pair: &PairedSources<'_>| {
                let order = BLAME.iter().position(|role| *role == pair.role).unwrap_or(BLAME.len());
                if pair.is_rl { order } else { 0 }
            };
            let key = |pair: &PairedSources<'_>| {
                (blame(pair), pair.role, pair.metric != "loss", pair.metric.clone(), pair.run.clone(), pair.rank)
            };
            key(a).cmp(&key(b))
        });
    }
}

impl PairedSources<'_> {
    fn set_kind(&mut self, is_rl: bool) {
        self.is_rl = is_rl;
        self.role = role_of(&self.metric, is_rl);
    }
}

impl UnpairedCurve {
    fn set_kind(&mut self, of_rl: bool) {
        if let Self::OneSided { metric, role, is_rl, .. } = self {
            *is_rl = of_rl;
            *role = role_of(metric, of_rl);
        }
    }
}

fn role_of(metric: &str, is_rl: bool) -> Role {
    if is_rl { metric::role_in_rl(metric) } else { metric::role(metric) }
}

fn names(file: &CurveFile) -> impl Iterator<Item = String> + '_ {
    file.series.iter().map(|series| metric::canonical(series.name()).into_owned())
}

/// The folders whose files hold a run of reinforcement learning.
fn rl_folders(files: &[CurveFile]) -> BTreeSet<String> {
    let mut folders: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        folders.entry(folder).or_default().extend(names(file));
    }
    let is_rl =
        |names: &BTreeSet<String>| metric::is_rl(names.iter().map(String::as_str), names.iter().map(String::as_str));
    folders.into_iter().filter(|(_, names)| is_rl(names)).map(|(folder, _)| folder.to_owned()).collect()
}
