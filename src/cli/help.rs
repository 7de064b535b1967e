//! Help and usage errors in Chinese, from `templates/messages/zh/help.yaml`.
//!
//! Flags and commands say their English help themselves; the catalogue gives each such text its Chinese one. What clap
//! writes around them (headings, defaults, errors) is replaced here.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::sync::LazyLock;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, Command, Error};
use precision_gate::language::Language;
use precision_gate::report::sentences::in_language as sentence_in_language;
use serde::Deserialize;

use super::sections;

/// Texts by their English.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Texts {
    /// Helps of commands and flags, and of values.
    helps: BTreeMap<String, String>,
    /// Headings, and remarks behind examples.
    words: BTreeMap<String, String>,
}

static TEXTS: LazyLock<Texts> = LazyLock::new(|| {
    serde_yaml::from_str(include_str!("../../templates/messages/zh/help.yaml"))
        .expect("invariant: shipped texts are tested")
});

/// Words of clap around texts, each with its Chinese ones.
const AROUND: [(&str, &str); 10] = [
    ("Usage: ", "用法："),
    ("Usage:", "用法："),
    ("Options:", "选项："),
    ("Arguments:", "参数："),
    ("Commands:", "命令："),
    ("Possible values:", "可选值："),
    ("[default: ", "[默认："),
    ("[possible values: ", "[可选值："),
    ("[OPTIONS]", "[选项]"),
    ("[COMMAND]", "[命令]"),
];

/// The program, whose reports are in `language` unless a flag says otherwise, and whose help is in that language too.
pub(crate) fn in_language(program: Command, language: Language) -> Command {
    let program = with_default(program, language.word());
    if language == Language::En {
        return program;
    }
    // Chinese has no spaces to wrap at.
    let mut program = program.term_width(0);
    program.build();
    let sections = sections::in_chinese(&program, word, help);
    translated(program).before_help(sections)
}

/// The program with `word` as the default of every flag `--lang` that is for one language.
fn with_default(command: Command, word: &'static str) -> Command {
    let takes_one = |arg: &Arg| arg.get_id() == "lang" && arg.get_possible_values().len() == Language::ALL.len();
    let command = if command.get_arguments().any(takes_one) {
        command.mut_arg("lang", |arg| arg.default_value(word))
    } else {
        command
    };
    command.mut_subcommands(|inner| with_default(inner, word))
}

fn translated(command: Command) -> Command {
    let about = command.get_about().and_then(|text| help(&text.to_string()));
    let after = command.get_after_help().map(|text| after_help(&text.to_string()));
    let command = match about {
        Some(about) => command.about(about),
        None => command,
    };
    let command = match after {
        Some(after) => command.after_help(after),
        None => command,
    };
    command.mut_args(argument).mut_subcommands(translated)
}

fn argument(arg: Arg) -> Arg {
    let text = arg.get_help().and_then(|text| help(&text.to_string()));
    let heading = arg.get_help_heading().and_then(word);
    let arg = match text {
        Some(text) => arg.help(text),
        None => arg,
    };
    match heading {
        Some(heading) => arg.help_heading(heading),
        None => arg,
    }
}

/// The Chinese of a help; short and long texts of clap are one.
fn help(english: &str) -> Option<&'static str> {
    TEXTS.helps.get(english.trim_end_matches('.')).map(String::as_str)
}

/// The Chinese of a heading or a remark.
fn word(english: &str) -> Option<&'static str> {
    TEXTS.words.get(english).map(String::as_str)
}

/// Examples: their headings and remarks; the commands stay.
fn after_help(english: &str) -> String {
    let line = |line: &str| match line.split_once(':') {
        Some((heading, rest)) if !line.starts_with(' ') && word(heading).is_some() => {
            format!("{}：{}", word(heading).unwrap_or(heading), rest.trim_start())
        }
        _ => match line.split_once("  (") {
            Some((command, remark)) => {
                let remark = format!("({remark}");
                format!("{command}  {}", word(&remark).unwrap_or(&remark))
            }
            None => line.to_owned(),
        },
    };
    english.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A rendered text of clap with the words around it in Chinese.
fn around(rendered: &str) -> String {
    let replaced = AROUND.iter().fold(rendered.to_owned(), |text, (english, chinese)| text.replace(english, chinese));
    replaced.split_inclusive('\n').map(value_line).collect()
}

/// A line about a value of a flag: `  - auto: Only on a terminal`.
fn value_line(line: &str) -> String {
    let value = line.trim_start().starts_with("- ").then(|| line.trim_end().split_once(": ")).flatten();
    match value.and_then(|(name, text)| Some((name, help(text.trim())?))) {
        Some((name, text)) => format!("{name}：{text}\n"),
        None => line.to_owned(),
    }
}

/// An answer of clap in Chinese: a help, or the fault of a command line.
pub(crate) fn in_chinese(error: &Error, is_coloured: bool) -> String {
    let shown = |text: &StyledStr| if is_coloured { text.ansi().to_string() } else { text.to_string() };
    let Some(wrong) = wrong(error) else { return around(&shown(&error.render())) };
    let mut text = format!("错误：{wrong}\n");
    for kind in [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue] {
        if let Some(meant) = named(error, kind) {
            text.push_str(&format!("\n建议：是否要写 `{meant}`？\n"));
        }
    }
    if let Some(usage) = error.get(ContextKind::Usage) {
        text.push_str(&format!("\n{}\n", around(&usage.to_string())));
    }
    text + "\n详情请用 `--help` 查看。\n"
}

/// The fault of a command line; `None` for a help.
fn wrong(error: &Error) -> Option<String> {
    let named = |kind| named(error, kind).unwrap_or_default();
    let (argument, value) = (named(ContextKind::InvalidArg), named(ContextKind::InvalidValue));
    let source = error.source().map(ToString::to_string).unwrap_or_default();
    Some(match error.kind() {
        ErrorKind::InvalidValue if value.is_empty() => format!("`{argument}` 需要一个值{}", choices(error)),
        ErrorKind::InvalidValue => format!("`{argument}` 的值 `{value}` 无效{}", choices(error)),
        ErrorKind::ValueValidation => {
            format!("`{argument}` 的值 `{value}` 无效：{}", sentence_in_language(&source, Language::Zh))
        }
        ErrorKind::UnknownArgument => format!("未知的参数 `{argument}`"),
        ErrorKind::InvalidSubcommand => format!("未知的命令 `{}`", named(ContextKind::InvalidSubcommand)),
        ErrorKind::ArgumentConflict => match named(ContextKind::PriorArg) {
            prior if prior.is_empty() || prior == argument => format!("`{argument}` 不能给出多次"),
            prior => format!("`{argument}` 不能与 `{prior}` 同时使用"),
        },
        ErrorKind::MissingRequiredArgument => format!("缺少必需的参数：{argument}"),
        ErrorKind::TooManyValues => format!("`{argument}` 的值过多：`{value}`"),
        ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => format!("`{argument}` 的值数量不对"),
        ErrorKind::NoEquals => format!("`{argument}` 的值要用 `=` 给出"),
        ErrorKind::InvalidUtf8 => "命令行中有不是 UTF-8 的内容".to_owned(),
        ErrorKind::MissingSubcommand => "缺少命令".to_owned(),
        _ => return None,
    })
}

/// The values to choose from.
fn choices(error: &Error) -> String {
    named(error, ContextKind::ValidValue).map_or_else(String::new, |values| format!("（可选值：{values}）"))
}

/// A name that clap gives of an error.
fn named(error: &Error, kind: ContextKind) -> Option<String> {
    error.get(kind).map(|value| value.to_string().replace(", ", "、")).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn is_chinese(text: &str) -> bool {
        text.chars().any(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter))
    }

    fn every(command: &Command, name: &str, visit: &mut impl FnMut(&str, &Command)) {
        visit(name, command);
        for inner in command.get_subcommands() {
            every(inner, &format!("{name} {}", inner.get_name()), visit);
        }
    }

    #[test]
    fn every_command_flag_and_heading_has_a_chinese_text() {
        let mut missing = Vec::new();
        every(&in_language(Cli::command(), Language::Zh), "precision-gate", &mut |name, command| {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let texts = command
                .get_arguments()
                .flat_map(|arg| [arg.get_help().map(ToString::to_string), arg.get_help_heading().map(str::to_owned)]);
            missing.extend(
                texts.flatten().chain([about]).filter(|text| !is_chinese(text)).map(|text| format!("{name}: {text}")),
            );
        });
        assert!(missing.is_empty(), "{}", missing.join("\n"));
    }

    #[test]
    fn usage_errors_are_in_chinese() {
        for (line, text) in [
            ("run --profile hard a b", "`--profile <PROFILE>` 的值 `hard` 无效（可选值：default、strict、"),
            ("run a b --lange zh", "未知的参数 `--lange`"),
            ("rum a b", "未知的命令 `rum`"),
            ("loss a", "缺少必需的参数：<CANDIDATE>"),
            ("run a b -q -v", "不能与 "),
            ("run a b --max-memory 3XB", "无效：未知单位 `XB`；单位有 "),
        ] {
            let words = ["precision-gate"].into_iter().chain(line.split(' '));
            let error = in_language(Cli::command(), Language::Zh).try_get_matches_from(words).expect_err(line);
            let said = in_chinese(&error, false);
            assert!(said.contains(text), "{line}: {said}");
            assert!(said.starts_with("错误：") && said.ends_with("详情请用 `--help` 查看。\n"), "{said}");
        }
    }
}
