//! The waivers of a policy, with an index that finds those of a finding without testing each.
//!
//! A policy may hold a waiver for each of ten thousand findings. Most name one place, and some one code: these are looked up,
//! and only patterns are walked.

use std::collections::HashMap;
use std::fmt::{Debug, Formatter};
use std::ops::Deref;

use serde::{Deserialize, Serialize, Serializer};

use super::waiver::Waiver;

/// The waivers of a policy, in the order of its file.
#[derive(Clone, Default, Deserialize)]
#[serde(from = "Vec<Waiver>")]
pub struct Waivers {
    listed: Vec<Waiver>,
    by_place: HashMap<String, Vec<usize>>,
    /// Indices of waivers whose place is a pattern, by their code.
    by_code: HashMap<String, Vec<usize>>,
    /// Indices of waivers whose place and code are both patterns.
    patterns: Vec<usize>,
}

impl Waivers {
    /// The waivers that cover a finding of `code` at `place`, expired ones too, in the order of the file.
    pub(crate) fn covering<'w>(&'w self, code: &str, place: &str) -> impl Iterator<Item = &'w Waiver> {
        let possible = self.possible(code, place).filter_map(|index| self.listed.get(index));
        possible.filter(move |waiver| waiver.covers(code, place))
    }

    /// Places of the waivers that may cover a finding, in order.
    fn possible(&self, code: &str, place: &str) -> impl Iterator<Item = usize> {
        let found = [self.by_place.get(place), self.by_code.get(code), Some(&self.patterns)];
        let mut lists = found.map(|list| list.map_or([].as_slice(), Vec::as_slice));
        std::iter::from_fn(move || {
            let next = lists.iter_mut().filter(|list| !list.is_empty()).min_by_key(|list| list.first().copied())?;
            let (first, rest) = next.split_first()?;
            *next = rest;
            Some(*first)
        })
    }
}

impl From<Vec<Waiver>> for Waivers {
    fn from(listed: Vec<Waiver>) -> Self {
        let mut waivers = Self::default();
        for (index, waiver) in listed.iter().enumerate() {
            let list = match (waiver.place.literal(), waiver.code.literal()) {
                (Some(place), _) => waivers.by_place.entry(place).or_default(),
                (None, Some(code)) => waivers.by_code.entry(code).or_default(),
                (None, None) => &mut waivers.patterns,
            };
            list.push(index);
        }
        Self { listed, ..waivers }
    }
}

impl FromIterator<Waiver> for Waivers {
    fn from_iter<T: IntoIterator<Item = Waiver>>(waivers: T) -> Self {
        waivers.into_iter().collect::<Vec<_>>().into()
    }
}

impl Deref for Waivers {
    type Target = [Waiver];

    fn deref(&self) -> &[Waiver] {
        &self.listed
    }
}

impl Serialize for Waivers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.listed.serialize(serializer)
    }
}

impl Debug for Waivers {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.listed.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn waiver(code: &str, place: &str) -> Option<Waiver> {
        let [code, place] = [code, place].map(|text| text.to_owned().try_into().ok());
        let expires = serde_json::from_str("\"2027-01-01\"").ok()?;
        Some(Waiver { code: code?, place: place?, reason: String::new(), owner: String::new(), expires })
    }

    proptest! {
        #[test]
        fn those_that_cover_are_those_of_a_walk_over_all(
            patterns in proptest::collection::vec(("[ab*?]{1,2}", r"[ab*?{},\[\]!^/\\é-]{0,4}"), 0..40),
            code in "[ab]{1,2}",
            places in proptest::collection::vec(r"[ab{},\[\]!^/\\é-]{0,3}", 20),
        ) {
            let listed: Vec<Waiver> = patterns.iter().filter_map(|(code, place)| waiver(code, place)).collect();
            let waivers = Waivers::from(listed.clone());
            for place in &places {
                let walked = listed.iter().filter(|waiver| waiver.covers(&code, place)).map(Waiver::name);
                let found = waivers.covering(&code, place).map(Waiver::name);
                prop_assert_eq!(found.collect::<Vec<_>>(), walked.collect::<Vec<_>>(), "{}", place);
            }
        }

        #[test]
        fn a_pattern_that_an_offered_waiver_would_have_is_looked_up(place in r"[a-c.\[\]{}*?,/!^]{0,6}") {
            let waivers: Waivers = waiver("a", &globset::escape(&place)).into_iter().collect();
            prop_assert!(waivers.by_code.is_empty() && waivers.patterns.is_empty());
            prop_assert_eq!(waivers.covering("a", &place).count(), 1);
        }
    }
}
