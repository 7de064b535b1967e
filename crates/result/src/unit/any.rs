//! Facts of a unit that documents need, whatever its kind.

use crate::number::Number;
use crate::outcome::RuleOutcome;
use crate::unit::culprit::Culprit;
use crate::unit::evidence::Evidence;
use crate::verdict::Verdict;

/// A unit of any kind, as reports, history and the gate see it.
pub trait AnyUnit {
    /// The unit's verdict.
    fn verdict(&self) -> Verdict;

    /// Gives it another verdict.
    fn set_verdict(&mut self, verdict: Verdict);

    /// Its verdict where its findings lead to `verdict`: what was not tested never passes.
    fn settled(&self, verdict: Verdict) -> Verdict {
        verdict
    }

    /// Its account; `None` where it compares no numbers, and in results that do not count.
    fn evidence(&self) -> Option<&Evidence> {
        None
    }

    /// Its account, to count what is decided of it.
    fn evidence_mut(&mut self) -> Option<&mut Evidence> {
        None
    }

    /// Name for people: a step and rank, a metric with its run, a checkpoint.
    fn name(&self) -> String;

    /// Name in findings.
    fn place(&self) -> String {
        self.name()
    }

    /// Rules as applied.
    fn rules(&self) -> &[RuleOutcome] {
        &[]
    }

    /// Whether nothing of it could be read.
    fn is_unread(&self) -> bool;

    /// Numbers of compared things.
    fn size(&self) -> Size;

    /// Its counts, as the history keeps them; names are stable.
    fn counts(&self) -> Vec<(&'static str, u64)>;

    /// Further numbers that the history follows from run to run.
    fn measured(&self) -> Vec<Measured> {
        Vec::new()
    }

    /// First wrong operation; `None` where the kind of unit has none.
    fn culprit(&self) -> Option<&Culprit> {
        None
    }

    /// Takes its culprit away, where it has one.
    fn forget_culprit(&mut self) {}
}

/// Numbers of things that were compared in a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Values, tensors or parameters that were compared; of several units they add up.
    pub values: u64,
    /// Steps of a curve that were compared; of several units the longest counts.
    pub steps: u64,
    /// Values that were not compared: without a partner, or not comparable.
    pub unmatched: u64,
}

/// A number that the history follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Its name, stable.
    pub name: String,
    /// The number.
    pub value: Number,
    /// The limit it warns above.
    pub warn: Option<Number>,
    /// The limit it fails above.
    pub fail: Option<Number>,
}
