//! The page of a history and its badges.

use std::fs;
use std::path::Path;

use precision_gate::history::record::Record;
use precision_gate::report::history_page::render;
use precision_gate::report::messages::Language;
use precision_gate::verdict::Verdict;

use crate::history::support::{Night, commit, ended, program, run};
use crate::history::thirty_nights::simulated;

#[test]
fn thirty_nights_of_three_suites_stand_on_one_page() {
    let records = simulated();
    let page = render(&records, 0, 2.try_into().expect("not 0"), Language::En).expect("a page");
    fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("history.html"), &page).expect("written");
    for verdict in [Verdict::Pass, Verdict::Warn, Verdict::Incomplete, Verdict::Fail] {
        let marks = page.matches(&format!("<span class=\"sign {}\"", verdict.as_str())).count();
        assert_eq!(marks, records.iter().filter(|record| record.verdict == verdict).count(), "{}", verdict.as_str());
    }
    assert_eq!(page.matches("<section").count(), 3);
    assert_eq!(page.matches("src=\"data:image/png;base64,").count(), 3, "the trends of each suite");
    assert!(page.contains("Alert: the same case has failed") && page.contains("Last green run: "), "{page}");
    assert!(!page.contains("<script"), "nothing runs");
    let chinese = render(&records, 1, 2.try_into().expect("not 0"), Language::Zh).expect("a page");
    assert!(chinese.contains("历次运行的精度") && chinese.contains("1 条记录无法读取"), "{chinese}");
}

#[test]
fn many_runs_of_one_day_are_drawn_beside_each_other() {
    let mut records: Vec<Record> = simulated();
    records.retain(|record| record.suite.as_str() == "step");
    for (minute, record) in records.iter_mut().enumerate() {
        record.time = format!("2026-11-21T10:{minute:02}:00Z").parse().expect("a time");
    }
    let page = render(&records, 0, 2.try_into().expect("not 0"), Language::En).expect("a page");
    fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("history-of-a-day.html"), &page).expect("written");
    assert_eq!(page.matches("src=\"data:image/png;base64,").count(), 1);
}

#[test]
fn texts_of_records_are_no_markup_and_addresses_are_of_the_web() {
    let mut records = simulated();
    records.truncate(3);
    let evil = "\"><script>alert(1)</script>";
    for (record, run) in
        records.iter_mut().zip(["javascript:alert(1)", "https://forge.example/run/7?a=\"onclick", "http://10.0.0.1/8"])
    {
        record.run = run.to_owned();
        record.commit = evil.to_owned();
        record.culprit = None;
        record.failing.iter_mut().for_each(|case| case.unit = evil.to_owned());
    }
    let page = render(&records, 0, 1.try_into().expect("not 0"), Language::En).expect("a page");
    assert!(!page.contains("<script") && !page.contains("javascript:"), "{page}");
    assert!(!page.contains("?a=\"onclick"), "{page}");
    assert_eq!(page.matches("<a class=\"sign").count(), 2);
}

#[test]
fn the_command_writes_the_page_and_a_badge_for_each_suite() {
    let folder = tempfile::tempdir().expect("a folder");
    for (day, night, suite) in [(1, Night::Green, "a"), (2, Night::Drift, "a"), (1, Night::Green, "b.c")] {
        run(folder.path(), day, night).args(["--history", "hist", "--suite", suite]).output().expect("runs");
    }
    fs::create_dir_all(folder.path().join("public")).expect("made");
    fs::write(folder.path().join("public/badge-gone.json"), "{}").expect("written");
    fs::write(folder.path().join("public/mine.txt"), "mine").expect("written");
    let page = |more: &[&str]| {
        ended(program(folder.path()).args(["history", "page", "--history", "hist", "--out", "public"]).args(more))
    };
    let (code, said, complaints) = page(&[]);
    assert_eq!((code, complaints.as_str()), (0, ""), "{said}");
    let read = |name: &str| fs::read_to_string(folder.path().join("public").join(name));
    for (name, message) in [("badge-a.json", "fail"), ("badge-b.c.json", "pass"), ("badge.json", "fail")] {
        let badge: serde_json::Value = serde_json::from_str(&read(name).expect("written")).expect("JSON");
        assert_eq!(badge["message"], message, "{name}");
    }
    assert!(read("badge-gone.json").is_err() && read("mine.txt").is_ok(), "only its own documents go");
    let text = read("index.html").expect("written");
    assert!(text.contains(&commit(2)[..12]) && text.contains("2 suites, 3 runs"), "{text}");
    assert_eq!(page(&["--suite", "none"]).0, 2, "there is no such suite");
    // A damaged record is told, and hides no other.
    let first =
        fs::read_dir(folder.path().join("hist/a")).expect("a folder").flatten().next().expect("a record").path();
    fs::write(first, "{").expect("written");
    let (code, _, complaints) = page(&[]);
    assert!(code == 0 && complaints.contains("warning: "), "{complaints}");
    assert!(read("index.html").expect("written").contains("1 record could not be read"));
    // The run itself leaves a badge of its own.
    let badge = fs::read_to_string(folder.path().join("out-2/badge.json")).expect("written");
    assert!(badge.contains("\"message\":\"fail\""), "{badge}");
}
