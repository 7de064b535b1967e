//! The policy: everything that decides a verdict, as `precision-gate.yml` says it.
//!
//! Values are checked while they are read, so that a limit which can never fail (NaN, negative, infinite) or an
//! unknown key is an error with line and column, never a silent pass. Each check has its section in a file of
//! its own.

pub mod amend;
pub mod arrays;
pub mod baseline;
mod canonical;
pub mod checkpoint;
pub mod config;
pub mod dump;
pub mod evaluation;
pub mod health;
pub mod history;
mod holding;
pub mod input;
pub mod layout;
pub mod location;
pub mod loss;
pub mod monitor;
mod nesting;
pub mod operators;
pub mod performance;
pub mod publish;
mod reading;
pub mod samples;
pub mod signoff;
pub mod source;
pub mod tokens;
pub mod value;
pub mod waiver;
pub mod waivers;

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::language::Language;
use crate::nearest::did_you_mean;
use crate::verdict::{CheckId, Profile, Severity};
use location::{Paths, PolicyLocation};
use reading::{File, Path, PathStep};

/// Everything that decides a verdict.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Policy {
    /// Profile, which sets how severe the gate is.
    pub profile: Profile,
    /// The trusted run.
    pub baseline: SidePolicy,
    /// The run judged.
    pub candidate: SidePolicy,
    /// Rules about a run by itself; `true` alone: the candidate is judged alone where no baseline is named.
    #[serde(deserialize_with = "health::switch_or_section")]
    #[schemars(schema_with = "health::schema")]
    pub health: health::HealthPolicy,
    /// Whether everything is judged and posted but nothing blocks: exit code 1 becomes 0, and the check is neutral;
    /// `--report-only` does the same.
    pub report_only: bool,
    /// A third run of the same model, which both sides of a dump are measured against.
    pub reference: ReferencePolicy,
    /// Demands on the baseline.
    pub baselines: baseline::BaselinePolicy,
    /// Checks without which the gate may not pass.
    #[serde(deserialize_with = "value::checks_of_run")]
    #[schemars(schema_with = "value::checks_of_run_schema")]
    pub required: Vec<CheckId>,
    /// Severity per finding code, in place of its default.
    pub severity: BTreeMap<String, Severity>,
    /// Reviewed exceptions.
    #[schemars(with = "Vec<waiver::Waiver>")]
    pub waivers: waivers::Waivers,
    /// Days from today that a waiver may hold at most.
    pub waiver_max_days: waiver::MaxDays,
    /// Configuration packs.
    pub config: config::ConfigPolicy,
    /// Training curves.
    pub loss: loss::LossPolicy,
    /// Dumps.
    pub dump: dump::DumpPolicy,
    /// Checkpoints.
    pub checkpoint: checkpoint::CheckpointPolicy,
    /// Arrays of no other check.
    pub arrays: arrays::ArraysPolicy,
    /// Training monitors.
    pub monitor: monitor::MonitorPolicy,
    /// Evaluations.
    pub evaluation: evaluation::EvaluationPolicy,
    /// Several runs of a side.
    pub samples: samples::SamplesPolicy,
    /// Parallel layouts of both runs.
    pub layout: layout::LayoutPolicy,
    /// Log-probabilities by token.
    pub tokens: tokens::TokensPolicy,
    /// Operator tests.
    pub operators: operators::OperatorsPolicy,
    /// Profiles.
    pub performance: performance::PerformancePolicy,
    /// Python source; `run` judges it where this section is there, or `required` names the check.
    pub source: Option<source::SourcePolicy>,
    /// Publishing.
    pub publish: publish::PublishPolicy,
    /// History of runs.
    pub history: history::HistoryPolicy,
    /// Requirements of a release before it can be signed off.
    pub signoff: signoff::SignoffPolicy,
    /// Language of everything that a run prints and writes; `--lang` goes before it, the locale after it.
    pub lang: Option<Language>,
    /// Folder with templates of documents in place of the shipped ones; `--templates` goes before it.
    #[schemars(example = &"ci/templates")]
    pub templates: Option<PolicyLocation>,
    /// Folder of the checked-out repository, whose lines findings point at; `--source-root` goes before it.
    #[schemars(example = &"src")]
    pub source_root: Option<PolicyLocation>,
    /// Today's date, an input of every run; not part of the file.
    #[serde(skip)]
    pub today: value::Date,
    /// Digest of the file's text, empty where there is none; not part of the file.
    #[serde(skip)]
    pub digest: String,
}

/// One side, as the policy names it.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct SidePolicy {
    /// Location, where the command line gives none; several are one run each.
    #[schemars(example = &"runs/gpu")]
    pub location: Paths,
    /// Whether each entry of the folder is one run.
    pub runs: bool,
    /// A short name for people: `A100`.
    #[schemars(example = &"A100")]
    pub label: String,
}

/// A third run.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ReferencePolicy {
    /// Location, where the command line gives none.
    #[schemars(example = &"runs/cpu-fp64")]
    pub location: PolicyLocation,
}

impl Policy {
    /// Reads a policy file's text; messages call it `name`. `codes` are the finding codes there are.
    ///
    /// # Errors
    /// `Policy`, with the key's path, its line and column, what it expects and an example.
    pub fn parse(name: &str, text: &str, codes: &[&str]) -> Result<Self> {
        let renamed = section_of_profiles(text);
        let file = File { name, text: &renamed };
        let mut policy: Self = file.read()?;
        if policy.performance.required && !policy.required.contains(&CheckId::Performance) {
            policy.required.push(CheckId::Performance);
        }
        if let Some(code) = policy.severity.keys().find(|code| !codes.contains(&code.as_str())) {
            let path = Path::new(&[key("severity"), key(code)]);
            let message = format!("there is no such finding code{}", did_you_mean(code, codes.iter().copied()));
            return Err(file.refuse(&path, message).with_help(CODES));
        }
        let mut ignored = policy.health.ignore.iter().enumerate();
        if let Some((index, code)) = ignored.find(|(_, code)| !codes.contains(&code.as_str())) {
            let path = Path::new(&[key("health"), key("ignore"), PathStep::Index(index)]);
            let message = format!("there is no such finding code{}", did_you_mean(code, codes.iter().copied()));
            return Err(file.refuse(&path, message).with_help(CODES));
        }
        let of_source = policy.source.iter().flat_map(|source| source.rules.keys());
        if let Some(code) = of_source.into_iter().find(|code| !codes.contains(&code.as_str())) {
            let path = Path::new(&[key("source"), key("rules"), key(code)]);
            let message = format!("there is no such rule{}", did_you_mean(code, codes.iter().copied()));
            return Err(file.refuse(&path, message).with_help("`precision-gate explain source` lists the rules"));
        }
        if let Some((index, name, reason)) = policy.dump.contradiction() {
            let path = Path::new(&[key("dump"), key("limits"), PathStep::Index(index), key(name)]);
            return Err(file.refuse(&path, reason).with_help(LIMITS));
        }
        if let Some((name, reason)) = policy.tokens.contradiction() {
            let path = Path::new(&[key("tokens"), key(name)]);
            return Err(file.refuse(&path, reason).with_help("for example `tokens: {warn: 2.5, fail: 5}`"));
        }
        let is_idle = |waiver: &waiver::Waiver| !codes.iter().any(|code| waiver.code.matches(code));
        if let Some((index, waiver)) = policy.waivers.iter().enumerate().find(|(_, waiver)| is_idle(waiver)) {
            let code = waiver.code.as_str();
            let message = format!("`{code}` matches no finding code{}", did_you_mean(code, codes.iter().copied()));
            return Err(file.refuse(&of_waiver(index, "code"), message).with_help(CODES));
        }
        Ok(policy)
    }

    /// Sets today's date, and refuses waivers that end later than `waiver-max-days` allows.
    ///
    /// # Errors
    /// `Policy` for a waiver that ends later; `name` and `text` are the file's, for its place.
    pub fn as_of(self, today: value::Date, name: &str, text: &str) -> Result<Self> {
        let most = self.waiver_max_days.get();
        let days = |waiver: &waiver::Waiver| waiver.expires.days_since(today);
        let Some((index, late)) = self.waivers.iter().enumerate().find(|(_, waiver)| days(waiver) > most) else {
            return Ok(Self { today, ..self });
        };
        let message = format!(
            "the waiver of `{}` ends on {}, in {} days; at most {most} are allowed",
            late.name(),
            late.expires,
            days(late)
        );
        Err(File { name, text }
            .refuse(&of_waiver(index, "expires"), message)
            .with_help("choose an earlier day and review the waiver again then, or set `waiver-max-days`"))
    }
}

/// Renames a section `profile:` with keys of its own to `performance:`, its name in earlier versions. The severity profile is
/// a word, never a section.
fn section_of_profiles(text: &str) -> Cow<'_, str> {
    let is_section = |line: &str| line.trim_end() == "profile:" || line.starts_with("profile: {");
    let is_nested = |line: &str| line.starts_with([' ', '\t']) && !line.trim_start().starts_with('#');
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let place = lines.iter().position(|line| is_section(line));
    let Some((before, [line, after @ ..])) = place.and_then(|place| lines.split_at_checked(place)) else {
        return Cow::Borrowed(text);
    };
    let next = after.iter().find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    if !line.starts_with("profile: {") && !next.is_some_and(|line| is_nested(line)) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(
        [&before.concat(), &line.replacen("profile", "performance", 1), &after.concat()].map(String::as_str).concat(),
    )
}

/// Help of an error about a finding code.
const CODES: &str = "`precision-gate explain` lists all codes";

/// Help of an error about limits of dumps.
const LIMITS: &str = "for example `dump: {limits: [{op: 'Functional.softmax.*', atol: 1e-5, rtol: 1e-3}]}`";

fn key(name: &str) -> PathStep {
    PathStep::Key(name.to_owned())
}

fn of_waiver(index: usize, name: &str) -> Path {
    Path::new(&[key("waivers"), PathStep::Index(index), key(name)])
}

#[cfg(test)]
mod tests {
    use super::Policy;

    fn error_of(text: &str) -> String {
        Policy::parse("gate.yml", text, &["output-diverges"]).expect_err("must be refused").to_string()
    }

    #[test]
    fn errors_point_at_line_and_column() {
        for (text, place) in [
            (
                "profile: strict\nlimts: 3\n",
                "gate.yml:2:1: unknown key `limts`; a policy has the keys profile, baseline",
            ),
            ("dump:\n  limits:\n    - noise: .nan\n", "gate.yml:3:"),
            ("dump:\n  limits:\n    - noise: -1\n", "gate.yml:3:"),
            ("dump:\n  limits:\n    - wrong: .inf\n", "gate.yml:3:"),
            ("dump:\n  limits:\n    - op: 'a[b'\n", "gate.yml:3:"),
            (
                "required: [dump, history]\n",
                "gate.yml:1:18: `required[1]` expects `config`, `loss`, `dump`, `checkpoint`, `arrays`, `monitor`, `tokens`, `evaluation`, `operators`, `performance` or `source`, not `history`",
            ),
            (
                "required: [dumps]\n",
                "gate.yml:1:12: `required[0]` expects `config`, `loss`, `dump`, `checkpoint`, `arrays`, `monitor`, `tokens`, `evaluation`, `operators`, `performance` or `source`, not `dumps`; did you mean `dump`?",
            ),
            (
                "severity:\n  no-such-code: warn\n",
                "gate.yml:2:3: `severity.no-such-code:` there is no such finding code",
            ),
            (
                "waivers:\n  - code: nothing-*\n    where: x\n    reason: r\n    owner: o\n    expires: 2027-01-01\n",
                "gate.yml:2:5: `waivers[0].code:` `nothing-*` matches no finding code",
            ),
            (
                "waivers:\n  - code: output-*\n    where: x\n    reason: r\n    owner: o\n    expires: soon\n",
                "gate.yml:6:5: `waivers[0].expires:` expects a date such as 2027-03-31, not `soon`",
            ),
            ("waiver-max-days: 0\n", "gate.yml:1:1: `waiver-max-days:` 0 days"),
            ("a: [[\n".repeat(99).as_str(), "gate.yml:33: brackets are nested deeper"),
        ] {
            let error = error_of(text);
            assert!(error.starts_with(place), "{error}");
        }
    }

    fn waiver(reason: &str, owner: &str, expires: &str) -> String {
        format!("waivers: [{{code: output-*, where: x, reason: {reason}, owner: {owner}, expires: {expires}}}]\n")
    }

    #[test]
    fn a_waiver_without_reason_or_owner_is_refused() {
        for text in ["''", "'  '", "'-'", "'...'", "\"\\u200b\"", "~"] {
            for (key, waiver) in
                [("reason", waiver(text, "ann", "2027-01-01")), ("owner", waiver("slow kernel", text, "2027-01-01"))]
            {
                let error = error_of(&waiver);
                assert!(error.contains(&format!("waivers[0].{key}:` expects ")), "{key} {text}: {error}");
            }
        }
        for text in ["r", "误差已评审", "'#12'"] {
            Policy::parse("gate.yml", &waiver(text, "o", "2027-01-01"), &["output-diverges"]).expect("says something");
        }
    }

    #[test]
    fn a_waiver_as_it_was_offered_is_refused_until_its_words_are_somebodys_own() {
        let [reasons, owners] = [super::waiver::OFFERED_REASONS, super::waiver::OFFERED_OWNERS];
        for offered in reasons.into_iter().chain(owners) {
            for text in
                [offered.to_owned(), offered.to_uppercase(), format!("'  {offered}\t'"), offered.replace(' ', "\n    ")]
            {
                for (key, advice, other) in
                    [("reason", "write why", "owner: ann"), ("owner", "name the person", "reason: slow kernel")]
                {
                    let waiver =
                        format!("- code: output-*\n  where: x\n  {other}\n  expires: 2027-01-01\n  {key}: {text}\n");
                    let error = error_of(&format!("waivers:\n{waiver}"));
                    let said =
                        format!("gate.yml:6:3: `waivers[0].{key}:` still holds the placeholder `{offered}`; {advice}");
                    assert!(error.starts_with(&said), "{error}");
                }
            }
        }
        for (reason, owner) in [
            ("评审同意", "数值组"),
            ("why it is acceptable is said in issue 12", "the person responsible for kernels"),
            ("为何可以接受见评审记录", "由谁负责见评审记录"),
            ("acceptable", "responsible"),
        ] {
            Policy::parse("gate.yml", &waiver(reason, owner, "2027-01-01"), &["output-diverges"]).expect("own words");
        }
    }

    #[test]
    fn a_waiver_lives_a_year_unless_the_policy_says_otherwise() {
        let today = super::value::Date::try_from("2026-11-22".to_owned()).expect("a date");
        let as_of = |text: String| {
            let policy = Policy::parse("gate.yml", &text, &["output-diverges"]).expect("sound");
            policy.as_of(today, "gate.yml", &text).map(|policy| policy.today).map_err(|error| error.to_string())
        };
        assert_eq!(as_of(waiver("r", "o", "2027-11-22")), Ok(today));
        let late = as_of(waiver("r", "o", "2027-11-25")).expect_err("too late");
        assert!(late.contains("in 368 days; at most 366 are allowed"), "{late}");
        assert_eq!(as_of(format!("waiver-max-days: 400\n{}", waiver("r", "o", "2027-11-25"))), Ok(today));
        assert_eq!(as_of(waiver("r", "o", "2020-01-01")), Ok(today), "one that ran out is told as a finding");
    }

    #[test]
    fn an_empty_file_is_the_default() {
        assert!(Policy::parse("gate.yml", "# nothing\n", &[]).expect("valid").waivers.is_empty());
    }
}
