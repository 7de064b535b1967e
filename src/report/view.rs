//! View of a result for templates, ordered and counted for reading. `docs/templates.md` documents it.
//!
//! Fields of type [`Value`] are finished text in the view's language and target; every other text is the same as in the result,
//! and is escaped where a template prints it.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Serialize;

use super::account::{self, AccountRow};
use super::advice::can_run_alone;
use super::causes::{self, DiagnosisRow};
use super::evaluation::{self, EvaluationView};
use super::frame::{self, StackFrame};
use super::history::{self, HistoryView};
use super::layouts::{self, RankBox};
use super::next_dump::{self, NextDumpView};
use super::opening::Opening;
use super::outcomes::{self, RuleRow};
use super::performance::{self, PerformanceView};
use super::rows::{FindingRow, WaivedRow};
use super::run::{self, LookedRow};
use super::samples::{self, SampleRow};
use super::sentence::sentence;
use super::source_rules::{self, SourceView};
use super::standing::PassGround;
use super::writer::{FindingText, Writer, safe};
use super::{checks, compared, error_place, reference, timeline};
use crate::error::Result;
use crate::result::diagnosis::Diagnosis;
use crate::result::finding::{Fact, Finding};
use crate::result::number::Number;
use crate::result::unit::{Check, Culprit, Unit, dumps};
use crate::result::{ArtifactRow, GateResult};
use crate::verdict::{CheckId, Severity, Verdict};

/// Names of the metrics of a culprit that have a field of their own in [`CulpritView`].
const NAMED_METRICS: [&str; 5] = ["error", "limit", "received", "before", "value"];

/// A result for reading.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    /// The verdict.
    pub verdict: Verdict,
    /// The first lines: what is wrong, where, what to do, how sure, and the evidence.
    pub opening: Opening,
    /// The headline of the opening.
    pub reason: Value,
    /// Facts that a reader has to know before all else, in lines below the headline; empty for most results.
    pub notes: Vec<Value>,
    /// Lines below the table about things that cannot have caused the failures.
    pub remarks: Vec<Value>,
    /// One row per check.
    pub checks: Vec<CheckRow>,
    /// First wrong operation; `None` where none was found.
    pub culprit: Option<CulpritView>,
    /// The next operation that adds error of its own.
    pub runner_up: Option<CulpritView>,
    /// Likely causes, the likeliest first.
    pub diagnoses: Vec<DiagnosisRow>,
    /// The dump to collect next; `None` where another dump would show no more.
    pub next_dump: Option<NextDumpView>,
    /// The advice of the opening.
    pub next: Value,
    /// All findings, the worst first.
    pub findings: Vec<FindingRow>,
    /// Rules as applied, the worst first.
    pub rules: Vec<RuleRow>,
    /// Invariants of one run, and what became of each; empty for a pair.
    pub looked: Vec<LookedRow>,
    /// Rules about several runs of a side; empty where there is one of each.
    pub samples: Vec<SampleRow>,
    /// Account of the evidence: each check, and its units that were not compared completely.
    pub account: Vec<AccountRow>,
    /// Evaluations; `None` where there are none.
    pub evaluation: Option<EvaluationView>,
    /// Profiles; `None` where there are none.
    pub performance: Option<PerformanceView>,
    /// Source by rule; `None` where no source was judged.
    pub source: Option<SourceView>,
    /// Whether a config check looked at packs.
    pub has_checkers: bool,
    /// Steps and ranks of dumps.
    pub units: usize,
    /// Findings that a waiver covers.
    pub waived: Vec<WaivedRow>,
    /// Earlier runs, where a history is kept.
    pub history: Option<HistoryView>,
}

#[derive(Debug, Serialize)]
pub(crate) struct CheckRow {
    /// The check.
    pub id: CheckId,
    /// Its verdict.
    pub verdict: Verdict,
    /// Phrase for how much was compared.
    pub compared: Value,
    /// Reason of the verdict.
    pub reason: Value,
}

/// A culprit with its texts.
#[derive(Debug, Serialize)]
pub(crate) struct CulpritView {
    /// The culprit as in the result.
    #[serde(flatten)]
    pub culprit: Culprit,
    /// Error relative to scale, where it was measured.
    pub error: Option<Number>,
    /// The noise limit.
    pub limit: Option<Number>,
    /// The error of its inputs.
    pub received: Option<Number>,
    /// Value that its rule judged, of an operator that was tested alone.
    pub value: Option<Number>,
    /// Whether it is a row of a monitor, so that `received` is the largest error before it.
    pub is_monitor: bool,
    /// Whether `reproduce` can write a script that runs it alone.
    pub is_runnable: bool,
    /// Further numbers.
    pub others: Vec<(String, Number)>,
    /// The line of a model library that calls the operation; `None` if the user's own code calls it.
    pub model_frame: Option<StackFrame>,
    /// The place of the error within the tensor, in words; empty where it is not known.
    pub error_place: Value,
    /// The candidate's ranks, where several were put together.
    pub rank_boxes: Vec<RankBox>,
    /// Errors of both sides against the reference, in words; empty if there was no reference.
    pub from_reference: Value,
    /// The innermost frame of the user's code.
    pub frame: Option<StackFrame>,
    /// Message of its finding.
    pub message: Value,
    /// Its next step.
    pub help: Value,
}

impl View {
    /// The view of `result` in the writer's language and target.
    pub(crate) fn new(result: &GateResult, writer: &Writer) -> Result<Self> {
        let build = Builder { result, writer, diagnosed: diagnosed(result) };
        let findings: Vec<FindingRow> =
            result.counting().map(|finding| build.finding(finding)).collect::<Result<_>>()?;
        // The opening and the section of profiles describe a profile's culprit completely, and the finding describes that of an array.
        let told = result.culprit.as_ref().filter(|culprit| culprit.is_of_operation());
        let culprit = told.map(|culprit| build.culprit(culprit)).transpose()?;
        let waived = build.waived()?;
        let standing = PassGround { findings: &findings, waived: &waived, writer };
        let opening = Opening::new(result, writer)?;
        let mut notes = standing.notes(&opening.headline)?;
        notes.extend(layouts::layout_note(result, writer)?);
        notes.extend(timeline::course_paragraph(result, writer)?);
        notes.extend(source_rules::confirmation_sentences(result, writer)?);
        if result.report_only {
            let blocks = matches!(result.verdict, Verdict::Fail | Verdict::Incomplete);
            notes.insert(0, safe(writer.word(if blocks { "note_would_block" } else { "note_would_not_block" })?));
        }
        Ok(Self {
            verdict: result.verdict,
            notes,
            remarks: standing.remarks(&opening.headline)?,
            reason: opening.headline.clone(),
            next: opening.advice.clone(),
            opening,
            checks: result.checks.iter().map(|check| build.check(check, standing)).collect::<Result<_>>()?,
            runner_up: build.runner_up().map(|culprit| build.culprit(culprit)).transpose()?,
            diagnoses: result
                .diagnoses
                .iter()
                .map(|diagnosis| causes::row(diagnosis, writer))
                .collect::<Result<_>>()?,
            next_dump: result.next_dump.as_ref().map(|next| next_dump::view(next, writer)).transpose()?,
            culprit,
            findings,
            rules: outcomes::rows(result, writer)?,
            looked: run::rows(&result.looked, writer)?,
            samples: samples::rows(&result.checks, writer)?,
            account: account::rows(result, writer)?,
            evaluation: evaluation::view(result, writer)?,
            performance: performance::view(result, writer)?,
            source: source_rules::view(result, writer)?,
            has_checkers: result.checks.iter().any(|check| !check.items.is_empty()),
            units: dumps(&result.checks).count(),
            history: result.history.as_ref().map(|summary| history::view(summary, writer)).transpose()?,
            waived,
        })
    }
}

struct Builder<'a> {
    result: &'a GateResult,
    writer: &'a Writer,
    /// Codes of findings that a likely cause explains.
    diagnosed: BTreeSet<&'a str>,
}

/// Codes of findings that a likely cause explains: its advice replaces theirs.
fn diagnosed(result: &GateResult) -> BTreeSet<&str> {
    let mut by_place: BTreeMap<&str, Vec<&Diagnosis>> = BTreeMap::new();
    for cause in &result.diagnoses {
        by_place.entry(&cause.place).or_default().push(cause);
    }
    let names = |cause: &Diagnosis, finding: &Finding| {
        checks::is_diagnosed_by_place(finding.check)
            || cause.evidence.iter().any(|evidence| match evidence.facts.get("finding_code") {
                Some(Fact::Text(code)) => *code == finding.code,
                _ => false,
            })
    };
    let is_diagnosed = |finding: &&Finding| {
        by_place.get(&*finding.place).is_some_and(|causes| causes.iter().any(|cause| names(cause, finding)))
    };
    result.counting().filter(is_diagnosed).map(|finding| &*finding.code).collect()
}

impl Builder<'_> {
    fn finding(&self, finding: &Finding) -> Result<FindingRow> {
        let FindingText { mut message, help } = sentence(finding, self.writer)?;
        if let Some(operation) = source_rules::confirming_operation(finding) {
            message += &self.writer.phrase("source_confirmed", &context! { operation })?;
        }
        let fact = |name| finding.facts.get(name).map(|fact| self.writer.fact(name, fact));
        Ok(FindingRow {
            check: finding.check,
            severity: finding.severity,
            code: finding.code.clone(),
            place: finding.place.clone(),
            message: safe(message),
            help: safe(if self.diagnosed.contains(&*finding.code) { String::new() } else { help }),
            is_culprit: self.result.culprit.as_ref().is_some_and(|culprit| culprit.stands_for(finding)),
            sides: fact("baseline").zip(fact("candidate")).map(|(baseline, candidate)| [baseline, candidate]),
        })
    }

    fn culprit(&self, culprit: &Culprit) -> Result<CulpritView> {
        let finding = self.result.findings.iter().find(|finding| culprit.stands_for(finding));
        let FindingText { message, help } =
            finding.map(|finding| sentence(finding, self.writer)).transpose()?.unwrap_or_default();
        let metric = |name: &str| culprit.metrics.get(name).copied();
        let others = culprit.metrics.iter().filter(|(name, _)| !NAMED_METRICS.contains(&name.as_str()));
        Ok(CulpritView {
            error: metric("error"),
            limit: metric("limit"),
            value: metric("value"),
            received: metric("received").or_else(|| metric("before")),
            is_monitor: culprit.monitor.is_some(),
            is_runnable: can_run_alone(culprit),
            others: others.map(|(name, value)| (name.clone(), *value)).collect(),
            model_frame: frame::innermost_model_frame(&culprit.stack),
            rank_boxes: layouts::rank_boxes(self.result, culprit),
            error_place: error_place::sentence_value(culprit.location.as_ref(), self.writer)?,
            from_reference: reference::reference_errors(culprit, self.writer)?.map_or_else(|| Value::from(""), safe),
            frame: frame::innermost_user_frame(&culprit.stack),
            message: safe(message),
            help: safe(help),
            culprit: culprit.clone(),
        })
    }

    /// The runner-up of the unit whose culprit the result names.
    fn runner_up(&self) -> Option<&Culprit> {
        let culprit = self.result.culprit.as_ref()?;
        let units = self.result.checks.iter().flat_map(|check| &check.units);
        let dumps = units.filter_map(|unit| match unit {
            Unit::Dump(unit) => Some(unit),
            _ => None,
        });
        let mut of_culprit = dumps.filter(|unit| unit.culprit.as_ref() == Some(culprit));
        of_culprit.next()?.runner_up.as_ref()
    }

    fn words(&self, key: &str) -> Result<Value> {
        self.writer.word(key).map(safe)
    }

    fn check(&self, check: &Check, standing: PassGround<'_>) -> Result<CheckRow> {
        Ok(CheckRow {
            id: check.id,
            verdict: check.verdict,
            compared: safe(compared::compared_phrase(check, &self.result.findings, self.writer)?),
            reason: self.check_reason(check, standing)?,
        })
    }

    fn check_reason(&self, check: &Check, standing: PassGround<'_>) -> Result<Value> {
        if check.verdict == Verdict::Skipped {
            return self.words("reason_skipped");
        }
        let own = standing.findings.iter().filter(|row| row.check == check.id && row.severity >= Severity::Warn);
        let mut own: Vec<&FindingRow> = own.collect();
        own.sort_by_key(|row| (std::cmp::Reverse(row.severity), !row.is_culprit));
        let (message, more) = match own.as_slice() {
            [] if check.verdict > Verdict::Warn => return self.words("headline_nothing"),
            [] => {
                let instead = standing.instead_of_agreement(check.id)?;
                return instead.map_or_else(|| self.words(checks::agreement(check.id)), Ok);
            }
            [first, others @ ..] => (self.check_sentence(first)?, others.len()),
        };
        if more == 0 {
            return Ok(message);
        }
        self.writer.phrase("reason_more", &context! { message, more }).map(safe)
    }

    /// The sentence of a finding for the row of its check. The culprit's sentence is at the top already, so its check only names it.
    fn check_sentence(&self, row: &FindingRow) -> Result<Value> {
        match self.result.culprit.as_ref().filter(|culprit| row.is_culprit && culprit.is_of_operation()) {
            Some(culprit) => self.writer.phrase("reason_culprit", &context! { op => culprit.op.as_str() }).map(safe),
            None => Ok(row.message.clone()),
        }
    }

    fn waived(&self) -> Result<Vec<WaivedRow>> {
        let row = |waived: &crate::result::finding::WaivedFinding| {
            Ok(WaivedRow {
                waiver: waived.waiver.clone(),
                finding: self.finding(&waived.finding)?,
                reason: waived.reason.clone(),
                owner: waived.owner.clone(),
                expires: waived.expires.clone(),
            })
        };
        self.result.waived.iter().map(row).collect()
    }
}

/// Artifacts in the order of their importance: damaged, read, ignored, and parts of other artifacts last.
pub(super) fn telling_artifacts(result: &GateResult) -> Vec<&ArtifactRow> {
    let mut rows: Vec<&ArtifactRow> = result.artifacts.iter().collect();
    rows.sort_by_key(|row| match row.status.as_str() {
        "damaged" => 0,
        "read" if row.note.is_empty() => 1,
        "ignored" => 2,
        _ => 3,
    });
    rows
}

/// The view as a template's context, beside the result itself.
pub(super) fn template_context(result: &GateResult, view: &View) -> Value {
    context! { result => Value::from(Serde(result)), view => Value::from(Serde(view)) }
}
