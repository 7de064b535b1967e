//! Another update: gradients agree, and the parameters of the next step do not.
//!
//! Most parameters move differently from the baseline, as with another learning rate, epsilon, beta, weight decay or
//! clipping; a single such parameter does not point to the optimizer's settings.

use super::super::context::DumpContext;
use super::super::entry::Cause;
use super::super::updates::{Parts, Update, Updates};
use super::gradient_reduction;
use crate::judge::config::rules as config_rules;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause {
    in_dump,
    supported_by: &[&config_rules::HYPER_ONE_SIDED, &config_rules::HYPER_DIFFERS],
    ..Cause::new("optimizer-differs")
};

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect()?;
    let updates = Updates::from_suspect(context, &suspect)?;
    let is_lost = updates.suspect_update()?.lost_side().is_some();
    if is_lost || !is_of_most(&updates) || gradient_reduction::explains(context, &suspect) {
        return None;
    }
    let (step, compared) = (updates.since, context.before?.gradients.compared_values());
    let others = updates.all.iter().filter(|update| is_other(update)).count();
    let evidence = Statement::new("updates-differ")
        .with("step", step)
        .with("count", others)
        .with("of", updates.all.len())
        .with("parameters", updates.names(is_other));
    let evidence = updates.note(evidence);
    let gradients =
        (compared > 0).then(|| Statement::new("gradients-agreed").with("step", step).with("compared", compared));
    let parts = updates.parts().and_then(parts_statement);
    let factor = updates.factor().map(|factor| Statement::new("update-factor").with("factor", factor));
    let factor = factor.filter(|_| parts.is_none());
    let advice = factor.is_some().then(|| Statement::new("updates-scaled")).or_else(|| parts.clone());
    // Gradients that were not dumped may differ as well.
    let sureness = if compared > 0 { Sureness::Likely } else { Sureness::Possible };
    let diagnosis = Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), sureness).because(evidence);
    let diagnosis = diagnosis.because_all(parts).because_all(factor).because_all(gradients);
    Some(diagnosis.advise(advice))
}

/// States which part of the updates differs, where it is one alone: that of the gradient, or the decay.
fn parts_statement(parts: Parts) -> Option<Statement> {
    /// Distance from 1 of a factor that counts, and share of itself by which a parameter shrinks otherwise.
    const LEAST: (f64, f64) = (0.05, 1e-7);
    let is_scaled = (parts.gradient - 1.0).abs() > LEAST.0;
    // With equal decays the further one is the baseline's, less the factor times it.
    let own = parts.decay / (1.0 - parts.gradient);
    if is_scaled && parts.decay.abs() > LEAST.1 && own > 0.0 {
        Some(Statement::new("gradient-part").with("factor", parts.gradient).with("decay", own))
    } else if !is_scaled && parts.decay.abs() > LEAST.1 {
        Some(Statement::new("decay-part").with("decay", parts.decay))
    } else {
        None
    }
}

fn is_other(update: &Update) -> bool {
    update.is_different() == Some(true)
}

/// Whether most of the parameters that moved far enough to be compared moved differently.
pub(super) fn is_of_most(updates: &Updates) -> bool {
    let telling: Vec<bool> = updates.all.iter().filter_map(Update::is_different).collect();
    let others = telling.iter().filter(|is_other| **is_other).count();
    others > 0 && others * 2 >= telling.len()
}
