//! An earlier result, read again for new documents.

use std::path::Path;

pub use precision_gate_result::load::text;

use super::advice::from_here;
use super::identity::{identify, own_finding};
use crate::error::Result;
use crate::result::GateResult;
use crate::result::unit::{DumpUnit, Unit};

/// Reads `result.json`.
pub fn result(path: &Path) -> Result<GateResult> {
    parse(&path.display().to_string(), &text(path)?)
}

/// The result that `text` holds; messages call it `name`.
pub fn parse(name: &str, text: &str) -> Result<GateResult> {
    let mut result = precision_gate_result::load::parse(name, text)?;
    result.file = from_here(Path::new(name));
    link(&mut result);
    Ok(result)
}

/// Names findings by what they are about, whatever the file calls them, and links culprits of older results, which carry
/// neither the id of their finding nor their place in execution order.
fn link(result: &mut GateResult) {
    identify(result);
    let units = result.checks.iter_mut().flat_map(|check| &mut check.units);
    for unit in units {
        let Unit::Dump(unit) = unit else { continue };
        let DumpUnit { culprit, runner_up, profile, .. } = unit.as_mut();
        for culprit in culprit.iter_mut().chain(runner_up) {
            if culprit.finding.is_empty() {
                culprit.finding = own_finding(culprit);
                culprit.order = profile.iter().find(|point| point.op == culprit.op).map_or(0, |point| point.order);
            }
        }
    }
    if let Some(culprit) = result.culprit.as_mut().filter(|culprit| culprit.finding.is_empty()) {
        let units = result.checks.iter().flat_map(|check| &check.units);
        let of_unit = units.filter_map(|unit| match unit {
            Unit::Dump(unit) => unit.culprit.as_ref(),
            _ => None,
        });
        let mut same = of_unit.filter(|one| (one.step, one.rank, &one.op) == (culprit.step, culprit.rank, &culprit.op));
        if let Some(linked) = same.next() {
            *culprit = linked.clone();
        }
    }
}
