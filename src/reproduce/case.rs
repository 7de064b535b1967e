//! The operation that is run alone, with all facts about it.

use std::collections::BTreeMap;

use super::call::{Call, Tensor};
use super::target::TargetOperation;
use crate::diagnose::runnable::Runnable;
use crate::read::dump::DumpFolder;
use crate::result::{GateResult, Run};
use crate::verdict::Side;

/// One of the two runs, as far as the operation needs it.
pub struct CaseRun<'a> {
    /// The side.
    pub side: Side,
    /// The run as the result names it.
    pub run: &'a Run,
    /// Dumps of the step and rank.
    pub dumps: Vec<&'a DumpFolder>,
    /// Whether its files are still the ones that were judged.
    pub is_judged: bool,
    /// Versions of packages and parts, from config packs.
    pub versions: BTreeMap<String, String>,
}

/// The operation in one of the two runs.
pub struct RecordedCall<'a> {
    /// The run.
    pub source: CaseRun<'a>,
    /// Name of the operation in this run.
    pub op: String,
    /// The dump that recorded it.
    pub folder: &'a DumpFolder,
    /// Its call.
    pub call: Call,
}

impl RecordedCall<'_> {
    /// Whether all of its inputs were saved and copied.
    pub(crate) fn is_complete(&self) -> bool {
        let is_there = |tensor: &&Tensor| {
            tensor.elements() == 0 || tensor.stored.as_ref().is_some_and(|stored| !stored.file.is_empty())
        };
        self.call.inputs().iter().all(is_there)
    }
}

/// An operation with all facts about it.
pub struct ReproducedCase<'a> {
    /// The result that names it.
    pub result: &'a GateResult,
    /// The operation.
    pub target: TargetOperation<'a>,
    /// The function, as the candidate names it.
    pub runnable: Runnable,
    /// Its calls, at least one, the baseline's first.
    pub sides: Vec<RecordedCall<'a>>,
    /// Whether recorded tensors were asked for.
    pub with_data: bool,
}

impl ReproducedCase<'_> {
    /// The calls that go into the script. With recorded tensors these are all calls with complete inputs; otherwise the last call, which is the
    /// candidate's where there is one.
    pub(crate) fn scripted_calls(&self) -> Vec<&RecordedCall<'_>> {
        let complete: Vec<&RecordedCall<'_>> = self.sides.iter().filter(|side| side.is_complete()).collect();
        if self.with_data && !complete.is_empty() { complete } else { self.sides.last().into_iter().collect() }
    }

    /// Whether the script uses recorded inputs rather than generated ones.
    pub(crate) fn has_inputs(&self) -> bool {
        self.with_data && self.sides.iter().any(RecordedCall::is_complete)
    }

    /// The calls of both runs, the baseline's first.
    pub(crate) fn both_calls(&self) -> Option<(&RecordedCall<'_>, &RecordedCall<'_>)> {
        match self.sides.as_slice() {
            [baseline, candidate] => Some((baseline, candidate)),
            _ => None,
        }
    }
}
