//! The operation to run alone: its step, rank, and its name in both runs.

use std::ops::ControlFlow;

use crate::diagnose::runnable::{Obstacle, Runnable, runnable};
use crate::documentation;
use crate::error::{Error, ErrorKind, Result};
use crate::nearest;
use crate::report::lines::OperationLines;
use crate::result::GateResult;
use crate::result::operation::OperationLine;
use crate::result::unit::Culprit;
use crate::verdict::{CheckId, Side};

/// The operation to run alone.
#[derive(Clone, Debug)]
pub struct TargetOperation<'a> {
    /// The step.
    pub step: u64,
    /// The rank; `None` where there is only one process.
    pub rank: Option<u64>,
    /// The culprit of the result, where it is this operation.
    pub culprit: Option<&'a Culprit>,
    baseline: Option<String>,
    candidate: Option<String>,
}

impl<'a> TargetOperation<'a> {
    /// The operation `op` of a result, or its culprit.
    ///
    /// # Errors
    /// `NotFound` where the result has no culprit, or its lines no operation of that name.
    pub fn from_result(result: &'a GateResult, lines: &OperationLines<'_>, op: Option<&str>) -> Result<Self> {
        let culprit = result.culprit.as_ref().filter(|culprit| op.is_none_or(|op| op == culprit.op));
        let Some(op) = op.or(culprit.map(|culprit| culprit.op.as_str())) else {
            let error = Error::new(ErrorKind::NotFound, "result.json", "names no culprit");
            return Err(error.with_help("name an operation of operations.jsonl with --op"));
        };
        if let Some(culprit) = culprit.filter(|culprit| culprit.check == CheckId::Monitor) {
            let message = "is a row of a monitor, which records no calls";
            return Err(Error::unsupported(&culprit.op, message).with_help("dump that step, and name a call with --op"));
        }
        let place = culprit.map(|culprit| (culprit.step, culprit.rank));
        let mut target = Self { step: 0, rank: None, culprit, baseline: None, candidate: None };
        (target.step, target.rank) = place.unwrap_or_default();
        let mut near = Vec::new();
        let mut is_known = false;
        lines.for_each_line(|line| {
            if line.op != op || place.is_some_and(|place| place != (line.step, line.rank)) {
                near.extend(nearest::nearest(op, [&*line.op]).map(str::to_owned));
                near.truncate(1);
                return Ok(ControlFlow::Continue(()));
            }
            (target.step, target.rank) = (line.step, line.rank);
            is_known = true;
            target.name(line);
            let is_named = target.baseline.is_some() && target.candidate.is_some();
            Ok(if is_named { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        if !is_known && culprit.is_none() {
            let meant = near.first().map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let error = Error::new(ErrorKind::NotFound, op, format!("the result compared no such operation{meant}"));
            return Err(error.with_help("operations.jsonl beside the result lists all of them under `op`"));
        }
        if !is_known {
            // A result without lines, or a test of operators: both runs use the same name.
            let names = Some(op.to_owned());
            (target.baseline, target.candidate) = (names.clone(), names);
        }
        Ok(target)
    }

    /// Sets the operation's names in both runs from a line.
    fn name(&mut self, line: &OperationLine<'_>) {
        let below = line.tensor.strip_prefix(&*line.op).unwrap_or_default();
        let of = |row: &str| row.strip_suffix(below).filter(|op| !op.is_empty()).map(str::to_owned);
        if let Some(shown) = &line.baseline {
            self.baseline = self.baseline.take().or_else(|| of(shown.tensor.as_deref().unwrap_or(&line.tensor)));
        }
        if line.candidate.is_some() {
            self.candidate = Some(line.op.to_string());
        }
    }

    /// Its name in a run; `None` where that run has no such call.
    pub fn name_in(&self, side: Side) -> Option<&str> {
        match side {
            Side::Baseline => self.baseline.as_deref(),
            Side::Candidate => self.candidate.as_deref(),
        }
    }

    /// Its name in the candidate, else in the baseline.
    pub fn shown_name(&self) -> &str {
        self.candidate.as_deref().or(self.baseline.as_deref()).unwrap_or_default()
    }
}

/// The call that `op` names.
///
/// # Errors
/// `Unsupported` where no script can run it alone, with the reason.
pub fn runnable_of(op: &str) -> Result<Runnable> {
    runnable(op).map_err(|obstacle| {
        let (reason, help) = words(obstacle);
        Error::unsupported(op, format!("cannot run alone: {reason}")).with_help(help)
    })
}

/// Reason and remedy for an obstacle.
fn words(obstacle: Obstacle) -> (&'static str, &'static str) {
    match obstacle {
        Obstacle::NoCall => {
            ("it is a value that was saved by hand, not a call", "name the call that makes it with --op")
        }
        Obstacle::ParameterGradient => (
            "a parameter's gradient adds up over all calls of its module",
            "name the backward call of the module, or of the operation in it, with --op",
        ),
        Obstacle::Communication => (
            "it communicates with other ranks",
            "name an operation before it with --op, or run a test of the collective",
        ),
        Obstacle::DeviceFunction => (
            "only torch_npu has it, so that no CPU computes the truth",
            "name the operations that it replaces with --op, from a run without the fusion",
        ),
        Obstacle::Framework => {
            ("it is MindSpore's, and the script runs torch", "repeat the run on torch, or file the text by hand")
        }
        Obstacle::Module => (
            "the dump holds neither the code of this module nor the arguments of its constructor",
            "dump what runs in it (`precision-gate next-dump`), compare again, and reproduce the operation found then",
        ),
        Obstacle::UnknownFunction => (
            "it is no function that the script knows",
            concat!(
                "name an operation with the prefix Functional, Torch or Tensor with --op; ",
                documentation!("reproduce.md"),
                " says which"
            ),
        ),
        Obstacle::OldName => (
            "ptdbg_ascend records no arguments of calls",
            "dump the step with msprobe, compare again, and reproduce the operation found then",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_run_says_why_and_what_to_do() {
        for (op, part) in [
            ("hidden.0.debug", "saved by hand"),
            ("Distributed.all_reduce.0.forward", "other ranks"),
            ("NPU.npu_rms_norm.0.forward", "torch_npu"),
            ("Module.layers.0.GLMBlock.forward.0", "constructor"),
            ("Torch.load.0.forward", "no function that the script knows"),
            ("Functional_linear_0_forward", "ptdbg_ascend"),
        ] {
            let error = runnable_of(op).expect_err("it cannot");
            assert!(error.message().contains(part) && error.help().is_some(), "{error}");
        }
    }
}
