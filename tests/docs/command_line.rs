//! `docs/reference-cli.md`: every command with its help, as the program prints it.

use std::fmt::Write;

use assert_cmd::Command;

use super::fresh::is_fresh;

/// Columns of the help, so that a block of it fits a page of the book.
const WIDTH: &str = "88";

/// Help of a command at a width, whatever the machine.
fn help(command: &[&str], width: &str) -> String {
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
    for (inner, _) in text.split_once("\nCommands:\n").map(|(_, list)| listed(list)).unwrap_or_default() {
        chapter(page, &[command, &[inner.as_str()]].concat());
    }
}

#[test]
fn the_reference_of_the_command_line_is_the_programs_help() {
    let top = help(&[], "120");
    let mut page = String::from(
        "# Command line\n\nEvery command with its arguments and flags, as `--help` prints them. Made by\n\
         `UPDATE_DOCS=1 cargo test --locked --test all docs::`. Flags go before `INPUT_*` and variables of the CI system, these before the\n\
         [policy file](reference-policy.md), and that before defaults.\n",
    );
    let mut chapters = String::new();
    let mut commands = 0;
    for part in top.split("\n\n").skip(2) {
        let Some((title, list)) = part.split_once(":\n").filter(|(title, _)| !["Options", "Example"].contains(title))
        else {
            continue;
        };
        write!(page, "\n| {title} | |\n|---|---|\n").expect("a string takes it");
        for (name, about) in listed(list) {
            writeln!(page, "| [`{name}`](#precision-gate-{name}) | {about} |").expect("a string takes it");
            chapter(&mut chapters, &[&name]);
            commands += 1;
        }
    }
    assert!(commands > 15 && chapters.contains("\n### `precision-gate baseline promote`\n"), "{commands}");
    page.push_str(
        "\nEvery command ends with one of these codes: 0 pass or warn, 1 fail or incomplete, 2 bad usage or policy, 3 something could\n\
         not be fetched, 4 a defect of precision-gate.\n",
    );
    is_fresh("reference-cli.md", &(page + &chapters), "docs");
}
