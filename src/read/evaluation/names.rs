//! Names of tasks, found by the names of their files.

use std::collections::{BTreeMap, BTreeSet};

use super::place;

/// Tasks that no file was found for yet.
pub(super) struct Names<'a> {
    free: BTreeSet<&'a str>,
    /// The same by their letters and digits, which a file's name keeps.
    plain: BTreeMap<String, BTreeSet<&'a str>>,
}

impl<'a> Names<'a> {
    /// Of all tasks.
    pub(super) fn of(tasks: impl Iterator<Item = &'a str>) -> Self {
        let mut names = Self { free: BTreeSet::new(), plain: BTreeMap::new() };
        for task in tasks {
            names.free.insert(task);
            names.plain.entry(place::plain(task)).or_default().insert(task);
        }
        names
    }

    /// The tasks that are left.
    pub(super) fn free(&self) -> impl Iterator<Item = &'a str> {
        self.free.iter().copied()
    }

    /// Takes a task out; false where it is not there.
    pub(super) fn take(&mut self, task: &str) -> bool {
        if let Some(alike) = self.plain.get_mut(&place::plain(task)) {
            alike.remove(task);
        }
        self.free.remove(task)
    }

    /// Takes out the task of this name.
    pub(super) fn exact(&mut self, stem: &str) -> Option<String> {
        self.take(stem).then(|| stem.to_owned())
    }

    /// Takes out the only task whose letters and digits are those of `stem`.
    pub(super) fn alike(&mut self, stem: &str) -> Option<String> {
        let alike = self.plain.get(&place::plain(stem)).filter(|alike| alike.len() == 1)?;
        let task = alike.first()?.to_string();
        self.take(&task).then_some(task)
    }
}
