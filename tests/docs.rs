//! Documents that are made from the program stay what the program says. `UPDATE_DOCS=1 cargo test --test all docs::` writes those
//! that are committed again; the others are made for the book on every run (`made`).
#![allow(
    clippy::indexing_slicing,
    clippy::float_cmp,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should; it compares exactly where that is meant, and says what it counted"
)]

mod blocks;
mod book;
mod command_line;
mod commands;
pub(crate) mod fresh;
mod invariants;
mod links;
mod made;
mod pages;
mod pasted;
mod policy_file;
mod python_types;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use fresh::is_fresh;
use precision_gate::judge::register;
use precision_gate::policy::Policy;
use precision_gate::policy::input::InputKind;
use precision_gate::publish::forge::ForgeKind;
use precision_gate::publish::trust::{EVENTS, FileRights, InputSource, OriginSource, input_source};

#[test]
fn the_crate_of_results_lists_every_code() {
    let mut text =
        "//! Codes of findings, each with its check and its severity where no policy gives another one.\n//!\n\
         //! Made by `UPDATE_DOCS=1 cargo test --locked --test all docs::` from the rules of the gate.\n\n\
         use crate::verdict::{CheckId as Check, Severity as Weight};\n\n\
         /// The codes of findings, check by check. A code is never given to another finding; new ones are added.\n\
         pub const FINDINGS: &[(&str, Check, Weight)] = &[\n"
            .to_owned();
    for rule in register::all_rules() {
        writeln!(text, "    ({:?}, Check::{:?}, Weight::{:?}),", rule.code, rule.check, rule.severity)
            .expect("a string takes it");
    }
    text.push_str("];\n");
    is_fresh("../crates/result/src/codes.rs", &text, "docs");
}

/// Tests of `tests/forge/trust.rs` that hold a cell of the table for inputs: its number, for an own and a stranger's commit.
const INPUT_TESTS: [(&str, &str); 11] = [
    (
        "the_repositorys_own_change_is_judged_by_its_own_files_in_every_event",
        "a_stranger_is_judged_by_the_target_branch_in_every_event",
    ),
    ("own_templates_have_to_give_json", "templates_are_the_target_branchs"),
    ("a_noise_band_is_the_target_branchs", "a_noise_band_is_the_target_branchs"),
    (
        "repeats_in_the_checkout_count_where_the_change_leaves_them_alone",
        "repeats_in_the_checkout_count_where_the_change_leaves_them_alone",
    ),
    ("a_named_baseline_is_the_target_branchs", "a_named_baseline_is_the_target_branchs"),
    (
        "the_repositorys_own_change_is_judged_by_its_own_files_in_every_event",
        "a_baseline_in_the_checkout_counts_where_the_change_leaves_it_alone",
    ),
    ("a_stranger_has_no_part_in_the_history", "a_stranger_has_no_part_in_the_history"),
    ("the_second_half_posts_a_result_of_the_head_commit", "what_is_not_of_the_head_commit_or_no_result_is_refused"),
    ("signatures_limits_and_refusals", "nothing_of_a_checkout_is_run"),
    ("nothing_of_a_checkout_is_run", "nothing_of_a_checkout_is_run"),
    (
        "the_repositorys_own_change_is_judged_by_its_own_files_in_every_event",
        "a_repository_in_the_checkout_is_never_asked",
    ),
];

/// The tests of `src/publish/event/tests.rs` that hold the rows.
const EVENT_TESTS: [&str; 2] = ["github_events", "gitlab_pipelines"];

#[test]
fn the_table_of_trust_is_the_programs() {
    let mut tests: Vec<&str> = Vec::new();
    let mut number = |test: &'static str| -> usize {
        tests.iter().position(|known| *known == test).unwrap_or_else(|| {
            tests.push(test);
            tests.len() - 1
        }) + 1
    };
    let letters = [
        (InputSource::Checkout, "C"),
        (InputSource::Target, "T"),
        (InputSource::Unchanged, "U"),
        (InputSource::Job, "J"),
        (InputSource::Forge, "F"),
        (InputSource::Data, "D"),
        (InputSource::Nowhere, "–"),
    ];
    let letter = |taken: InputSource| letters.iter().find(|(known, _)| *known == taken).expect("a letter").1;
    let mut table = String::from(
        "\n### Event by event, input by input\n\nEach cell: own commit / stranger's commit, and the tests that hold it.\n\n| event | told by |",
    );
    InputKind::ALL.iter().for_each(|input| write!(table, " {} |", input.name()).expect("a string takes it"));
    table.push_str("\n|---|---|");
    table.push_str(&"---|".repeat(InputKind::ALL.len()));
    for row in EVENTS {
        let told = match row.origin_source {
            OriginSource::Own => "own, if its commit is checked out; a flag: the forge",
            OriginSource::ByEvent => "the event",
            OriginSource::ByForge => "the forge",
        };
        let events = number(EVENT_TESTS[usize::from(row.forge == ForgeKind::Gitlab)]);
        write!(table, "\n| {} `{}` | {told} [{events}] |", row.forge.name(), row.event).expect("a string takes it");
        for (input, (own, stranger)) in InputKind::ALL.iter().zip(INPUT_TESTS) {
            let [of_own, of_stranger] =
                [FileRights::Own, FileRights::Stranger].map(|standing| letter(input_source(standing, *input)));
            let (own, stranger) = (number(own), number(stranger));
            write!(table, " {of_own} [{own}] / {of_stranger} [{stranger}] |").expect("a string takes it");
        }
    }
    let words: Vec<String> = letters.iter().map(|(taken, letter)| format!("{letter}: {}", taken.name())).collect();
    write!(table, "\n\n{}. A file outside of the workspace is the job's own in every cell.\n", words.join("; "))
        .expect("text");
    table.push_str("\nKeys of a policy that name a location, and the column that holds for each:\n\n");
    let full = "{baseline: {location: a}, candidate: {location: a}, reference: {location: a}, loss: {noise: a}, \
                dump: {noise: a}, performance: {repeats: [a]}, templates: a, source-root: a, history: {location: a}}";
    let mut policy = Policy::parse("gate.yml", full, &[]).expect("a policy");
    for (key, input, _) in policy.locations() {
        writeln!(table, "- `{key}`: {}", input.name()).expect("a string takes it");
    }
    for (index, test) in tests.iter().enumerate() {
        write!(table, "\n{}. `{test}`", index + 1).expect("a string takes it");
    }
    table.push('\n');
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/security.md");
    let page = fs::read_to_string(path).expect("the page");
    let (before, rest) = page.split_once("cargo test --test all docs::` -->\n").expect("the table's begin");
    let (_, after) = rest.split_once("<!-- end -->").expect("the table's end");
    is_fresh(
        "security.md",
        &format!("{before}cargo test --test all docs::` -->\n{table}\n<!-- end -->{after}"),
        "docs",
    );
    let mut sources = String::new();
    for folder in ["tests/forge", "src/publish/event"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let files = fs::read_dir(folder).expect("a folder").flatten().filter(|file| file.path().is_file());
        files.for_each(|file| sources.push_str(&fs::read_to_string(file.path()).expect("text")));
    }
    for test in &tests {
        assert!(sources.contains(&format!("fn {test}()")), "there is no test `{test}`");
    }
}
