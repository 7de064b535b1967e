//! `calibrate`: a limit from the scores of past runs.

use std::path::{Path, PathBuf};

use clap::Args;
use precision_gate::compare::curve::numbers::level;
use precision_gate::compare::significance::calibration::{Calibration, LEAST, calibrate as limit_of};
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::exit;
use precision_gate::judge::loss::noise::NoiseBand;
use precision_gate::kind::Better;
use precision_gate::read::metric;
use serde_json::Value;

use super::curves::json;
use super::{policy_file, show};

/// Largest file that is read, in bytes.
const LARGEST: u64 = 64 << 20;

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
    let values = values(&args.file, &args.metric)?;
    let canonical = metric::canonical(&args.metric);
    let is_higher_worse = metric::better(&canonical, metric::role(&canonical)) == Some(Better::Lower);
    let (alpha, power) = (policy.alpha.get(), policy.power.get());
    let Some(found) = limit_of(&values, [alpha, power], args.gate, is_higher_worse) else {
        let message =
            format!("samples-too-few-runs: {} values of `{}`, and {LEAST} are needed", values.len(), args.metric);
        eprintln!("error: {name}: {message}");
        return Ok(exit::FAIL);
    };
    if args.json {
        show::say(&json(&found)?)?;
        return Ok(exit::PASS);
    }
    show::say(&told(&found, &args.metric, alpha, power, is_higher_worse))?;
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

/// The numbers of past runs.
fn values(path: &Path, metric: &str) -> Result<Vec<f64>> {
    let name = path.display().to_string();
    let len = std::fs::metadata(path).map_err(|error| Error::io(&name, &error))?.len();
    if len > LARGEST {
        return Err(Error::new(ErrorKind::LimitExceeded, name, format!("has {len} bytes, more than {LARGEST}")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| Error::io(&name, &error))?;
    let unknown = |what: &str| {
        let error = Error::new(ErrorKind::Usage, &name, format!("has no {what} `{metric}` with numbers"));
        error.with_help("name the column or key with --metric")
    };
    if let Ok(band) = serde_json::from_str::<NoiseBand>(&text) {
        let curves = band.sample.iter().filter_map(|run| run.curves.iter().find(|curve| curve.metric == metric));
        let values: Vec<f64> =
            curves.filter_map(|curve| level(&curve.values.iter().map(|value| value.0).collect::<Vec<_>>())).collect();
        return if values.is_empty() { Err(unknown("curve")) } else { Ok(values) };
    }
    if text.trim_start().starts_with('{') {
        let number = |line: &str| serde_json::from_str::<Value>(line).ok()?.get(metric)?.as_f64();
        let values: Vec<f64> = text.lines().filter_map(number).collect();
        return if values.is_empty() { Err(unknown("key")) } else { Ok(values) };
    }
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let damaged = |error: csv::Error| Error::new(ErrorKind::Corrupt, &name, error);
    let column = table.headers().map_err(damaged)?.iter().position(|column| column.trim() == metric);
    let column = column.ok_or_else(|| unknown("column"))?;
    let mut values = Vec::new();
    for row in table.records() {
        let row = row.map_err(damaged)?;
        let cell = row.get(column).unwrap_or_default().trim();
        if cell.is_empty() {
            continue;
        }
        let value = cell.parse::<f64>().ok().filter(|value| value.is_finite());
        let line = row.position().map_or(0, csv::Position::line);
        let wrong = || Error::new(ErrorKind::Corrupt, format!("{name}:{line}"), format!("`{cell}` is no number"));
        values.push(value.ok_or_else(wrong)?);
    }
    Ok(values)
}
