//! Judges the values of a checkpoint beside its tensors: configurations, and numbers of trainer and optimizer.
//!
//! The severity of a difference depends on the meaning of the value. Values that change the results of equal weights (heads, the base of
//! rotary positions, the scale of an adapter) fail, values for training or sampling only warn, and values about the origin of a file are
//! not compared.

mod meanings;

use std::collections::{BTreeMap, BTreeSet};

use super::rules;
use crate::read::checkpoint::{CONFIGURATIONS, PlainValues};
use crate::result::finding::Finding;
use crate::verdict::{PerSide, Severity, Side};
use meanings::{MEANINGS, NEUTRAL, NEUTRAL_WORDS};

/// Relative distance up to which two numbers count as the same, computed twice.
const COMPUTED: f64 = 1e-6;
/// Relative distance up to which measured numbers of unknown meaning, such as a best loss, agree.
const MEASURED: f64 = 1e-2;
/// Most names that a finding about missing values lists.
const LISTED: usize = 20;

/// Values of both sides under one name.
type Values<'a> = PerSide<Option<&'a str>>;

/// The file that values come from, and the extent of the comparison.
#[derive(Clone, Copy)]
struct Scope<'a> {
    /// The file beside the checkpoint; `None` for values inside the checkpoint.
    file: Option<&'a str>,
    extent: SettingsScope,
}

/// Extent of the comparison of two checkpoints beside their tensors.
#[derive(Clone, Copy, Debug)]
pub struct SettingsScope {
    /// Whether both have the same format, so that both should have the same values.
    pub is_alike: bool,
    /// Whether both are whole models, so that no value belongs to a single rank.
    pub is_whole: bool,
    /// Whether files beside the checkpoint are reported for this pair, as they are once per pair of folders.
    pub is_beside: bool,
}

/// Judges the plain values of checkpoint `name`.
pub(crate) fn judge_settings(name: &str, sides: PerSide<&PlainValues>, scope: SettingsScope) -> Vec<Finding> {
    let mut findings = Vec::new();
    let inside = PerSide { baseline: &sides.baseline.inside, candidate: &sides.candidate.inside };
    judge_values(inside, Scope { file: None, extent: scope }, &mut findings);
    judge_tied(sides, &mut findings);
    if scope.is_beside {
        judge_beside(sides, scope, &mut findings);
    }
    findings.into_iter().map(|finding| finding.with("checkpoint", name)).collect()
}

fn judge_beside(sides: PerSide<&PlainValues>, of: SettingsScope, findings: &mut Vec<Finding>) {
    let files: BTreeSet<&String> = sides.each().flat_map(|side| side.beside.keys()).collect();
    for file in files {
        match (sides.baseline.beside.get(file), sides.candidate.beside.get(file)) {
            (Some(baseline), Some(candidate)) => {
                let scope = Scope { file: Some(file), extent: of };
                judge_values(PerSide { baseline, candidate }, scope, findings);
            }
            (baseline, _) if of.is_alike && CONFIGURATIONS.contains(&file.as_str()) => {
                let side = if baseline.is_some() { Side::Candidate } else { Side::Baseline };
                let is_damaged = sides[side].damaged.iter().any(|(path, _)| path.ends_with(file.as_str()));
                if !is_damaged {
                    let finding = missing(side, file.as_str()).with("count", 1_u64);
                    findings.push(finding.with("names", vec![file.clone()]));
                }
            }
            _ => {}
        }
    }
}

/// Finding about a value, or a file of values, that `side` lacks. On the candidate side the comparison stays incomplete.
fn missing(side: Side, place: &str) -> Finding {
    let severity = if side == Side::Candidate { Severity::Incomplete } else { Severity::Warn };
    Finding::new(&rules::SETTING_MISSING, place).with_severity(severity).with("side", side.as_str())
}

/// Reports tensors that share their elements on one side only: they agree now and diverge when training continues.
fn judge_tied(sides: PerSide<&PlainValues>, findings: &mut Vec<Finding>) {
    let (Some(baseline), Some(candidate)) = (&sides.baseline.tied, &sides.candidate.tied) else { return };
    let names: BTreeSet<&String> = baseline.keys().chain(candidate.keys()).collect();
    for name in names.into_iter().filter(|name| baseline.contains_key(*name) != candidate.contains_key(*name)) {
        let of = |tied: &BTreeMap<String, String>| tied.get(name).map_or("None", String::as_str).to_owned();
        let finding = Finding::new(&rules::SETTING_DIFFERS, name.as_str()).with_severity(Severity::Warn);
        let finding = finding.with("baseline", of(baseline)).with("candidate", of(candidate));
        findings.push(finding.with("meaning", "shared"));
    }
}

fn judge_values(sides: PerSide<&BTreeMap<String, String>>, scope: Scope<'_>, findings: &mut Vec<Finding>) {
    let own = PerSide::of(|side| modern(sides[side], scope.file));
    let names: BTreeSet<&str> = own.each().flat_map(|values| values.keys().map(String::as_str)).collect();
    let mut lacking: PerSide<Vec<String>> = PerSide::default();
    for name in names {
        let values = PerSide::of(|side| own[side].get(name).map(String::as_str));
        match (values.baseline, values.candidate) {
            (Some(_), Some(_)) => findings.extend(differing(name, values, scope)),
            (baseline, _) if scope.extent.is_alike => {
                let (present, absent) = if baseline.is_some() {
                    (Side::Baseline, Side::Candidate)
                } else {
                    (Side::Candidate, Side::Baseline)
                };
                let value = values[present].unwrap_or_default();
                if meaning_of(name, scope.file).is_some_and(|(_, severity)| severity == Severity::Fail)
                    && !is_default(name, value, &own[present])
                {
                    lacking[absent].push(name.to_owned());
                }
            }
            _ => {}
        }
    }
    for side in Side::BOTH {
        let Some(first) = lacking[side].first() else { continue };
        let count = lacking[side].len();
        let finding = missing(side, &placed(first, scope.file)).with("count", count);
        findings.push(finding.with("names", lacking[side].iter().take(LISTED).cloned().collect::<Vec<_>>()));
    }
}

/// A value's place: the file beside and its name there.
fn placed(name: &str, file: Option<&str>) -> String {
    file.map_or_else(|| name.to_owned(), |file| format!("{file}:{name}"))
}

/// The finding about a value of both sides that differs.
fn differing(name: &str, values: Values<'_>, scope: Scope<'_>) -> Option<Finding> {
    let (baseline, candidate) = (values.baseline?, values.candidate?);
    if is_equal(name, baseline, candidate, COMPUTED) {
        return None;
    }
    let (word, severity) = match meaning_of(name, scope.file) {
        Some(known) => known,
        None => (unknown(name, (baseline, candidate), scope)?, Severity::Warn),
    };
    let finding = Finding::new(&rules::SETTING_DIFFERS, placed(name, scope.file)).with_severity(severity);
    Some(finding.with("baseline", baseline).with("candidate", candidate).with("meaning", word))
}

/// The meaning of a differing value that is not in the table: `other`, or `None` where the difference does not matter. Among arguments and
/// in files of single ranks only known values are compared.
fn unknown(name: &str, (baseline, candidate): (&str, &str), scope: Scope<'_>) -> Option<&'static str> {
    let last = last_of(name);
    let is_neutral =
        last.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|word| NEUTRAL_WORDS.contains(&word));
    if is_neutral || NEUTRAL.iter().any(|neutral| name.split('.').any(|part| part == *neutral)) {
        return None;
    }
    if scope.file.is_some_and(|file| CONFIGURATIONS.contains(&file)) {
        return Some("other");
    }
    let is_plain = |value: &str| value.parse::<f64>().is_ok() || matches!(value, "True" | "False");
    let is_compared = scope.extent.is_alike
        && scope.extent.is_whole
        && !name.starts_with("args.")
        && is_plain(baseline)
        && is_plain(candidate);
    (is_compared && !is_equal(name, baseline, candidate, MEASURED)).then_some("other")
}

/// Meaning and severity of a value; `None` where neither is known.
fn meaning_of(name: &str, file: Option<&str>) -> Option<(&'static str, Severity)> {
    let last = last_of(name);
    if file == Some("generation_config.json") {
        return (!NEUTRAL.contains(&last)).then_some(("generation", Severity::Warn));
    }
    let is_part = |part: &str| name.split('.').any(|own| own == part);
    if is_part("betas") || is_part("base_lrs") || is_part("_last_lr") {
        return Some(("optimizer", Severity::Fail));
    }
    if is_part("rank_pattern") || is_part("alpha_pattern") {
        return Some(("adapter", Severity::Fail));
    }
    let is_configuration = file.is_some_and(|file| CONFIGURATIONS.contains(&file));
    let known = MEANINGS.iter().find(|meaning| {
        let is_own = meaning.names.contains(&last);
        match meaning.word {
            // Short names that have this meaning only in their own files.
            "adapter" => is_own && file == Some("adapter_config.json"),
            "step" | "optimizer" | "schedule" | "loss-scale" => is_own && !is_configuration,
            "positions" if last == "factor" => is_own && is_part("rope_scaling"),
            "quantisation" => is_own && is_part("quantization_config"),
            _ => is_own && (is_configuration || name.starts_with("args.")),
        }
    })?;
    Some((known.word, known.severity))
}

fn last_of(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The values, under names that are the same for all versions of the library that wrote them.
fn modern(values: &BTreeMap<String, String>, file: Option<&str>) -> BTreeMap<String, String> {
    let is_configuration = file.is_some_and(|file| CONFIGURATIONS.contains(&file));
    let named = |(name, value): (&String, &String)| {
        let name = if is_configuration {
            let name = name.replace("rope_parameters.rope_theta", "rope_theta");
            name.replace("rope_parameters.", "rope_scaling.").replace("rope_scaling.type", "rope_scaling.rope_type")
        } else {
            name.clone()
        };
        (name, value.clone())
    };
    values.iter().map(named).collect()
}

/// Whether a value that only one side states equals the default that the other side uses.
fn is_default(name: &str, value: &str, own: &BTreeMap<String, String>) -> bool {
    let last = last_of(name);
    let folder = name.strip_suffix(last).unwrap_or_default();
    let sibling = |name: &str| own.get(&format!("{folder}{name}")).map(String::as_str);
    let number = |name: &str| sibling(name).and_then(|value| value.parse::<f64>().ok());
    match last {
        "tie_word_embeddings" => false,
        "num_key_value_heads" => Some(value) == sibling("num_attention_heads"),
        "head_dim" => number("hidden_size")
            .zip(number("num_attention_heads"))
            .is_some_and(|(size, heads)| is_equal(name, value, &(size / heads).to_string(), COMPUTED)),
        "rope_type" => value == "default",
        _ if matches!(value, "None" | "False" | "" | "[]" | "0" | "0.0" | "an object of 0") => true,
        "factor" | "partial_rotary_factor" | "mscale" => value.parse() == Ok(1.0),
        _ => last.ends_with("multiplier") && value.parse() == Ok(1.0),
    }
}

/// Whether two values are equal: as texts, as numbers within the relative `tolerance`, or as unordered lists of the same items.
fn is_equal(name: &str, baseline: &str, candidate: &str, tolerance: f64) -> bool {
    if baseline == candidate {
        return true;
    }
    if let (Ok(b), Ok(c)) = (baseline.parse::<f64>(), candidate.parse::<f64>()) {
        return (b - c).abs() <= tolerance * b.abs().max(c.abs()) || (b.is_nan() && c.is_nan());
    }
    let items = |list: &str| {
        let inner = list.strip_prefix('[')?.strip_suffix(']')?;
        let mut items: Vec<String> = inner.split(", ").map(str::to_owned).collect();
        items.sort_unstable();
        Some(items)
    };
    let is_set = last_of(name).ends_with("modules") || last_of(name) == "modules_to_save";
    is_set && items(baseline).is_some_and(|own| Some(own) == items(candidate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(file: &str, values: &[(&str, &str)]) -> PlainValues {
        let values: BTreeMap<String, String> =
            values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        if file.is_empty() {
            return PlainValues { inside: values, ..PlainValues::default() };
        }
        PlainValues { beside: BTreeMap::from([(file.to_owned(), values)]), ..PlainValues::default() }
    }

    /// Code, severity and place of what is said about two lists of values of `file`.
    fn said(file: &str, baseline: &[(&str, &str)], candidate: &[(&str, &str)]) -> Vec<(String, Severity, String)> {
        let (b, c) = (plain(file, baseline), plain(file, candidate));
        let scope = SettingsScope { is_alike: true, is_whole: true, is_beside: true };
        let findings = judge_settings("m", PerSide { baseline: &b, candidate: &c }, scope);
        findings
            .into_iter()
            .map(|finding| (finding.code.to_string(), finding.severity, finding.place.to_string()))
            .collect()
    }

    #[test]
    fn values_weigh_by_their_meaning() {
        for (file, name, values, expected) in [
            ("config.json", "rope_theta", ("10000.0", "500000.0"), Some(Severity::Fail)),
            ("config.json", "text_config.num_key_value_heads", ("2", "4"), Some(Severity::Fail)),
            ("config.json", "rms_norm_eps", ("1e-06", "0.000001"), None),
            ("config.json", "transformers_version", ("4.51.3", "4.40.0"), None),
            ("config.json", "torch_dtype", ("bfloat16", "float32"), None),
            ("config.json", "attention_dropout", ("0.0", "0.1"), Some(Severity::Warn)),
            ("config.json", "own_switch", ("1", "2"), Some(Severity::Warn)),
            ("adapter_config.json", "lora_alpha", ("16", "32"), Some(Severity::Fail)),
            ("adapter_config.json", "target_modules", ("[q, v]", "[v, q]"), None),
            ("adapter_config.json", "target_modules", ("[q, v]", "[v, k]"), Some(Severity::Fail)),
            ("generation_config.json", "temperature", ("0.6", "1.0"), Some(Severity::Warn)),
            ("", "iteration", ("100", "200"), Some(Severity::Fail)),
            ("", "optimizer.param_groups.1.weight_decay", ("0.1", "0.0"), Some(Severity::Fail)),
            ("", "optimizer.param_groups.0.betas.1", ("0.95", "0.999"), Some(Severity::Fail)),
            ("", "optimizer.param_groups.0.lr", ("0.0001", "0.00010000000000001"), None),
            ("", "optimizer.param_groups.0.foreach", ("None", "True"), None),
            ("", "args.rank", ("0", "1"), None),
            ("", "args.rotary_base", ("10000", "1000000"), Some(Severity::Fail)),
            ("", "best_loss", ("2.31", "2.32"), None),
            ("", "flag", ("True", "False"), Some(Severity::Warn)),
        ] {
            let found = said(file, &[(name, values.0)], &[(name, values.1)]);
            assert_eq!(found.first().map(|(_, severity, _)| *severity), expected, "{file} {name} {found:?}");
        }
    }

    #[test]
    fn a_value_of_one_side_is_missed_unless_it_is_what_the_other_has_anyway() {
        let own = [("num_attention_heads", "4"), ("hidden_size", "48")];
        let with = |extra: (&'static str, &'static str)| [own[0], own[1], extra];
        for extra in
            [("num_key_value_heads", "4"), ("head_dim", "12"), ("attention_bias", "False"), ("sliding_window", "None")]
        {
            assert_eq!(said("config.json", &with(extra), &own), [], "{extra:?}");
        }
        let missed = said("config.json", &with(("rope_theta", "1e6")), &own);
        assert_eq!(
            missed,
            [("checkpoint-setting-missing".to_owned(), Severity::Incomplete, "config.json:rope_theta".to_owned())]
        );
        let other = said("config.json", &own, &with(("rope_theta", "1e6")));
        assert_eq!(other.first().map(|(_, severity, _)| *severity), Some(Severity::Warn));
        let renamed = said("config.json", &[("rope_theta", "1e6")], &[("rope_parameters.rope_theta", "1e6")]);
        assert_eq!(renamed, []);
    }
}
