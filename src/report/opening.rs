//! The first lines of every document: what is wrong, where, what to do, how sure, and at most four rows of evidence.
//!
//! One thing leads: the cause or culprit if it is as severe as the worst finding, otherwise the settings, curve or finding that
//! is. Its words are in `templates/messages/<language>/opening.yaml`.

mod agreement;
mod beside;
mod builder;
mod culprit;
mod curve_advice;
mod curves;
mod evaluation;
mod lead;
mod length;
mod levels;
mod numbers;
mod others;
mod performance;
mod settings;
mod steps;
mod words;

use builder::{Builder, Columns, MOST_ROWS};
use lead::Lead;
use words::capital;

use super::writer::{Writer, safe};
use super::{evaluation as evaluations, performance as profiles};
use crate::error::Result;
use crate::judge::loss::code as curve_rules;
use crate::result::GateResult;
use crate::result::diagnosis::{Diagnosis, Sureness};
use crate::result::finding::{Fact, Finding};
use crate::result::unit::{CulpritKind, CurveUnit};

pub(super) use builder::labelled_sentence;
pub use builder::{EvidenceRow, Opening};

/// Writes the first lines of documents into the result, with a writer of plain text.
///
/// # Errors
/// Errors of a text.
pub(super) fn write_opening(result: &mut GateResult, writer: &Writer) -> Result<()> {
    let opening = Opening::new(result, writer)?;
    result.headline = opening.headline.to_string();
    result.place = opening.place_line();
    result.fix = opening.advice.to_string();
    result.certainty = opening.certainty_line();
    result.not_judged = opening.uncovered;
    Ok(())
}

impl Opening {
    /// The opening of `result` in the writer's language and target.
    pub(super) fn new(result: &GateResult, writer: &Writer) -> Result<Self> {
        let build = Builder { result, writer };
        let lead = Lead::from_result(result);
        let mut opening = match &lead {
            Lead::Culprit(_, finding, _) | Lead::Finding(finding, _) if profiles::is_about_profile(finding) => {
                build.performance(finding)?
            }
            Lead::Culprit(culprit, finding, _) if matches!(culprit.kind, CulpritKind::Array(_)) => {
                build.finding(finding, None)?
            }
            Lead::Culprit(culprit, finding, cause) => build.culprit(culprit, finding, *cause)?,
            Lead::Settings(findings) => build.settings(findings)?,
            Lead::Curve(unit, finding) if result.is_alone() => build.curve_alone(unit, finding)?,
            Lead::Curve(unit, finding) => build.curve(unit, finding)?,
            Lead::Finding(finding, _) if evaluations::is_about_evaluation(finding) => build.evaluation(finding)?,
            Lead::Finding(finding, cause) => build.finding(finding, *cause)?,
            Lead::Nothing => return Ok(build.agreement()?.with_short_headline(writer.target())),
        };
        opening.rows.truncate(MOST_ROWS);
        opening.unchecked = build.unchecked()?;
        opening.others = build.others_that_block(lead.check())?;
        opening.not_judged = build.not_judged()?;
        let parts = [&opening.not_judged, &opening.unchecked].map(ToString::to_string);
        opening.uncovered = Vec::from_iter(parts.into_iter().filter(|said| !said.is_empty())).join(" · ");
        Ok(opening.with_short_headline(writer.target()))
    }
}

impl Builder<'_> {
    /// A finding that is neither a culprit, nor a setting, nor of a curve.
    fn finding(&self, finding: &Finding, cause: Option<&Diagnosis>) -> Result<Opening> {
        let likely = cause.filter(|cause| cause.sureness >= Sureness::Likely);
        let headline = match likely.map(|cause| self.headline_of_cause(cause, finding, None)).transpose()?.flatten() {
            Some(headline) => headline,
            None => self.headline_of_finding(finding)?,
        };
        let mut opening = Opening::from_headline(safe(headline));
        opening.rows = self.all_checks(finding.check)?;
        let width = opening.rows.first().map_or(0, |row| row.cells.len());
        opening.columns = self.columns_of_checks()?.into_iter().take(width).collect();
        if let Some(row) = finding.facts.get("meaning").and_then(|_| self.row_of_meaning(finding)) {
            let others = self.other_checks(Some(finding.check), Columns::Sides)?;
            opening.rows = std::iter::once(row).chain(others).collect();
            opening.columns = self.columns_of_sides()?;
        }
        self.place_of_finding(&mut opening, finding)?;
        if let Some((place, code)) = cause.and_then(culprit::line_of_gap) {
            opening.source = safe(self.writer.name(&place));
            let line = self.line_of(&code, "", &opening.headline);
            let parts = line.into_iter().chain(Some(opening.place.to_string()).filter(|place| !place.is_empty()));
            opening.place = safe(parts.collect::<Vec<_>>().join(" · "));
        }
        self.advise(&mut opening, cause, finding)?;
        Ok(opening)
    }

    /// A curve of a run without a baseline.
    fn curve_alone(&self, unit: &CurveUnit, finding: &Finding) -> Result<Opening> {
        let mut opening = Opening { picture: "loss", ..self.finding(finding, None)? };
        if let Some(advice) = self.advice_by_other_metrics(unit, finding)? {
            opening.advice = safe(advice);
        }
        let breaks = self.norm_that_breaks(unit, finding)?;
        if !breaks.is_empty() {
            opening.place = safe(capital(&breaks));
        }
        Ok(opening)
    }

    /// Adds the place of a finding whose headline does not name it.
    fn place_of_finding(&self, opening: &mut Opening, finding: &Finding) -> Result<()> {
        if finding.source.is_some() {
            opening.source = safe(self.writer.name(&finding.place));
            return Ok(());
        }
        let is_unit = self.writer.fact("unit", &Fact::from(finding.place.as_str())).is_safe();
        let named = [finding.place.as_str(), culprit::operation_of(finding)].map(|name| self.writer.name(name));
        let is_told = named.iter().any(|name| opening.headline.as_str().is_some_and(|told| told.contains(name)));
        let unit = match finding.facts.get("unit") {
            Some(fact) => {
                let said = self.writer.fact("unit", fact);
                if said.is_safe() { said.to_string() } else { self.writer.name(&said.to_string()) }
            }
            None if is_unit => self.writer.unit(&finding.place),
            None => String::new(),
        };
        let [place, _] = named;
        let parts = [if is_told || is_unit { String::new() } else { place }, unit];
        let mut parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        // A finding about a whole unit has the unit as its place, which would appear twice.
        parts.dedup();
        parts.extend(self.message_of_error(finding));
        opening.place = safe(parts.join(&self.writer.word("comma")?));
        Ok(())
    }

    /// The words of the log about the error that ended the run.
    fn message_of_error(&self, finding: &Finding) -> Option<String> {
        let said = finding.text("text").filter(|said| !said.is_empty());
        said.filter(|_| finding.is(&curve_rules::RUN_ENDED_WITH_ERROR)).map(|said| self.writer.name(said))
    }
}
