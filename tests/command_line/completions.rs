//! Completions as the shells themselves give them. `.ci/run` installs zsh and fish.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command_line::program;

/// Lines to complete, and words that the answer has and has not.
const CASES: [(&str, &[&str], &[&str]); 6] = [
    ("precision-gate ", &["run", "baseline", "next-dump"], &["promote"]),
    ("precision-gate baseline ", &["promote", "list", "show", "verify", "diff"], &["run", "next-dump"]),
    ("precision-gate baseline promote --a", &["--approved-by", "--accept-change"], &["--name", "--publish"]),
    ("precision-gate history prune --", &["--keep", "--older-than", "--dry-run"], &["--at", "--approved-by"]),
    ("precision-gate config-check --wa", &["--warn-exit-code"], &["--xlsx"]),
    ("precision-gate run --profile ", &["default", "strict", "bit-exact", "release"], &["baseline"]),
];

/// The completion script of a shell, in `folder`.
fn script(shell: &str, folder: &Path) -> String {
    let output = Command::new(program()).args(["completions", shell]).output().expect("ran");
    assert!(output.status.success());
    let path = folder.join(if shell == "zsh" { "_precision-gate" } else { "script" });
    fs::write(&path, output.stdout).expect("written");
    path.display().to_string()
}

fn answer(mut shell: Command) -> String {
    // The program itself has to be found, as shells complete only what is there.
    let folders = [program().parent().expect("a folder").display().to_string(), std::env::var("PATH").expect("a path")];
    let output = shell.env("PATH", folders.join(":")).env("TERM", "dumb").output().expect("the shell is installed");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

fn check(complete: impl Fn(&str) -> String) {
    for (line, has, has_not) in CASES {
        let said = complete(line);
        // A word may carry a description behind a tab or a colon.
        let words: Vec<&str> =
            said.lines().map(|line| line.split(['\t', ':', ' ']).next().unwrap_or_default()).collect();
        for word in has {
            assert!(words.contains(word), "{line}: {word} is missing in\n{said}");
        }
        for word in has_not {
            assert!(!words.contains(word), "{line}: {word} is in\n{said}");
        }
    }
}

#[test]
#[ignore = "asks the installed bash; .ci/run runs it"]
fn bash_completes_below_the_top_level() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = script("bash", folder.path());
    // Readline calls the registered function in this way.
    let ask = r#"source "$1"
read -ra COMP_WORDS <<< "$2"; [[ $2 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE=$2; COMP_POINT=${#2}
function=$(complete -p precision-gate | sed 's/.*-F \([^ ]*\).*/\1/')
"$function" precision-gate "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}""#;
    check(|line| {
        let mut shell = Command::new("bash");
        shell.args(["--norc", "-c", ask, "bash", &script, line]);
        answer(shell)
    });
}

#[test]
#[ignore = "asks the installed fish; .ci/run installs it"]
fn fish_completes_below_the_top_level() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = script("fish", folder.path());
    check(|line| {
        let mut shell = Command::new("fish");
        shell.env("HOME", folder.path()).args([
            "--no-config",
            "-c",
            "source $argv[1]; complete -C $argv[2]",
            &script,
            line,
        ]);
        answer(shell)
    });
}

#[test]
#[ignore = "asks the installed zsh; .ci/run installs it"]
fn zsh_completes_below_the_top_level() {
    let folder = tempfile::tempdir().expect("a folder");
    let _script = script("zsh", folder.path());
    // An interactive zsh at a terminal of its own, in which the tab key lists the matches; each on a line of its own.
    let ask = r#"
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PROMPT=; fpath=(${(q)1} \$fpath); autoload -U compinit; compinit -u -d ${(q)1}/dump"
zpty -w shell "zstyle ':completion:*' list-grouped false; LISTMAX=1000; COLUMNS=200"
zpty -w shell "compadd() { [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]] && { builtin compadd \"\$@\"; return \$? }; typeset -a hits; builtin compadd -A hits \"\$@\"; (( \$#hits )) && printf 'HIT %s\n' \$hits; builtin compadd \"\$@\" }"
zpty -w shell "unsetopt zle_bracketed_paste 2>/dev/null; bindkey '^I' complete-word; echo RE''ADY"
zpty -r -m shell seen '*READY*'
zpty -w -n shell "$2"$'\t'
zpty -w -n shell $'\C-u'"echo DO''NE"$'\n'
zpty -r -m shell seen '*DONE*'
print -r -- "$seen"
"#;
    check(|line| {
        let mut shell = Command::new("zsh");
        shell.env("HOME", folder.path()).args(["-f", "-c", ask, "zsh", &folder.path().display().to_string(), line]);
        let said = answer(shell);
        let hits = said.lines().filter_map(|line| Some(line.split_once("HIT ")?.1.trim()));
        hits.collect::<Vec<_>>().join("\n")
    });
}
