//! The account of evidence for documents: how much each unit offered, how much of it was compared, and why the rest was not.

use minijinja::{Value, context};
use serde::Serialize;

use super::phrases;
use super::writer::{Writer, safe};
use crate::error::Result;
use crate::result::GateResult;
use crate::result::finding::Fact;
use crate::result::unit::{Check, Evidence};
use crate::verdict::CheckId;

/// Largest number of units that get a row of their own; a run may have thousands of ranks.
const MOST_ROWS: usize = 100;

#[derive(Debug, Serialize)]
pub(crate) struct AccountRow {
    /// The check.
    pub check: CheckId,
    /// The unit; empty in the sum of a check.
    pub unit: Value,
    /// Number of places of things that both runs have.
    pub offered: u64,
    /// Number of those places that were compared.
    pub compared: u64,
    /// Phrase for the places that were not compared; empty if all were.
    pub rest: Value,
}

/// Rows of `result`: the sum of each check, then those of its units that were not compared completely.
pub(super) fn rows(result: &GateResult, writer: &Writer) -> Result<Vec<AccountRow>> {
    let mut rows = Vec::new();
    for check in &result.checks {
        let accounts = || check.units.iter().filter_map(|unit| Some((unit.place(), unit.evidence()?)));
        let (offered, compared) = accounts().fold((0_u64, 0_u64), |(offered, compared), (_, one)| {
            (offered.saturating_add(one.offered), compared.saturating_add(one.compared))
        });
        if accounts().all(|(_, evidence)| evidence.is_empty()) {
            continue;
        }
        rows.push(AccountRow { check: check.id, unit: "".into(), offered, compared, rest: "".into() });
        for (place, evidence) in accounts() {
            let rest = rest(evidence, writer)?;
            if rest.is_empty() || rows.len() >= MOST_ROWS {
                continue;
            }
            let unit = writer.fact("unit", &Fact::Text(place));
            let Evidence { offered, compared, .. } = *evidence;
            rows.push(AccountRow { check: check.id, unit, offered, compared, rest: safe(rest) });
        }
    }
    Ok(rows)
}

/// Phrase for the part of a check that was not judged, over all units; empty if everything was judged.
pub(super) fn not_judged(check: &Check, writer: &Writer) -> Result<String> {
    let units = || check.units.iter().filter_map(|unit| unit.evidence());
    let sum = |count: fn(&Evidence) -> u64| units().map(count).fold(0, u64::saturating_add);
    let counts = [
        ("behind_waived", sum(|evidence| evidence.behind_waived)),
        ("not_compared", sum(|evidence| evidence.not_compared)),
        ("unread", sum(|evidence| evidence.unread)),
        ("damaged", sum(|evidence| evidence.damaged)),
        ("only_baseline", sum(|evidence| evidence.one_sided[0])),
        ("only_candidate", sum(|evidence| evidence.one_sided[1])),
        ("left_out", sum(|evidence| evidence.left_out)),
    ];
    let told = counts.into_iter().filter(|(_, count)| *count > 0);
    let told = told.map(|(state, count)| {
        // Of a curve it is the points at which a side is not finite.
        let state = if check.id == CheckId::Loss && state == "not_compared" { "not_finite" } else { state };
        writer.phrase(&format!("account_{state}"), &context! { count, names => "" })
    });
    Ok(told.collect::<Result<Vec<_>>>()?.join(&writer.word("comma")?))
}

/// Phrase for the places that were not compared, with the reasons.
fn rest(evidence: &Evidence, writer: &Writer) -> Result<String> {
    let [baseline, candidate] = evidence.one_sided;
    let counts = [
        ("equal_trivially", evidence.equal_trivially),
        ("behind_waived", evidence.behind_waived),
        ("shown_only", evidence.shown_only),
        ("not_compared", evidence.not_compared),
        ("unread", evidence.unread),
        ("damaged", evidence.damaged),
        ("contradicting", evidence.contradicting),
        ("only_baseline", baseline),
        ("only_candidate", candidate),
        ("left_out", evidence.left_out),
    ];
    let mut said = Vec::new();
    for (state, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        let names = examples(evidence, &state.replace('_', "-"), writer);
        said.push(writer.phrase(&format!("account_{state}"), &context! { count, names })?);
    }
    for way in &evidence.fallbacks {
        let names = examples(evidence, way, writer);
        let known = phrases::find(&format!("fallback_{way}"), writer.language());
        let way = safe(known.map_or_else(|| writer.name(way), str::to_owned));
        said.push(writer.phrase("account_fallback", &context! { way, names })?);
    }
    Ok(said.join(&writer.word("semicolon")?))
}

fn examples(evidence: &Evidence, state: &str, writer: &Writer) -> Value {
    let names = evidence.examples.get(state).into_iter().flatten().map(|name| writer.name(name));
    safe(names.collect::<Vec<_>>().join(", "))
}
