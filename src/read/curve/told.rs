//! Lines of a log that are no records and tell of the run: its end, its settings, norms by parameter.

use super::declared::Declared;
use super::norms::LayerNorms;
use crate::read::ending::{Ending, EndingLines};

/// Facts about a run that the lines of its log tell beside its records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// Whether the file is a text in which the end of the run would show.
    pub is_log: bool,
    /// The end of the run.
    pub ending: Ending,
    /// Settings that it declares.
    pub declared: Declared,
    /// Gradient norms by parameter.
    pub norms: Option<LayerNorms>,
}

/// Reads such lines.
#[derive(Debug, Default)]
pub(super) struct ToldLines {
    ending: EndingLines,
    declared: Declared,
    norms: LayerNorms,
}

impl ToldLines {
    /// Whether all lines that follow are looked at, as they may belong to an error.
    pub(super) fn is_open(&self) -> bool {
        self.ending.is_open()
    }

    /// Whether a line tells anything where none is [open](Self::is_open).
    pub(super) fn may_tell(line: &str) -> bool {
        LayerNorms::is_norm(line) || EndingLines::may_tell(line)
    }

    /// Takes a line; whether it is part of an error or the norm of a parameter, and so no record.
    pub(super) fn line(&mut self, line: &str) -> bool {
        self.norms.line(line) || self.ending.line(line)
    }

    /// Takes a line of JSON; whether it is the norm of a parameter.
    pub(super) fn object(&mut self, line: &str) -> bool {
        self.norms.line(line)
    }

    /// Takes a line that is no record.
    pub(super) fn other(&mut self, line: &str) {
        self.declared.line(line);
    }

    /// Takes note of a record with a value that the run is about, and of the part of a whole that its counter names.
    pub(super) fn record(&mut self, part: Option<(u64, u64)>) {
        self.ending.record();
        self.declared.last = part.or(self.declared.last);
    }

    /// All that was told.
    pub(super) fn finish(self) -> Told {
        let Self { ending, declared, norms } = self;
        Told { is_log: true, ending: ending.finish(), declared, norms: norms.found() }
    }

    /// The same of a file of records, in which an error shows only where its program writes it there as well.
    pub(super) fn finish_records(self) -> Told {
        let told = self.finish();
        Told { is_log: told.ending.error.is_some(), ..told }
    }
}
