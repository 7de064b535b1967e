//! Settings from launch scripts, YAML files and parsed arguments.

use super::context::PackContext;
use super::listed::first_names;
use super::rules::{
    DROPOUT, HYPER_CONTRADICTS, HYPER_DIFFERS, HYPER_EQUIVALENT, HYPER_MACHINE, HYPER_ONE_SIDED, HYPER_PATH,
    HYPER_SOURCE,
};
use crate::compare::config::setting::{Sameness, SettingMeaning};
use crate::judge::layout;
use crate::pair::setting::{self, PairedSettings, Setting};
use crate::policy::value::Pattern;
use crate::read::json::{self, Json};
use crate::read::pack::Pack;
use crate::result::finding::Finding;
use crate::verdict::Side;

/// Settings of the machine and of where results go: last parts of names.
const MACHINE: [&str; 18] = [
    "master_addr",
    "master_port",
    "node_rank",
    "local_rank",
    "rank",
    "rdzv_endpoint",
    "rdzv_id",
    "rdzv_backend",
    "log_dir",
    "logging_dir",
    "output_dir",
    "save_dir",
    "tensorboard_dir",
    "run_name",
    "wandb_run_name",
    "wandb_project",
    "experiment_name",
    "tensorboard_queue_size",
];

/// Sizes of a parallel layout, which cut one model differently: last parts of names.
const LAYOUT: [&str; 10] = [
    "tensor_model_parallel_size",
    "tensor_parallel_size",
    "pipeline_model_parallel_size",
    "pipeline_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
    "expert_parallel_size",
    "num_layers_per_virtual_pipeline_stage",
    "sequence_parallel",
    "micro_batch_size",
];

pub(super) fn judge(context: &PackContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let files = [
        ("static", &context.baseline.hyper_static, &context.candidate.hyper_static),
        ("dynamic", &context.baseline.hyper_dynamic, &context.candidate.hyper_dynamic),
    ];
    for (source, baseline, candidate) in files {
        match (baseline, candidate) {
            (Some(Ok(baseline)), Some(Ok(candidate))) => findings.extend(judge_file(context, baseline, candidate)),
            (Some(_), None) => findings.push(one_source(Side::Baseline, source)),
            (None, Some(_)) => findings.push(one_source(Side::Candidate, source)),
            _ => {}
        }
    }
    findings.push(dropout(context));
    findings
}

fn one_source(side: Side, source: &str) -> Finding {
    Finding::new(&HYPER_SOURCE, format!("hyperparameters_{source}.json"))
        .with("side", side.as_str())
        .with("source", source)
}

fn judge_file(context: &PackContext<'_>, baseline: &[Setting], candidate: &[Setting]) -> Vec<Finding> {
    let policy = &context.policy.hyperparameters;
    let meaning = SettingMeaning::new(policy.relative.get(), &policy.equivalent);
    let paired = setting::pair_settings(baseline, candidate, &policy.aliases);
    let mut findings = Vec::new();
    for (side, settings) in [(Side::Baseline, baseline), (Side::Candidate, candidate)] {
        let contradictions = settings.iter().filter(|(_, value)| is_contradiction(value));
        findings.extend(contradictions.map(|setting| {
            let finding = Finding::new(&HYPER_CONTRADICTS, &setting.0).with("side", side.as_str());
            finding.with("values", shown(context, setting))
        }));
    }
    for (a, b) in &paired.matched {
        findings.extend(judge_pair(context, &meaning, a, b));
    }
    findings.extend(one_sided(context, &paired));
    findings
}

/// msprobe's record of a setting that two files of one run give other values.
fn is_contradiction(value: &Json) -> bool {
    value.get("description").and_then(Json::as_str) == Some("duplicate_value")
}

fn judge_pair(context: &PackContext<'_>, meaning: &SettingMeaning, a: &Setting, b: &Setting) -> Option<Finding> {
    let ignored = is_ignored(&a.0, &context.policy.hyperparameters.ignore);
    let machine = MACHINE.contains(&setting::last_part(&a.0).as_str());
    let rule = match meaning.compare(&a.1, &b.1) {
        Sameness::Equal => return None,
        _ if ignored => return None,
        Sameness::Equivalent => &HYPER_EQUIVALENT,
        _ if machine => &HYPER_MACHINE,
        _ if LAYOUT.contains(&setting::last_part(&a.0).as_str()) && is_size(&a.1) && is_size(&b.1) => &layout::DIFFERS,
        Sameness::DifferentPaths => &HYPER_PATH,
        Sameness::Different => &HYPER_DIFFERS,
    };
    let finding = Finding::new(rule, &a.0).with("partner", b.0.as_str());
    let finding = finding.with("baseline", shown(context, a)).with("candidate", shown(context, b));
    let is_layout = rule.code == layout::DIFFERS.code;
    Some(if is_layout { finding.with("setting", a.0.as_str()) } else { finding })
}

/// Whether a value is a count or a switch.
fn is_size(value: &Json) -> bool {
    let is_word = |text: &str| text.parse::<u32>().is_ok() || matches!(text.to_lowercase().as_str(), "true" | "false");
    value.as_f64().is_some() || value.as_bool().is_some() || value.as_str().is_some_and(is_word)
}

fn is_ignored(name: &str, patterns: &[Pattern]) -> bool {
    let last = setting::last_part(name);
    patterns.iter().any(|pattern| pattern.matches(&last))
}

/// A value for people, without secrets and not longer than a line.
fn shown(context: &PackContext<'_>, (name, value): &Setting) -> String {
    const LONGEST: usize = 120;
    let text = json_text(&context.redactor.value(name, value));
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}

fn json_text(value: &Json) -> String {
    match value {
        Json::Text(text) => text.clone(),
        other => json::to_text(other),
    }
}

fn one_sided(context: &PackContext<'_>, paired: &PairedSettings<'_>) -> Vec<Finding> {
    let policy = &context.policy.hyperparameters;
    let kept = |settings: &[&Setting]| -> Vec<String> {
        let counted = settings.iter().filter(|(name, _)| {
            !is_ignored(name, &policy.ignore) && !MACHINE.contains(&setting::last_part(name).as_str())
        });
        counted.map(|(name, _)| name.clone()).collect()
    };
    let sides = [(Side::Baseline, kept(&paired.only_baseline)), (Side::Candidate, kept(&paired.only_candidate))];
    let finding = |(side, names): (Side, Vec<String>)| {
        let first = names.first()?;
        let similar: Vec<String> = if side == Side::Baseline {
            names.iter().filter_map(|name| paired.similar_name(name).map(|other| format!("{name} ~ {other}"))).collect()
        } else {
            Vec::new()
        };
        let finding = Finding::new(&HYPER_ONE_SIDED, first.as_str()).with("side", side.as_str());
        Some(finding.with("count", names.len()).with("names", first_names(names)).with("similar", first_names(similar)))
    };
    sides.into_iter().filter_map(finding).collect()
}

/// Dropout in the settings: a defect as small as its noise cannot be seen while it is on.
fn dropout(context: &PackContext<'_>) -> Finding {
    let on = |pack: &Pack| -> (bool, Vec<String>) {
        let mut seen = false;
        let mut on = Vec::new();
        for (name, value) in pack.settings().filter(|(name, _)| setting::last_part(name).contains("dropout")) {
            let rate = value.as_f64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
            seen |= rate.is_some();
            if rate.is_some_and(|rate| rate > 0.0) {
                on.push(format!("{name} = {}", json_text(value)));
            }
        }
        (seen, on)
    };
    let (baseline, candidate) = (on(context.baseline), on(context.candidate));
    let state = if !baseline.1.is_empty() || !candidate.1.is_empty() {
        "on"
    } else if baseline.0 && candidate.0 {
        "off"
    } else {
        "unknown"
    };
    let mut values: Vec<String> = baseline.1;
    values.extend(candidate.1);
    values.sort();
    values.dedup();
    Finding::new(&DROPOUT, "dropout").with("state", state).with("values", first_names(values))
}
