use std::io::Write as _;
use std::sync::Arc;

use super::*;
use crate::error::ErrorKind;
use crate::fetch::MemorySource;
use crate::read::archive::Refused;

fn zip(members: &[(&str, &[u8])]) -> Source {
    let mut writer = ::zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer.start_file(*name, ::zip::write::SimpleFileOptions::default()).expect("start");
        writer.write_all(bytes).expect("write");
    }
    Arc::new(MemorySource::new("test.zip", writer.finish().expect("finish").into_inner()))
}

#[test]
fn names_say_where_a_member_belongs() {
    for (name, place) in [
        ("env", MemberPlace::Env),
        ("dataset/step12/rank3/dataset.json", MemberPlace::Dataset((12, 3))),
        ("weights/weight.json", MemberPlace::Misplaced(Checker::Weights)),
        ("weights/stepX/rank0/weight.json", MemberPlace::Misplaced(Checker::Weights)),
        ("random/rankA.json", MemberPlace::Misplaced(Checker::Random)),
        ("random/rank.json", MemberPlace::Misplaced(Checker::Random)),
        ("archive/data.pkl", MemberPlace::Unknown),
    ] {
        assert_eq!(MemberPlace::from_name(name), place, "{name}");
    }
}

#[test]
fn one_bad_member_leaves_the_others() {
    let pack = read(zip(&[("env", b"{\"A\": "), ("pip", b"torch=2.7.1\r\n numpy=2 \n"), ("/etc/passwd", b"x")]));
    let pack = pack.expect("readable");
    assert_eq!(pack.env.expect("there").expect_err("cut").kind(), ErrorKind::Corrupt);
    assert_eq!(pack.pip.expect("there").expect("readable"), ["torch=2.7.1", "numpy=2"]);
    assert_eq!(pack.refused, [Refused { name: "/etc/passwd".into(), reason: "an absolute path" }]);
}

#[test]
fn a_pack_is_known_by_its_members_even_when_cut() {
    let whole = zip(&[("env", b"{}"), ("pip", b"")]);
    assert!(recognise(&whole));
    assert!(!recognise(&zip(&[("archive/data.pkl", b"")])));
    let mut bytes = vec![0; 60];
    whole.read_at(0, &mut bytes).expect("long enough");
    let cut: Source = Arc::new(MemorySource::new("cut.zip", bytes));
    assert!(recognise(&cut));
    assert!(read(cut).expect_err("cut").help().is_some());
}

#[test]
fn a_member_that_expands_beyond_its_claim_is_damage() {
    let source = zip(&[("pip", &[b'a'; 5000])]);
    let mut bytes = vec![0; usize::try_from(source.len()).expect("small")];
    source.read_at(0, &mut bytes).expect("all");
    // The expanded size stands at offset 24 of the directory entry, which starts with `PK\x01\x02`.
    let entry = bytes.windows(4).position(|window| window == b"PK\x01\x02").expect("directory");
    bytes[entry + 24..entry + 28].copy_from_slice(&10_u32.to_le_bytes());
    let pack = read(Arc::new(MemorySource::new("lies.zip", bytes))).expect("directory is whole");
    assert!(pack.pip.expect("there").is_err());
}

proptest::proptest! {
    #[test]
    fn any_bytes_give_a_pack_or_an_error(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
        let source: Source = Arc::new(MemorySource::new("random.zip", [b"PK\x03\x04".to_vec(), bytes].concat()));
        let _known = recognise(&source);
        let _outcome = read(source);
    }
}
