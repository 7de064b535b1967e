//! `calibrate`: a limit from the scores of past runs.

use std::path::PathBuf;

use clap::Args;
use precision_gate::compare::significance::calibration::{Calibration, LEAST, calibrate as limit_of};
use precision_gate::error::Result;
use precision_gate::exit;
use precision_gate::gate::calibrate::past_values;
use precision_gate::kind::Better;
use precision_gate::read::metric;

use super::curves::json;
use super::{policy_file, show, speech};

/// `calibrate`
#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Scores of past runs: a CSV file with a column of the metric, JSON lines, or what `precision-gate noise` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The metric: a column, a key, or a curve of the recorded runs
    #[arg(long)]
    metric: String,
    /// A gate that is in use or planned
    #[arg(long, value_name = "VALUE")]
    gate: Option<f64>,
    /// Policy file, whose `samples` section gives alpha and power [default: precision-gate.yml, if it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// `precision-gate calibrate`
pub(crate) fn calibrate(args: &CalibrateArgs) -> Result<u8> {
    let policy = policy_file::policy(args.config.as_deref(), None)?.samples;
    let name = args.file.display().to_string();
    let values = past_values(&args.file, &args.metric)?;
    let canonical = metric::canonical(&args.metric);
    let is_higher_worse = metric::better_direction(&canonical, metric::role(&canonical)) == Some(Better::Lower);
    let (alpha, power) = (policy.alpha.get(), policy.power.get());
    let Some(found) = limit_of(&values, [alpha, power], args.gate, is_higher_worse) else {
        let message =
            format!("samples-too-few-runs: {} values of `{}`, and {LEAST} are needed", values.len(), args.metric);
        speech::tell(speech::Weight::Error, &format!("{name}: {message}"));
        return Ok(exit::FAIL);
    };
    if args.json {
        show::say(&json(&found)?)?;
        return Ok(exit::PASS);
    }
    show::sentences(&told(&found, &args.metric, alpha, power, is_higher_worse))?;
    Ok(exit::PASS)
}

/// The result in words.
fn told(found: &Calibration, metric: &str, alpha: f64, power: f64, is_higher_worse: bool) -> String {
    let Calibration { n, mean, sd, limit, detectable, .. } = *found;
    let side = if is_higher_worse { "above" } else { "below" };
    let mut text = format!(
        "{metric}: {n} runs, mean {mean:.6}, standard deviation {sd:.6}\nlimit {limit:.6}: a healthy run falls {side} it once in \
         {:.0}\na change of {detectable:.6} is found {:.0} times in 100\n",
        1.0 / alpha,
        100.0 * power
    );
    if let (Some(gate), Some(observed), Some(expected), Some(inside)) =
        (found.gate, found.gate_observed, found.gate_expected, found.inside)
    {
        let (seen, chance) = (100.0 * observed, 100.0 * expected);
        text.push_str(&format!(
            "gate {gate}: {seen:.1} % of these runs fall {side} it, {chance:.2} % of healthy ones are expected to\n"
        ));
        if inside {
            text.push_str("the gate lies inside the scatter of healthy runs: it fails without a defect\n");
        }
    }
    text
}
