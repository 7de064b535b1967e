//! The commands about training curves: `loss`, `noise`, `selftest`.

use std::path::PathBuf;

use clap::Args;
use precision_gate::check::Command;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::exit;
use precision_gate::gate::repeats::{LARGEST_BAND, RepeatOpener};
use precision_gate::gate::{self, UncheckedRequest};
use precision_gate::msprobe::dump::Matching;
use precision_gate::output::{self, Over};
use precision_gate::policy::location::TrustedLocation;
use precision_gate::policy::loss::Mode;
use precision_gate::policy::loss::preset::Preset;
use precision_gate::report::messages::short_number;
use precision_gate::result::unit::unit_place;
use serde::Serialize;

use super::flags::PairArgs;
use super::{fetching, judge, policy_file, show, speech};

/// `loss`
#[derive(Debug, Args)]
pub(crate) struct LossArgs {
    /// Whether both runs start from the same weights
    #[arg(long, value_enum)]
    pub(crate) mode: Option<Mode>,
    /// Published acceptance rule that decides in place of the limits
    #[arg(long, value_enum)]
    pub(crate) preset: Option<Preset>,
    /// A repeat of the baseline, or the file that `precision-gate noise` wrote; may be given several times
    #[arg(long, value_name = "LOCATION")]
    pub(crate) noise: Vec<String>,
    #[command(flatten)]
    pub(crate) pair: PairArgs,
}

/// `noise`
#[derive(Debug, Args)]
pub(crate) struct NoiseArgs {
    /// Repeats of one case, or one folder that holds a repeat per entry
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// File to write
    #[arg(long, short, alias = "output", value_name = "FILE", default_value = "noise.json")]
    pub(crate) out: PathBuf,
    /// Replace a file that precision-gate did not write
    #[arg(long)]
    pub(crate) force: bool,
    /// Accept runs that do not repeat each other, such as the same job with other seeds
    #[arg(long)]
    pub(crate) allow_different_runs: bool,
    /// Policy file [default: precision-gate.yml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) fetching: fetching::FetchArgs,
}

/// `selftest`
#[derive(Debug, Args)]
pub(crate) struct SelftestArgs {
    /// Policy file [default: precision-gate.yml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `precision-gate loss`
pub(crate) fn loss(args: &LossArgs) -> Result<u8> {
    let common = &args.pair.common;
    let output = judge::begin(common)?;
    let case = judge::case(common, |mut policy| {
        policy.loss.mode = args.mode.unwrap_or(policy.loss.mode);
        policy.loss.preset = args.preset.or(policy.loss.preset);
        if !args.noise.is_empty() {
            policy.loss.noise = args.noise.clone().into();
        }
        UncheckedRequest {
            baseline: args.pair.baseline.clone(),
            candidate: args.pair.candidate.clone(),
            checks: Command::Loss.checks(),
            policy,
            matching: Matching::default(),
            several: Default::default(),
        }
    })?;
    judge::judge(common, output, &case)
}

/// Whether a file is noise that this command recorded.
fn is_band(bytes: &[u8]) -> bool {
    serde_json::from_slice::<precision_gate::judge::loss::noise::NoiseBand>(bytes).is_ok()
}

/// `precision-gate noise`
pub(crate) fn noise(args: &NoiseArgs) -> Result<u8> {
    let policy = policy_file::policy(args.config.as_deref(), None)?;
    let fetcher = args.fetching.fetcher();
    let repeats = RepeatOpener { fetcher: &fetcher, recognisers: gate::recognisers() };
    let runs: Vec<TrustedLocation> = args.runs.iter().map(TrustedLocation::own).collect();
    let band = gate::noise::record(&runs, &policy.loss, repeats, args.allow_different_runs)?;
    let name = args.out.display().to_string();
    let text = json(&band)?;
    if text.len() as u64 > LARGEST_BAND {
        let message =
            format!("the recorded noise takes {} bytes, more than the {LARGEST_BAND} that are read", text.len());
        return Err(Error::new(ErrorKind::LimitExceeded, name, message).with_help("record fewer steps or ranks"));
    }
    output::write_file(&args.out, text.as_bytes(), Over::forced(args.force, is_band))?;
    for (metric, noise) in &band.metrics {
        let (head, mean) = (short_number(noise.head), short_number(noise.mean));
        show::sentences(&format!("{metric}: head {head}, mean {mean} ({} comparisons)\n", noise.comparisons))?;
    }
    for unit in &band.dumps {
        let added =
            unit.values.iter().map(|(row, noise)| (noise.added, row)).max_by(|one, other| one.0.total_cmp(&other.0));
        let largest = added.filter(|(added, _)| *added > 0.0);
        let place = unit_place(unit.step, unit.rank);
        let moved = unit.values.values().filter(|noise| noise.added > 0.0).count();
        let times = unit.comparisons;
        // Two sentences: the Chinese one finds its values by the words between them.
        show::sentences(&match largest.map(|(added, row)| (short_number(added), row)) {
            Some((most, row)) => format!(
                "{place}: values that move by themselves: {moved}, largest {most} ({row}) ({times} comparisons)\n"
            ),
            None => format!("{place}: values that move by themselves: {moved} ({times} comparisons)\n"),
        })?;
    }
    show::sentences(&format!("written to {name}\n"))?;
    Ok(exit::PASS)
}

/// `precision-gate selftest`
pub(crate) fn selftest(args: &SelftestArgs) -> Result<u8> {
    let found = gate::selftest::run(&policy_file::policy(args.config.as_deref(), None)?)?;
    if args.json {
        show::say(&json(&found)?)?;
    } else {
        for case in &found.cases {
            let mark = if case.ok { speech::in_own_language("ok   ") } else { speech::in_own_language("WRONG") };
            let kind =
                if case.is_defect { speech::in_own_language("defect ") } else { speech::in_own_language("healthy") };
            let what = speech::in_own_language(case.what);
            show::say(&format!("{mark} {kind} {:<24} {:<10} {what}\n", case.name, case.verdict.as_str()))?;
        }
        show::sentences(if found.ok {
            "the limits do what they should\n"
        } else {
            "the limits do not do what they should\n"
        })?;
    }
    Ok(if found.ok { exit::PASS } else { exit::FAIL })
}

pub(super) fn json(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Error::new(ErrorKind::Internal, "", error))?;
    Ok(text + "\n")
}
