use serde_json::Value;

use super::expected::{Expected, Kind};
use super::path::{Path, PathStep};
use super::{File, Policy};

/// Message and help of the error that a text is refused with.
fn refused(text: &str) -> (String, String) {
    let error = Policy::parse("gate.yml", text, &["output-diverges"]).expect_err(text);
    (error.to_string(), error.help().unwrap_or_default().to_owned())
}

/// Every key of a policy with what it expects; any name stands as `NAME`, any entry as the first.
fn keys<'a>(expected: Expected<'a>, path: &Path, found: &mut Vec<(Path, Expected<'a>)>) {
    for form in expected.forms() {
        let any = (form.keys().is_empty() && form.kind() == Some(Kind::Section)).then_some("NAME");
        for key in form.keys().into_iter().chain(any) {
            let path = path.key(key);
            let inner = form.key(key).expect("a key of the schema");
            found.push((path.clone(), inner));
            keys(inner, &path, found);
        }
        if let Some(entry) = form.entry() {
            let path = path.to(PathStep::Index(0));
            found.push((path.clone(), entry));
            keys(entry, &path, found);
        }
    }
}

fn every_key(check: impl Fn(&Path, Expected<'_>)) {
    let schema: Value = schemars::schema_for!(Policy).to_value();
    let mut found = Vec::new();
    keys(Expected::from_schema(&schema), &Path::default(), &mut found);
    assert!(found.len() > 120, "{}", found.len());
    found.iter().for_each(|(path, expected)| check(path, *expected));
}

/// A value at a path, a line per step, and the line that the path's last step stands on.
fn block(path: &Path, value: &str) -> (String, usize) {
    let mut text = "# a comment\n".to_owned();
    for (indent, step) in path.steps().iter().enumerate() {
        let line = match step {
            PathStep::Key(key) => format!("{key}:"),
            PathStep::Index(_) => "-".to_owned(),
        };
        text.push_str(&format!("{}{line}\n", "  ".repeat(indent)));
    }
    let line = text.lines().count();
    let text = format!("{} {value}\n", text.trim_end());
    (text, line)
}

#[test]
fn every_key_says_its_path_its_line_and_what_it_expects_in_place_of_another_kind() {
    every_key(|path, expected| {
        let wrong =
            if expected.forms().iter().any(|form| form.kind() == Some(Kind::List)) { "{a: 1}" } else { "[[[]]]" };
        let (text, line) = block(path, wrong);
        let (message, help) = refused(&text);
        let place = message.split(": ").next().unwrap_or_default();
        assert!(place.starts_with(&format!("gate.yml:{line}")), "{line}: {message}\n{text}");
        assert!(message.contains(&path.to_string()) && message.contains(" expects "), "{message}");
        assert!(message.contains(&expected.words()), "{message}");
        assert!(!message.contains("struct") && !message.contains("invalid"), "{message}");
        assert!(help.starts_with("for example `"), "{message}: {help}");
    });
}

#[test]
fn the_example_of_every_key_is_a_policy() {
    every_key(|path, expected| {
        let example = path.example(&expected.sample());
        let read: crate::error::Result<Policy> = File { name: "gate.yml", text: &example }.read();
        // A key or a number that stands with others has no example by itself.
        let lacks_others = |error: &crate::error::Error| {
            error.message().contains(" lacks ") || error.message().contains(" expects two numbers ")
        };
        assert!(read.as_ref().err().is_none_or(lacks_others), "{example}: {read:?}");
    });
}

#[test]
fn the_example_of_every_key_is_the_same_policy_when_its_canonical_form_is_read() {
    every_key(|path, expected| {
        let text = path.example(&expected.sample());
        let codes = ["output-diverges", "NAME", "text"];
        let Ok(policy) = Policy::parse("gate.yml", &text, &codes) else { return };
        let canonical = policy.canonical();
        let again = Policy::from_canonical("result.json", &canonical, &codes)
            .unwrap_or_else(|error| panic!("{error}\n{text}\n{canonical}"));
        assert_eq!(again.canonical().to_string(), canonical.to_string(), "{text}");
        assert_eq!(format!("{again:?}"), format!("{:?}", policy.deciding()), "{text}");
    });
}

#[test]
fn every_misspelt_key_is_answered_with_the_one_that_was_meant() {
    every_key(|path, _| {
        let Some(PathStep::Key(key)) = path.steps().last() else { return };
        if key == "NAME" || key.len() < 4 {
            return;
        }
        let parent = Path::new(path.steps().split_last().map_or(&[], |(_, parent)| parent));
        let slip: String = key.chars().take(key.len() - 1).collect();
        if slip == "baseline" {
            return;
        }
        let (text, line) = block(&parent.key(&slip), "1");
        let (message, help) = refused(&text);
        let said = format!("unknown key `{}`; did you mean `{path}`?", parent.key(&slip));
        assert!(message.starts_with(&format!("gate.yml:{line}:")) && message.ends_with(&said), "{message}\n{text}");
        assert!(help.contains(key.as_str()), "{help}");
    });
}

#[test]
fn broken_policies_are_answered_in_the_words_of_their_writer() {
    for (text, message, help) in [
        (
            "baseline: runs/gpu\n",
            "1:1: `baseline:` expects `{location: ..., runs: ..., label: ...}`, not the text `runs/gpu`",
            "`baseline: {location: runs/gpu}`",
        ),
        ("profil: strict\n", "1:1: unknown key `profil`; did you mean `profile`?", "`profile: default`"),
        (
            "profile: strickt\n",
            "1:1: `profile:` expects `default`, `strict`, `bit-exact` or `release`, not `strickt`; did you mean `strict`?",
            "",
        ),
        ("profile:\n", "1:1: `profile:` expects `default`, `strict`, `bit-exact` or `release`, not nothing", ""),
        (
            "loss:\n  metrics:\n    loss:\n      mean:\n        fail: much\n",
            "5:9: `loss.metrics.loss.mean.fail:` expects a number of at least 0, not the text `much`",
            "`loss: {metrics: {loss: {mean: {fail: 0.01}}}}`",
        ),
        (
            "loss:\n  limits:\n    mean: {fail: 5%}\n",
            "3:12: `loss.limits.mean.fail:` expects a number of at least 0, not the text `5%`; write 0.05",
            "",
        ),
        (
            "loss: {limits: {mean: {fail: -1}}}\n",
            "1:24: `loss.limits.mean.fail:` expects a number of at least 0, not -1; such a limit can never fail",
            "",
        ),
        (
            "loss: {limits: {mean: {warn: 2, fail: 1}}}\n",
            "1:17: `loss.limits.mean:` has a `warn` (2) above its `fail` (1)",
            "",
        ),
        ("loss: {coverage: 2}\n", "1:8: `loss.coverage:` expects a number above 0 and at most 1, not 2", ""),
        (
            "loss: {log-pattern: '(?<loss'}\n",
            "1:8: `loss.log-pattern:` is not a valid regular expression",
            "`loss: {log-pattern: 'iter {step} loss {loss}'}`",
        ),
        (
            "loss: {noise: {a: b}}\n",
            "1:8: `loss.noise:` expects a text or a list of texts, not a section with the key `a`",
            "",
        ),
        (
            "required: dump\n",
            "1:1: `required:` expects a list of `config`, `loss`, `dump`, `checkpoint`, `arrays`, `monitor`, `tokens`, `evaluation`, `operators`, `performance` or `source`, not the text `dump`",
            "`required: [config]`",
        ),
        (
            "required: [loss, dmup]\n",
            "1:18: `required[1]` expects `config`, `loss`, `dump`, `checkpoint`, `arrays`, `monitor`, `tokens`, `evaluation`, `operators`, `performance` or `source`, not `dmup`; did you mean `dump`?",
            "",
        ),
        ("severity: [warn]\n", "1:1: `severity:` expects `{NAME: ...}`, not a list", ""),
        (
            "severity: {output-diverge: warn}\n",
            "1:12: `severity.output-diverge:` there is no such finding code; did you mean `output-diverges`?",
            "`precision-gate explain` lists all codes",
        ),
        (
            "waivers:\n  - {code: output-*, where: x}\n",
            "2:5: `waivers[0]` lacks `reason`, `owner`, `expires`",
            "`waivers: [{code: other-precision, where: 'Functional.linear.*', reason: HF32 is accepted until the next release, owner: alice, expires: 2027-03-31}]`",
        ),
        (
            "waivers: [{code: output-*, where: x, reason: r, owner: o, expires: soon}]\n",
            "1:59: `waivers[0].expires:` expects a date such as 2027-03-31, not `soon`",
            "",
        ),
        ("dump:\n  limits:\n    - op: 'a[b'\n", "3:7: `dump.limits[0].op:` expects a shell-style pattern", ""),
        (
            "dump: {limits: [{dtype: float33}]}\n",
            "1:18: `dump.limits[0].dtype:` expects an element type such as float32",
            "",
        ),
        (
            "limits: {mean: 1}\n",
            "1:1: unknown key `limits`; did you mean `loss.limits`, `dump.limits`, `checkpoint.limits`, `monitor.limits` or `operators.limits`?",
            "",
        ),
        ("history: {last: 0}\n", "1:11: `history.last:` ", "`history: {last: 30}`"),
        ("history: {last: 2.5}\n", "1:11: `history.last:` expects a whole number of at least 1, not `2.5`", ""),
        ("history: {last: 99999999999}\n", "1:11: `history.last:` expects at most 4294967295, not `99999999999`", ""),
        ("history: {last: -1}\n", "1:11: `history.last:` expects a whole number of at least 1, not `-1`", ""),
        ("1: strict\n", "1:1: unknown key `1`; a policy has the keys profile, ", ""),
        ("loss: {}\nloss: {}\n", "1:1: the section that begins here has the key `loss` twice", ""),
        (
            "dump: {}\nseverity: {output-diverges: warn, output-diverges: info}\n",
            "2:11: the section that begins here has the key `output-diverges` twice",
            "",
        ),
        (
            "publish: {key: a b}\n",
            "1:11: `publish.key:` expects 1 to 64 letters, digits, `.`, `_` or `-`, not `a b`",
            "",
        ),
        ("publish: {issue: often}\n", "1:11: `publish.issue:` expects `true` or `false`, not the text `often`", ""),
        (
            "config: {pip: {rules: [{package: torch, require: newest}]}}\n",
            "1:41: `config.pip.rules[0].require:` expects `ignore`",
            "",
        ),
        (
            "signoff: {suites: {glm: {}}}\n",
            "1:11: `signoff.suites:` expects a list of `{name: ..., ...}`, not a section with the key `glm`",
            "",
        ),
        ("- profile\n", " the policy expects `{profile: ..., baseline: ..., candidate: ..., ...}`, not a list", ""),
        ("profile: strict\nloss: [\n", "3:1: is not valid YAML: ", "check the indentation"),
    ] {
        let (said, way_out) = refused(text);
        assert!(said.starts_with(&format!("gate.yml:{message}")), "{said}\n{text}");
        assert!(way_out.contains(help), "{way_out}\n{text}");
    }
}

#[test]
fn a_section_that_is_a_file_of_its_own_is_explained_the_same_way() {
    let error =
        crate::policy::signoff::SignoffPolicy::parse("signoff.yml", "suites:\n  - {nam: glm}\n").expect_err("wrong");
    assert_eq!(error.to_string(), "signoff.yml:2:6: unknown key `suites[0].nam`; did you mean `suites[0].name`?");
}
