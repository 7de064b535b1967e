//! Recording the noise of a case: from the curves and the dumps of its repeats.

use super::repeats::{Repeat, RepeatOpener, too_few_repeats};
use super::{dump, loss};
use crate::error::Result;
use crate::judge::loss::noise::NoiseBand;
use crate::policy::location::TrustedLocation;
use crate::policy::loss::LossPolicy;

/// Records a noise band from repeats: the locations of several runs, or of one folder with a run in each entry. Curves of
/// runs that are not repeats of each other are refused, unless `any_runs` is set; dumps of such runs are always refused.
///
/// # Errors
/// Errors of opening them; `Usage` where fewer than two hold curves or dumps, or two are not repeats of one case.
pub fn record(
    runs: &[TrustedLocation],
    policy: &LossPolicy,
    repeats: RepeatOpener<'_>,
    any_runs: bool,
) -> Result<NoiseBand> {
    let (found, locations) = repeats.open(runs, loss::log_pattern(policy)?.as_ref())?;
    let with = |there: fn(&Repeat) -> bool| -> Vec<Repeat> { found.iter().filter(|run| there(run)).cloned().collect() };
    let (curves, dumps) = (with(|run| !run.curves.is_empty()), with(|run| !run.dumps.is_empty()));
    let band = match (curves.len(), dumps.len()) {
        (0 | 1, 0 | 1) => {
            return Err(too_few_repeats(
                &locations,
                &format!("{} with curves and {} with dumps", curves.len(), dumps.len()),
            ));
        }
        (0 | 1, _) => NoiseBand::new(dumps.iter().map(|run| run.name.clone()).collect()),
        _ => loss::band_of_repeats(&curves, policy, any_runs)?,
    };
    let band = if curves.len() > 1 { band.with_sample(loss::sample_of_repeats(&curves, policy)?) } else { band };
    let of_dumps = if dumps.len() > 1 { dump::noise_of_repeats(&dumps)? } else { Vec::new() };
    Ok(band.with_dumps(of_dumps))
}
