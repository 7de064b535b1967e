//! The first lines of a document, and the builder of their parts.

use minijinja::{Value, context};
use serde::Serialize;

use super::length;
use super::words::{capital, uncapital};
use crate::diagnose::cause::{INDICES_UNSEEN, PHASE_UNSEEN};
use crate::error::Result;
use crate::judge::loss::code as curve_rules;
use crate::report::escape::TextTarget;
use crate::report::writer::{Writer, safe};
use crate::report::{causes, checks, curve, next_dump};
use crate::result::GateResult;
use crate::result::diagnosis::{Diagnosis, Sureness};
use crate::result::finding::Finding;
use crate::result::next_dump::NextDump;
use crate::verdict::{CheckId, Verdict};

/// Rows of evidence that are shown.
pub(super) const MOST_ROWS: usize = 4;
/// Causes whose advice is where to look, and no repair.
const INVESTIGATIONS: [&str; 20] = [
    "other-algorithm",
    "silent-corruption",
    "missing-operations",
    "input-differs",
    "optimizer-differs",
    "gradient-only",
    "checksum-differs",
    "communication",
    "permuted",
    "other-tensor",
    "overwritten",
    "operator-inaccurate",
    "lost-update",
    "missing-collective",
    "wrong-split",
    "overflow",
    "gradient-reduction",
    "replicas-differ",
    "trainable-differs",
    "updates-skipped",
];

/// Advice of other causes that looks for what is wrong.
const SEARCHES: [&str; 4] = ["mode-differs", "overwritten-since", "argument-value", "requires-grad-differs"];

/// Sentences of evidence that are shown.
pub(super) const MOST_REASONS: usize = 3;

/// The first lines of a document.
#[derive(Debug, Serialize)]
pub struct Opening {
    /// One sentence that says what is wrong, or what agrees.
    pub headline: Value,
    /// Source line; empty where none is known.
    pub source: Value,
    /// Operation, step and rank, and how far the error spreads; of a pass, what agreed and how closely. May be empty.
    pub place: Value,
    /// The word before the advice: a fix, or a next step.
    pub advice_word: Value,
    /// The step to take; empty if there is none.
    pub advice: Value,
    /// Confidence in the cause, in words; empty without a cause.
    pub certainty: Value,
    /// Evidence for the cause; empty without one.
    pub reasons: Value,
    /// Heads of the table's columns.
    pub columns: Vec<Value>,
    /// Whether the rows show their verdicts.
    pub is_marked: bool,
    /// The table: at most four rows, each with a cell per column.
    pub rows: Vec<EvidenceRow>,
    /// Code of the finding or cause that leads, to look up; empty for a pass.
    pub code: String,
    /// The check whose findings the table shows completely; `None` if the table shows a single finding.
    pub told: Option<CheckId>,
    /// Name of the picture that shows the failure: `loss`, `divergence`, or nothing.
    pub picture: &'static str,
    /// Other checks that block, with their amounts; empty if only the leading check blocks.
    pub others: Value,
    /// Places that were not judged, with the reasons; empty if all were judged.
    pub not_judged: Value,
    /// Checks that compared nothing; empty where all did.
    pub unchecked: Value,
    /// Everything that no verdict covers, these checks included.
    #[serde(skip)]
    pub uncovered: String,
}

/// One row of evidence.
#[derive(Debug, Serialize)]
pub struct EvidenceRow {
    /// Its cells.
    pub cells: Vec<Value>,
    /// Its verdict.
    pub verdict: Verdict,
    /// A few words after the verdict; may be empty.
    pub note: Value,
}

impl EvidenceRow {
    pub(super) fn new(cells: Vec<String>, verdict: Verdict) -> Self {
        Self { cells: cells.into_iter().map(safe).collect(), verdict, note: Value::from("") }
    }
}

impl Opening {
    /// The source line and the place, in one line.
    pub(in crate::report) fn place_line(&self) -> String {
        let parts = [&self.source, &self.place].map(Value::to_string);
        Vec::from_iter(parts.into_iter().filter(|part| !part.is_empty())).join(" · ")
    }

    /// Confidence in the cause and its evidence, in one line.
    pub(in crate::report) fn certainty_line(&self) -> String {
        labelled_sentence(&self.certainty.to_string(), &self.reasons.to_string())
    }

    /// An opening with `headline` and nothing else.
    pub(super) fn from_headline(headline: Value) -> Self {
        let [source, place, advice_word, advice, certainty, reasons, others, not_judged, unchecked] =
            [""; 9].map(Value::from);
        let (columns, rows, is_marked, picture) = (Vec::new(), Vec::new(), true, "");
        let (code, told) = (String::new(), None);
        Self {
            headline,
            source,
            place,
            advice_word,
            advice,
            certainty,
            reasons,
            columns,
            is_marked,
            rows,
            code,
            told,
            picture,
            others,
            not_judged,
            unchecked,
            uncovered: String::new(),
        }
    }

    /// Shortens a long headline: its remaining part moves to the start of the second line.
    pub(super) fn with_short_headline(mut self, target: TextTarget) -> Self {
        let (headline, more) = length::split_headline(&self.headline.to_string(), target);
        if !more.is_empty() {
            let place = [more, self.place.to_string()].into_iter().filter(|part| !part.is_empty());
            self.place = safe(place.collect::<Vec<_>>().join(" · "));
        }
        self.headline = safe(headline);
        self
    }
}

/// Number of rows for the leading check, beside those of `others`: one if all others block, otherwise half of the rows.
pub(super) fn rows_for_leading_check(others: &[EvidenceRow]) -> usize {
    let blocking = others.iter().filter(|row| row.verdict >= Verdict::Incomplete).count();
    let least = if blocking > MOST_ROWS / 2 { 1 } else { MOST_ROWS / 2 };
    MOST_ROWS.saturating_sub(others.len()).max(least)
}

/// A sentence after the words that introduce it; empty without a sentence.
pub(in crate::report) fn labelled_sentence(word: &str, said: &str) -> String {
    if said.is_empty() {
        return String::new();
    }
    // There is no space after a Chinese colon, or between Chinese words.
    let is_chinese = !word.is_ascii() && !said.starts_with(|first: char| first.is_ascii());
    let gap = if is_chinese || word.ends_with('：') { "" } else { " " };
    format!("{word}{gap}{said}")
}

/// Columns of the table that a row of a check stands in.
#[derive(Clone, Copy)]
pub(super) enum Columns {
    /// What, baseline, candidate.
    Sides,
    /// What, candidate against baseline, limit.
    Limits,
    /// Check, how much was compared, result.
    Checks,
}

/// Writes the parts of an opening.
pub(super) struct Builder<'a> {
    pub(super) result: &'a GateResult,
    pub(super) writer: &'a Writer,
}

impl Builder<'_> {
    pub(super) fn word(&self, key: &str) -> Result<Value> {
        self.writer.word(key).map(safe)
    }

    pub(super) fn phrase(&self, key: &str, context: Value) -> Result<Value> {
        self.writer.phrase(key, &context).map(safe)
    }

    /// Writes advice and evidence: those of a likely cause, otherwise the next dump, otherwise the finding's own.
    pub(super) fn advise(&self, opening: &mut Opening, cause: Option<&Diagnosis>, finding: &Finding) -> Result<()> {
        opening.code.clone_from(&finding.code);
        let known = cause.map(|cause| causes::text(cause, self.writer).map(|text| (cause, text))).transpose()?;
        let mut help = self.writer.finding(finding)?.help;
        let (mut word, mut is_known) = ("next_step", false);
        if let Some((cause, text)) = &known {
            let key = format!("because_{}", cause.sureness.as_str());
            let reasons: Vec<&str> = text.evidence.iter().take(MOST_REASONS).map(String::as_str).collect();
            if cause.sureness >= Sureness::Likely {
                opening.certainty = self.word(&key)?;
                let is_search = INVESTIGATIONS.contains(&cause.cause.as_str()) || cause.advice.is_any(&SEARCHES);
                (word, help) = (if is_search { "next_step" } else { "fix" }, text.advice.clone());
                is_known = true;
                opening.code.clone_from(&cause.cause);
            } else {
                opening.certainty =
                    self.phrase("curve_cause_possible", context! { cause => safe(text.title.clone()) })?;
            }
            opening.reasons = safe(reasons.join(&self.writer.word("semicolon")?));
        }
        if !is_known {
            help = self.next_dump(finding)?.unwrap_or(help);
            let unseen = |cause: &Diagnosis| cause.advice.is_any(&[INDICES_UNSEEN, PHASE_UNSEEN]);
            if let Some((_, text)) = known.as_ref().filter(|(cause, _)| unseen(cause)) {
                let (first, then) = (safe(text.advice.clone()), safe(uncapital(&help, &[])));
                help = self.writer.phrase("next_labels_first", &context! { first, then })?;
            }
            let guess =
                cause.and_then(|cause| cause.evidence.iter().find(|statement| statement.is_any(&["formula-epsilon"])));
            if let Some(guess) = guess {
                let then = safe(uncapital(&help, &[]));
                let fits = guess.facts.get("fits").map(|fits| self.writer.fact("fits", fits));
                help = self.writer.phrase("next_eps_first", &context! { then, fits })?;
            }
        }
        opening.advice_word = self.word(word)?;
        opening.advice = safe(help);
        Ok(())
    }

    /// The command that writes the next dump's configuration; `None` where another dump would show no more, or would show more
    /// about a curve alone, of which `finding` is none.
    fn next_dump(&self, finding: &Finding) -> Result<Option<String>> {
        let is_about =
            |next: &&NextDump| !next_dump::is_of_curve(next) || curve::is_judged_by(self.result, finding.check);
        // An input outside of its function's domain was recorded: the tensors would tell no more.
        let is_known = finding.facts.contains_key("bound") && self.result.is_alone();
        // A log that hides the failure has to show it first; the finding's own advice holds the command, too.
        let is_known = is_known || finding.is(&curve_rules::HIDDEN_FAILURE);
        let Some(next) = self.result.next_dump.as_ref().filter(|next| is_about(next) && !is_known) else {
            return Ok(None);
        };
        let what = safe(capital(&next_dump::reason(next, self.writer)?));
        self.writer.phrase("next_dump_command", &context! { what }).map(Some)
    }

    /// The checks that compared nothing.
    pub(super) fn unchecked(&self) -> Result<Value> {
        let names = self.unchecked_names()?;
        let is_config = self.result.checks.iter().any(|check| !check.items.is_empty());
        if is_config && !checks::computed_anything(self.result) {
            return self.word("only_settings_compared");
        }
        let has_profile =
            self.result.checks.iter().any(|check| checks::compares_times(check.id) && !check.units.is_empty());
        if has_profile && !checks::computed_anything(self.result) {
            return self.word("only_times_compared");
        }
        if names.is_empty() {
            return Ok(Value::from(""));
        }
        let no_files = self.result.checks.iter().any(|check| check.verdict == Verdict::Skipped);
        self.phrase("unchecked", context! { checks => names, no_files })
    }

    pub(super) fn unchecked_names(&self) -> Result<Vec<Value>> {
        let skipped = self
            .result
            .checks
            .iter()
            .filter(|check| check.verdict == Verdict::Skipped && !checks::is_optional(check.id));
        skipped.map(|check| self.word(&format!("check_{}", check.id.as_str()))).collect()
    }
}
