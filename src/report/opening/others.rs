//! The checks that block in addition to the leading one, and the evidence that was not judged.

use minijinja::{Value, context};

use super::builder::Builder;
use super::curves::failed_tail_difference;
use crate::error::Result;
use crate::report::writer::safe;
use crate::report::{account, curve, messages, performance};
use crate::result::unit::{Check, CurveUnit, Unit};
use crate::verdict::{CheckId, Verdict};

impl Builder<'_> {
    /// The checks other than the leading one that fail or are incomplete, each with its amount; empty without any.
    pub(super) fn others_that_block(&self, leading: Option<CheckId>) -> Result<Value> {
        let mut lines = Vec::new();
        for (verdict, key) in [(Verdict::Fail, "others_failed"), (Verdict::Incomplete, "others_incomplete")] {
            let checks = self.result.checks.iter();
            // A check without a finding of its own is incomplete for the reason that leads.
            let has_own = |check: &&Check| self.result.counting().any(|finding| finding.check == check.id);
            let others: Vec<&Check> =
                checks.filter(|check| check.verdict == verdict && Some(check.id) != leading).filter(has_own).collect();
            if others.is_empty() {
                continue;
            }
            let names = others.iter().map(|check| self.name_with_amount(check)).collect::<Result<Vec<_>>>()?;
            let names = safe(names.join(&self.writer.word("semicolon")?));
            lines.push(self.writer.phrase(key, &context! { names, count => others.len() })?);
        }
        Ok(safe(lines.join(" · ")))
    }

    /// A check and by how much it fails, where one number says so: `performance, +53 %`.
    fn name_with_amount(&self, check: &Check) -> Result<String> {
        let name = self.writer.word(&format!("check_{}", check.id.as_str()))?;
        let amount = match check.units.iter().max_by_key(|unit| unit.verdict()) {
            _ if check.verdict != Verdict::Fail => None,
            Some(Unit::Performance(_)) => performance::leading_unit(self.result)
                .and_then(|unit| unit.step_time.as_ref())
                .map(|time| performance::change_text(time.ratio.0)),
            Some(Unit::Curve(_)) => {
                curve::leading_curve(self.result).map(|unit| self.amount_of(unit)).transpose()?.flatten()
            }
            Some(Unit::Dump(unit)) => unit.culprit.as_ref().map(|culprit| self.writer.name(&culprit.op)),
            _ => None,
        };
        Ok(match amount {
            Some(amount) => format!("{name}{}{amount}", self.writer.word("comma")?),
            None => name,
        })
    }

    /// By how much a curve fails: since which step it is NaN, otherwise how far its end lies from the baseline's.
    fn amount_of(&self, unit: &CurveUnit) -> Result<Option<String>> {
        let Some((said, since)) = self.broken_curve(unit, ["amount_hidden", "amount_non_finite"])? else {
            return Ok(failed_tail_difference(unit).map(messages::signed_ratio));
        };
        self.writer.phrase("amount_broken", &context! { said => safe(said), since => safe(since) }).map(Some)
    }

    /// Evidence that was not judged, check by check; empty if everything was judged.
    pub(super) fn not_judged(&self) -> Result<Value> {
        let mut parts = Vec::new();
        for check in &self.result.checks {
            let left = account::not_judged(check, self.writer)?;
            if !left.is_empty() {
                let check = safe(self.writer.word(&format!("check_{}", check.id.as_str()))?);
                parts.push(self.writer.phrase("not_judged_check", &context! { check, left => safe(left) })?);
            }
        }
        if parts.is_empty() {
            return Ok(Value::from(""));
        }
        self.phrase("not_judged", context! { parts => safe(parts.join(&self.writer.word("semicolon")?)) })
    }
}
