//! Versions of Python packages, ordered as PEP 440 orders them.
//!
//! It reads the release numbers, pre-, post- and development releases, and the local label. Packages of this field use
//! no epochs; a version with one counts as text.

use std::cmp::Ordering;

/// A version.
#[derive(Clone, Debug)]
pub struct Version {
    /// Release numbers without trailing zeros.
    release: Vec<u64>,
    /// Rank of the release among its pre- and post-releases.
    stage: Stage,
    /// Local label, after `+`; empty where there is none.
    local: String,
}

/// Stages of one release, in rising order: `.dev`, `a`, `b`, `rc`, the release, `.post`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Development(u64),
    Alpha(u64),
    Beta(u64),
    Candidate(u64),
    Release,
    Post(u64),
}

impl Version {
    /// Reads a version; `None` where it does not start with a number.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let text = text.strip_prefix('v').unwrap_or(&text);
        let (public, local) = text.split_once('+').unwrap_or((text, ""));
        let end = public.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(public.len());
        let (numbers, suffix) = public.split_at(end);
        let numbers = numbers.trim_end_matches('.');
        let mut release: Vec<u64> = numbers.split('.').map(|number| number.parse().ok()).collect::<Option<_>>()?;
        while release.len() > 1 && release.last() == Some(&0) {
            release.pop();
        }
        Some(Self { release, stage: Stage::parse(suffix)?, local: local.replace(['-', '_'], ".") })
    }

    /// The first two release numbers.
    pub fn minor(&self) -> (u64, u64) {
        let number = |index| self.release.get(index).copied().unwrap_or(0);
        (number(0), number(1))
    }

    /// Order by release and stage; local labels do not count.
    pub(crate) fn compare_public(&self, other: &Self) -> Ordering {
        self.release.cmp(&other.release).then(self.stage.cmp(&other.stage))
    }
}

impl Stage {
    fn parse(suffix: &str) -> Option<Self> {
        let suffix = suffix.trim_start_matches(['.', '-', '_']);
        if suffix.is_empty() {
            return Some(Self::Release);
        }
        let digits = suffix.find(|c: char| c.is_ascii_digit()).unwrap_or(suffix.len());
        let (word, rest) = suffix.split_at(digits);
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest.get(..end).and_then(|number| number.parse().ok()).unwrap_or(0);
        Some(match word.trim_end_matches(['.', '-', '_']) {
            "dev" => Self::Development(number),
            "a" | "alpha" => Self::Alpha(number),
            "b" | "beta" => Self::Beta(number),
            "rc" | "c" | "pre" | "preview" => Self::Candidate(number),
            "post" | "rev" | "r" | "" => Self::Post(number),
            _ => return None,
        })
    }
}

/// Whether two versions are the same; texts that are not versions are compared as they are.
pub fn equal(a: &str, b: &str) -> bool {
    match (Version::parse(a), Version::parse(b)) {
        (Some(a), Some(b)) => a.compare_public(&b).is_eq() && a.local == b.local,
        _ => a.trim() == b.trim(),
    }
}

/// Whether two versions are the same apart from their local labels, after `+`.
pub(crate) fn equal_without_local_label(a: &str, b: &str) -> bool {
    let public = |text: &str| text.split('+').next().unwrap_or(text).to_owned();
    equal(&public(a), &public(b))
}

/// Whether two versions share their first two numbers; false where one is not a version.
pub(crate) fn same_minor(a: &str, b: &str) -> bool {
    Version::parse(a).zip(Version::parse(b)).is_some_and(|(a, b)| a.minor() == b.minor())
}

/// Order of `version` against `bound`, local labels aside; `None` where one is not a version.
pub fn order(version: &str, bound: &str) -> Option<Ordering> {
    Some(Version::parse(version)?.compare_public(&Version::parse(bound)?))
}

/// A package's name as PyPI normalises it: lower case, runs of `-`, `_` and `.` as one `-`.
pub(crate) fn normalised_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for character in name.trim().chars() {
        if matches!(character, '-' | '_' | '.') {
            if !out.ends_with('-') {
                out.push('-');
            }
        } else {
            out.extend(character.to_lowercase());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_pep_440_orders_them() {
        let rising = ["1.0.dev1", "1.0a1", "1.0b2", "1.0rc1", "1.0", "1.0.post1", "1.0.1", "1.10", "2"];
        for pair in rising.windows(2) {
            assert_eq!(order(pair[0], pair[1]), Some(Ordering::Less), "{pair:?}");
        }
        assert!(equal("2.1", "2.1.0") && !equal("2.1", "2.1+cpu") && equal("abc", "abc "));
        assert!(equal_without_local_label("2.7.1+cu126", "2.7.1"));
        assert!(same_minor("2.7.1.post1", "2.7.0+cpu") && !same_minor("2.7", "2.6"));
        assert_eq!(order("2", "unknown"), None);
        assert_eq!(normalised_name("Torch__NPU.x"), "torch-npu-x");
    }
}
