//! Web servers: ranges, folders, digests, and everything that goes wrong on the way.

use precision_gate::error::ErrorKind;
use precision_gate::fetch::{ByteSource, Digest, Fetcher, Opened, Trust, read_all};
use precision_gate::gate::Quiet;

use super::server::{Fault, Server, fetcher, settings};

/// Bytes that differ everywhere.
pub(crate) fn bytes(len: usize) -> Vec<u8> {
    (0..len as u32).map(|value| (value.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

pub(crate) fn open(fetcher: &Fetcher, location: &str) -> precision_gate::error::Result<Opened> {
    fetcher.open(location, Trust::Any, &Quiet)
}

/// All bytes of the one file at a location.
pub(crate) fn whole(fetcher: &Fetcher, location: &str) -> precision_gate::error::Result<Vec<u8>> {
    let files = open(fetcher, location)?.files;
    let source = files.open(&files.list()[0].path)?;
    read_all(source.as_ref(), u64::MAX)
}

#[test]
fn every_fault_gives_the_right_bytes_or_a_clear_error() {
    let folder = tempfile::tempdir().expect("folder");
    let wanted = bytes(3_000_000);
    for (name, faults, outcome) in [
        ("sound", vec![], Ok(())),
        ("busy", vec![Fault::Status(503), Fault::SlowDown(429)], Ok(())),
        ("trickle", vec![Fault::Trickle], Ok(())),
        ("denied", vec![Fault::Status(403)], Err((ErrorKind::Denied, "access is denied"))),
        ("missing", vec![Fault::Status(404)], Err((ErrorKind::NotFound, "is not there"))),
        ("gone", vec![Fault::Status(410)], Err((ErrorKind::NotFound, "has expired"))),
        ("down", vec![Fault::Status(500); 9], Err((ErrorKind::Unavailable, "gave up after 3 tries"))),
        ("silent", vec![Fault::Silence; 9], Err((ErrorKind::Unavailable, "gave up after 3 tries"))),
    ] {
        let server = Server::start();
        server.put("/file", &wanted);
        server.fail("/file", &faults);
        let found = whole(&fetcher(folder.path(), &[]), &server.url("/file?token=s3cret"));
        match (found, outcome) {
            (Ok(found), Ok(())) => assert!(found == wanted, "{name}: other bytes"),
            (Err(error), Err((kind, text))) => {
                assert_eq!(error.kind(), kind, "{name}: {error}");
                assert!(error.message().contains(text), "{name}: {error}");
                assert!(!format!("{error} {:?}", error.help()).contains("s3cret"), "{name}: {error}");
            }
            (found, _) => panic!("{name}: {:?}", found.map(|found| found.len())),
        }
    }
}

#[test]
fn faults_while_blocks_are_read_are_mended_or_told() {
    let folder = tempfile::tempdir().expect("folder");
    let wanted = bytes(3_000_000);
    // The first answer is the probe's.
    let sound = || Fault::Redirect("/elsewhere".into());
    for (name, faults, outcome) in [
        ("cut", vec![sound(), Fault::Cut(1000), Fault::Cut(500_000)], Ok(())),
        ("short", vec![sound(), Fault::Short(1000)], Ok(())),
        ("busy", vec![sound(), Fault::Status(502), Fault::Silence], Ok(())),
        ("slow", vec![sound(), Fault::Trickle], Ok(())),
        ("replaced", vec![sound(), Fault::Replaced(bytes(2_000_000))], Err(ErrorKind::Corrupt)),
        ("denied", vec![sound(), Fault::Status(403)], Err(ErrorKind::Denied)),
        ("always cut", [vec![sound()], vec![Fault::Cut(10); 9]].concat(), Err(ErrorKind::Unavailable)),
    ] {
        let server = Server::start();
        server.put("/file", &wanted);
        server.put("/elsewhere", &wanted);
        server.fail("/file", &faults);
        let fetcher = fetcher(folder.path(), &[]);
        match (whole(&fetcher, &server.url("/file")), outcome) {
            (Ok(found), Ok(())) => assert!(found == wanted, "{name}: other bytes"),
            (Err(error), Err(kind)) => {
                assert_eq!(error.kind(), kind, "{name}: {error}");
                assert_eq!(fetcher.first_failure().is_some(), kind == ErrorKind::Unavailable, "{name}");
            }
            (found, _) => panic!("{name}: {:?}", found.map(|found| found.len())),
        }
    }
}

#[test]
fn looking_at_both_ends_does_not_fetch_the_middle() {
    let folder = tempfile::tempdir().expect("folder");
    let (server, wanted) = (Server::start(), bytes(20_000_000));
    server.put("/file", &wanted);
    let files = open(&fetcher(folder.path(), &[]), &server.url("/file")).expect("there").files;
    let source = files.open("file").expect("listed");
    let mut ends = [[0; 16]; 2];
    source.read_at(0, &mut ends[0]).expect("readable");
    source.read_at(source.len() - 16, &mut ends[1]).expect("readable");
    assert_eq!((&ends[0][..], &ends[1][..]), (&wanted[..16], &wanted[wanted.len() - 16..]));
    assert_eq!(server.seen().len(), 3, "the probe and two pages");
    assert!(source.read_at(source.len() - 3, &mut [0; 16]).is_err(), "past the end");
}

#[test]
fn many_readers_of_one_file_fetch_each_block_once() {
    let folder = tempfile::tempdir().expect("folder");
    let (server, wanted) = (Server::start(), bytes(40_000_000));
    server.put("/file", &wanted);
    let files = open(&fetcher(folder.path(), &[]), &server.url("/file")).expect("there").files;
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let source = files.open("file").expect("listed");
                assert!(read_all(source.as_ref(), u64::MAX).expect("readable") == wanted);
            });
        }
    });
    let mut ranges: Vec<_> = server.seen().into_iter().filter_map(|seen| seen.range).collect();
    let asked = ranges.len();
    ranges.sort();
    ranges.dedup();
    assert_eq!(ranges.len(), asked);
}

#[test]
fn a_folder_is_listed_where_the_server_lists_as_json() {
    let folder = tempfile::tempdir().expect("folder");
    let server = Server::start();
    for path in ["/run/step0/rank0/dump.json", "/run/a b%.txt", "/run/step0/empty", "/other/x"] {
        server.put(path, path.as_bytes());
    }
    server.put("/html/", b"<html>");
    let fetcher = fetcher(folder.path(), &[]);
    let files = open(&fetcher, &server.url("/run/")).expect("there").files;
    let paths: Vec<&str> = files.list().iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["a b%.txt", "step0/empty", "step0/rank0/dump.json"]);
    for entry in files.list() {
        let found = read_all(files.open(&entry.path).expect("listed").as_ref(), 100).expect("readable");
        assert_eq!(found, format!("/run/{}", entry.path).into_bytes());
    }
    assert_eq!(open(&fetcher, &server.url("/html/")).err().expect("no JSON").kind(), ErrorKind::Unsupported);
    assert_eq!(open(&fetcher, &server.url("/none/")).err().expect("not there").kind(), ErrorKind::NotFound);
}

#[test]
fn a_demanded_digest_is_proved_and_the_file_cached() {
    let folder = tempfile::tempdir().expect("folder");
    let (server, wanted) = (Server::start(), bytes(500_000));
    server.put("/file", &wanted);
    let fetcher = fetcher(folder.path(), &[]);
    let location = |digest: Digest| format!("{}#sha256={}", server.url("/file"), digest.hex());
    let forged = whole(&fetcher, &location(Digest::of(b"other"))).expect_err("another digest");
    assert_eq!(forged.kind(), ErrorKind::Corrupt);
    assert!(forged.message().contains("expected sha256:"), "{forged}");
    assert!(whole(&fetcher, &location(Digest::of(&wanted))).expect("proved") == wanted);
    let before = server.seen().len();
    assert!(whole(&fetcher, &location(Digest::of(&wanted))).expect("cached") == wanted);
    assert_eq!(server.seen().len() - before, 1, "only the probe");
}

/// A location that answers with something else than was asked for is a finding; the other side is still there.
#[test]
fn an_answer_of_another_kind_is_refused() {
    let folder = tempfile::tempdir().expect("folder");
    let server = Server::start();
    server.put("/html/", b"<html>");
    server.put("/run/loss.csv", b"step,loss\n1,2.0\n2,1.5\n");
    let fetcher = fetcher(folder.path(), &[]);
    let says = |baseline: &str| {
        let result = super::objects::judge(&server.url(baseline), &server.url("/run/"), &fetcher);
        result.findings.into_iter().map(|finding| finding.code).collect::<Vec<_>>()
    };
    assert!(says("/html/").contains(&"location-refused".to_owned()), "{:?}", says("/html/"));
    assert!(!says("/run/").contains(&"location-refused".to_owned()));
}

#[test]
fn a_killed_download_resumes_and_a_cut_one_goes_on() {
    let folder = tempfile::tempdir().expect("folder");
    let (server, wanted) = (Server::start(), bytes(2_000_000));
    server.put("/file", &wanted);
    let location = format!("{}#sha256={}", server.url("/file"), Digest::of(&wanted).hex());
    let probe = || Fault::Redirect("/elsewhere".into());
    server.put("/elsewhere", &wanted);
    server.fail("/file", &[probe(), Fault::Cut(700_000), Fault::Cut(0), Fault::Cut(0)]);
    let error = whole(&fetcher(folder.path(), &[]), &location).expect_err("cut for good");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    // Another process, the same cache.
    assert!(whole(&fetcher(folder.path(), &[]), &location).expect("resumed") == wanted);
    let last = server.seen().pop().and_then(|seen| seen.range).expect("a range");
    assert!(last.starts_with("bytes=") && last != "bytes=0-", "{last}");
}

#[test]
fn a_server_without_ranges_is_downloaded_once() {
    let folder = tempfile::tempdir().expect("folder");
    let (server, wanted) = (Server::start(), bytes(500_000));
    server.put("/file", &wanted);
    server.forget_ranges();
    server.fail("/file", &[Fault::Status(500), Fault::Cut(5), Fault::Cut(100)]);
    let fetcher = fetcher(folder.path(), &[]);
    for _ in 0..2 {
        assert!(whole(&fetcher, &server.url("/file")).expect("downloaded") == wanted);
    }
}

#[test]
fn concurrent_runs_share_a_cache() {
    let folder = tempfile::tempdir().expect("folder");
    let (server, wanted) = (Server::start(), bytes(3_000_000));
    server.put("/file", &wanted);
    server.fail("/file", &[Fault::Trickle, Fault::Trickle]);
    let location = format!("{}#sha256={}", server.url("/file"), Digest::of(&wanted).hex());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert!(whole(&fetcher(folder.path(), &[]), &location).expect("shared") == wanted));
        }
    });
    let whole_files = server.seen().iter().filter(|seen| seen.range.is_none()).count();
    assert_eq!(whole_files, 1, "one run downloads, the others wait for it");
}

#[test]
fn the_disk_limit_stops_a_download() {
    let folder = tempfile::tempdir().expect("folder");
    let (server, wanted) = (Server::start(), bytes(3_000_000));
    server.put("/file", &wanted);
    let fetcher = Fetcher::new(precision_gate::fetch::Settings { max_disk: 1_000_000, ..settings(folder.path(), &[]) });
    let location = format!("{}#sha256={}", server.url("/file"), Digest::of(&wanted).hex());
    assert_eq!(whole(&fetcher, &location).expect_err("too large").kind(), ErrorKind::LimitExceeded);
    assert!(whole(&fetcher, &server.url("/file")).expect("streamed") == wanted, "ranges need no disk");
}

#[test]
fn a_password_goes_to_its_own_host_alone() {
    let folder = tempfile::tempdir().expect("folder");
    let (server, storage) = (Server::start(), Server::start());
    storage.put("/blob", b"bytes");
    server.put("/file", b"bytes");
    server.fail("/file", &vec![Fault::Redirect(storage.url("/blob?X-Signature=s3cret")); 3]);
    let netrc = folder.path().join("netrc");
    std::fs::write(&netrc, "machine 127.0.0.1 login ann password s3cret").expect("written");
    let fetcher = fetcher(folder.path(), &[("NETRC", netrc.to_str().expect("UTF-8"))]);
    assert_eq!(whole(&fetcher, &server.url("/file")).expect("redirected"), b"bytes");
    assert!(server.seen().iter().all(|seen| seen.headers.contains_key("authorization")));
    assert!(storage.seen().iter().all(|seen| !seen.headers.contains_key("authorization")));
}

#[test]
fn an_empty_file_is_empty() {
    let folder = tempfile::tempdir().expect("folder");
    let server = Server::start();
    server.put("/file", b"");
    let files = open(&fetcher(folder.path(), &[]), &server.url("/file")).expect("there").files;
    let source: std::sync::Arc<dyn ByteSource> = files.open("file").expect("listed");
    assert!(source.is_empty());
}
