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
    let factor = if parts.is_none() { updates.factor() } else { None };
    let advice = factor.map(|factor| scaled_advice(context, factor)).or_else(|| parts.clone());
    let factor = factor.map(|factor| Statement::new("update-factor").with("factor", factor));
    // Gradients that were not dumped may differ as well.
    let sureness = if compared > 0 { Sureness::Likely } else { Sureness::Possible };
    let diagnosis = Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), sureness).because(evidence);
    let diagnosis = diagnosis.because_all(parts).because_all(factor).because_all(gradients);
    Some(diagnosis.advise(advice))
}

/// Advice about updates that are all off by one factor: settings such as learning rates stand in round ratios, norms of gradients do not.
fn scaled_advice(context: &DumpContext<'_>, factor: f64) -> Statement {
    let advice = Statement::new("updates-scaled").with("ranks", context.peers.len() + 1);
    if is_round(factor) || is_round(1.0 / factor) {
        return advice;
    }
    let clipping = if factor > 1.0 { "baseline" } else { "candidate" };
    advice.with("factor", factor).with("side", clipping)
}

/// Whether a number is near one of a single digit, one and a half, one and a quarter or two and a half times a power of ten, or a power of
/// two.
fn is_round(factor: f64) -> bool {
    /// Relative distance that still counts as near: less than half of the gap between two such numbers, by the scatter of a measured factor.
    const NEAR: f64 = 0.005;
    const DIGITS: [f64; 12] = [1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
    let near = |round: f64| (factor / round - 1.0).abs() <= NEAR;
    let power = 10_f64.powf(factor.log10().floor());
    DIGITS.iter().any(|digit| near(digit * power)) || near(10.0 * power) || near(factor.log2().round().exp2())
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

#[cfg(test)]
mod tests {
    use super::is_round;

    #[test]
    fn ratios_of_settings_are_round() {
        assert!([2.0, 10.02, 0.1, 1.5, 64.1, 0.25, 3000.0].into_iter().all(is_round));
        assert!(![50.52, 7.3, 1.73, 0.66].into_iter().any(is_round));
    }
}
