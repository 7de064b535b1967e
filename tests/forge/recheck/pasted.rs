//! Waivers of every comment, pasted into the policy with a reason and an owner: what the gate says then.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use precision_gate::gate::Request;
use precision_gate::judge::defect;
use precision_gate::policy::waiver::{OFFERED_OWNERS, OFFERED_REASONS};
use precision_gate::report::messages::Language;
use precision_gate::report::waiver;
use precision_gate::result::GateResult;

use super::fixtures::all_fixtures;
use super::{fixture, judged, policy_of};

/// Results of a kind of data that block, and what became of them.
#[derive(Default)]
struct Tally {
    block: u32,
    offered: u32,
    accepted: u32,
}

/// The block that the comment of `result` offers, with words in place of what is to be filled in.
fn filled(result: &GateResult) -> Option<String> {
    let text = waiver::waivers(&defect::root_findings(result), &result.today, waiver::DAYS, Language::En)?;
    let text = OFFERED_REASONS.iter().fold(text, |text, words| text.replace(words, "reviewed by the team"));
    Some(OFFERED_OWNERS.iter().fold(text, |text, words| text.replace(words, "numerics")))
}

/// Codes that still block a result, each once.
fn blocking(result: &GateResult) -> String {
    let blocking = result.findings.iter().filter(|finding| finding.severity.verdict().blocks());
    let codes: std::collections::BTreeSet<String> = blocking.map(|finding| format!("`{}`", finding.code)).collect();
    codes.into_iter().collect::<Vec<_>>().join(", ")
}

/// Tables of what became of the offers: by kind of data, and what still blocks.
fn tables() -> String {
    let (mut tallies, mut left) = (BTreeMap::<String, Tally>::new(), String::new());
    for name in all_fixtures() {
        let result = judged(&fixture(&name), &policy_of(""), Request::ALL_CHECKS);
        if !result.verdict.blocks() {
            continue;
        }
        let tally = tallies.entry(name.split('/').next().unwrap_or_default().to_owned()).or_default();
        tally.block += 1;
        let Some(offer) = filled(&result) else { continue };
        tally.offered += 1;
        let again = judged(&fixture(&name), &policy_of(&offer), Request::ALL_CHECKS);
        if again.verdict.blocks() {
            writeln!(left, "| `{name}` | {} |", blocking(&again)).expect("a text");
        } else {
            tally.accepted += 1;
        }
    }
    let mut text = String::from(
        "| fixtures | that block | with an offer | exit code 0 once it is pasted |\n| --- | ---: | ---: | ---: |\n",
    );
    for (kind, Tally { block, offered, accepted }) in tallies {
        writeln!(text, "| `{kind}` | {block} | {offered} | {accepted} |").expect("a text");
    }
    text + "\nThese still block, by what no waiver accepts:\n\n| fixture | still said |\n| --- | --- |\n" + &left
}

#[test]
fn the_page_says_what_becomes_of_every_offered_waiver() {
    const MARKS: [&str; 2] = ["<!-- offered waivers -->\n", "<!-- end of offered waivers -->\n"];
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/evidence.md");
    let page = fs::read_to_string(&path).expect("a page");
    let (before, rest) = page.split_once(MARKS[0]).expect("the begin of the tables");
    let (told, after) = rest.split_once(MARKS[1]).expect("the end of the tables");
    let tables = tables();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, [before, MARKS[0], &tables, MARKS[1], after].concat()).expect("written");
    } else {
        assert_eq!(told, tables, "write it again: UPDATE_DOCS=1 cargo test --test all pasted");
    }
}
