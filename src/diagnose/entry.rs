//! An entry of the register of causes, which the file of each cause fills in.

use super::context::DumpContext;
use super::curves::RunCurves;
use super::rl::Rollouts;
use crate::judge::rule::Rule;
use crate::result::diagnosis::{Diagnosis, Sureness};
use crate::result::finding::Finding;

/// One cause, with the functions that recognise it and its relations to other causes and findings.
#[derive(Debug)]
pub struct Cause {
    /// Stable, kebab-case.
    pub code: &'static str,
    /// Pages with further reading.
    pub links: &'static [&'static str],
    /// Looks at a dump's culprit and its surroundings.
    pub(super) in_dump: fn(&DumpContext<'_>) -> Option<Diagnosis>,
    /// Looks at training curves.
    pub(super) in_curves: fn(&RunCurves<'_>) -> Option<Diagnosis>,
    /// Looks at the curves of a run of reinforcement learning.
    pub(super) in_rl: fn(&Rollouts<'_>) -> Option<Diagnosis>,
    /// Looks at findings of the config check.
    pub(super) in_config: fn(&[&Finding]) -> Option<Diagnosis>,
    /// Rules about a single run whose findings about the candidate show this cause.
    pub(super) shown_by: &'static [&'static Rule],
    /// Whether such a finding is this cause, where several causes show in it.
    pub(super) in_run: fn(&Finding) -> bool,
    /// Certainty that such a finding gives this cause.
    pub(super) run_sureness: Sureness,
    /// Code of the advice where such a finding shows the cause; empty to use that of the cause.
    pub(super) run_advice: &'static str,
    /// Whether the cause is only used where no cause before it in the register applies: plain descriptions of a
    /// difference, and causes that remain when nothing more specific fits.
    pub(super) is_last_resort: bool,
    /// Codes of causes that a dump may show and that explain this cause where curves show it.
    pub(super) explained_by: &'static [&'static str],
    /// Codes of findings that are further evidence of this cause where a dump or a curve shows it.
    pub(super) supported_by: &'static [&'static Rule],
}

/// The code, as diagnoses name the cause.
impl From<&Cause> for String {
    fn from(cause: &Cause) -> Self {
        cause.code.to_owned()
    }
}

impl Cause {
    /// A cause with no way to be recognised yet.
    pub(super) const fn new(code: &'static str) -> Self {
        Self {
            code,
            links: &[],
            in_dump: |_| None,
            in_curves: |_| None,
            in_rl: |_| None,
            in_config: |_| None,
            shown_by: &[],
            in_run: |_| true,
            run_sureness: Sureness::Certain,
            run_advice: "",
            is_last_resort: false,
            explained_by: &[],
            supported_by: &[],
        }
    }

    pub(super) fn diagnose_dump(&self, context: &DumpContext<'_>) -> Option<Diagnosis> {
        (self.in_dump)(context)
    }

    pub(super) fn diagnose_curves(&self, curves: &RunCurves<'_>) -> Option<Diagnosis> {
        (self.in_curves)(curves)
    }

    pub(super) fn diagnose_rl(&self, rollouts: &Rollouts<'_>) -> Option<Diagnosis> {
        (self.in_rl)(rollouts)
    }

    pub(super) fn diagnose_config(&self, findings: &[&Finding]) -> Option<Diagnosis> {
        (self.in_config)(findings)
    }

    /// Whether a finding about the candidate alone shows this cause.
    pub(super) fn is_shown_by(&self, finding: &Finding) -> bool {
        finding.is_any(self.shown_by) && (self.in_run)(finding)
    }

    pub(super) fn is_last_resort(&self) -> bool {
        self.is_last_resort
    }

    /// Whether a diagnosis of the cause `other` explains this cause where curves show it.
    pub(super) fn is_explained_by(&self, other: &str) -> bool {
        self.explained_by.contains(&other)
    }

    pub(super) fn is_supported_by(&self, finding: &Finding) -> bool {
        finding.is_any(self.supported_by)
    }
}

/// PyTorch's notes on what is reproducible.
pub(super) const RANDOMNESS_NOTES: &str = "https://docs.pytorch.org/docs/stable/notes/randomness.html";
/// PyTorch's notes on the accuracy of what it computes.
pub(super) const ACCURACY_NOTES: &str = "https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html";
