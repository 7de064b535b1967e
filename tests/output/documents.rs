//! Documents of a run: all files that it writes, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use precision_gate::output::DocumentSet;
use tempfile::TempDir;

use crate::data::fixture;
use crate::output::support::{documents, ended, example, gate, names, put, reference, run};

/// Files of a user, some with names like those of documents.
const OWN: [&str; 7] = [
    "compare_result_mine.txt",
    "compare_result_mine.csv",
    "config_check_mine.csv",
    "noise.json",
    "part-1-of-2.jsonl",
    "result.json.bak",
    "train.log",
];

/// Pairs of dumps among the fixtures.
fn pairs() -> Vec<PathBuf> {
    let entries = fs::read_dir(fixture("dumps")).expect("fixtures").flatten();
    let mut pairs: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.join("npu").exists()).collect();
    pairs.sort();
    pairs
}

#[test]
fn everything_that_is_written_is_listed() {
    let folder = TempDir::new().expect("a folder");
    let mut commands = vec![run(folder.path(), "npu", Path::new("out"))];
    for pair in pairs() {
        let mut compare = gate(folder.path());
        compare.args(["compare", "-q", "--xlsx"]).arg(pair.join("gpu")).arg(pair.join("npu")).args(["--out", "out"]);
        commands.push(compare);
    }
    assert!(commands.len() > 5, "the fixtures were not found");
    let mut packs = gate(folder.path());
    let pack = |side| example(side).join("config_check_pack.zip");
    packs.args(["config-check", "-q", "--xlsx"]).arg(pack("gpu")).arg(pack("npu")).args(["--out", "out"]);
    commands.push(packs);
    let mut kinds = std::collections::BTreeSet::new();
    for command in commands {
        let shown = format!("{command:?}");
        let (code, error) = ended(command);
        assert!(code == 0 || code == 1, "{shown}: {error}");
        for name in names(&folder.path().join("out")) {
            assert!(
                DocumentSet::Run.write_order(&name).is_some(),
                "{name} is not listed: the next run would leave it ({shown})"
            );
            kinds.insert(name);
        }
    }
    for name in ["result.xlsx", "compare_result_step0.xlsx", "config_check_summary.csv", "loss.png", "divergence.png"] {
        assert!(kinds.contains(name), "{name} was never written: {kinds:?}");
    }
}

#[test]
fn every_name_in_the_code_that_writes_is_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = 0;
    let sources = root.join("src");
    let writers = ["report/write.rs", "report/folder.rs"].map(|file| sources.join(file));
    let pictures = fs::read_dir(sources.join("report/checks")).expect("a folder").flatten().map(|entry| entry.path());
    let of_run = writers.into_iter().chain(pictures).map(|file| (file, DocumentSet::Run));
    for (file, set) in of_run.chain([(sources.join("signoff/write.rs"), DocumentSet::Signoff)]) {
        let text = fs::read_to_string(&file).expect("a source");
        let file = file.display();
        for literal in text.split('"').skip(1).step_by(2) {
            let Some((stem, ending)) = literal.rsplit_once('.') else { continue };
            let is_name = !stem.contains([' ', '{', '}', '/']) && ending.chars().all(|c| c.is_ascii_lowercase());
            if is_name && !stem.is_empty() {
                assert!(set.write_order(literal).is_some(), "{file} writes {literal}");
                found += 1;
            }
        }
    }
    assert!(found > 10, "{found} names");
}

#[test]
fn a_refused_run_leaves_no_earlier_document_and_nothing_else_is_touched() {
    let green = reference("gpu");
    let folder = TempDir::new().expect("a folder");
    let out = folder.path().join("precision-gate-out");
    fs::write(folder.path().join("bad.yml"), "profil: strict\n").expect("written");
    let (gpu, npu) = (example("gpu"), example("npu"));
    let start = |words: &[&str], sides: &[&Path]| {
        let mut command = gate(folder.path());
        command.args(words).args(sides);
        command
    };
    for command in [
        start(&["run", "--config", "bad.yml", "--candidate", "x", "--baseline"], &[&gpu]),
        start(&["run", "--candidate", "no-such", "--baseline"], &[&gpu]),
        start(&["run", "--ops", "[", "--candidate", "x", "--baseline"], &[&gpu]),
        start(&["run"], &[]),
        start(&["compare", "--cell-mapping", "no-such.yml"], &[&gpu, &npu]),
        start(&["loss", "--config", "bad.yml"], &[&gpu, &npu]),
        start(&["config-check", "--config", "no-such.yml"], &[&gpu, &npu]),
        start(&["merge", "no-such.jsonl"], &[]),
        start(&["run", "--templates", "no-such", "--baseline"], &[&gpu, Path::new("--candidate"), &npu]),
    ] {
        put(&out, &green);
        for name in OWN {
            fs::write(out.join(name), name).expect("written");
        }
        fs::create_dir_all(out.join("folder")).expect("a folder");
        fs::write(out.join("folder/result.json"), "mine").expect("written");
        let shown = format!("{command:?}");
        let (code, error) = ended(command);
        assert_eq!(code, 2, "{shown}: {error}");
        assert_eq!(documents(&out).len(), 0, "{shown}: {:?}", names(&out));
        let mut kept: Vec<&str> = OWN.to_vec();
        kept.push("folder");
        kept.sort_unstable();
        assert_eq!(names(&out), kept, "{shown}");
        assert!(OWN.iter().all(|name| fs::read_to_string(out.join(name)).expect("there") == *name));
        assert_eq!(fs::read_to_string(out.join("folder/result.json")).expect("there"), "mine");
    }
}

#[test]
fn a_refused_run_makes_no_folder() {
    let folder = TempDir::new().expect("a folder");
    let mut command = gate(folder.path());
    command.args(["run", "--candidate", "no-such", "--baseline"]).arg(example("gpu"));
    assert_eq!(ended(command).0, 2);
    assert!(names(folder.path()).is_empty());
}

#[test]
fn reports_are_rendered_beside_their_result_and_replace_those_of_another() {
    let folder = TempDir::new().expect("a folder");
    let (green, red) = (reference("gpu"), reference("npu"));
    let (own, other) = (folder.path().join("own"), folder.path().join("other"));
    put(&own, &green);
    put(&other, &red);
    for out in [None, Some("own"), Some("./own"), Some("other/../own")] {
        let mut command = gate(folder.path());
        command.args(["report", "-q", "own/result.json"]).args(out.iter().flat_map(|out| ["--out", out]));
        let (code, error) = ended(command);
        assert_eq!(code, 0, "{error}");
        assert_eq!(documents(&own).keys().collect::<Vec<_>>(), green.keys().collect::<Vec<_>>(), "{out:?}");
        assert_eq!(documents(&own)["result.json"], green["result.json"]);
    }
    let mut command = gate(folder.path());
    command.args(["report", "-q", "own/result.json", "--out", "other"]);
    assert_eq!(ended(command).0, 0);
    let found = documents(&other);
    assert!(!found.contains_key("result.json") && found["summary.md"] == green["summary.md"], "{:?}", found.keys());
}

#[test]
fn a_template_that_does_not_render_leaves_a_result_to_render_again() {
    let folder = TempDir::new().expect("a folder");
    fs::create_dir(folder.path().join("templates")).expect("a folder");
    fs::write(folder.path().join("templates/summary.md.j2"), "{{ no_such.thing }}").expect("written");
    let shipped = names(&Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/report"));
    for name in shipped.iter().filter(|name| name.starts_with("summary")) {
        fs::write(folder.path().join("templates").join(name), "{{ no_such.thing }}").expect("written");
    }
    let mut command = run(folder.path(), "npu", Path::new("out"));
    command.args(["--templates", "templates"]);
    let (code, error) = ended(command);
    assert_eq!(code, 2, "{error}");
    let found = documents(&folder.path().join("out"));
    assert!(found.contains_key("result.json") && found.contains_key("operations.jsonl"), "{:?}", found.keys());
    assert!(!found.contains_key("summary.md"));
}
