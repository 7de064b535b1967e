//! Matching of the names of files with the names of tasks.

use std::collections::{BTreeMap, BTreeSet};

use super::place;

/// Tasks that are not matched with a file yet.
pub(super) struct UnmatchedTasks<'a> {
    free: BTreeSet<&'a str>,
    /// The same tasks by the letters and digits of their names. Only these are preserved in a file's name.
    plain: BTreeMap<String, BTreeSet<&'a str>>,
}

impl<'a> UnmatchedTasks<'a> {
    /// Creates the set of all tasks, none of which is matched.
    pub(super) fn new(tasks: impl Iterator<Item = &'a str>) -> Self {
        let mut names = Self { free: BTreeSet::new(), plain: BTreeMap::new() };
        for task in tasks {
            names.free.insert(task);
            names.plain.entry(place::letters_and_digits(task)).or_default().insert(task);
        }
        names
    }

    /// Names of the unmatched tasks.
    pub(super) fn unmatched(&self) -> impl Iterator<Item = &'a str> {
        self.free.iter().copied()
    }

    /// Removes a task; returns false if it is not in the set.
    pub(super) fn take(&mut self, task: &str) -> bool {
        if let Some(alike) = self.plain.get_mut(&place::letters_and_digits(task)) {
            alike.remove(task);
        }
        self.free.remove(task)
    }

    /// Removes and returns the task of this name.
    pub(super) fn take_exact(&mut self, stem: &str) -> Option<String> {
        self.take(stem).then(|| stem.to_owned())
    }

    /// Removes and returns the only task that has the same letters and digits as `stem`.
    pub(super) fn take_similar(&mut self, stem: &str) -> Option<String> {
        let alike = self.plain.get(&place::letters_and_digits(stem)).filter(|alike| alike.len() == 1)?;
        let task = alike.first()?.to_string();
        self.take(&task).then_some(task)
    }
}
