//! Communication: every rank's own operations agree, and the first difference is the result of a collective.

use super::super::context::{DumpContext, Suspect};
use super::super::entry::{Cause, RANDOMNESS_NOTES};
use crate::judge::config::rules as config_rules;
use crate::judge::dump::rules as dump_rules;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause {
    in_dump,
    supported_by: &[&config_rules::COLLECTIVES, &config_rules::ENV_DEVICE_COUNT, &config_rules::ENV_PAIR_DIFFERS],
    links: &[RANDOMNESS_NOTES],
    ..Cause::new("communication")
};

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect()?;
    if let Some(evidence) = of_experts(context, &suspect) {
        let diagnosis = Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Likely).because(evidence);
        return Some(diagnosis.advise(Statement::new("experts-exchange")));
    }
    if !suspect.culprit.op.starts_with("Distributed.") {
        return None;
    }
    if !suspect.is_result() || suspect.has_finding_of(&[&dump_rules::ARGUMENT_DIFFERS]) {
        return None;
    }
    let evidence = Statement::new("collective-differs")
        .with("op", suspect.culprit.op.as_str())
        .with("ranks", context.peers.len() + 1);
    // With the other ranks' dumps at hand, the values they sent are known to agree too.
    let sureness = if context.peers.is_empty() { Sureness::Possible } else { Sureness::Certain };
    Some(Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), sureness).because(evidence))
}

/// All experts of a layer agree, but the layer that combines their results does not.
fn of_experts(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Statement> {
    context.input.candidate.parts.as_deref().filter(|parts| parts.layout.ep > 1)?;
    let path = suspect.name.base.rsplit_once('.')?.0;
    let below = format!("{path}.experts.");
    let has_experts = context.input.candidate.operations.iter().any(|operation| operation.name.starts_with(&below));
    (has_experts && suspect.is_result() && !suspect.is_backward())
        .then(|| Statement::new("experts-agree").with("op", suspect.culprit.op.as_str()))
}
