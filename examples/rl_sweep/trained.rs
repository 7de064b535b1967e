//! False alarms and defects found on policies that are really trained.

use std::fmt::Write as _;

use precision_gate::error::Result;
use precision_gate::verdict::Verdict;

use super::policy::{Algorithm, DEFECTS, Defect, Training, log};
use super::{Tally, judged};

/// Healthy pairs of each training, and pairs of each defect: one of each of the first trainings.
const PAIRS: u64 = 25;
const WITH_DEFECT: usize = 4;

const PLAIN: Training = Training {
    name: "",
    algorithm: Algorithm::Grpo,
    steps: 120,
    prompts: 12,
    batch: 8,
    answers: 6,
    rate: 0.012,
    kl: 0.02,
    misgraded: 0.1,
    is_sparse: false,
};

/// None of them has solved its task when it ends.
const TRAININGS: [Training; 8] = [
    Training { name: "GRPO", ..PLAIN },
    Training { name: "RLOO", algorithm: Algorithm::Rloo, ..PLAIN },
    Training { name: "REINFORCE, running mean", algorithm: Algorithm::Reinforce, ..PLAIN },
    Training { name: "GRPO, squared reward", is_sparse: true, ..PLAIN },
    Training { name: "GRPO, slow and long", steps: 240, rate: 0.005, ..PLAIN },
    Training { name: "GRPO, few answers", batch: 4, answers: 4, ..PLAIN },
    Training { name: "RLOO, a third graded by chance", algorithm: Algorithm::Rloo, misgraded: 0.33, ..PLAIN },
    Training {
        name: "REINFORCE, squared reward, many prompts",
        algorithm: Algorithm::Reinforce,
        is_sparse: true,
        prompts: 24,
        batch: 12,
        ..PLAIN
    },
];

fn pair(training: Training, seed: u64, defect: Defect) -> Result<Verdict> {
    let baseline = log(training, 2 * seed + 1, Defect::None);
    let candidate = log(training, 2 * seed + 2, defect);
    if let Some(folder) = std::env::var_os("RL_SWEEP_LOGS") {
        let path = |side: &str| {
            let name = format!("{}-{defect:?}-{seed}-{side}.jsonl", training.name.replace([' ', ','], "_"));
            std::path::Path::new(&folder).join(name)
        };
        let _ignored = std::fs::write(path("gpu"), &baseline).and_then(|()| std::fs::write(path("npu"), &candidate));
    }
    judged(&format!("{} {seed} {defect:?}", training.name), &baseline, &candidate)
}

/// Appends both tables.
pub(crate) fn tables(text: &mut String) -> Result<()> {
    let head = "| training | pairs | passed | warned | blocked |\n|---|---|---|---|---|";
    let _infallible = writeln!(text, "\n## Trained policies, healthy\n\n{head}");
    let mut all = Tally::default();
    for (nth, training) in (0_u64..).zip(TRAININGS) {
        let mut tally = Tally::default();
        for seed in 0..PAIRS {
            let verdict = pair(training, 100 * nth + seed, Defect::None)?;
            tally.add(verdict);
            all.add(verdict);
        }
        row(text, training.name, tally);
    }
    row(text, "all", all);
    let head = "| defect | pairs | not seen | warned | blocked |\n|---|---|---|---|---|";
    let _infallible = writeln!(text, "\n## Trained policies with a defect\n\n{head}");
    let mut all = Tally::default();
    for (nth, (defect, name)) in (0_u64..).zip(DEFECTS) {
        let mut tally = Tally::default();
        for (of, training) in (0_u64..).zip(TRAININGS.into_iter().take(WITH_DEFECT)) {
            let verdict = pair(training, 9000 + 10 * nth + of, defect)?;
            tally.add(verdict);
            all.add(verdict);
        }
        row(text, name, tally);
    }
    row(text, "all", all);
    Ok(())
}

fn row(text: &mut String, name: &str, tally: Tally) {
    let (pairs, blocked, spoke) = (tally.all, tally.failed, tally.spoke);
    let _infallible = writeln!(text, "| {name} | {pairs} | {} | {} | {blocked} |", pairs - spoke, spoke - blocked);
}
