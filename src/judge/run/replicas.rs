//! Copies of a parameter must be equal on all ranks, because every rank gets the same update.
//!
//! A parameter counts as a copy if it is equal on all ranks at its first step, and that is no chance: its values are not all one
//! number, or its name is that of a layer that is never cut, or all parameters are equal at that step. Shards and experts differ
//! from the first step on; biases of shards begin as zeros on all ranks and diverge by design.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::{REPLICAS_DIFFER, SHOWN};
use crate::compare::run::copies::TensorCopy;
use crate::compare::run::snapshot::Parameters;
use crate::judge::rule::policy::SELECTOR_UNUSED;
use crate::policy::health::ReplicaPolicy;
use crate::result::finding::Finding;
use crate::result::run::{Invariant, Looked};

/// Largest relative difference of two copies: both get the same update, so that rounding makes no larger one.
const APART: f64 = 1e-6;

/// Parameters of a step, by rank.
pub(crate) type ByRank<'a> = BTreeMap<u64, &'a Parameters>;

/// Copies of parameters, step by step.
#[derive(Debug, Default)]
pub struct Replicas {
    /// Copies and parts that the policy names.
    policy: ReplicaPolicy,
    /// Whether each parameter is a copy, judged at its first step.
    known: BTreeMap<String, bool>,
    /// Whether all parameters are equal over the ranks at the first step.
    are_all_equal: Option<bool>,
    /// Copies of the step before, by rank.
    before: BTreeMap<u64, BTreeMap<String, TensorCopy>>,
    /// Names of the copies that were compared at a later step.
    compared: BTreeSet<String>,
    ranks: usize,
    steps: usize,
    broken: Option<Broken>,
}

/// The first step at which copies differ.
#[derive(Debug)]
struct Broken {
    step: u64,
    names: Vec<String>,
    rank: Option<u64>,
    of: usize,
}

impl Replicas {
    /// Replicas without a step yet; the parameters that `policy` names are copies or parts, whatever their first step shows.
    pub fn new(policy: &ReplicaPolicy) -> Self {
        Self { policy: policy.clone(), ..Self::default() }
    }

    /// Adds the parameters of a step; steps come in order.
    pub(crate) fn add_step(&mut self, step: u64, ranks: &ByRank<'_>) {
        self.steps += 1;
        self.ranks = self.ranks.max(ranks.len());
        let copies = by_name(ranks);
        if self.are_all_equal.is_none() && copies.values().any(|copies| copies.len() > 1) {
            let mut shared = copies.values().filter(|copies| copies.len() > 1);
            self.are_all_equal = Some(shared.all(|copies| are_equal(copies)));
        }
        let mut apart = Vec::new();
        let mut of = 0;
        for (name, copies) in copies.iter().filter(|(_, copies)| copies.len() > 1) {
            match self.known.get(*name) {
                None => {
                    let is_known = self.is_copy(name, copies);
                    self.known.insert((*name).to_owned(), is_known);
                }
                Some(false) => {}
                Some(true) => {
                    of += 1;
                    if !self.compared.contains(*name) {
                        self.compared.insert((*name).to_owned());
                    }
                    if !are_equal(copies) {
                        apart.push((*name, copies));
                    }
                }
            }
        }
        if self.broken.is_none() && !apart.is_empty() {
            let rank = self.odd_rank(&apart);
            let names = apart.iter().map(|(name, _)| (*name).to_owned()).collect();
            self.broken = Some(Broken { step, names, rank, of });
        }
        let keep = |parameters: &Parameters| {
            parameters.iter().map(|(name, parameter)| (name.clone(), parameter.copy.clone())).collect()
        };
        self.before = ranks.iter().map(|(rank, parameters)| (*rank, keep(parameters))).collect();
    }

    /// Whether a parameter at its first step is a copy on every rank that holds it.
    fn is_copy(&self, name: &str, copies: &[(u64, &TensorCopy)]) -> bool {
        if let Some(is_copy) = self.policy.is_copy(name) {
            return is_copy;
        }
        let is_constant = copies.iter().all(|(_, copy)| copy.is_constant());
        are_equal(copies) && (!is_constant || is_never_cut(name) || self.are_all_equal == Some(true))
    }

    /// The rank whose copies are the odd ones: of three or more ranks the only one that differs from all others, of two ranks the one
    /// that stood still while the other moved.
    fn odd_rank(&self, apart: &[(&str, &Vec<(u64, &TensorCopy)>)]) -> Option<u64> {
        let of = |(name, copies): &(&str, &Vec<(u64, &TensorCopy)>)| {
            if copies.len() > 2 { only_differing_rank(copies) } else { self.stood_still(name, copies) }
        };
        let mut ranks = apart.iter().map(of);
        let first = ranks.next()??;
        ranks.all(|rank| rank == Some(first)).then_some(first)
    }

    fn stood_still(&self, name: &str, copies: &[(u64, &TensorCopy)]) -> Option<u64> {
        let still = |(rank, copy): &&(u64, &TensorCopy)| {
            self.before.get(rank).and_then(|before| before.get(name)).is_some_and(|before| before.is_identical(copy))
        };
        let mut found = copies.iter().filter(still);
        let first = found.next()?.0;
        found.next().is_none().then_some(first)
    }

    /// Findings about patterns of the policy that fit no parameter, if there are copies at all.
    pub(crate) fn unused_selectors(&self) -> Vec<Finding> {
        let names = self.known.keys().map(String::as_str);
        let unused = if self.known.is_empty() { Vec::new() } else { self.policy.unused(names) };
        unused.into_iter().map(|pattern| Finding::new(&SELECTOR_UNUSED, pattern)).collect()
    }

    /// The finding, and the state of the invariant.
    pub fn finish(self) -> (Option<Finding>, Looked) {
        const ID: Invariant = Invariant::Replicas;
        let looked = if self.known.is_empty() && self.ranks == 0 {
            Looked::not(ID, "no-copies")
        } else if self.ranks < 2 {
            Looked::not(ID, "one-rank")
        } else if self.steps < 2 {
            Looked::not(ID, "one-step")
        } else if self.known.is_empty() {
            Looked::not(ID, "no-copies")
        } else if self.compared.is_empty() {
            Looked::not(ID, "no-replicas")
        } else {
            let counts = [("parameters", self.compared.len()), ("ranks", self.ranks), ("steps", self.steps)];
            Looked::over(ID, self.broken.is_none(), counts)
        };
        let finding = self.broken.map(|Broken { step, names, rank, of }| {
            let finding = Finding::new(&REPLICAS_DIFFER, names.first().map(String::as_str).unwrap_or_default())
                .with("step", step)
                .with("count", names.len())
                .with("of", of)
                .with("names", names.into_iter().take(SHOWN).collect::<Vec<_>>());
            match rank {
                Some(rank) => finding.with("rank", rank),
                None => finding,
            }
        });
        (finding, looked)
    }
}

/// Copies of each parameter whose records can be compared, by rank.
fn by_name<'a>(ranks: &ByRank<'a>) -> BTreeMap<&'a str, Vec<(u64, &'a TensorCopy)>> {
    let mut copies: BTreeMap<&str, Vec<(u64, &TensorCopy)>> = BTreeMap::new();
    for (rank, parameters) in ranks {
        for (name, parameter) in parameters.iter().filter(|(_, parameter)| parameter.copy.is_comparable()) {
            copies.entry(name).or_default().push((*rank, &parameter.copy));
        }
    }
    // A parameter with another shape on another rank is a shard.
    copies.retain(|_, copies| copies.windows(2).all(|pair| matches!(pair, [(_, a), (_, b)] if a.form == b.form)));
    copies
}

fn are_equal(copies: &[(u64, &TensorCopy)]) -> bool {
    let Some((_, first)) = copies.first() else { return true };
    copies.iter().all(|(_, copy)| first.distance(copy) <= APART)
}

/// The only rank whose copy differs from those of all others, which are equal.
fn only_differing_rank(copies: &[(u64, &TensorCopy)]) -> Option<u64> {
    let others = |rank: u64| copies.iter().filter(move |(other, _)| *other != rank).copied().collect::<Vec<_>>();
    let mut odd = copies.iter().filter(|(rank, _)| are_equal(&others(*rank))).map(|(rank, _)| *rank);
    let first = odd.next()?;
    odd.next().is_none().then_some(first)
}

/// Whether a name is that of a layer which is not cut over ranks where its values are equal: norms, embeddings, routers.
fn is_never_cut(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.split(['.', '/', '_']).any(|part| {
        let is_short =
            |word: &str| part.strip_prefix(word).is_some_and(|rest| rest.bytes().all(|it| it.is_ascii_digit()));
        part.contains("norm") || part.contains("embed") || part.contains("router") || is_short("ln") || is_short("emb")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::run::snapshot::Parameter;
    use crate::result::finding::Fact;
    use crate::result::run::InvariantState;

    type Held = BTreeMap<u64, BTreeMap<String, Parameter>>;

    fn of(values: &[&[(&str, f64)]]) -> Held {
        let parameter = |value: f64| {
            let copy = TensorCopy::from_statistics([value, -value, value / 8.0, 3.0 * value].map(Some));
            Parameter { copy, is_trainable: Some(true) }
        };
        let rank = |named: &&[(&str, f64)]| {
            named.iter().map(|(name, value)| ((*name).to_owned(), parameter(*value))).collect()
        };
        (0..).zip(values.iter().map(rank)).collect()
    }

    fn judge(steps: &[Held]) -> (Option<Finding>, Looked) {
        let mut replicas = Replicas::default();
        for (step, held) in (0..).zip(steps) {
            replicas.add_step(step, &held.iter().map(|(rank, parameters)| (*rank, parameters)).collect());
        }
        replicas.finish()
    }

    #[test]
    fn the_odd_one_of_three_is_named_with_its_first_step() {
        let [equal, apart] = [[1.0, 1.0, 1.0], [1.1, 1.1, 1.2]];
        let step =
            |values: [f64; 3]| of(&values.map(|value| [("fc.weight", value)]).each_ref().map(|it| it.as_slice()));
        let (finding, looked) = judge(&[step(equal), step(apart), step([1.1, 1.1, 1.3])]);
        let finding = finding.expect("copies differ");
        assert_eq!((finding.facts["step"].clone(), finding.facts["rank"].clone()), (Fact::Count(1), Fact::Count(2)));
        assert_eq!(looked.state, InvariantState::Broken);
        let (none, held) = judge(&[step(equal), step([1.1; 3]), step([1.2; 3])]);
        assert!(none.is_none() && held.state == InvariantState::Held, "{none:?}");
    }

    #[test]
    fn of_two_the_one_that_stood_still_is_odd_and_else_neither() {
        let step = |a: f64, b: f64| of(&[&[("fc.weight", a)], &[("fc.weight", b)]]);
        let (finding, _) = judge(&[step(1.0, 1.0), step(1.0, 1.1)]);
        assert_eq!(finding.expect("copies differ").facts.get("rank"), Some(&Fact::Count(0)));
        let (finding, _) = judge(&[step(1.0, 1.0), step(1.2, 1.1)]);
        assert_eq!(finding.expect("copies differ").facts.get("rank"), None);
    }

    #[test]
    fn shards_are_no_copies_even_where_their_biases_begin_as_zeros() {
        let shards = |bias: [f64; 2], norm: [f64; 2]| {
            of(&[
                &[("fc.weight", 1.0), ("fc.bias", bias[0]), ("ln.weight", norm[0])],
                &[("fc.weight", 2.0), ("fc.bias", bias[1]), ("ln.weight", norm[1])],
            ])
        };
        let (finding, looked) = judge(&[shards([0.0; 2], [1.0; 2]), shards([0.1, 0.2], [1.1; 2])]);
        assert!(finding.is_none(), "{finding:?}");
        assert_eq!(looked.counts["parameters"], 1, "the norm alone is a copy");
        let (finding, _) = judge(&[shards([0.0; 2], [1.0; 2]), shards([0.1, 0.2], [1.1, 1.2])]);
        assert_eq!(finding.expect("the norm differs").place, "ln.weight");
    }

    #[test]
    fn the_policy_says_what_is_a_copy() {
        let policy = ReplicaPolicy {
            sharded: vec!["fc.*".to_owned().try_into().expect("a pattern")],
            replicated: vec!["nothing.*".to_owned().try_into().expect("a pattern")],
        };
        let mut replicas = Replicas::new(&policy);
        for values in [[1.0, 1.0], [1.1, 1.2]] {
            let held = of(&[&[("fc.weight", values[0])], &[("fc.weight", values[1])]]);
            replicas.add_step(0, &held.iter().map(|(rank, parameters)| (*rank, parameters)).collect());
        }
        assert_eq!(replicas.unused_selectors().iter().map(|one| one.place.as_str()).collect::<Vec<_>>(), ["nothing.*"]);
        assert_eq!(replicas.finish().1.reason, "no-replicas");
    }

    #[test]
    fn one_rank_or_one_step_is_not_looked_at() {
        let one = of(&[&[("fc.weight", 1.0)]]);
        assert_eq!(judge(&[one.clone(), one]).1.reason, "one-rank");
        let two = of(&[&[("fc.weight", 1.0)], &[("fc.weight", 1.0)]]);
        assert_eq!(judge(&[two]).1.reason, "one-step");
        assert_eq!(judge(&[]).1.reason, "no-copies");
    }
}
