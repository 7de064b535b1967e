//! Commands of the top-level help, in sections.

use clap::Command as Program;
use clap::builder::StyledStr;
use clap::builder::styling::Style;

/// Top-level help: the sections of [`commands`] in place of one long list.
pub(crate) const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}";

/// Sections with their commands. A command that stands in none of them is shown in the last one.
const SECTIONS: [(&str, &[&str]); 5] = [
    ("Judge", &["run", "loss", "compare", "config-check", "source", "merge"]),
    ("Baselines", &["baseline", "noise", "calibrate", "config-pack"]),
    ("Publish", &["publish", "answer", "signoff"]),
    ("Reports", &["report", "explain", "next-dump", "reproduce", "history"]),
    ("Tools", &["init", "selftest", "schema", "completions"]),
];

/// The commands of `program` with their descriptions, by section.
pub(crate) fn commands(program: &Program) -> StyledStr {
    listed(program, |title| format!("{title}:"), |about| about.to_owned())
}

/// The same in Chinese, which `word` gives of a title and `help` of a description.
pub(crate) fn in_chinese<'a>(
    program: &Program,
    word: impl Fn(&str) -> Option<&'a str>,
    help: impl Fn(&str) -> Option<&'a str>,
) -> StyledStr {
    let title = |title: &str| format!("{}：", word(title).unwrap_or(title));
    listed(program, title, |about| help(about).unwrap_or(about).to_owned())
}

fn listed(program: &Program, titled: impl Fn(&str) -> String, described: impl Fn(&str) -> String) -> StyledStr {
    let shown: Vec<&Program> =
        program.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help").collect();
    let width = shown.iter().map(|command| command.get_name().len()).max().unwrap_or_default();
    let heading = Style::new().bold().underline();
    let mut text = String::new();
    for (position, (title, _)) in SECTIONS.iter().enumerate() {
        text.push_str(&format!("{heading}{}{heading:#}\n", titled(title)));
        for command in in_section(position, &shown) {
            let about = described(&command.get_about().map(ToString::to_string).unwrap_or_default());
            text.push_str(&format!("  {:width$}  {about}\n", command.get_name()));
        }
        text.push('\n');
    }
    // The template puts an empty line behind them.
    StyledStr::from(text.trim_end().to_owned())
}

/// The commands of a section, in its order.
fn in_section<'a>(section: usize, shown: &[&'a Program]) -> Vec<&'a Program> {
    let find = |name: &str| SECTIONS.iter().position(|(_, names)| names.contains(&name)).unwrap_or(SECTIONS.len() - 1);
    let order = |command: &&Program| {
        let names = SECTIONS.get(section).map_or(&[][..], |(_, names)| *names);
        names.iter().position(|name| *name == command.get_name()).unwrap_or(names.len())
    };
    let mut commands: Vec<&Program> =
        shown.iter().copied().filter(|command| find(command.get_name()) == section).collect();
    commands.sort_by_key(order);
    commands
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    /// Every command with its name, sub-commands too.
    fn every(command: &Program, name: &str, visit: &mut impl FnMut(&str, &Program)) {
        visit(name, command);
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            every(inner, &format!("{name} {}", inner.get_name()), visit);
        }
    }

    fn program() -> Program {
        let mut program = Cli::command();
        program.build();
        program
    }

    #[test]
    fn the_top_level_help_shows_every_command_once_in_its_section() {
        let help = Cli::command().render_help().to_string();
        for command in program().get_subcommands().filter(|command| command.get_name() != "help") {
            let line = format!("\n  {} ", command.get_name());
            assert_eq!(help.matches(&line).count(), 1, "{line}{help}");
        }
        let listed = help.lines().filter(|line| line.starts_with("  ") && !line.starts_with("  -"));
        assert!(listed.clone().all(|line| line.len() <= 100), "{:?}", listed.max_by_key(|line| line.len()));
        let places: Vec<_> = SECTIONS.iter().map(|(title, _)| help.find(&format!("\n{title}:"))).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{help}");
    }

    #[test]
    fn every_command_has_an_example_that_parses() {
        every(&program(), "precision-gate", &mut |name, command| {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            // A long line goes on behind a backslash.
            let text = text.split("\\\n").map(str::trim).collect::<Vec<_>>().join(" ");
            let examples: Vec<&str> =
                text.lines().filter_map(|line| line.trim().strip_prefix("precision-gate ")).collect();
            assert!(!examples.is_empty(), "{name}");
            for example in examples {
                let (line, _) = example.split_once(" > ").unwrap_or((example, ""));
                // A remark in brackets is no part of the line.
                let (line, _) = line.split_once("  (").unwrap_or((line, ""));
                let line = line.trim();
                let words = line.split(' ').map(|word| word.trim_matches('\''));
                // A text in quotes may have spaces.
                let quoted = line.contains('\'');
                let parsed = Cli::command().try_get_matches_from(["precision-gate"].into_iter().chain(words));
                assert!(quoted || parsed.is_ok(), "{name}: {example}: {:?}", parsed.err());
            }
        });
    }

    #[test]
    fn a_group_of_flags_holds_its_own_flags_and_a_flag_stands_in_one_group() {
        let groups: BTreeMap<&str, BTreeSet<&str>> = [
            ("Reports", "lang templates source-root json xlsx no-table compress"),
            ("Terminal", "verbose quiet color"),
            ("Resources", "threads max-memory max-disk cache cache-size"),
            ("Quick looks", "sample sample-seed checksum ops max-time"),
            ("Parts", "shard"),
            ("Compare tables of msprobe", "fuzzy"),
            ("Renamed operations", "data-mapping cell-mapping api-mapping layer-mapping"),
            ("History", "history suite no-history with at"),
            (
                "Publishing",
                "publish forge url repo number sha key comment check image issue webhook webhook-on author post-command \
                 strict-publish dry-run",
            ),
            ("Release", "attach forge url repo strict-publish dry-run"),
            ("Pipelines", "pull-request nightly release forge root force"),
        ]
        .into_iter()
        .map(|(group, flags)| (group, flags.split_whitespace().collect()))
        .collect();
        every(&program(), "precision-gate", &mut |name, command| {
            for flag in command.get_arguments() {
                let (Some(group), Some(long)) = (flag.get_help_heading(), flag.get_long()) else { continue };
                let own = groups.get(group).unwrap_or_else(|| panic!("{name}: {group}"));
                assert!(own.contains(long), "{name}: --{long} stands under {group}");
            }
        });
    }

    #[test]
    fn out_is_written_the_same_way_everywhere() {
        every(&program(), "precision-gate", &mut |name, command| {
            for flag in command.get_arguments() {
                let names = (flag.get_long() == Some("out"), flag.get_short() == Some('o'));
                assert!(names.0 == names.1, "{name}: {flag}");
                assert_ne!(flag.get_long(), Some("output"), "{name}");
            }
        });
    }

    #[test]
    fn every_flag_has_a_text_and_none_ends_with_a_full_stop() {
        every(&program(), "precision-gate", &mut |name, command| {
            for flag in command.get_arguments() {
                let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!help.is_empty() && !help.ends_with('.'), "{name} {flag}: {help}");
                for riddle in ["where it is present", "Say less", "as the policy says", "Most bytes", "the gate knows"]
                {
                    assert!(!help.contains(riddle), "{name} {flag}: {help}");
                }
            }
        });
    }
}
