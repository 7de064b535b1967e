//! The content of a pack, member by member.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::member::MemberPlace;
use super::parse::{self, ForwardInput, PackParameter, PackSettings, RandomCalls};
use crate::error::Result;
use crate::fetch::{self, MemorySource, Source};
use crate::read::archive::Refused;
use crate::read::json::{self, Json};
use crate::verdict::Checker;

/// Largest weights member: 400 bytes a parameter, so over half a million parameters.
const WEIGHTS_LIMIT: u64 = 256 << 20;
/// Largest member of any other kind.
const MEMBER_LIMIT: u64 = 32 << 20;

/// Content per step and rank.
pub type PerStep<T> = BTreeMap<(u64, u64), Result<T>>;

/// One pack.
#[derive(Clone, Debug, Default)]
pub struct Pack {
    /// Path below the side's root.
    pub path: String,
    /// Environment variables, in file order.
    pub env: Option<Result<PackSettings>>,
    /// Lines of the package list, white space at both ends removed.
    pub pip: Option<Result<Vec<String>>>,
    /// Inputs of the model's forward, per step and rank.
    pub dataset: PerStep<Vec<(String, ForwardInput)>>,
    /// Parameters of the model, per step and rank.
    pub weights: PerStep<Vec<PackParameter>>,
    /// Settings from launch scripts and YAML files.
    pub hyper_static: Option<Result<PackSettings>>,
    /// Settings from the parsed arguments of the run.
    pub hyper_dynamic: Option<Result<PackSettings>>,
    /// Calls of random functions, per rank.
    pub random: BTreeMap<u64, Result<RandomCalls>>,
    /// Content digests of data and weight files (`digests.json`, written by `config-pack`).
    pub digests: Option<Result<BTreeMap<String, String>>>,
    /// Members in a checker's folder that have no place there, with the checker.
    pub misplaced: Vec<(Checker, String)>,
    /// Entries that were refused.
    pub refused: Vec<Refused>,
    /// Members that occur more than once, with their number.
    pub repeated: BTreeMap<String, usize>,
    /// Members of no known kind.
    pub unknown: Vec<String>,
}

impl Pack {
    /// Whether the pack holds anything of `checker`, readable or not.
    pub fn has_any_of(&self, checker: Checker) -> bool {
        let placed = match checker {
            Checker::Env => self.env.is_some(),
            Checker::Pip => self.pip.is_some(),
            Checker::Dataset => !self.dataset.is_empty(),
            Checker::Weights => !self.weights.is_empty(),
            Checker::Hyperparameters => self.hyper_static.is_some() || self.hyper_dynamic.is_some(),
            Checker::Random => !self.random.is_empty(),
        };
        placed || self.misplaced.iter().any(|(of, _)| *of == checker)
    }

    /// Environment variables as text, where they could be read; a value that is not text is left out.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        let settings = self.env.as_ref().and_then(|env| env.as_ref().ok());
        settings.into_iter().flatten().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
    }

    /// The text of one environment variable.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Settings of both kinds that could be read.
    pub fn settings(&self) -> impl Iterator<Item = &(String, Json)> {
        [&self.hyper_static, &self.hyper_dynamic].into_iter().flatten().flatten().flatten()
    }

    pub(super) fn take(&mut self, path: String, content: Content) {
        match content {
            Content::Env(settings) => self.env = Some(settings),
            Content::Pip(lines) => self.pip = Some(lines),
            Content::Dataset(place, inputs) => drop(self.dataset.insert(place, inputs)),
            Content::Weights(place, parameters) => drop(self.weights.insert(place, parameters)),
            Content::Static(settings) => self.hyper_static = Some(settings),
            Content::Dynamic(settings) => self.hyper_dynamic = Some(settings),
            Content::Random(rank, calls) => drop(self.random.insert(rank, calls)),
            Content::Digests(digests) => self.digests = Some(digests),
            Content::Misplaced(checker) => self.misplaced.push((checker, path)),
            Content::Unknown => self.unknown.push(path),
        }
    }
}

/// Parsed content of one member.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Env(Result<PackSettings>),
    Pip(Result<Vec<String>>),
    Dataset((u64, u64), Result<Vec<(String, ForwardInput)>>),
    Weights((u64, u64), Result<Vec<PackParameter>>),
    Static(Result<PackSettings>),
    Dynamic(Result<PackSettings>),
    Random(u64, Result<RandomCalls>),
    Digests(Result<BTreeMap<String, String>>),
    Misplaced(Checker),
    Unknown,
}

impl Content {
    /// Whether the member has a place in a pack and could be read.
    pub(super) fn is_read(&self) -> bool {
        match self {
            Self::Env(read) | Self::Static(read) | Self::Dynamic(read) => read.is_ok(),
            Self::Pip(read) => read.is_ok(),
            Self::Dataset(_, read) => read.is_ok(),
            Self::Weights(_, read) => read.is_ok(),
            Self::Random(_, read) => read.is_ok(),
            Self::Digests(read) => read.is_ok(),
            Self::Misplaced(_) | Self::Unknown => false,
        }
    }
}

/// Parses the member `name`, of which `read` gives the bytes up to a limit; errors name it by `full_name`.
pub(super) fn parse_member(name: &str, full_name: &str, memory: u64, read: impl Fn(u64) -> Result<Vec<u8>>) -> Content {
    let document = |limit: u64| {
        let text: Source = Arc::new(MemorySource::new(full_name, read(limit.min(memory))?));
        json::parse(fetch::with_memory_limit(text, memory).as_ref())
    };
    let small = || document(MEMBER_LIMIT);
    let settings = || small().and_then(|json| parse::settings(full_name, json));
    match MemberPlace::from_name(name) {
        MemberPlace::Env => Content::Env(settings()),
        MemberPlace::Pip => Content::Pip(read(MEMBER_LIMIT).and_then(|bytes| parse::lines(full_name, bytes))),
        MemberPlace::Dataset(place) => Content::Dataset(place, small().and_then(|json| parse::inputs(full_name, json))),
        MemberPlace::Weights(place) => {
            Content::Weights(place, document(WEIGHTS_LIMIT).and_then(|json| parse::parameters(full_name, json)))
        }
        MemberPlace::Static => Content::Static(settings()),
        MemberPlace::Dynamic => Content::Dynamic(settings()),
        MemberPlace::Random(rank) => Content::Random(rank, small().and_then(|json| parse::calls(full_name, json))),
        MemberPlace::Digests => Content::Digests(small().and_then(|json| parse::digests(full_name, &json))),
        MemberPlace::Misplaced(checker) => Content::Misplaced(checker),
        MemberPlace::Unknown => Content::Unknown,
    }
}
