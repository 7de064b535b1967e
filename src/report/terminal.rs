//! The summary on the terminal and in a job's log: plain text, optionally with colour.
//!
//! Foreign text never starts a line and contains no control characters, so that it can be neither a workflow command nor an
//! escape sequence.

use minijinja::{Value, context};
use unicode_width::UnicodeWidthStr;

use super::checks::{self, Details};
use super::escape::{TextTarget, cleaned};
use super::messages::{Language, ratio, short_number};
use super::opening::labelled_sentence;
use super::outcomes::RuleRow;
use super::reference;
use super::rows::FindingRow;
use super::view::{CulpritView, View};
use super::writer::{Writer, safe};
use crate::error::Result;
use crate::result::GateResult;
use crate::result::unit::{Check, ConfigItem, Place, Unit, unit_place};
use crate::verdict::{CheckId, Severity, Verdict};

/// Largest number of findings that are shown; the rest are counted.
const MOST_FINDINGS: usize = 5;
/// Width in columns of a terminal that does not report its width.
const WIDTH: usize = 100;
/// Largest number of likely causes that are shown.
const MOST_DIAGNOSES: usize = 5;
/// Largest number of differences to the last green run that are shown.
const MOST_CHANGES: usize = 8;
/// Largest number of rules and units that are shown.
const MOST_ROWS: usize = 20;
/// Largest number of operators of a profile that are shown.
const MOST_OPERATORS: usize = 8;

/// Options for the terminal.
#[derive(Clone, Copy, Debug)]
pub struct TerminalOptions<'a> {
    /// The language.
    pub language: Language,
    /// Whether to colour.
    pub colour: bool,
    /// Path of the report, as it is shown; empty if none was written.
    pub report: &'a str,
    /// Amount of text.
    pub detail: TerminalDetail,
}

/// Amount of text on a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TerminalDetail {
    /// The headline alone (`-q`).
    Headline,
    /// The opening: headline, place, advice and evidence; and further findings that count.
    #[default]
    Opening,
    /// Everything: all checks, rules, passed checkers and causes too (`-v`).
    All,
}

/// Renders the summary, with a line break at its end.
pub fn render(result: &GateResult, options: &TerminalOptions<'_>) -> Result<String> {
    let writer = Writer::from_result(result, options.language, TextTarget::Plain);
    let view = View::new(result, &writer)?;
    let page = Page { result, view: &view, writer: &writer, colour: options.colour };
    let mut lines = vec![page.headline()?];
    if options.detail != TerminalDetail::Headline {
        lines.extend(page.opening()?);
    }
    if options.detail == TerminalDetail::All {
        lines.extend(page.everything()?);
    }
    if options.detail != TerminalDetail::Headline {
        lines.extend(page.findings(options.detail)?);
        lines.extend(page.waived()?);
        lines.extend(page.history()?);
    }
    let code = view.opening.code.as_str();
    if options.detail == TerminalDetail::Opening && !code.is_empty() {
        lines.push(writer.phrase("terminal_explain", &context! { code })?);
    }
    if options.detail == TerminalDetail::Opening && !view.rules.is_empty() {
        lines.push(writer.phrase("terminal_verbose", &context! { rules => view.rules.len() })?);
    }
    if !options.report.is_empty() && options.detail != TerminalDetail::Headline {
        lines.push(writer.phrase("terminal_report", &context! { path => options.report })?);
    }
    Ok(lines.iter().flat_map(|text| text.split('\n')).map(|line| without_command(line) + "\n").collect())
}

/// Changes a line so that the runner of GitHub Actions sees no command in it. The runner obeys `##[command]` anywhere in a line,
/// and `::command::` at its start, even after white space. A name from an artifact may begin a line of a table.
fn without_command(line: &str) -> String {
    let line = line.replace("##[", "## [");
    match line.trim_start().strip_prefix("::") {
        Some(rest) => {
            let indent = line.get(..line.len() - line.trim_start().len()).unwrap_or_default();
            format!("{indent}: :{rest}")
        }
        None => line,
    }
}

/// Breaks a long line between words; code between backticks stays whole, so that it can be copied.
fn wrapped(line: &str) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in words(line) {
        let is_full = lines.last().is_some_and(|last| !last.is_empty() && last.width() + 1 + word.width() > WIDTH);
        if is_full {
            lines.push(String::from(" "));
        }
        if let Some(last) = lines.last_mut() {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(&word);
        }
    }
    lines
}

/// The words of a line; code between backticks counts as one word.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in line.split(' ') {
        let is_open = |word: &String| word.matches('`').count() % 2 == 1;
        match words.last_mut().filter(|last| is_open(last)) {
            Some(last) => {
                last.push(' ');
                last.push_str(part);
            }
            None => words.push(part.to_owned()),
        }
    }
    words
}

struct Page<'a> {
    result: &'a GateResult,
    view: &'a View,
    writer: &'a Writer,
    colour: bool,
}

/// One line of a table: text and how it is painted.
type Row = Vec<(String, Option<Verdict>)>;

fn plain(text: impl Into<String>) -> (String, Option<Verdict>) {
    (text.into(), None)
}

/// Replaces two column heads by the names of both sides, from column `first` on.
fn name_sides(rows: &mut [Row], first: usize, names: Vec<String>) {
    let Some(heads) = rows.first_mut() else { return };
    for (head, name) in heads.iter_mut().skip(first).zip(names) {
        *head = plain(name);
    }
}

impl Page<'_> {
    fn word(&self, key: &str) -> Result<String> {
        self.writer.word(key)
    }

    fn headline(&self) -> Result<String> {
        let verdict = self.result.verdict;
        let word = format!("{} {}", super::summary::verdict_sign(verdict), self.verdict_word(verdict)?);
        Ok(format!("{}{}{}", self.painted(&word, verdict), self.word("colon")?, self.view.opening.headline))
    }

    /// Place, advice, certainty and evidence, in the order of the comment.
    fn opening(&self) -> Result<Vec<String>> {
        let opening = &self.view.opening;
        let is_said = |value: &Value| value.as_str().is_some_and(|said| !said.is_empty());
        let place = opening.place_line();
        let mut lines: Vec<String> = self.view.notes.iter().map(Value::to_string).collect();
        lines.extend(is_said(&opening.others).then(|| opening.others.to_string()));
        lines.extend(if place.is_empty() { Vec::new() } else { wrapped(&place) });
        for (word, said) in [(&opening.advice_word, &opening.advice), (&opening.certainty, &opening.reasons)] {
            if is_said(said) {
                let word = word.to_string();
                let mut wrapped = wrapped(&labelled_sentence(&word, &said.to_string()));
                if let Some(first) = wrapped.first_mut() {
                    *first = first.replacen(&word, &self.bold(&word), 1);
                }
                lines.extend(wrapped);
            }
        }
        lines.push(String::new());
        lines.extend(self.evidence());
        lines.extend(self.view.remarks.iter().map(Value::to_string));
        for said in [&opening.not_judged, &opening.unchecked] {
            lines.extend(is_said(said).then(|| said.to_string()));
        }
        Ok(lines)
    }

    /// The rows of evidence.
    fn evidence(&self) -> Vec<String> {
        let opening = &self.view.opening;
        if opening.rows.is_empty() {
            return Vec::new();
        }
        let mut rows: Vec<Row> = vec![opening.columns.iter().map(|head| plain(head.to_string())).collect()];
        for row in &opening.rows {
            let mut cells: Row = row.cells.iter().map(|cell| plain(cell.to_string())).collect();
            if opening.is_marked {
                let mark = format!("{} {}", super::summary::verdict_sign(row.verdict), row.note);
                cells.push((mark.trim_end().to_owned(), Some(row.verdict)));
            }
            rows.push(cells);
        }
        self.table(&rows)
    }

    /// Every check, checker, rule, unit and cause.
    fn everything(&self) -> Result<Vec<String>> {
        let mut lines = self.checks()?;
        lines.extend(self.account()?);
        for check in &self.result.checks {
            lines.extend(self.details(check)?);
        }
        if let Some(culprit) = &self.view.culprit {
            lines.extend(self.culprit(culprit)?);
        }
        lines.extend(self.diagnoses()?);
        Ok(lines)
    }

    fn verdict_word(&self, verdict: Verdict) -> Result<String> {
        self.word(&format!("verdict_{}", verdict.as_str()))
    }

    fn badge(&self, verdict: Verdict) -> Result<(String, Option<Verdict>)> {
        Ok((format!("{} {}", super::summary::verdict_sign(verdict), self.verdict_word(verdict)?), Some(verdict)))
    }

    fn checks(&self) -> Result<Vec<String>> {
        let mut rows = vec![self.heads(&["check", "verdict", "compared", "reason"])?];
        for check in &self.view.checks {
            rows.push(vec![
                plain(self.word(&format!("check_{}", check.id.as_str()))?),
                self.badge(check.verdict)?,
                plain(check.compared.to_string()),
                plain(check.reason.to_string()),
            ]);
        }
        Ok(if rows.len() > 1 { self.table(&rows) } else { Vec::new() })
    }

    fn account(&self) -> Result<Vec<String>> {
        let mut rows = vec![self.heads(&["section_account", "account_offered", "compared", "account_rest"])?];
        for row in &self.view.account {
            let check = self.word(&format!("check_{}", row.check.as_str()))?;
            let unit = row.unit.to_string();
            let name = if unit.is_empty() { check } else { format!("  {unit}") };
            rows.push(
                [name, row.offered.to_string(), row.compared.to_string(), row.rest.to_string()].map(plain).into(),
            );
        }
        Ok(if rows.len() > 1 { self.table(&rows) } else { Vec::new() })
    }

    fn details(&self, check: &Check) -> Result<Vec<String>> {
        match checks::details(check.id) {
            Details::Checkers if !check.items.is_empty() => self.config(&check.items),
            Details::Rules if !check.units.is_empty() => self.rules(check.id),
            Details::Scores => self.scores(),
            Details::Profiles => self.profiles(),
            Details::Units if check.units.len() > 1 => self.units(check),
            _ => Ok(Vec::new()),
        }
    }

    fn config(&self, items: &[ConfigItem]) -> Result<Vec<String>> {
        let mut rows = vec![self.heads(&["checker", "verdict", "findings"])?];
        if let Some(head) = rows.first_mut() {
            head.push(plain("msprobe"));
        }
        for item in items {
            let msprobe = [item.msprobe.as_deref(), item.msprobe_error.as_deref()];
            let msprobe: Vec<String> = msprobe.into_iter().flatten().map(|text| self.writer.name(text)).collect();
            rows.push(vec![
                plain(self.writer.name(&item.name)),
                self.badge(item.verdict)?,
                plain(item.findings.to_string()),
                plain(msprobe.join(" ")),
            ]);
        }
        self.section("section_config", self.table(&rows))
    }

    fn rules(&self, check: CheckId) -> Result<Vec<String>> {
        let heads = ["unit", "rule", "value", "warn_limit", "fail_limit", "margin", "verdict"];
        let mut rows = vec![self.heads(&heads)?];
        for rule in self.view.rules.iter().filter(|rule| rule.check == check).take(MOST_ROWS) {
            rows.push(self.rule(rule)?);
        }
        if rows.len() == 1 { Ok(Vec::new()) } else { self.section("section_rules", self.table(&rows)) }
    }

    fn rule(&self, row: &RuleRow) -> Result<Row> {
        let margin = row.margin.map_or_else(String::new, |margin| format!("{} %", short_number(margin.0 * 100.0)));
        Ok(vec![
            plain(self.writer.name(&row.unit)),
            plain(self.writer.name(&row.rule)),
            plain(row.value.to_string()),
            plain(row.warn.to_string()),
            plain(row.fail.to_string()),
            plain(margin),
            self.badge(row.verdict)?,
        ])
    }

    fn units(&self, check: &Check) -> Result<Vec<String>> {
        let mut rows = vec![self.heads(&["unit", "verdict", "compared", "culprit"])?];
        for unit in check.units.iter().take(MOST_ROWS) {
            let from = match unit {
                Unit::Dump(unit) => unit.inherited_from.as_ref(),
                _ => None,
            };
            let culprit = match (unit.culprit(), from) {
                (Some(culprit), _) => self.writer.name(&culprit.op),
                (None, Some(place)) => self.inherited(place)?,
                (None, None) => String::new(),
            };
            rows.push(vec![
                plain(self.writer.unit(&unit.name())),
                self.badge(unit.verdict())?,
                plain(unit.size().values.to_string()),
                plain(culprit),
            ]);
        }
        self.section("section_units", self.table(&rows))
    }

    /// Scores and generations: those that did not pass, then those that passed.
    fn scores(&self) -> Result<Vec<String>> {
        let Some(view) = &self.view.evaluation else { return Ok(Vec::new()) };
        let mut rows = vec![self.heads(&[
            "evaluation_score",
            "verdict",
            "side_baseline",
            "side_candidate",
            "evaluation_drop",
            "evaluation_pairs",
            "evaluation_p",
        ])?];
        for (place, side) in [(2, "baseline"), (3, "candidate")] {
            let name = cleaned(&self.writer.fact("side", &side.into()).to_string());
            if let Some(head) = rows.first_mut().and_then(|heads| heads.get_mut(place)) {
                *head = plain(name);
            }
        }
        for row in view.wrong.iter().chain(&view.passed).take(MOST_ROWS) {
            let text = |value: &Value| plain(value.to_string());
            let name = [row.task.to_string(), row.metric.clone(), row.filter.clone()];
            let name: Vec<String> =
                name.iter().filter(|part| !part.is_empty()).map(|part| self.writer.name(part)).collect();
            rows.push(vec![
                plain(name.join(" ")),
                self.badge(row.verdict)?,
                text(&row.baseline),
                text(&row.candidate),
                text(&row.drop),
                text(&row.counts),
                text(&row.p),
            ]);
        }
        let mut lines = if rows.len() > 1 { self.table(&rows) } else { Vec::new() };
        let more = (view.wrong.len() + view.passed.len()).saturating_sub(MOST_ROWS);
        if more > 0 {
            lines.push(self.writer.phrase("more", &context! { count => more })?);
        }
        for row in &view.generations {
            let (verdict, _) = self.badge(row.verdict)?;
            let said = [&row.changed, &row.logprobs, &row.first].map(Value::to_string);
            let said: Vec<String> = said.into_iter().filter(|part| !part.is_empty()).collect();
            let name = self.writer.name(&row.task);
            let line = format!("{name}{}{verdict}{}", self.word("colon")?, self.word("comma")?);
            lines.extend(wrapped(&format!("{line}{}", said.join(&self.word("semicolon")?))));
        }
        lines.extend(view.notes.iter().map(Value::to_string));
        self.section("check_evaluation", lines)
    }

    /// Phases of both sides, the operators that changed most, and a row per rank where there are several.
    fn profiles(&self) -> Result<Vec<String>> {
        let Some(view) = &self.view.performance else { return Ok(Vec::new()) };
        let text = |value: &Value| plain(value.to_string());
        let sides = || -> Result<Vec<String>> {
            let name = |side: &str| cleaned(&self.writer.fact("side", &side.into()).to_string());
            Ok(vec![name("baseline"), name("candidate")])
        };
        let mut lines = Vec::new();
        if view.ranks.len() > 1 {
            let mut rows = vec![self.heads(&[
                "performance_rank",
                "verdict",
                "side_baseline",
                "side_candidate",
                "performance_change",
            ])?];
            name_sides(&mut rows, 2, sides()?);
            for row in view.ranks.iter().take(MOST_ROWS) {
                let rank = row.rank.map_or_else(String::new, |rank| rank.to_string());
                let [baseline, candidate] = &row.times;
                rows.push(vec![
                    plain(rank),
                    self.badge(row.verdict)?,
                    text(baseline),
                    text(candidate),
                    text(&row.change),
                ]);
            }
            lines.extend(self.table(&rows));
        }
        let mut rows =
            vec![self.heads(&["performance_phase", "side_baseline", "side_candidate", "performance_change"])?];
        name_sides(&mut rows, 1, sides()?);
        for row in &view.phases {
            let [baseline, candidate] = &row.times;
            let phase = self.word(&format!("phase_{}", row.phase.as_str()))?;
            rows.push(vec![plain(phase), text(baseline), text(candidate), text(&row.change)]);
        }
        for row in view.operators.iter().filter(|row| row.contribution.as_str() != Some("")).take(MOST_OPERATORS) {
            let [baseline, candidate] = &row.totals;
            rows.push(vec![
                plain(self.writer.name(&row.name)),
                text(baseline),
                text(candidate),
                text(&row.contribution),
            ]);
        }
        lines.extend(if rows.len() > 1 { self.table(&rows) } else { Vec::new() });
        self.section("check_performance", lines)
    }

    fn inherited(&self, place: &Place) -> Result<String> {
        let from = self.writer.unit(&unit_place(place.step, place.rank));
        let from = self.writer.phrase("inherited", &context! { place => safe(from) })?;
        Ok(format!("{from} {}", self.writer.name(&place.op)))
    }

    fn culprit(&self, view: &CulpritView) -> Result<Vec<String>> {
        let culprit = &view.culprit;
        let kind = Value::from(minijinja::value::Serde(culprit.kind)).to_string();
        let comma = self.word("comma")?;
        let place = self.writer.unit(&culprit.unit());
        let kind = self.word(&format!("kind_{kind}"))?;
        let mut lines = vec![format!("{place}{comma}{kind} {}", self.writer.name(&culprit.tensor))];
        let numbers = [
            ("error", view.error),
            ("limit", view.limit),
            (if view.is_monitor { "before" } else { "received" }, view.received),
        ];
        let mut shown = Vec::new();
        for (key, number) in numbers {
            if let Some(number) = number {
                shown.push(format!("{}{}{}", self.word(key)?, self.word("colon")?, ratio(number.0, 2)));
            }
        }
        if let Some((rule, value)) = culprit.metrics.rule.as_ref().zip(view.value) {
            shown.insert(0, format!("{}{}{}", self.writer.name(rule), self.word("colon")?, ratio(value.0, 2)));
        }
        lines.extend((!shown.is_empty()).then(|| shown.join(" · ")));
        lines.extend(reference::reference_errors(culprit, self.writer)?);
        for frame in view.model_frame.iter().chain(&view.frame) {
            let place = self.writer.name(&format!("{}:{}", frame.file, frame.line));
            let code = self.writer.name(&frame.code);
            lines.push(format!("{} {place}{comma}{code}", self.word("called_at")?));
        }
        if culprit.operator.is_none() {
            lines.push(self.writer.phrase("spread", &context! { count => culprit.spread })?);
        }
        if let Some(other) = &self.view.runner_up {
            lines.push(format!("{} {}", self.word("runner_up")?, self.writer.name(&other.culprit.tensor)));
        }
        self.section("culprit_heading", lines.into_iter().map(|line| format!("  {line}")).collect())
    }

    fn diagnoses(&self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        for (index, row) in self.view.diagnoses.iter().take(MOST_DIAGNOSES).enumerate() {
            let (title, place) = (&row.title, &row.place);
            let sureness = self.writer.phrase("in_brackets", &context! { text => row.sureness.clone() })?;
            lines.push(format!("  {}. {title}{sureness}{}{place}", index + 1, self.word("comma")?));
            lines.extend(row.evidence.iter().map(|sign| format!("     - {sign}")));
            if row.advice.as_str() != Some("") {
                lines.push(format!("     → {}", row.advice));
            }
        }
        if lines.is_empty() { Ok(lines) } else { self.section("diagnoses_heading", lines) }
    }

    /// The findings that count. The short form leaves out those that the opening reports already, and all advice.
    fn findings(&self, detail: TerminalDetail) -> Result<Vec<String>> {
        let is_short = detail != TerminalDetail::All;
        let is_told = |row: &FindingRow| is_short && (row.is_culprit || self.view.opening.told == Some(row.check));
        let others = self.view.findings.iter().filter(|row| row.severity >= Severity::Warn && !is_told(row));
        let others: Vec<&FindingRow> = others.collect();
        let mut lines = Vec::new();
        let mut last = &Value::from("");
        for row in others.iter().take(MOST_FINDINGS) {
            let sign = self.painted(super::summary::verdict_sign(row.severity.verdict()), row.severity.verdict());
            lines.push(format!("  {sign} {} [{}]", row.message, self.writer.name(&row.code)));
            if !is_short && row.help.as_str() != Some("") && row.help != *last {
                lines.push(format!("    → {}", row.help));
                last = &row.help;
            }
        }
        if others.len() > MOST_FINDINGS {
            let count = others.len() - MOST_FINDINGS;
            lines.push(format!("  {}", self.writer.phrase("more", &context! { count })?));
        }
        if lines.is_empty() { Ok(lines) } else { self.section("section_findings", lines) }
    }

    /// Findings that waivers cover, each with the person responsible for the waiver.
    fn waived(&self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        for row in self.view.waived.iter().take(MOST_FINDINGS) {
            let owner = context! { expires => row.expires.as_str(), owner => row.owner.as_str() };
            let (owner, reason) = (self.writer.phrase("waived", &owner)?, self.writer.prose(&row.reason));
            let reason = self.writer.phrase("in_brackets", &context! { text => safe(reason) })?;
            let code = self.writer.name(&row.finding.code);
            lines.push(format!("  - {owner} {} [{code}]{reason}", row.finding.message));
        }
        if self.view.waived.len() > MOST_FINDINGS {
            let count = self.view.waived.len() - MOST_FINDINGS;
            lines.push(format!("  {}", self.writer.phrase("more", &context! { count })?));
        }
        if lines.is_empty() { Ok(lines) } else { self.section("section_waived", lines) }
    }

    fn history(&self) -> Result<Vec<String>> {
        let Some(history) = &self.view.history else { return Ok(Vec::new()) };
        let runs = context! { suite => history.suite.as_str(), runs => history.runs };
        let marks = history.marks.iter().map(|mark| self.painted(super::summary::verdict_sign(*mark), *mark));
        let marks: Vec<String> = marks.collect();
        let runs = self.writer.phrase("history_runs", &runs)?;
        let mut lines = vec![format!("  {runs}{}{}", self.word("colon")?, marks.join(" "))];
        for said in [&history.row, &history.since, &history.unread] {
            lines.extend(said.as_str().filter(|said| !said.is_empty()).map(|said| format!("  {said}")));
        }
        for row in history.changes.iter().take(MOST_CHANGES) {
            let [name, before, after] = [&row.name, &row.before, &row.after].map(|text| self.writer.name(text));
            let name = if name.is_empty() { name } else { format!(" {name}") };
            lines.push(format!("  - {}{name}{}{before} → {after}", row.what, self.word("colon")?));
        }
        lines.extend(history.bisect.iter().map(|line| format!("  {line}")));
        self.section("history_heading", lines)
    }

    fn section(&self, key: &str, body: Vec<String>) -> Result<Vec<String>> {
        let mut lines = vec![self.bold(&self.word(key)?)];
        lines.extend(body);
        lines.push(String::new());
        Ok(lines)
    }

    fn heads(&self, keys: &[&str]) -> Result<Row> {
        keys.iter().map(|key| self.word(key).map(plain)).collect()
    }

    /// Columns aligned by display width, with an empty line after.
    fn table(&self, rows: &[Row]) -> Vec<String> {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.0.width()).max();
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        let line = |(index, row): (usize, &Row)| {
            let mut line = String::from(" ");
            for ((text, verdict), width) in row.iter().zip(&widths) {
                let painted = verdict.map_or_else(|| text.clone(), |verdict| self.painted(text, verdict));
                let painted = if index == 0 { self.dim(&painted) } else { painted };
                line.push_str(&format!(" {painted}{} ", " ".repeat(width.saturating_sub(text.width()))));
            }
            line.trim_end().to_owned()
        };
        let lines = rows.iter().enumerate().map(line);
        lines.chain([String::new()]).collect()
    }

    fn painted(&self, text: &str, verdict: Verdict) -> String {
        let code = match verdict {
            Verdict::Pass => "32",
            Verdict::Warn => "33",
            Verdict::Incomplete => "35",
            Verdict::Fail => "31",
            Verdict::Skipped => "2",
        };
        self.code(text, code)
    }

    fn bold(&self, text: &str) -> String {
        self.code(text, "1")
    }

    fn dim(&self, text: &str) -> String {
        self.code(text, "2")
    }

    fn code(&self, text: &str, code: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
