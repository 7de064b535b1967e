//! A culprit in the opening: its words in a headline, its place, and the numbers of both sides.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::{Value, context};

use super::builder::{Builder, Columns, Opening};
use super::words::{capital, cut_line, expression, short_name, tensor_and_index, without_direction};
use crate::diagnose::cause::{GRADIENT_OF_INDEX, INDICES_UNSEEN, PHASE_UNSEEN};
use crate::error::Result;
use crate::judge::dump::rules as dump_rules;
use crate::judge::monitor::rules as monitor_rules;
use crate::kind::TensorKind;
use crate::read::dump::name::{Direction, OpName};
use crate::report::error_place;
use crate::report::frame::{StackFrame, calling_frame};
use crate::report::messages::Language;
use crate::report::phrases;
use crate::report::reference;
use crate::report::sentence::sentence;
use crate::report::sides::spaced_word;
use crate::report::writer::safe;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::result::finding::{Fact, Finding};
use crate::result::number::Number;
use crate::result::operation::Shown;
use crate::result::unit::{
    Culprit, CulpritKind, ErrorLocation, ErrorPattern, MonitorCause, OperatorCulprit, dumps, operators,
};
use crate::verdict::CheckId;

/// Causes that lie in the optimizer or in what it is given.
const OF_UPDATES: [&str; 3] = ["optimizer-differs", "lost-update", "gradient-reduction"];

impl Builder<'_> {
    pub(super) fn culprit(&self, culprit: &Culprit, finding: &Finding, cause: Option<&Diagnosis>) -> Result<Opening> {
        // Causes are looked for in the candidate; where the baseline is off, they would blame the wrong side.
        let off = self.baseline_off(culprit);
        let (finding, cause) = off.map_or((finding, cause), |off| (off, None));
        let likely = cause.filter(|cause| cause.sureness >= Sureness::Likely);
        // Where all numbers that enter agree, what they do not show is the first to look at, however little is known of it: labels of a
        // loss, phases of complex numbers, the constant of a norm.
        let is_telling = |cause: &&Diagnosis| {
            cause.advice.is_any(&[INDICES_UNSEEN, PHASE_UNSEEN])
                || cause.evidence.iter().any(|statement| statement.is_any(&["formula-epsilon"]))
        };
        let leading = likely.or_else(|| cause.filter(is_telling));
        let of_cause =
            leading.map(|cause| self.headline_of_cause(cause, finding, Some(culprit))).transpose()?.flatten();
        let headline = match of_cause {
            Some(headline) => headline,
            None if off.is_some() => self.message(finding)?,
            None => self.headline_of_operation(finding, Some(culprit))?,
        };
        let mut opening = Opening { picture: "divergence", ..Opening::from_headline(safe(headline)) };
        // The line that uses a parameter is not the one that updates it.
        let frame =
            frame_of(culprit).filter(|_| !likely.is_some_and(|cause| OF_UPDATES.contains(&cause.cause.as_str())));
        let told = likely.and_then(line_of_gap);
        let own = frame.as_ref().map(|frame| (frame.place(), frame.code.clone()));
        let line = told.or(own);
        opening.source = safe(line.as_ref().map(|(place, _)| self.writer.name(place)).unwrap_or_default());
        let place = [
            line.as_ref().and_then(|(_, code)| self.line_of(code, &culprit.argument, &opening.headline)),
            Some(self.place(culprit, likely)?),
            self.error_place(culprit, likely)?,
            self.shapes_of_backward(culprit)?,
            reference::reference_errors(culprit, self.writer)?,
        ];
        opening.place = safe(place.into_iter().flatten().collect::<Vec<_>>().join(" · "));
        if self.result.is_alone() {
            // There is no error to draw, and no other side beside the value.
            opening.picture = "";
            opening.rows = self.all_checks(culprit.check)?;
            let width = opening.rows.first().map_or(0, |row| row.cells.len());
            opening.columns = self.columns_of_checks()?.into_iter().take(width).collect();
        } else {
            opening.columns = self.columns_of_sides()?;
            let of_update = likely.map(|cause| self.row_of_update(cause, culprit)).transpose()?.flatten();
            let row = of_update.map_or_else(|| self.row_of_culprit(culprit), |row| Ok(Some(row)))?;
            opening.rows = row.map_or_else(|| self.row_of_monitor(culprit), |row| Ok(Some(row)))?.into_iter().collect();
            opening.rows.extend(self.other_checks(Some(culprit.check), Columns::Sides)?);
        }
        self.advise(&mut opening, cause, finding)?;
        self.tell_own_parameter(&mut opening, culprit, finding)?;
        if let Some(fix) = self.fix_of_index(culprit, likely)? {
            opening.advice = safe(fix);
        }
        Ok(opening)
    }

    /// The line of code that calls the culprit, where the headline does not show the call itself.
    pub(super) fn line_of(&self, code: &str, argument: &str, headline: &Value) -> Option<String> {
        let line = cut_line(code, argument);
        let told = expression(code).map(|code| self.writer.name(&code));
        let is_told = told.is_some_and(|told| headline.to_string().contains(&told));
        (!line.is_empty() && !is_told).then(|| self.writer.name(&line))
    }

    /// The finding that the baseline is off at a culprit.
    fn baseline_off(&self, culprit: &Culprit) -> Option<&Finding> {
        let is_of = |finding: &&Finding| finding.is(&dump_rules::BASELINE_OFF) && finding.place == culprit.tensor;
        self.result.findings.iter().find(is_of).filter(|_| culprit.reference.is_some())
    }

    /// Leads with a parameter of the candidate's own where a gradient is off at a step at which only the candidate trains it: the
    /// gradient that the baseline adds to another parameter goes there.
    fn tell_own_parameter(&self, opening: &mut Opening, culprit: &Culprit, finding: &Finding) -> Result<()> {
        let is_gradient =
            finding.is(&monitor_rules::JUMP) && finding.text("cause") == Some(MonitorCause::Backward.as_str());
        let is_own = |other: &&Finding| {
            other.is(&monitor_rules::TRAINABLE_DIFFERS)
                && ["step", "rank"].iter().all(|name| other.facts.get(*name) == finding.facts.get(*name))
        };
        let Some(own) = self.result.counting().find(is_own).filter(|_| is_gradient) else { return Ok(()) };
        let twin = own.text("twin").filter(|twin| *twin == culprit.op);
        let context = context! {
            name => safe(self.writer.name(&own.place)), tensor => safe(self.writer.name(&culprit.op)), step => culprit.step,
            error => finding.facts.get("error").map(|error| self.writer.fact("error", error)), is_tied => twin.is_some(),
        };
        opening.headline = safe(self.writer.phrase("headline_own_parameter", &context)?);
        opening.advice = safe(self.writer.finding(own)?.help);
        if twin.is_some() {
            opening.certainty = self.word("because_likely")?;
            opening.reasons = safe(self.writer.phrase("reason_tied", &context)?);
        }
        Ok(())
    }

    /// The line to write in place of an index whose backward fails: `h.index_select(0, order)` for `h[order]`.
    fn fix_of_index(&self, culprit: &Culprit, cause: Option<&Diagnosis>) -> Result<Option<String>> {
        let is_index = cause.is_some_and(|cause| cause.advice.is_any(&[GRADIENT_OF_INDEX]));
        let code = frame_of(culprit).filter(|_| is_index).and_then(|frame| expression(&frame.code));
        let Some((code, (tensor, index))) = code.as_deref().and_then(|code| Some((code, tensor_and_index(code)?)))
        else {
            return Ok(None);
        };
        let replacement = format!("{tensor}.index_select(0, {index})");
        self.writer.phrase("fix_index", &context! { code, replacement }).map(Some)
    }

    /// Operation, step and rank; how many values were compared, and how many inherit the error.
    fn place(&self, culprit: &Culprit, cause: Option<&Diagnosis>) -> Result<String> {
        if let Some(operator) = &culprit.operator {
            return self.place_of_operator(operator, culprit);
        }
        let comma = self.writer.word("comma")?;
        let name = self.tensor_name(culprit.check, named_op(culprit))?;
        let mut place = vec![
            if root_port(culprit.check, &culprit.op).is_some() { capital(&name) } else { name },
            self.writer.phrase("unit_step", &context! { step => culprit.step })?,
        ];
        let since = cause.and_then(|cause| {
            cause.evidence.iter().find_map(|told| told.facts.get("since")).map(|since| self.writer.fact("since", since))
        });
        if let Some(since) = since {
            // The update lies before the step at which the parameter shows it.
            place = vec![self.writer.phrase("place_update", &context! { since, seen => safe(place.join(&comma)) })?];
        }
        if let Some(name) = name_in_baseline(culprit) {
            place.insert(1, self.writer.phrase("place_baseline", &context! { op => safe(self.writer.name(&name)) })?);
        }
        if let Some(rank) = culprit.rank {
            place.push(self.writer.phrase("unit_rank", &context! { rank })?);
        }
        let finding = self.result.findings.iter().find(|finding| culprit.stands_for(finding));
        if let Some(module) =
            finding.and_then(|finding| finding.text("module")).filter(|module| !culprit.op.starts_with(module))
        {
            place.push(self.writer.phrase("place_module", &context! { module => safe(self.writer.name(module)) })?);
        }
        let count = |name: &str| match finding?.facts.get(name)? {
            Fact::Count(count) => Some(*count),
            _ => None,
        };
        if let Some((nth, of)) = count("call_nth").zip(count("call_of")) {
            place.push(self.writer.phrase("place_call", &context! { nth, of })?);
        }
        let mut parts = vec![place.join(&comma)];
        let unit = dumps(&self.result.checks).find(|unit| (unit.step, unit.rank) == (culprit.step, culprit.rank));
        let mut spread = Vec::new();
        if let Some(unit) = unit.filter(|unit| unit.compared > 1) {
            spread.push(self.writer.phrase("place_of", &context! { compared => unit.compared })?);
        }
        if culprit.spread > 0 {
            spread.push(self.writer.phrase("place_spread", &context! { count => culprit.spread })?);
        }
        let semicolon = self.writer.word("semicolon")?;
        parts.extend((!spread.is_empty()).then(|| spread.join(&semicolon)));
        Ok(parts.join(" · "))
    }

    /// The row of an operator that was tested alone, and how many outputs were judged; a rank names itself.
    fn place_of_operator(&self, culprit: &OperatorCulprit, of: &Culprit) -> Result<String> {
        let of_culprit = operators(&self.result.checks).find(|unit| unit.table == culprit.table);
        let compared = of_culprit.map_or(0, |unit| unit.compared);
        let row = safe(self.writer.name(&culprit.row));
        let finding = self.result.findings.iter().find(|finding| of.stands_for(finding));
        let named = finding
            .into_iter()
            .flat_map(|finding| ["failing", "dtype", "shape", "siblings"].map(|name| (name, finding)));
        let mut facts: BTreeMap<&str, Value> =
            named.filter_map(|(name, finding)| Some((name, self.fact(name, finding.facts.get(name)?)))).collect();
        facts.extend([("row", row), ("compared", compared.into())]);
        let place = self.writer.phrase("place_operator", &Value::from(facts))?;
        let ranked = of_culprit.filter(|unit| unit.rank.is_some());
        Ok(ranked.map_or_else(|| place.clone(), |unit| format!("{place} · {}", self.writer.name(&unit.table))))
    }

    /// The shapes that the backward of a culprit's call gives on each side, where they differ.
    fn shapes_of_backward(&self, culprit: &Culprit) -> Result<Option<String>> {
        let found = self.result.counting().find(|finding| is_of_its_backward(culprit, finding));
        let shapes = found.and_then(shapes_of);
        shapes
            .map(|[baseline, candidate]| {
                self.writer.phrase(
                    "place_backward_shapes",
                    &context! { baseline => safe(baseline), candidate => safe(candidate) },
                )
            })
            .transpose()
    }

    /// The place of the error within the tensor, where some of it is off and the cause does not say so itself.
    fn error_place(&self, culprit: &Culprit, cause: Option<&Diagnosis>) -> Result<Option<String>> {
        let cause = cause.map_or("", |cause| cause.cause.as_str());
        let tells = |location: &&ErrorLocation| match location.pattern {
            ErrorPattern::Block | ErrorPattern::Concentrated => cause != "silent-corruption",
            ErrorPattern::Moved => cause != "permuted",
            ErrorPattern::Scaled | ErrorPattern::Spread => false,
        };
        // Integers have no size of error.
        let is_number =
            both_sides(culprit).is_none_or(|(_, shown)| !shown.dtype.contains("int") && shown.dtype != "bool");
        // Where every element passes by itself, none has a place.
        let location =
            culprit.location.as_ref().filter(|_| is_number).filter(tells).filter(|location| location.wrong > 0);
        location.map(|location| error_place::sentence(location, self.writer)).transpose()
    }

    /// The headline of a cause; `None` where this version has no words for it, or the result lacks a fact of them.
    pub(super) fn headline_of_cause(
        &self,
        cause: &Diagnosis,
        finding: &Finding,
        culprit: Option<&Culprit>,
    ) -> Result<Option<String>> {
        let key = format!("headline_cause_{}", cause.cause);
        if phrases::find(&key, self.writer.language()).is_none() {
            return self.headline_of_evidence(cause);
        }
        let mut facts: BTreeMap<&str, Value> = BTreeMap::new();
        let statements = || cause.evidence.iter().chain([&cause.advice]);
        let told = statements().map(|statement| &statement.facts).chain([&finding.facts]);
        for (name, fact) in told.flatten() {
            facts.entry(name.as_str()).or_insert_with(|| self.fact(name, fact));
        }
        let side =
            statements().map(|statement| &statement.facts).chain([&finding.facts]).find_map(|facts| facts.get("side"));
        let codes: Vec<String> = statements().map(|statement| statement.code.clone()).collect();
        facts.insert("codes", Value::from(codes));
        facts.insert("is_culprit", culprit.is_some().into());
        self.add_words(&mut facts, side, finding, culprit)?;
        facts.insert("finding", finding.code.as_str().into());
        self.phrase_over(&key, facts)
    }

    /// The headline of the finding that shows a cause, where one does.
    fn headline_of_evidence(&self, cause: &Diagnosis) -> Result<Option<String>> {
        let text = |statement: &Statement, name: &str| match statement.facts.get(name) {
            Some(Fact::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let shows = |statement: &Statement| {
            let (code, place) = (text(statement, "finding_code")?, text(statement, "finding_place")?);
            self.result.counting().find(|finding| finding.code == code && finding.place == place)
        };
        cause.evidence.iter().find_map(shows).map_or(Ok(None), |finding| self.headline_of_code(finding, None))
    }

    /// The headline of a finding by its code; its message where the code has none.
    pub(super) fn headline_of_finding(&self, finding: &Finding) -> Result<String> {
        if finding.facts.contains_key("op") {
            return self.headline_of_operation(finding, None);
        }
        self.headline_of_code(finding, None)?.map_or_else(|| self.message(finding), Ok)
    }

    /// The message of a finding; one that begins with its step goes without, as the next line names that.
    fn message(&self, finding: &Finding) -> Result<String> {
        let message = self.writer.finding(finding)?.message;
        if finding.source.is_some() {
            // Code is as it is written.
            let is_code = match finding.facts.get("code") {
                Some(Fact::Text(code)) => message.starts_with(&self.writer.name(code)),
                _ => false,
            };
            return Ok(if is_code { message } else { capital(&message) });
        }
        let Some(unit) = finding.facts.get("unit") else {
            let message = sentence(finding, self.writer)?.message;
            let starts_with = |name: &String| message.starts_with(&self.writer.name(name));
            let names = finding.facts.values().filter_map(|fact| match fact {
                Fact::Text(text) => Some(text),
                _ => None,
            });
            let is_name = names.chain([&finding.place]).any(starts_with);
            return Ok(if is_name { message } else { capital(&message) });
        };
        let unit = format!("{}{}", self.writer.fact("unit", unit), self.writer.word("colon")?);
        match message.strip_prefix(&unit) {
            Some(rest) => Ok(capital(rest)),
            // A name is as it is written.
            None if message.starts_with(&self.writer.name(&finding.place)) => Ok(message),
            None => Ok(capital(&message)),
        }
    }

    /// The headline of a finding about an operation without a known cause.
    fn headline_of_operation(&self, finding: &Finding, culprit: Option<&Culprit>) -> Result<String> {
        if let Some(headline) = self.headline_of_code(finding, culprit)? {
            return Ok(headline);
        }
        if culprit.is_none() && !finding.is(&dump_rules::OUTPUT_DIVERGES) {
            return self.message(finding);
        }
        if finding.facts.contains_key(dump_rules::UNORDERED) {
            return self.headline_of_unordered(finding);
        }
        let mut facts = self.facts_of(finding, culprit)?;
        // A value that is compared exactly, such as a flag, has no size of error.
        if !matches!(finding.facts.get("error"), Some(Fact::Number(Number(error))) if error.is_finite() && *error > 0.0)
        {
            facts.remove("error");
        }
        self.writer.phrase("headline_first_wrong", &Value::from(facts))
    }

    /// The headline of records without an order: how many are wrong, and the names of some.
    fn headline_of_unordered(&self, finding: &Finding) -> Result<String> {
        /// Names in a headline.
        const NAMED: usize = 3;
        let wrong: Vec<&Finding> = self.result.counting().filter(|other| other.code == finding.code).collect();
        let named = wrong.iter().take(NAMED).map(|other| safe(self.writer.name(&other.place)));
        let (names, more): (Vec<_>, _) = (named.collect(), wrong.len().saturating_sub(NAMED));
        self.writer.phrase("headline_unordered", &context! { names, more, count => wrong.len() })
    }

    fn headline_of_code(&self, finding: &Finding, culprit: Option<&Culprit>) -> Result<Option<String>> {
        let key = format!("headline_code_{}", finding.code);
        let of_cause = finding.text("cause").map(|cause| format!("{key}_{cause}"));
        let is_known = |key: &String| phrases::find(key, self.writer.language()).is_some();
        match of_cause.filter(is_known).or(Some(key).filter(is_known)) {
            Some(key) => {
                let headline = self.phrase_over(&key, self.facts_of(finding, culprit)?)?;
                let Some(port) = root_port(finding.check, operation_of(finding)) else { return Ok(headline) };
                // The texts leave a blank beside a name, which a Chinese word does not have.
                let word = self.writer.word(&format!("model_{port}"))?;
                let whole = |headline: String| match self.writer.language() {
                    Language::En => capital(&headline),
                    Language::Zh => headline.replace(&format!("{word} "), &word).replace(&format!(" {word}"), &word),
                };
                Ok(headline.map(whole))
            }
            None => Ok(None),
        }
    }

    /// The name of an operation or tensor; inputs and outputs of a whole model, which has no name, in words.
    pub(super) fn tensor_name(&self, check: CheckId, name: &str) -> Result<String> {
        match root_port(check, name) {
            Some(port) => self.writer.word(&format!("model_{port}")),
            None => Ok(self.writer.name(name)),
        }
    }

    /// A headline over facts; `None` where the result lacks one of them, as a result of another version may.
    fn phrase_over(&self, key: &str, facts: BTreeMap<&str, Value>) -> Result<Option<String>> {
        self.writer.phrase_if_known(key, &Value::from(facts))
    }

    /// A fact as the headlines see it: steps and ranks are numbers, also where a finding holds them as text.
    fn fact(&self, name: &str, fact: &Fact) -> Value {
        match (name, fact) {
            ("step" | "rank", Fact::Text(text)) => {
                text.parse::<u64>().map_or_else(|_| self.writer.fact(name, fact), Value::from)
            }
            _ => self.writer.fact(name, fact),
        }
    }

    fn facts_of<'f>(&self, finding: &'f Finding, culprit: Option<&Culprit>) -> Result<BTreeMap<&'f str, Value>> {
        let told = finding.facts.iter().map(|(name, fact)| (name.as_str(), self.fact(name, fact)));
        let mut facts: BTreeMap<&str, Value> = told.collect();
        facts.insert("where", finding.place.clone().into());
        self.add_words(&mut facts, finding.facts.get("side"), finding, culprit)?;
        if facts.contains_key("own") {
            facts.insert("ranks", Value::from(self.ranks_alike(finding)));
        }
        Ok(facts)
    }

    /// Ranks of findings like this one: of its rule and step, with the same facts present.
    fn ranks_alike(&self, finding: &Finding) -> Vec<u64> {
        let is_like = |other: &&Finding| {
            other.code == finding.code
                && other.facts.get("step") == finding.facts.get("step")
                && other.facts.keys().eq(finding.facts.keys())
        };
        let rank = |other: &Finding| match other.facts.get("rank") {
            Some(Fact::Count(rank)) => Some(*rank),
            _ => None,
        };
        self.result.counting().filter(is_like).filter_map(rank).collect::<BTreeSet<u64>>().into_iter().collect()
    }

    /// Words beside the facts: the operation as a subject, types and shapes of both sides, the other side.
    fn add_words(
        &self,
        facts: &mut BTreeMap<&str, Value>,
        side: Option<&Fact>,
        finding: &Finding,
        culprit: Option<&Culprit>,
    ) -> Result<()> {
        facts.extend(side.and_then(|side| self.writer.other_side(side)).map(|other| ("other_side", other)));
        if let Some(side) = broken_side(finding) {
            facts.insert("broken_side", self.writer.fact("side", &Fact::from(side)));
        }
        let op = culprit.map_or_else(|| operation_of(finding), named_op);
        let name = OpName::parse(op);
        let is_backward = name.direction == Some(Direction::Backward);
        let plain = op.trim_end_matches(".forward").trim_end_matches("_forward");
        let short = short_name(op);
        let plain = if without_direction(op) == short { plain } else { short };
        facts.insert("operation", safe(self.tensor_name(finding.check, plain)?));
        let code = culprit.and_then(|culprit| self.call_of(culprit));
        let name = self.writer.name(code.as_deref().unwrap_or(short));
        // A headline begins with the tensor, and has the parameter in its middle.
        for (key, is_first) in [("tensor", true), ("parameter", false)] {
            let is_own = |culprit: &&Culprit| {
                facts.get(key) == Some(&self.writer.fact(key, &Fact::from(culprit.tensor.as_str())))
            };
            if let Some(culprit) = culprit.filter(is_own) {
                let what = self.what(culprit)?;
                let what = if is_first { capital(&what) } else { what };
                facts.insert(key, spaced_word(&what, self.writer.language()));
            }
        }
        // Of a tensor elsewhere at the same place of a call, the call is enough.
        let elsewhere = facts.get("other").and_then(Value::as_str).map(str::to_owned);
        let other = culprit
            .zip(elsewhere.as_deref())
            .and_then(|(culprit, elsewhere)| elsewhere.strip_suffix(culprit.tensor.strip_prefix(&culprit.op)?))
            .filter(|other| Some(*other) != elsewhere.as_deref());
        if let Some(other) = other {
            facts.insert("other_op", safe(self.tensor_name(finding.check, short_name(other))?));
        }
        for (key, first) in [("subject", "subject_backward"), ("subject_first", "subject_backward_first")] {
            let subject = if is_backward {
                self.writer.phrase(first, &context! { name => safe(name.clone()) })?
            } else {
                name.clone()
            };
            facts.insert(key, spaced_word(&subject, self.writer.language()));
        }
        if let Some(shapes) = shapes_of(finding) {
            facts.insert("shapes", Value::from(shapes.to_vec()));
        }
        if culprit.is_some_and(|culprit| culprit.monitor.is_some()) {
            let units =
                self.result.checks.iter().filter(|check| check.id == CheckId::Monitor).flat_map(|check| &check.units);
            facts.insert("rank_count", units.count().into());
        }
        let Some((baseline, candidate)) = culprit.and_then(both_sides) else { return Ok(()) };
        let shape = |shown: &Shown| format!("{:?}", shown.shape);
        facts.insert("shapes", Value::from(vec![shape(baseline), shape(candidate)]));
        facts.insert("dtypes", Value::from(vec![baseline.dtype.clone(), candidate.dtype.clone()]));
        facts.insert("dtype", safe(self.writer.prose(short_dtype(&candidate.dtype))));
        Ok(())
    }
}

/// `input` or `output` where a row of a training monitor is that of the whole model, whose module has no name: `.output`, `.input.0`.
fn root_port(check: CheckId, name: &str) -> Option<&'static str> {
    let port = name.strip_prefix('.').filter(|_| check == CheckId::Monitor)?;
    let port = port.split_once('.').map_or(port, |(port, _)| port);
    ["input", "output"].into_iter().find(|known| *known == port)
}

/// The operation's name in the baseline's dump; `None` where it is the same, or the baseline has none.
fn name_in_baseline(culprit: &Culprit) -> Option<String> {
    let below = culprit.tensor.strip_prefix(&culprit.op)?;
    let name = culprit.baseline.as_ref()?.tensor.strip_suffix(below)?;
    (name != culprit.op && !name.is_empty()).then(|| name.to_owned())
}

/// Whether a finding is that the backward call of a culprit gives other shapes: the same call runs as other kernels, and what its
/// forward shows comes first.
pub(super) fn is_of_its_backward(culprit: &Culprit, finding: &Finding) -> bool {
    let (own, other) = (OpName::parse(&culprit.op), OpName::parse(operation_of(finding)));
    finding.is(&dump_rules::SHAPE_DIFFERS)
        && finding.check == culprit.check
        && finding.facts.get("unit") == Some(&Fact::from(culprit.unit()))
        && own.direction == Some(Direction::Forward)
        && other.direction == Some(Direction::Backward)
        && (own.base, own.call) == (other.base, other.call)
}

/// The shapes of both sides that a finding tells.
fn shapes_of(finding: &Finding) -> Option<[String; 2]> {
    let of = |name: &str| match finding.facts.get(name) {
        Some(Fact::Text(shape)) => Some(shape.clone()),
        _ => None,
    };
    Some([of("baseline_shape")?, of("candidate_shape")?])
}

/// The name of a culprit's operation; of a value that was saved by hand, its own.
pub(super) fn named_op(culprit: &Culprit) -> &str {
    match culprit.kind {
        CulpritKind::Tensor(TensorKind::Value) => &culprit.tensor,
        _ => &culprit.op,
    }
}

/// The operation that a finding is about; its place where it names none.
pub(super) fn operation_of(finding: &Finding) -> &str {
    match finding.facts.get("op") {
        Some(Fact::Text(op)) => op,
        _ => &finding.place,
    }
}

/// The side whose value is NaN or infinite, by the words of a finding about both; `None` where both or neither are.
fn broken_side(finding: &Finding) -> Option<&'static str> {
    let is_broken = |side: &str| match finding.facts.get(side) {
        Some(Fact::Text(text)) => Some(
            text.to_ascii_lowercase()
                .split([' ', ','])
                .any(|word| word.parse::<f64>().is_ok_and(|number| !number.is_finite())),
        ),
        _ => None,
    };
    match (is_broken("baseline")?, is_broken("candidate")?) {
        (true, false) => Some("baseline"),
        (false, true) => Some("candidate"),
        _ => None,
    }
}

fn both_sides(culprit: &Culprit) -> Option<(&Shown, &Shown)> {
    culprit.baseline.as_ref().zip(culprit.candidate.as_ref())
}

/// The line that calls a culprit: that of a model's library where the user's own code only calls the model.
pub(super) fn frame_of(culprit: &Culprit) -> Option<StackFrame> {
    calling_frame(&culprit.stack)
}

/// Place and text of the line that calls the operation which only one side runs, or that makes a gradient which no call records.
pub(super) fn line_of_gap(cause: &Diagnosis) -> Option<(String, String)> {
    let called = cause.evidence.iter().find(|statement| statement.is_any(&["gap-called-at", "gradient-unrecorded"]))?;
    let text = |name: &str| match called.facts.get(name) {
        Some(Fact::Text(text)) => Some(text.clone()),
        _ => None,
    };
    Some((text("place")?, text("code")?))
}

/// A type as people write it in a sentence.
fn short_dtype(dtype: &str) -> &str {
    match dtype {
        "float16" => "fp16",
        "bfloat16" => "bf16",
        "float32" => "fp32",
        "float64" => "fp64",
        other => other,
    }
}
