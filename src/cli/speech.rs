//! The language that this process speaks: flag, policy file, locale, English; the first that says one counts.
#![allow(clippy::print_stderr, reason = "warnings and errors are told here")]

use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;

use precision_gate::error::Error;
use precision_gate::language::Language;
use precision_gate::report::escape::cleaned;
use precision_gate::report::sentences;

use super::policy_file;

/// The language, known once the arguments are.
static LANGUAGE: OnceLock<Language> = OnceLock::new();

/// Weight of a line on standard error.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Weight {
    /// Ends the command.
    Error,
    /// The command goes on.
    Warning,
    /// Worth knowing.
    Notice,
}

/// The language of everything that is printed.
pub(crate) fn language() -> Language {
    LANGUAGE.get().copied().unwrap_or_default()
}

/// Sets the language by the arguments, the policy file that they name, and the locale.
pub(crate) fn choose(arguments: &[OsString]) -> Language {
    let of_flag = || Language::from_word(value(arguments, "--lang")?);
    let variable = |name: &str| std::env::var(name).ok();
    let chosen = of_flag().or_else(|| of_policy(arguments)).unwrap_or_else(|| Language::of_locale(variable));
    *LANGUAGE.get_or_init(|| chosen)
}

/// The value of a flag, as it is written last.
fn value<'a>(arguments: &'a [OsString], flag: &str) -> Option<&'a str> {
    let given = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let words: Vec<&str> = arguments.iter().take(given).map(|word| word.to_str().unwrap_or_default()).collect();
    let joined = |word: &'a str| word.strip_prefix(flag)?.strip_prefix('=');
    let pairs = words.iter().zip(words.iter().skip(1).map(Some).chain([None]));
    pairs.filter_map(|(word, next)| if *word == flag { next.copied() } else { joined(word) }).last()
}

/// `lang` of the policy file; a file that cannot be read is refused later, by who needs it.
fn of_policy(arguments: &[OsString]) -> Option<Language> {
    let path = policy_file::policy_path(value(arguments, "--config").map(Path::new));
    let text = policy_file::text_of(&path).ok()??;
    of_text(&text)
}

/// The language of the line `lang: zh` of a policy's text. The text is anyone's: no YAML is parsed before its nesting is checked,
/// and a line at the left edge is a key of the file wherever it stands.
fn of_text(text: &str) -> Option<Language> {
    let value = text.lines().find_map(|line| line.strip_prefix("lang:"))?;
    let word = value.split('#').next().unwrap_or_default().trim();
    Language::from_word(word.trim_matches(['"', '\'']))
}

/// A sentence of the program in the language of this process.
pub(crate) fn in_own_language(text: &str) -> String {
    sentences::in_language(text, language()).into_owned()
}

/// An error with its way out, as one line.
pub(crate) fn line(error: &Error) -> String {
    let help = error.help().map(in_own_language);
    let separator = if language() == Language::Zh { "；" } else { "; " };
    [Some(in_own_language(&error.to_string())), help].into_iter().flatten().collect::<Vec<_>>().join(separator)
}

/// Tells a person something on standard error. A text may quote a file's name: it neither colours the terminal nor commands
/// a runner.
pub(crate) fn tell(weight: Weight, text: &str) {
    let word = match (weight, language()) {
        (Weight::Error, Language::En) => "error: ",
        (Weight::Error, Language::Zh) => "错误：",
        (Weight::Warning, Language::En) => "warning: ",
        (Weight::Warning, Language::Zh) => "告警：",
        (Weight::Notice, Language::En) => "notice: ",
        (Weight::Notice, Language::Zh) => "提示：",
    };
    eprintln!("{word}{}", cleaned(&in_own_language(text)));
}

/// Tells an error, and its way out on a line of its own.
pub(crate) fn tell_error(error: &Error) {
    tell(Weight::Error, &error.to_string());
    if let Some(help) = error.help() {
        let word = if language() == Language::Zh { "建议：" } else { "help: " };
        eprintln!("{word}{}", cleaned(&in_own_language(help)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_says_its_language_on_a_line_of_its_own() {
        for (text, language) in [
            ("profile: strict\nlang: zh  # reports\n", Some(Language::Zh)),
            ("lang: \"en\"\n", Some(Language::En)),
            ("publish:\n  lang: zh\n", None),
            ("lang: fr\n", None),
        ] {
            assert_eq!(of_text(text), language, "{text}");
        }
    }

    #[test]
    fn a_flag_is_found_in_both_spellings_and_the_last_one_counts() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (line, lang) in [
            ("run a b --lang zh", Some("zh")),
            ("run --lang=en a --lang=zh b", Some("zh")),
            ("run a b", None),
            ("run a b --lang", None),
            ("run a -- --lang zh", None),
        ] {
            assert_eq!(value(&words(line), "--lang"), lang, "{line}");
        }
    }
}
