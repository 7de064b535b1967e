//! Buckets, against a server that lists and stores as S3 does; and what streaming promises.

use std::path::Path;

use precision_gate::compare::measurements::Measurements;
use precision_gate::error::ErrorKind;
use precision_gate::fetch::{Fetcher, read_all};
use precision_gate::gate::{self, Quiet, Request, Surroundings};
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::report::sink::DiscardingSink;
use precision_gate::result::GateResult;
use precision_gate::verdict::Verdict;

use super::data::fixture;
use super::server::{Fault, Server, fetcher};
use super::web::open;

const KEYS: [(&str, &str); 3] =
    [("AWS_ACCESS_KEY_ID", "access"), ("AWS_SECRET_ACCESS_KEY", "s3cret"), ("AWS_REGION", "us-east-1")];

/// A location in the server's bucket.
pub(crate) fn location(server: &Server, key: &str) -> String {
    format!("s3://bucket/{key}?endpoint={}", server.url(""))
}

/// Every file of a folder, put below `prefix`.
pub(crate) fn upload(server: &Server, folder: &Path, prefix: &str) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let (path, name) = (entry.path(), entry.file_name().into_string().expect("UTF-8"));
        if path.is_dir() {
            upload(server, &path, &format!("{prefix}/{name}"));
        } else {
            server.put(&format!("{prefix}/{name}"), &std::fs::read(&path).expect("readable"));
        }
    }
}

pub(crate) fn judge(baseline: &str, candidate: &str, fetcher: &Fetcher) -> GateResult {
    let request = Request {
        baseline: TrustedLocation::own(baseline.to_owned()),
        several: Default::default(),
        candidate: candidate.to_owned(),
        checks: Request::ALL_CHECKS.to_vec(),
        policy: Policy::default(),
        matching: Matching::default(),
    };
    gate::run_by(&request, &Surroundings::new(fetcher, &DiscardingSink), &Measurements::default(), &Quiet)
        .expect("judged")
        .result
}

#[test]
fn a_prefix_is_listed_page_by_page_and_read_in_place() {
    let folder = tempfile::tempdir().expect("folder");
    let server = Server::start();
    for number in 0..8 {
        server.put(&format!("/bucket/run/step{number}/dump.json"), format!("{number}").as_bytes());
    }
    server.put("/bucket/runaway/dump.json", b"of another run");
    let fetcher = fetcher(folder.path(), &KEYS);
    let files = open(&fetcher, &location(&server, "run")).expect("there").files;
    assert_eq!(files.list().len(), 8);
    assert_eq!(files.location(), "s3://bucket/run");
    for (number, entry) in files.list().iter().enumerate() {
        assert_eq!(entry.path, format!("step{number}/dump.json"));
        let found = read_all(files.open(&entry.path).expect("listed").as_ref(), 10).expect("readable");
        assert_eq!(found, number.to_string().into_bytes());
    }
    let single = open(&fetcher, &location(&server, "run/step3/dump.json")).expect("an object").files;
    assert_eq!(single.list()[0].path, "dump.json");
    assert_eq!(open(&fetcher, &location(&server, "none")).err().expect("nothing").kind(), ErrorKind::NotFound);
    assert!(server.seen().iter().all(|seen| seen.headers.contains_key("authorization")), "signed");
}

#[test]
fn faults_of_a_bucket_are_mended_or_told() {
    let folder = tempfile::tempdir().expect("folder");
    let wanted = super::web::bytes(700_000);
    for (name, faults, outcome) in [
        ("busy", vec![Fault::Status(503), Fault::Status(500)], Ok(())),
        ("cut", vec![Fault::Cut(100_000), Fault::Cut(1)], Ok(())),
        ("short", vec![Fault::Short(50)], Ok(())),
        ("slow", vec![Fault::Trickle], Ok(())),
        ("silent", vec![Fault::Silence], Ok(())),
        ("denied", vec![Fault::Status(403)], Err(ErrorKind::Denied)),
        ("missing", vec![Fault::Status(404)], Err(ErrorKind::NotFound)),
        ("replaced", vec![Fault::Status(412)], Err(ErrorKind::Corrupt)),
        ("down", vec![Fault::Status(503); 9], Err(ErrorKind::Unavailable)),
    ] {
        let server = Server::start();
        server.put("/bucket/run/file", &wanted);
        server.fail("/bucket/run/file", &faults);
        let fetcher = fetcher(folder.path(), &KEYS);
        let files = open(&fetcher, &location(&server, "run")).expect("listed").files;
        let found = read_all(files.open("file").expect("listed").as_ref(), u64::MAX);
        match (found, outcome) {
            (Ok(found), Ok(())) => assert!(found == wanted, "{name}: other bytes"),
            (Err(error), Err(kind)) => {
                assert_eq!(error.kind(), kind, "{name}: {error}");
                assert!(!error.to_string().contains("s3cret"), "{error}");
            }
            (found, _) => panic!("{name}: {:?}", found.map(|found| found.len())),
        }
    }
}

#[test]
fn a_service_that_is_out_is_not_asked_for_every_object() {
    let folder = tempfile::tempdir().expect("folder");
    let server = Server::start();
    for number in 0..20 {
        server.put(&format!("/bucket/run/{number:02}"), b"x");
        server.fail(&format!("/bucket/run/{number:02}"), &vec![Fault::Status(503); 9]);
    }
    let fetcher = fetcher(folder.path(), &KEYS);
    let files = open(&fetcher, &location(&server, "run")).expect("listed").files;
    for entry in files.list() {
        let source = files.open(&entry.path).expect("listed");
        assert_eq!(read_all(source.as_ref(), 10).expect_err("out").kind(), ErrorKind::Unavailable);
    }
    let asked = server.seen().iter().filter(|seen| seen.path.len() == "/bucket/run/00".len()).count();
    assert_eq!(asked, 9, "three objects, three tries each");
    assert!(fetcher.first_failure().is_some());
}

#[test]
fn a_streamed_comparison_gives_the_result_of_a_local_one() {
    let folder = tempfile::tempdir().expect("folder");
    let server = Server::start();
    for case in [
        "dumps/gpt_bf16_tensor_layernorm_eps",
        "dumps/tp2_bf16_tensor_rank1_bad_tile",
        "dumps/broken_truncated_tensor_file",
    ] {
        let sides = sides(&fixture(case));
        for (side, path) in [("baseline", &sides[0]), ("candidate", &sides[1])] {
            upload(&server, path, &format!("/bucket/{case}/{side}"));
        }
        let local = judge(sides[0].to_str().expect("UTF-8"), sides[1].to_str().expect("UTF-8"), &Fetcher::default());
        let at = |side: &str| location(&server, &format!("{case}/{side}"));
        let mut streamed = judge(&at("baseline"), &at("candidate"), &fetcher(folder.path(), &KEYS));
        let (ours, theirs) =
            (streamed.baseline.as_mut().expect("a baseline"), local.baseline.as_ref().expect("a baseline"));
        assert!(ours.location.starts_with("s3://bucket/"));
        ours.location.clone_from(&theirs.location);
        streamed.candidate.location.clone_from(&local.candidate.location);
        // A run is named after the device that its location is called after.
        ours.label.clone_from(&theirs.label);
        streamed.candidate.label.clone_from(&local.candidate.label);
        assert_eq!(streamed, local, "{case}");
    }
    let disk = std::fs::read_dir(folder.path()).expect("folder").count();
    assert_eq!(disk, 0, "nothing was stored");
}

/// The two folders of a case.
pub(crate) fn sides(case: &Path) -> [std::path::PathBuf; 2] {
    ["gpu", "npu"].map(|side| case.join(side))
}

#[test]
fn nothing_at_a_location_is_incomplete_and_says_how_to_record_a_baseline() {
    let folder = tempfile::tempdir().expect("folder");
    let server = Server::start();
    upload(&server, &sides(&fixture("dumps/zoo_tensor_identical"))[1], "/bucket/npu");
    let result = judge(&location(&server, "golden"), &location(&server, "npu"), &fetcher(folder.path(), &KEYS));
    assert_eq!(result.verdict, Verdict::Incomplete);
    let finding = result.findings.iter().find(|finding| finding.code == "location-missing").expect("said");
    assert!(format!("{:?}", finding.facts["help"]).contains("precision-gate baseline promote"), "{finding:?}");
    assert!(result.findings.iter().all(|finding| finding.code != "nothing-recognised"), "said once");
}
