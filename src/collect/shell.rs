//! Settings from a launch script, by msprobe's rules.
//!
//! Everything from `#` on is dropped. The script must start the training with `torchrun`, `msrun` or
//! `python -m torch.distributed.launch`; the command runs to the first `|`. Blocks `SOMETHING_ARGS="…"` are pasted
//! in for `$SOMETHING_ARGS`. Then every `--name value` counts; a name without a value is `true`, and a value `$X`
//! takes the last `X=` of the script. `--name=value` is read as a name without a value, as msprobe reads it.

use crate::read::json::Json;
use crate::read::pack::PackSettings;

/// Characters of a block's name before `_ARGS`.
const BLOCK_NAME: usize = 20;

/// The settings of a script; none where it starts no training.
pub(super) fn settings(script: &str) -> PackSettings {
    let script = without_comments(script);
    let Some(command) = command(&script) else { return PackSettings::new() };
    let mut command = command.to_owned();
    for (name, content) in blocks(&script) {
        command = command.replace(&format!("${name}"), &content.replace('\n', " "));
    }
    let mut settings = PackSettings::new();
    for (name, value) in options(&command) {
        let value = value.map_or(Json::Bool(true), |value| Json::Text(resolved(value, &script).to_owned()));
        match settings.iter_mut().find(|(known, _)| known == name) {
            Some(known) => known.1 = value,
            None => settings.push((name.to_owned(), value)),
        }
    }
    settings
}

fn without_comments(script: &str) -> String {
    let code = script.lines().map(|line| line.split('#').next().unwrap_or("").trim_end());
    code.filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

/// The command that starts the training, to the first `|`.
fn command(script: &str) -> Option<&str> {
    let starts = script.char_indices().find(|(at, _)| script.get(*at..).is_some_and(is_start));
    let command = script.get(starts?.0..)?;
    command.split('|').next()
}

fn is_start(text: &str) -> bool {
    let then_space = |rest: &str| rest.starts_with(char::is_whitespace);
    let launcher = |name: &str| text.strip_prefix(name).is_some_and(then_space);
    let python = || {
        let rest = text.strip_prefix("python")?;
        let rest = rest.strip_prefix(|c: char| c.is_ascii_digit()).unwrap_or(rest);
        Some(then_space(rest.strip_prefix(" -m torch.distributed.launch")?))
    };
    launcher("msrun") || launcher("torchrun") || python().unwrap_or(false)
}

/// Every `NAME_ARGS="content"`.
fn blocks(script: &str) -> Vec<(&str, &str)> {
    const MARK: &str = "_ARGS=\"";
    let mut blocks = Vec::new();
    let mut rest = script;
    while let Some((before, after)) = rest.split_once(MARK) {
        let Some((content, next)) = after.split_once('"') else { break };
        let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let len = before.chars().rev().take_while(is_name).take(BLOCK_NAME).count();
        let start = before.len() - len;
        if let Some(name) = rest.get(start..before.len() + "_ARGS".len()).filter(|_| len > 0) {
            blocks.push((name, content));
        }
        rest = next;
    }
    blocks
}

/// Every `--name value`; a value does not start with a backslash, which continues the line.
fn options(command: &str) -> Vec<(&str, Option<&str>)> {
    let mut options = Vec::new();
    let mut rest = command;
    while let Some((_, after)) = rest.split_once("--") {
        let (name, next) = taken_while(after, |c| c.is_alphanumeric() || c == '_' || c == '-');
        rest = next;
        if name.is_empty() {
            continue;
        }
        let spaced = next.trim_start();
        let (value, after_value) = taken_while(spaced, |c| !c.is_whitespace() && c != '\\');
        let value = Some(value).filter(|value| spaced.len() < next.len() && !value.is_empty());
        if value.is_some() {
            rest = after_value;
        }
        options.push((name, value));
    }
    options
}

fn taken_while(text: &str, keep: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !keep(c)).unwrap_or(text.len()))
}

/// A value, or what the variable it names was last set to.
fn resolved<'a>(value: &'a str, script: &'a str) -> &'a str {
    let Some(variable) = value.strip_prefix('$') else { return value };
    let (name, _) = taken_while(variable.strip_prefix('{').unwrap_or(variable), |c| c.is_alphanumeric() || c == '_');
    if name.is_empty() {
        return value;
    }
    let assignment = format!("{name}=");
    let last = script.rfind(&assignment).and_then(|at| script.get(at + assignment.len()..));
    let line = last.and_then(|rest| rest.trim_start().lines().next());
    line.filter(|line| !line.is_empty()).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::json;

    fn text(script: &str) -> String {
        json::to_text(&Json::Object(settings(script)))
    }

    #[test]
    fn blocks_variables_and_flags_are_read() {
        let script = r#"#!/bin/bash
LR=1e-3
LR=1.5e-4   # the last one counts
GPT_ARGS="
    --lr $LR \
    --sequence-parallel \
    --micro-batch-size 4
"
torchrun --nproc_per_node 8 pretrain.py \
    $GPT_ARGS --bf16 | tee log --not-an-option
"#;
        assert_eq!(
            text(script),
            r#"{"nproc_per_node": "8", "lr": "1.5e-4", "sequence-parallel": true, "micro-batch-size": "4", "bf16": true}"#
        );
    }

    #[test]
    fn a_flag_without_value_takes_the_next_one() {
        assert_eq!(text("msrun --a --b 1 --c"), r#"{"a": "--b", "c": true}"#);
        assert_eq!(text("python3 -m torch.distributed.launch --a=1 x.py"), r#"{"a": true}"#);
        assert_eq!(text("python train.py --lr 1"), "{}");
    }
}
