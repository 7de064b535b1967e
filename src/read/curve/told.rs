//! Facts about a run from the lines of its log that are no records: its end, its settings, norms by parameter.

use super::declared::DeclaredSettings;
use super::norms::LayerNorms;
use crate::read::ending::{Ending, EndingLines};

/// Facts about a run that its log states beside its records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogFacts {
    /// Whether the file is a text in which an error at the end of the run would show.
    pub is_log: bool,
    /// The end of the run.
    pub ending: Ending,
    /// Settings that the log declares.
    pub declared: DeclaredSettings,
    /// Gradient norms by parameter.
    pub norms: Option<LayerNorms>,
}

/// Reader of lines that may hold such facts.
#[derive(Debug, Default)]
pub(super) struct FactLines {
    ending: EndingLines,
    declared: DeclaredSettings,
    norms: LayerNorms,
}

impl FactLines {
    /// Whether all following lines have to be read, because they may belong to an error.
    pub(super) fn is_open(&self) -> bool {
        self.ending.is_open()
    }

    /// Whether a line may hold a fact by itself, where no error is [open](Self::is_open).
    pub(super) fn may_hold_fact(line: &str) -> bool {
        LayerNorms::is_norm(line) || EndingLines::may_show_end(line)
    }

    /// Takes a line. Returns whether it is part of an error or the norm of a parameter, and so no record.
    pub(super) fn take_line(&mut self, line: &str) -> bool {
        self.norms.take_line(line) || self.ending.take_line(line)
    }

    /// Takes a line of JSON. Returns whether it is the norm of a parameter.
    pub(super) fn take_json_line(&mut self, line: &str) -> bool {
        self.norms.take_line(line)
    }

    /// Takes a line that is no record.
    pub(super) fn take_other_line(&mut self, line: &str) {
        self.declared.take_line(line);
    }

    /// Notes a record with a key metric, and its step counter with the total, where it has one.
    pub(super) fn note_record(&mut self, part: Option<(u64, u64)>) {
        self.ending.note_record();
        self.declared.last = part.or(self.declared.last);
    }

    pub(super) fn finish(self) -> LogFacts {
        let Self { ending, declared, norms } = self;
        LogFacts { is_log: true, ending: ending.finish(), declared, norms: norms.into_non_empty() }
    }

    /// The facts of a file of records. Such a file counts as a log only where it shows an error, because most programs do not write
    /// errors there.
    pub(super) fn finish_records(self) -> LogFacts {
        let told = self.finish();
        LogFacts { is_log: told.ending.error.is_some(), ..told }
    }
}
