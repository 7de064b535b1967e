//! The made part of `docs/reference-cli.md`: every command with its help, as the program prints it.

use std::fmt::Write;

use assert_cmd::Command;

/// Columns of the help, so that a block of it fits a page of the book.
const WIDTH: &str = "88";

/// Help of a command at a width, whatever the machine.
pub(super) fn help(command: &[&str], width: &str) -> String {
    let mut program = Command::cargo_bin("precision-gate").expect("built");
    let output = program.env_clear().env("COLUMNS", width).args(command).arg("--help").output().expect("runs");
    assert!(output.status.success(), "{command:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Names and descriptions of a list in a help text: two spaces, a name, two spaces or more, and words that may go on below.
fn listed(lines: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in lines.lines().map_while(|line| line.strip_prefix("  ")) {
        match (line.starts_with(' '), line.split_once("  "), found.last_mut()) {
            (false, Some((name, about)), _) => found.push((name.to_owned(), about.trim().to_owned())),
            (_, _, Some((_, about))) => about.extend([" ", line.trim()]),
            _ => {}
        }
    }
    found.retain(|(name, _)| name != "help");
    found
}

/// The chapter of one command, and those of its sub-commands.
fn chapter(page: &mut String, command: &[&str]) {
    let text = help(command, WIDTH);
    let (about, usage) = text.split_once("\nUsage: ").expect("a usage");
    let level = "#".repeat(command.len() + 1);
    let name = command.join(" ");
    let about = about.trim().replace('\n', " ");
    write!(page, "\n{level} `precision-gate {name}`\n\n{about}.\n\n```text\nUsage: {}\n```\n", usage.trim_end())
        .expect("a string takes it");
    for inner in sub_commands(&text) {
        chapter(page, &[command, &[inner.as_str()]].concat());
    }
}

/// Names of the commands below the one that a help is of.
fn sub_commands(help: &str) -> Vec<String> {
    let list = help.split_once("\nCommands:\n").map(|(_, list)| listed(list)).unwrap_or_default();
    list.into_iter().map(|(name, _)| name).collect()
}

/// Sections of the program's own help, each with its title and its commands.
fn sections(top: &str) -> Vec<(&str, Vec<(String, String)>)> {
    let parts = top.split("\n\n").skip(2).filter_map(|part| part.split_once(":\n"));
    let is_of_commands = |(title, _): &(&str, &str)| !["Options", "Example"].contains(title);
    parts.filter(is_of_commands).map(|(title, list)| (title, listed(list))).collect()
}

/// Every command by its words, sub-commands behind the one that they belong to; the program itself is the first, of no word.
pub(super) fn commands() -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    for (name, _) in sections(&help(&[], "120")).into_iter().flat_map(|(_, list)| list) {
        let inner = sub_commands(&help(&[&name], WIDTH));
        found.push(vec![name.clone()]);
        found.extend(inner.into_iter().map(|inner| vec![name.clone(), inner]));
    }
    found
}

/// The part of the page that is made: tables of all commands, and a chapter of each.
pub(super) fn page() -> String {
    let top = help(&[], "120");
    let (mut page, mut chapters) = (String::new(), String::new());
    for (title, list) in sections(&top) {
        write!(page, "\n| {title} | |\n|---|---|\n").expect("a string takes it");
        for (name, about) in list {
            writeln!(page, "| [`{name}`](#precision-gate-{name}) | {about} |").expect("a string takes it");
            chapter(&mut chapters, &[&name]);
        }
    }
    page.trim_start().to_owned() + &chapters
}

#[test]
fn the_reference_of_the_command_line_has_every_command() {
    let (page, commands) = (super::made::text("reference-cli.md"), commands());
    for command in commands.iter().filter(|words| !words.is_empty()) {
        assert!(page.contains(&format!("# `precision-gate {}`\n", command.join(" "))), "{command:?}");
    }
    assert!(commands.len() > 25 && page.contains("\n### `precision-gate baseline promote`\n"), "{}", commands.len());
}
