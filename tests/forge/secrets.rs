//! A token is sent to its forge in a header, and is nowhere else.

use std::fs;
use std::path::Path;

use crate::forge::fake::github::{GitHub, TOKEN};
use crate::forge::fake::{Reply, Wrong};
use crate::forge::gate::{Gate, Pair};

fn search(folder: &Path) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            search(&path);
        } else {
            let bytes = fs::read(&path).expect("a file");
            let found = bytes.windows(TOKEN.len()).any(|window| window == TOKEN.as_bytes());
            assert!(!found, "{} holds the token", path.display());
        }
    }
}

#[test]
fn a_planted_token_is_in_no_output_log_or_error() {
    let fake = GitHub::start("");
    let mut gate = Gate::on_github(&fake.base);
    gate.set(&[("GITHUB_TOKEN", TOKEN), ("PRECISION_GATE_TOKEN", TOKEN), ("RUNNER_DEBUG", "1"), ("RUST_LOG", "trace")]);
    // A server that sends the token back, refuses, breaks.
    for wrong in [
        None,
        Some(Wrong::Instead(Reply::refusal(403, &format!("the token {TOKEN} may not do that")))),
        Some(Wrong::Instead(Reply::refusal(401, TOKEN))),
        Some(Wrong::Cut),
    ] {
        if let Some(wrong) = wrong {
            fake.fail("POST", "/", 2, wrong.clone());
            fake.fail("GET", "/", 1, wrong);
        }
        for more in [&["-v"][..], &["--dry-run"][..], &["--lang", "zh", "--strict-publish"][..]] {
            // What is printed is searched by the helper itself.
            gate.run(Pair::Fail, more);
        }
    }
    gate.set(&[("INPUT_TOKEN", &format!("{TOKEN}\nX-Evil: 1"))]);
    let ended = gate.run(Pair::Fail, &["--strict-publish"]);
    assert_eq!(ended.code, 3, "{ended:?}");
    search(gate.folder());
    assert!(!fake.everything_said().contains(TOKEN));
}
