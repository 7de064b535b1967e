//! The worth of each refinement of judging dumps: pairs with known truth, judged with all refinements and with each of them
//! switched off in turn.
//!
//! ```sh
//! cargo run --release --example ablation -- tests/fixtures/dumps tests/fixtures/dumps-real
//! ```
#![allow(
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a table on standard output, of files of a known shape"
)]

#[path = "../tests/dumps/real_case.rs"]
mod real_case;

use std::path::Path;

use precision_gate::judge::register;
use precision_gate::policy::Policy;
use precision_gate::policy::dump::Refinement;
use rayon::prelude::*;
use real_case::{Case, folders};

/// Right answers of all pairs.
#[derive(Default, PartialEq, Eq)]
struct Right {
    benign: usize,
    verdicts: usize,
    culprits: usize,
    causes: usize,
    /// Names of pairs with something that is not right.
    wrong: Vec<String>,
}

fn main() {
    let roots: Vec<String> = std::env::args().skip(1).collect();
    let cases: Vec<Case> =
        roots.iter().flat_map(|root| folders(Path::new(root))).map(|folder| Case::open(&folder)).collect();
    let cases: Vec<Case> = cases.into_iter().filter(|case| case.check == "dump").collect();
    let whole = right(&cases, &[]);
    println!("| without | healthy pairs accused | verdicts lost | culprits lost | causes lost | gained |");
    println!("|---|---|---|---|---|---|");
    println!(
        "| nothing ({} pairs) | {} right | {} right | {} right | {} right | |",
        cases.len(),
        whole.benign,
        whole.verdicts,
        whole.culprits,
        whole.causes
    );
    for refinement in Refinement::ALL {
        let without = right(&cases, &[refinement]);
        let gained: Vec<&str> =
            whole.wrong.iter().filter(|name| !without.wrong.contains(name)).map(String::as_str).collect();
        println!(
            "| {refinement:?} | {} | {} | {} | {} | {} |",
            lost(whole.benign, without.benign),
            lost(whole.verdicts, without.verdicts),
            lost(whole.culprits, without.culprits),
            lost(whole.causes, without.causes),
            gained.join(", ")
        );
    }
}

/// A loss as a number; a gain as a negative one.
fn lost(before: usize, after: usize) -> String {
    if before >= after { (before - after).to_string() } else { format!("−{}", after - before) }
}

fn right(cases: &[Case], without: &[Refinement]) -> Right {
    let one = |case: &Case| {
        let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
        let mut policy = Policy::parse("policy.yml", &case.policy, &codes).expect("a sound policy");
        policy.dump.without = without.to_vec();
        let Ok(result) = case.judge(policy) else { return Right::default() };
        let verdict = case.has_right_verdict(&result);
        let (culprit, cause) = (case.has_right_culprit(&result), case.has_right_cause(&result));
        let is_right = verdict && culprit != Some(false) && cause != Some(false);
        Right {
            benign: usize::from(case.is_benign() && verdict),
            verdicts: usize::from(!case.is_benign() && verdict),
            culprits: usize::from(culprit == Some(true)),
            causes: usize::from(cause == Some(true)),
            wrong: if is_right { Vec::new() } else { vec![case.name.clone()] },
        }
    };
    let add = |mut sum: Right, next: Right| {
        sum.benign += next.benign;
        sum.verdicts += next.verdicts;
        sum.culprits += next.culprits;
        sum.causes += next.causes;
        sum.wrong.extend(next.wrong);
        sum
    };
    cases.par_iter().map(one).collect::<Vec<_>>().into_iter().fold(Right::default(), add)
}
