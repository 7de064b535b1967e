//! Renders templates to text, for one language and one target format.
//!
//! Every `{{ value }}` that is text counts as foreign unless this writer rendered it: it passes through [`escape::name`], so that
//! templates are safe by default. Numbers stay plain, with four significant digits. In addition to minijinja's own filters there
//! are:
//!
//! * `number(digits)`: a number, with four digits unless said
//! * `percent`: a ratio with its exact digits, for limits and shares
//! * `relative(limit)`: a measured relative error with two digits, or as many as tell it from `limit`
//! * `prose`: a sentence that may quote an artifact, in place of a name; the program's own are said in the language
//! * `said`: a word or sentence of the program, such as a kind of file, in the language
//! * `cell`: Markdown for a table cell
//! * `join(separator)`: items, each as a name
//! * `t(key, …)`: a phrase of `report.yaml` over the arguments
//! * `formula(rule)`: what a rule computes, by its name; empty for one that this version does not know
//! * `word(text)`: a word of the gate's own (a verdict), for a class or an attribute; letters and hyphens only
//! * `baseline_name`, `candidate_name`: what the two runs are called (`Writer::with_sides`)
//! * `commands`: what readers can run about the result ([`Commands`]), each as code; empty where it would not help
//! * `is_alone`: whether the run was judged without a baseline.

use std::collections::BTreeMap;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde, ValueKind};
use minijinja::{
    AutoEscape, Environment, Error as TemplateError, ErrorKind as TemplateErrorKind, State, UndefinedBehavior, Value,
};
use minijinja_contrib::filters::pluralize;

use super::advice::Commands;
use super::escape::{self, TextTarget};
use super::messages::{self, Language};
use super::phrases;
use super::sentences;
use super::sides::{self, Sides};
use crate::documentation;
use crate::error::{Error, ErrorKind, Result};
use crate::result::GateResult;
use crate::result::finding::{Fact, Finding};

/// Name by which templates ask whether the run has no baseline.
const IS_ALONE: &str = "is_alone";

/// Name by which templates ask for the commands that help.
const COMMANDS: &str = "commands";

/// Significant digits of a number.
const MOST_DIGITS: usize = 4;

/// Text of a finding in one language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindingText {
    /// One sentence.
    pub message: String,
    /// The next step; empty where there is none.
    pub help: String,
}

/// Renders templates, phrases and findings.
#[derive(Debug)]
pub struct Writer {
    environment: Environment<'static>,
    language: Language,
    target: TextTarget,
    sides: Sides,
    /// Whether the run has no baseline.
    is_alone: bool,
}

impl Writer {
    /// A writer of `language` for `target`, which calls the two runs by their sides.
    pub fn new(language: Language, target: TextTarget) -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_syntax(own_lines());
        // Any mode except `None` marks the output of macros and includes as safe; the formatter does the escaping.
        environment.set_auto_escape_callback(|_| AutoEscape::Custom("precision-gate".into()));
        environment
            .set_formatter(move |out, _, value| out.write_str(&shown(value, target)?).map_err(TemplateError::from));
        environment.add_filter("number", |value: &Value, digits: Option<usize>| number(value, digits));
        environment.add_filter("pluralize", |count: &Value, singular: Option<Value>, plural: Option<Value>| {
            pluralize(&small(count), singular, plural).map(|ending| word(&ending.to_string()))
        });
        environment.add_filter("percent", |value: &Value| ratio(value, 4));
        environment.add_filter("relative", |value: &Value, limit: Option<Value>| relative(value, limit.as_ref()));
        environment.add_filter("duration", duration);
        environment.add_filter("prose", move |text: &str| {
            safe(escape::prose(&sentences::in_language(text, language), target))
        });
        environment.add_filter("said", move |text: &str| sentences::in_language(text, language).into_owned());
        environment.add_filter("cell", move |value: &Value| shown(value, target).map(|text| safe(escape::cell(&text))));
        environment.add_filter("join", move |items: &Value, separator: &str| {
            let items: Result<Vec<Value>, TemplateError> =
                items.try_iter().map(|items| items.map(|item| sentence(item, language)).collect());
            join(&items?.into(), separator, target)
        });
        environment.add_function("t", move |state: &State, key: &str, arguments: Kwargs| {
            phrase(state, key, &arguments, language)
        });
        environment.add_function("word", word);
        environment.add_function("documentation", |page: &str| safe(documentation::address(page)));
        environment.add_function("formula", move |rule: &str| phrases::formula(rule, language).unwrap_or_default());
        let sides = Sides::new(["", ""], language, target);
        environment.add_global(IS_ALONE, false);
        environment.add_global(COMMANDS, Commands::default().template_value(target));
        Self { environment, language, target, sides: sides.clone(), is_alone: false }.naming(sides)
    }

    /// A writer that calls the runs of a result by their labels.
    pub fn from_result(result: &GateResult, language: Language, target: TextTarget) -> Self {
        let writer = Self::new(language, target).with_commands(&Commands::from_result(result));
        match &result.baseline {
            None if result.is_of_source() => writer.without_runs(),
            Some(baseline) => writer.with_sides(&baseline.label, &result.candidate.label),
            None => writer.without_baseline(&result.candidate.label),
        }
    }

    /// Makes the writer call the two runs by their labels, if these are more informative than the name of a side or a file.
    #[must_use]
    pub(crate) fn with_sides(self, baseline: &str, candidate: &str) -> Self {
        let sides = Sides::new([baseline, candidate], self.language, self.target);
        self.naming(sides)
    }

    /// Makes the writer one for a run without a baseline: it prefers phrases for such a run, whose keys end in `_alone`.
    #[must_use]
    pub(crate) fn without_baseline(mut self, candidate: &str) -> Self {
        let sides = Sides::without_baseline(candidate, self.language, self.target);
        self.environment.add_global(IS_ALONE, true);
        self.is_alone = true;
        self.naming(sides)
    }

    /// Makes the writer one for a result that belongs to no run, which templates see by `is_alone`.
    #[must_use]
    pub(crate) fn without_runs(mut self) -> Self {
        self.environment.add_global(IS_ALONE, true);
        self
    }

    /// Makes the writer recommend these commands.
    #[must_use]
    pub(crate) fn with_commands(mut self, commands: &Commands) -> Self {
        self.environment.add_global(COMMANDS, commands.template_value(self.target));
        self
    }

    fn naming(mut self, sides: Sides) -> Self {
        self.environment.add_global("baseline_name", sides.baseline.clone());
        self.environment.add_global("candidate_name", sides.candidate.clone());
        self.sides = sides;
        self
    }

    /// The language written.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Whether the run has no baseline.
    pub(super) fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// The format written for.
    pub fn target(&self) -> TextTarget {
        self.target
    }

    /// Message and help of a finding.
    ///
    /// A code that this version does not know (a result of a later version) is shown by its code and place.
    pub fn finding(&self, finding: &Finding) -> Result<FindingText> {
        let Some((message, help)) = messages::templates(finding, self.language, self.is_alone) else {
            let message = format!("{}: {}", self.name(&finding.code), self.name(&finding.place));
            return Ok(FindingText { message, help: String::new() });
        };
        let mut context = self.facts(&finding.facts);
        let step = self.step_in_chinese(&finding.place);
        context.insert("where", step.map_or_else(|| finding.place.clone().into(), safe));
        let render = |template| self.render_text(&finding.code, template, &context);
        Ok(FindingText { message: render(message)?, help: render(help)? })
    }

    /// Renders a template over the facts of a finding; errors call it `name`.
    pub fn statement(&self, name: &str, template: &str, facts: &BTreeMap<String, Fact>) -> Result<String> {
        self.render_text(name, template.trim_end(), self.facts(facts))
    }

    /// Escapes a sentence that may quote an artifact.
    pub(crate) fn prose(&self, text: &str) -> String {
        escape::prose(&sentences::in_language(text, self.language), self.target)
    }

    /// Facts as templates see them; `other_side` beside `side` is the other run.
    pub(super) fn facts<'a>(&self, facts: &'a BTreeMap<String, Fact>) -> BTreeMap<&'a str, Value> {
        let mut all: BTreeMap<&str, Value> =
            facts.iter().map(|(name, fact)| (name.as_str(), self.fact(name, fact))).collect();
        all.extend(facts.get("side").and_then(|side| self.other_side(side)).map(|other| ("other_side", other)));
        all
    }

    /// The name of the run that the fact `side` does not name.
    pub(super) fn other_side(&self, side: &Fact) -> Option<Value> {
        match side {
            Fact::Text(side) if side == "baseline" => self.side("candidate"),
            Fact::Text(side) if side == "candidate" => self.side("baseline"),
            _ => None,
        }
    }

    /// A fact as templates see it; `name` is what the finding calls it.
    pub(super) fn fact(&self, name: &str, fact: &Fact) -> Value {
        match fact {
            Fact::Flag(flag) => flag.map_or(Value::from(()), Value::from),
            Fact::Count(count) => (*count).into(),
            Fact::Number(value) => value.0.into(),
            Fact::Text(text) => self.own_word(name, text).unwrap_or_else(|| text.clone().into()),
            Fact::List(items) if matches!(name, "named_rows" | "sources" | "first") => items
                .iter()
                .map(|item| if is_digits(item) { safe(item.clone()) } else { item.clone().into() })
                .collect(),
            Fact::List(items) => items.clone().into(),
        }
    }

    /// Facts that are words of the gate: a side, several, a check, a job that ended, a unit's place.
    fn own_word(&self, name: &str, text: &str) -> Option<Value> {
        let known = match name {
            "side" | "unused_side" => return self.side(text),
            "sides" => return self.sides(text),
            "check" => phrases::find(&format!("check_{text}"), self.language),
            "phase" => phrases::find(&format!("phase_{text}"), self.language),
            "training" => phrases::find(&format!("training_{text}"), self.language),
            "baseline" | "candidate" | "value" if matches!(text, "absent" | "unset") => {
                phrases::find(&format!("value_{text}"), self.language)
            }
            "reason" | "help" if self.language == Language::Zh => {
                return Some(sentences::in_language(text, self.language).into_owned().into());
            }
            "unit" => return unit_place(text, self.language).map(safe),
            "token_place" => return self.step_in_chinese(text).map(safe),
            // Numbers of ranks, which a fact keeps as text.
            "holders" if text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b' ')) => {
                let comma = if self.language == Language::Zh { "、" } else { ", " };
                return Some(safe(text.replace(", ", comma)));
            }
            // A number, which findings about a place keep as text.
            "step" | "last" | "last_step" if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                return Some(safe(text.to_owned()));
            }
            _ => None,
        };
        known.map(|word| sides::spaced_word(word, self.language))
    }

    /// The name of a unit as it is, a step and rank in the words of the language.
    pub(super) fn unit(&self, name: &str) -> String {
        unit_place(name, self.language).unwrap_or_else(|| name.to_owned())
    }

    /// The name of a run, by its side.
    fn side(&self, side: &str) -> Option<Value> {
        let both = || phrases::find("both_sides", self.language).filter(|_| side == "both");
        self.sides.find(side).or_else(|| both().map(|word| sides::spaced_word(word, self.language)))
    }

    /// The names of runs that a comma separates; `None` where one is no side.
    fn sides(&self, sides: &str) -> Option<Value> {
        let names: Option<Vec<String>> =
            sides.split(", ").map(|side| self.sides.find(side).map(|name| name.to_string())).collect();
        let comma = if self.language == Language::Zh { "、" } else { ", " };
        names.map(|names| safe(names.join(comma)))
    }

    /// A name from an artifact; a step that stands for a name in the words of Chinese.
    pub fn name(&self, text: &str) -> String {
        self.step_in_chinese(text).unwrap_or_else(|| escape::name(text, self.target))
    }

    /// A step that stands for a name, where Chinese is written: in English it is a name.
    fn step_in_chinese(&self, text: &str) -> Option<String> {
        unit_place(text, self.language).filter(|_| self.language == Language::Zh)
    }

    /// The phrase `key`, without arguments.
    pub fn word(&self, key: &str) -> Result<String> {
        self.phrase(key, &Value::from(BTreeMap::<String, Value>::new()))
    }

    /// The phrase `key` over `context`.
    pub fn phrase(&self, key: &str, context: &Value) -> Result<String> {
        let phrase = phrases::find_for(key, self.language, self.is_alone)
            .ok_or_else(|| Error::new(ErrorKind::Internal, key, "has no text in report.yaml"))?;
        self.render_text(key, phrase, context)
    }

    /// The phrase `key` over `context`; `None` where the context lacks something that the phrase names.
    pub(super) fn phrase_if_known(&self, key: &str, context: &Value) -> Result<Option<String>> {
        let phrase = phrases::find_for(key, self.language, self.is_alone).unwrap_or_default();
        match self.environment.render_named_str(key, phrase, context) {
            Ok(text) => Ok(Some(sides::resolve_spaces(text))),
            Err(error) if error.kind() == TemplateErrorKind::UndefinedError => Ok(None),
            Err(error) => Err(Error::new(ErrorKind::Internal, key, error)),
        }
    }

    fn render_text<S: serde::Serialize>(&self, name: &str, template: &str, context: S) -> Result<String> {
        let template = escape::own_text(template, self.target);
        if !template.contains('{') {
            return Ok(template.into_owned());
        }
        let rendered = self.environment.render_named_str(name, &template, Value::from(Serde(&context)));
        rendered.map(sides::resolve_spaces).map_err(|error| Error::new(ErrorKind::Internal, name, error))
    }

    /// A document's template over its context; an error in a template that the user gave is a policy error.
    pub fn document(&self, template: &Template, context: Value) -> Result<String> {
        let rendered = self.environment.render_named_str(&template.name, &template.source, context);
        rendered.map(sides::resolve_spaces).map_err(|error| {
            let kind = if template.is_custom { ErrorKind::Policy } else { ErrorKind::Internal };
            let place = error.line().map_or_else(String::new, |line| format!(":{line}"));
            let detail = error.detail().map_or_else(|| error.kind().to_string(), ToOwned::to_owned);
            Error::new(kind, format!("{}{place}", template.name), detail)
                .with_help(concat!(documentation!("templates.md"), " lists what templates can use"))
        })
    }
}

/// Writes `message` and `help` of every finding with a writer of plain text.
pub fn write_finding_texts(findings: &mut [Finding], writer: &Writer) -> Result<()> {
    for finding in findings {
        let text = writer.finding(finding)?;
        finding.message = text.message;
        finding.help = text.help;
    }
    Ok(())
}

/// A document's template.
#[derive(Clone, Debug)]
pub struct Template {
    /// Name for messages.
    pub name: String,
    /// Text.
    pub source: String,
    /// Whether the user provided it.
    pub is_custom: bool,
}

/// Syntax in which blocks on lines of their own leave no empty lines.
fn own_lines() -> SyntaxConfig {
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    syntax.expect("invariant: the delimiters are minijinja's own")
}

/// `step 3` or `step 3 rank 1` in the words of a language, in Chinese also with the answer and the position of a token behind
/// it; `None` for any other text.
fn unit_place(text: &str, language: Language) -> Option<String> {
    let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = text.split(", ");
    let mut words = parts.next()?.strip_prefix("step ")?.split(' ');
    let step = words.next().filter(is_number)?;
    let rank = match (words.next(), words.next(), words.next()) {
        (None, ..) => String::new(),
        (Some("rank"), Some(rank), None) if is_number(&rank) => format!(" rank {rank}"),
        _ => return None,
    };
    let within: Option<Vec<String>> = parts.map(|part| within_answer(part, language)).collect();
    let within = within?.concat();
    Some(if language == Language::Zh { format!("第 {step} 步{rank}{within}") } else { format!("step {step}{rank}") })
}

/// `answer 0` or `position 3` in Chinese, behind a step.
fn within_answer(part: &str, language: Language) -> Option<String> {
    let (kind, number) = part.split_once(' ').filter(|_| language == Language::Zh)?;
    match kind {
        "answer" => Some(format!("，回答 {number}")),
        "position" => Some(format!("，位置 {number}")),
        _ => None,
    }
}

/// A count for [`pluralize`], which takes no number beyond 2^63: of as many, the plural is written.
fn small(count: &Value) -> Value {
    let is_large = count.kind() == ValueKind::Number && i64::try_from(count.clone()).is_err();
    if is_large { Value::from(2) } else { count.clone() }
}

/// Text that is escaped already and is not escaped again.
pub(crate) fn safe(text: String) -> Value {
    Value::from_safe_string(text)
}

/// The letters of a word that stands as it is.
fn word(text: &str) -> Value {
    safe(text.chars().filter(|letter| letter.is_ascii_alphabetic() || *letter == '-').collect())
}

fn shown(value: &Value, target: TextTarget) -> Result<String, TemplateError> {
    Ok(match value.kind() {
        ValueKind::Undefined => return Err(TemplateError::from(TemplateErrorKind::UndefinedError)),
        ValueKind::None => String::new(),
        ValueKind::Number => number(value, None).to_string(),
        ValueKind::String if value.is_safe() || is_number_word(value) => value.to_string(),
        ValueKind::Seq | ValueKind::Iterable => join(value, ", ", target)?.to_string(),
        _ => escape::name(&value.to_string(), target),
    })
}

/// An item that is a sentence of the program, in the language; one word is a name.
fn sentence(item: Value, language: Language) -> Value {
    match item.as_str() {
        Some(text) if !item.is_safe() && text.contains(' ') => {
            sentences::in_language(text, language).into_owned().into()
        }
        _ => item,
    }
}

/// Whether a text is a number without sign and fraction.
fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// JSON's words for the numbers it lacks: one look, whether they come as a number or as its word.
fn is_number_word(value: &Value) -> bool {
    matches!(value.as_str(), Some("nan" | "inf" | "-inf"))
}

fn join(items: &Value, separator: &str, target: TextTarget) -> Result<Value, TemplateError> {
    let shown: Result<Vec<String>, _> = items.try_iter()?.map(|item| shown(&item, target)).collect();
    Ok(safe(shown?.join(separator)))
}

fn phrase(state: &State, key: &str, arguments: &Kwargs, language: Language) -> Result<Value, TemplateError> {
    let is_alone = state.lookup(IS_ALONE).is_some_and(|alone| alone.is_true());
    let Some(phrase) = phrases::find_for(key, language, is_alone) else {
        return Err(TemplateError::new(TemplateErrorKind::InvalidOperation, format!("`{key}` is not in report.yaml")));
    };
    let mut context: BTreeMap<String, Value> = BTreeMap::new();
    for name in arguments.args() {
        context.insert(name.to_owned(), arguments.get(name)?);
    }
    state.env().render_named_str(key, phrase, Value::from(context)).map(safe)
}

/// A number for reading: counts in full, others with `digits` significant digits, four unless said; anything else stays.
fn number(value: &Value, digits: Option<usize>) -> Value {
    if value.is_integer() {
        return safe(value.to_string());
    }
    let digits = digits.unwrap_or(MOST_DIGITS).clamp(1, MOST_DIGITS);
    f64::try_from(value.clone()).map_or_else(|_| value.clone(), |number| safe(messages::rounded(number, digits)))
}

/// Microseconds with three digits, in the unit that people read them in.
fn duration(value: &Value) -> Value {
    f64::try_from(value.clone()).map_or_else(|_| value.clone(), |time| safe(messages::duration(time)))
}

/// A ratio with at most `digits` digits: a percentage from 0.01 % on, below that a plain number.
fn ratio(value: &Value, digits: usize) -> Value {
    f64::try_from(value.clone()).map_or_else(|_| value.clone(), |ratio| safe(messages::ratio(ratio, digits)))
}

/// A measured relative error with two digits, or with as many as tell it from its limit.
fn relative(value: &Value, limit: Option<&Value>) -> Value {
    let limits: Vec<f64> = limit.and_then(|limit| f64::try_from(limit.clone()).ok()).into_iter().collect();
    f64::try_from(value.clone())
        .map_or_else(|_| value.clone(), |value| safe(messages::relative_error_text(value, &limits)))
}

#[cfg(test)]
mod tests {
    use minijinja::context;

    use super::*;

    #[test]
    fn relative_errors_have_two_digits_and_are_told_apart_from_their_limit() {
        let writer = Writer::new(Language::En, TextTarget::Plain);
        let said = |template: &str, value: f64| {
            writer.statement("test", template, &BTreeMap::from([("value".into(), Fact::from(value))])).expect("a text")
        };
        for (value, text) in [
            (0.3215, "32 %"),
            (0.0712, "7.1 %"),
            (1.344, "134 %"),
            (0.000_123_4, "0.012 %"),
            (0.000_09, "9e-5"),
            (0.000_015_6, "1.6e-5"),
            (1e-7, "1e-7"),
            (0.0, "0 %"),
            (-0.034_2, "-3.4 %"),
            (3e38, "3e38×"),
            (34.26, "34×"),
            (9.99, "999 %"),
            (-0.0, "0 %"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(said("{{ value | relative }}", value), text);
        }
        assert_eq!(said("{{ value | relative(0.01) }}, limit {{ 0.01 | percent }}", 0.010_42), "1.04 %, limit 1 %");
        assert_eq!(said("{{ value | relative(0.005) }}", 0.05), "5 %");
        assert_eq!(said("{{ value | relative }}", 0.050_46), "5.0 %");
        assert_eq!(said("{{ value | relative }}", 0.003_999), "0.4 %");
        assert_eq!(said("{{ value | percent }}", 0.012_5), "1.25 %");
        assert_eq!(said("{{ value | percent }}", 0.000_015), "1.5e-5");
        assert_eq!(said("p = {{ value | number(2) }}", 1.049_04e-5), "p = 1e-5");
        assert_eq!(said("{{ value | number }}", 1.049_04e-5), "1.049e-5");
    }

    #[test]
    fn runs_are_named_in_findings_and_statements() {
        let facts =
            BTreeMap::from([("side".into(), Fact::from("candidate")), ("sides".into(), "baseline, candidate".into())]);
        let said = |writer: Writer, template: &str| writer.statement("test", template, &facts).expect("a text");
        let named = |language, target| Writer::new(language, target).with_sides("GPU", "NPU");
        let english = "{{ side }} against {{ baseline_name }}: {{ sides }}";
        assert_eq!(said(named(Language::En, TextTarget::Markdown), english), "NPU against GPU: GPU, NPU");
        assert_eq!(
            said(Writer::new(Language::En, TextTarget::Plain), english),
            "candidate against baseline: baseline, candidate"
        );
        let chinese = "{{ side }}侧与{{ baseline_name }}侧：{{ sides }}";
        assert_eq!(said(named(Language::Zh, TextTarget::Plain), chinese), "NPU 侧与 GPU 侧：GPU、NPU");
        assert_eq!(said(Writer::new(Language::Zh, TextTarget::Plain), chinese), "待测侧与标杆侧：标杆、待测");
        let both = BTreeMap::from([("side".into(), Fact::from("both"))]);
        let both = named(Language::Zh, TextTarget::Plain).statement("test", "（{{ side }}）", &both).expect("a text");
        assert_eq!(both, "（两侧）");
    }

    #[test]
    fn nouns_and_verbs_agree_with_their_counts() {
        for target in [TextTarget::Plain, TextTarget::Markdown, TextTarget::Html] {
            let writer = Writer::new(Language::En, target);
            let phrase = |key: &str, context: Value| writer.phrase(key, &context).expect("a phrase");
            assert_eq!(phrase("compared_loss", context! { units => 1, steps => 1 }), "1 curve, 1 step");
            assert_eq!(phrase("compared_loss", context! { units => 3, steps => 120 }), "3 curves, 120 steps");
            assert_eq!(phrase("spread", context! { count => 1 }), "1 later value inherits the error");
            assert_eq!(phrase("spread", context! { count => 6 }), "6 later values inherit the error");
        }
    }
}
