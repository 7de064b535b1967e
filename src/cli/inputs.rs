//! `INPUT_<FLAG>`: what an action or a component is given becomes the flags that the command line leaves out.
//!
//! GitHub's runner hands each input of an action over as a variable: upper case, hyphens stay. Where a system knows no
//! hyphens in names, underscores stand for them. A pure function adds them to the arguments before they are parsed, for every flag the sub-command has, so
//! that the two never drift apart. An empty one counts as unset. Flags go before inputs.

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};
use precision_gate::error::{Error, ErrorKind, Result};

/// The arguments, with a flag for each input that none of them gives.
pub(crate) fn with_inputs(
    mut arguments: Vec<OsString>,
    environment: &BTreeMap<String, String>,
    program: &Command,
) -> Result<Vec<OsString>> {
    let Some(command) = arguments.iter().skip(1).find_map(|argument| program.find_subcommand(argument)) else {
        return Ok(arguments);
    };
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let (given, _) = arguments.split_at(end);
    let mut added: Vec<OsString> = Vec::new();
    for flag in command.get_arguments() {
        let Some(name) = flag.get_long().filter(|name| !is_given(given, flag, name)) else { continue };
        let input = format!("INPUT_{}", name.to_uppercase());
        // Shells and GitLab know no hyphens in names.
        let mut spellings = [input.clone(), input.replace('-', "_")].into_iter();
        let set = |name: String| environment.get(&name).filter(|value| !value.trim().is_empty());
        if let Some(value) = spellings.find_map(set) {
            added.extend(as_flags(flag, name, value).map_err(|wrong| Error::new(ErrorKind::Usage, input, wrong))?);
        }
    }
    arguments.splice(end..end, added);
    Ok(arguments)
}

fn is_given(arguments: &[OsString], flag: &Arg, name: &str) -> bool {
    let (long, short) = (format!("--{name}"), flag.get_short());
    let fits = |text: &str| {
        let clustered = |letter| text.starts_with('-') && !text.starts_with("--") && text.contains(letter);
        text == long
            || text.strip_prefix(&long).is_some_and(|rest| rest.starts_with('='))
            || short.is_some_and(clustered)
    };
    arguments.iter().filter_map(|argument| argument.to_str()).any(fits)
}

/// An input as flags: a switch where it is true, one flag per line where it may be given several times.
fn as_flags(flag: &Arg, name: &str, value: &str) -> std::result::Result<Vec<OsString>, String> {
    let valued = |value: &str| OsString::from(format!("--{name}={value}"));
    match flag.get_action() {
        ArgAction::SetTrue => match value.trim() {
            // The spellings of YAML 1.2's core schema, as GitHub's own inputs take them.
            "true" | "True" | "TRUE" => Ok(vec![format!("--{name}").into()]),
            "false" | "False" | "FALSE" => Ok(vec![]),
            other => Err(format!("`{other}` is neither `true` nor `false`")),
        },
        ArgAction::Append => Ok(value.lines().map(str::trim).filter(|line| !line.is_empty()).map(valued).collect()),
        _ => Ok(vec![valued(value.trim())]),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn arguments(line: &str, inputs: &[(&str, &str)]) -> Result<String> {
        let environment = inputs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let given = line.split(' ').map(OsString::from).collect();
        let all = with_inputs(given, &environment, &Cli::command())?;
        Ok(all.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn inputs_fill_in_what_the_command_line_leaves_out() {
        for (line, inputs, whole) in [
            ("p run", vec![("INPUT_BASELINE", "gpu")], "p run --baseline=gpu"),
            ("p run --baseline a", vec![("INPUT_BASELINE", "gpu")], "p run --baseline a"),
            ("p run --baseline=a", vec![("INPUT_BASELINE", "gpu")], "p run --baseline=a"),
            ("p run", vec![("INPUT_WARN-EXIT-CODE", " 3 ")], "p run --warn-exit-code=3"),
            ("p run", vec![("INPUT_WARN_EXIT_CODE", "3"), ("INPUT_WARN-EXIT-CODE", "")], "p run --warn-exit-code=3"),
            ("p run", vec![("INPUT_BASELINE", ""), ("INPUT_TOKEN", "t"), ("INPUT_NO-SUCH", "x")], "p run"),
            ("p run", vec![("INPUT_PUBLISH", "true"), ("INPUT_XLSX", "False")], "p run --publish"),
            ("p run -q", vec![("INPUT_QUIET", "true")], "p run -q"),
            ("p run", vec![("INPUT_NOISE", "a.json\n b.json\n")], "p run --noise=a.json --noise=b.json"),
            ("p run", vec![("INPUT_POST-COMMAND", "-x; y")], "p run --post-command=-x; y"),
            (
                "p publish r.json",
                vec![("INPUT_KEY", "k"), ("INPUT_BASELINE", "b")],
                "p publish r.json --baseline=b --key=k",
            ),
            ("p publish -- r.json", vec![("INPUT_KEY", "k")], "p publish --key=k -- r.json"),
            ("p schema config", vec![("INPUT_KEY", "k")], "p schema config"),
            ("p", vec![("INPUT_KEY", "k")], "p"),
        ] {
            assert_eq!(arguments(line, &inputs).expect("fits"), whole);
        }
    }

    #[test]
    fn a_switch_takes_true_or_false() {
        let error = arguments("p run", &[("INPUT_PUBLISH", "yes")]).expect_err("refused");
        assert_eq!(error.to_string(), "INPUT_PUBLISH: `yes` is neither `true` nor `false`");
    }

    #[test]
    fn no_flag_takes_a_token() {
        for command in Cli::command().get_subcommands() {
            assert!(command.get_arguments().all(|flag| flag.get_long() != Some("token")), "{}", command.get_name());
        }
    }
}
